// Test equipment: lets MPI ranks that have nothing to do give up their core. MPICH (ch4:ucx) never
// yields, so with more ranks than cores one barrier takes 13 ms instead of 6 us. Open MPI yields by
// itself (mpi_yield_when_idle), Unisono in every wait. Preload it on all sides of a comparison.
// YIELD_SHIM_SLEEP_US=50: a rank that has yielded again and again sleeps for so long instead.
// Yielding alone hands the core to whoever else has work for a whole time slice: on a machine that
// does other things as well, that is milliseconds; and Linux 6.18 lets others wait for minutes
// beside ranks that yield all the time.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { idle_ns = 30000, pause_ns = 50000 };

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static long sleep_us(void) {
    static long us = -1;
    if (us < 0) {
        char const* wanted = getenv("YIELD_SHIM_SLEEP_US");
        us = wanted == NULL ? 0 : strtol(wanted, NULL, 10);
    }
    return us;
}

__attribute__((visibility("default"))) int sched_yield(void) {
    if (sleep_us() <= 0) return (int)syscall(SYS_sched_yield);
    static _Thread_local int64_t idle_since_ns, last_ns;
    int64_t const now = now_ns();
    if (now - last_ns > pause_ns) idle_since_ns = now;  // it was busy, or had to wait for its core
    if (now - idle_since_ns > idle_ns) {
        nanosleep(&(struct timespec){.tv_nsec = sleep_us() * 1000}, NULL);
        last_ns = now_ns();
    } else {
        syscall(SYS_sched_yield);
        last_ns = now;
    }
    return 0;
}

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
