// Test equipment: a rank that has given up its core again and again sleeps for a moment instead.
// With many more ranks than cores, sched_yield alone lets each one poll for a whole time slice
// before the one that has something to do comes to run. Open MPI calls it when it finds nothing
// (mpi_yield_when_idle), MPICH through yield_shim.c, Unisono in every wait.
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { idle_ns = 30000, pause_ns = 50000, nap_ns = 50000 };

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

__attribute__((visibility("default"))) int sched_yield(void) {
    static _Thread_local int64_t idle_since_ns, last_ns;
    int64_t const now = now_ns();
    if (now - last_ns > pause_ns) idle_since_ns = now;  // it was busy, or had to wait for its core
    if (now - idle_since_ns > idle_ns) {
        struct timespec const nap = {.tv_sec = 0, .tv_nsec = nap_ns};
        clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, 0);
        last_ns = now_ns();
    } else {
        syscall(SYS_sched_yield);
        last_ns = now;
    }
    return 0;
}
