// Test equipment: lets MPICH (ch4:ucx) give up its core when it has nothing to do.
// MPICH never yields, so with more ranks than cores one barrier takes 13 ms instead of 6 us.
// Preload it on both sides of a comparison. Does nothing in programs that do not use UCX.
// YIELD_SHIM_SLEEP_US=50: who has found nothing several times in a row sleeps for so long instead.
// Yielding hands the core to whoever else has work, for a whole time slice: on a machine that does
// other things as well, that is milliseconds.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

enum { polls_before_sleep = 8 };

static void give_up_the_core(unsigned empty_polls) {
    static long sleep_us = -1;
    if (sleep_us < 0) {
        char const* wanted = getenv("YIELD_SHIM_SLEEP_US");
        sleep_us = wanted == NULL ? 0 : strtol(wanted, NULL, 10);
    }
    if (sleep_us <= 0 || empty_polls < polls_before_sleep) {
        sched_yield();
    } else {
        nanosleep(&(struct timespec){.tv_nsec = sleep_us * 1000}, NULL);
    }
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
    static _Thread_local unsigned empty_polls;
    unsigned const events = real(worker);
    empty_polls = events == 0 ? empty_polls + 1 : 0;
    if (events == 0) give_up_the_core(empty_polls);
    return events;
}
