/* What happens to clocks and disks, for one process that is started with this library in LD_PRELOAD.

   The file that FAULTS names is mapped: an offset of the wall clock in seconds (a double), how many milliseconds each
   write to a file and each sync takes longer, and whether files take no more (two 32-bit integers). Only regular
   files are slow or full: pipes and sockets are not. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct faults {
    double clock_offset;
    int32_t delay_milliseconds;
    int32_t is_full;
};

static struct faults none;
static volatile struct faults *faults = &none;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("FAULTS");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return;
    void *mapped = mmap(NULL, sizeof none, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (mapped != MAP_FAILED)
        faults = mapped;
}

#define ORIGINAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void shift(struct timespec *time)
{
    double offset = faults->clock_offset;
    int64_t whole = (int64_t)offset;
    time->tv_sec += whole;
    time->tv_nsec += (long)((offset - (double)whole) * 1e9);
    if (time->tv_nsec < 0) {
        time->tv_nsec += 1000000000L;
        time->tv_sec -= 1;
    } else if (time->tv_nsec >= 1000000000L) {
        time->tv_nsec -= 1000000000L;
        time->tv_sec += 1;
    }
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    static __typeof__(&clock_gettime) original;
    if (!original)
        original = ORIGINAL(clock_gettime);
    int failed = original(clock, time);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        shift(time);
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    (void)zone;
    struct timespec time;
    int failed = clock_gettime(CLOCK_REALTIME, &time);
    now->tv_sec = time.tv_sec;
    now->tv_usec = time.tv_nsec / 1000;
    return failed;
}

time_t time(time_t *kept)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (kept)
        *kept = now.tv_sec;
    return now.tv_sec;
}

/* Whether a write is to be refused; it is held up before. */
static int refused(int file)
{
    int32_t delay = faults->delay_milliseconds;
    struct stat found;
    if ((!delay && !faults->is_full) || fstat(file, &found) || !S_ISREG(found.st_mode))
        return 0;
    if (delay) {
        struct timespec wait = {delay / 1000, (delay % 1000) * 1000000L};
        nanosleep(&wait, NULL);
    }
    if (faults->is_full)
        errno = ENOSPC;
    return faults->is_full;
}

ssize_t write(int file, const void *bytes, size_t size)
{
    static __typeof__(&write) original;
    if (!original)
        original = ORIGINAL(write);
    return refused(file) ? -1 : original(file, bytes, size);
}

ssize_t writev(int file, const struct iovec *parts, int count)
{
    static __typeof__(&writev) original;
    if (!original)
        original = ORIGINAL(writev);
    return refused(file) ? -1 : original(file, parts, count);
}

ssize_t pwrite(int file, const void *bytes, size_t size, off_t at)
{
    static __typeof__(&pwrite) original;
    if (!original)
        original = ORIGINAL(pwrite);
    return refused(file) ? -1 : original(file, bytes, size, at);
}

ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t at)
{
    static __typeof__(&pwrite64) original;
    if (!original)
        original = ORIGINAL(pwrite64);
    return refused(file) ? -1 : original(file, bytes, size, at);
}

int fsync(int file)
{
    static __typeof__(&fsync) original;
    if (!original)
        original = ORIGINAL(fsync);
    return refused(file) ? -1 : original(file);
}

int fdatasync(int file)
{
    static __typeof__(&fdatasync) original;
    if (!original)
        original = ORIGINAL(fdatasync);
    return refused(file) ? -1 : original(file);
}
