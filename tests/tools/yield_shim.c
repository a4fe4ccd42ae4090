// Test equipment: lets MPICH (ch4:ucx) give up its core when it has nothing to do.
// MPICH never yields, so with more ranks than cores one barrier takes 13 ms instead of 6 us.
// Preload it on both sides of a comparison. Does nothing in programs that do not use UCX.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stddef.h>

__attribute__((visibility("default"))) unsigned ucp_worker_progress(void* worker) {
    static unsigned (*real)(void*);
    if (real == NULL) {
        real = (unsigned (*)(void*))dlsym(RTLD_NEXT, "ucp_worker_progress");
        if (real == NULL) {  // the MPI library was loaded locally, for instance by Python
            void* ucp = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
            real = (unsigned (*)(void*))dlsym(ucp, "ucp_worker_progress");
        }
    }
    unsigned const events = real(worker);
    if (events == 0) sched_yield();
    return events;
}
