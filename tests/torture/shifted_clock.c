/* The clock of the day, set forward and back by a file that is mapped.
 *
 * Loaded before a program (LD_PRELOAD), it adds the seconds in the file named by
 * TB_HEALTH_TEST_CLOCK to the time of day. The monotonic clock stays true, as it does
 * on a real machine whose clock is set. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile long long *offset(void) {
    static const volatile long long *mapped;
    static long long none;
    if (!mapped) {
        const char *name = getenv("TB_HEALTH_TEST_CLOCK");
        int fd = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
        void *at = fd < 0 ? MAP_FAILED : mmap(0, 8, PROT_READ, MAP_SHARED, fd, 0);
        if (fd >= 0) close(fd);
        mapped = at == MAP_FAILED ? &none : at;
    }
    return mapped;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = (int)syscall(SYS_clock_gettime, clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += *offset();
    return failed;
}

int gettimeofday(struct timeval *now, void *zone) {
    struct timespec exact;
    (void)zone;
    int failed = clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return failed;
}

time_t time(time_t *out) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (out) *out = exact.tv_sec;
    return exact.tv_sec;
}
