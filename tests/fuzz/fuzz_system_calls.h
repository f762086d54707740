// System calls that make a run of a fuzz target depend on its bytes alone: time stands still until
// the target moves it, random numbers follow each other, and what goes out by UDP goes nowhere.
// Each takes the place of the C library's in the whole program.
#pragma once

#include "tests/fuzz/fuzz.h"

#include "config/base.h"

#include <errno.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

static int64_t fuzz_now_ns; // CLOCK_MONOTONIC
static uint64_t fuzz_drawn; // the newest random number of eight bytes: 1, 2, 3
static bool fuzz_network_full;

int clock_gettime(clockid_t clock, struct timespec *time)
{
    if (clock != CLOCK_MONOTONIC)
        return (int)syscall(SYS_clock_gettime, clock, time);
    time->tv_sec = fuzz_now_ns / NS_PER_S;
    time->tv_nsec = fuzz_now_ns % NS_PER_S;
    return 0;
}

ssize_t getrandom(void *buffer, size_t size, unsigned flags)
{
    (void)flags;
    memset(buffer, 0x55, size);
    if (size == sizeof fuzz_drawn) {
        fuzz_drawn++;
        memcpy(buffer, &fuzz_drawn, sizeof fuzz_drawn);
    }
    return (ssize_t)size;
}

int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
    (void)fd;
    (void)messages;
    (void)flags;
    errno = EAGAIN;
    return fuzz_network_full ? -1 : (int)count;
}

ssize_t sendto(int fd, const void *bytes, size_t size, int flags, const struct sockaddr *to,
               socklen_t to_size)
{
    (void)fd;
    (void)bytes;
    (void)flags;
    (void)to;
    (void)to_size;
    return (ssize_t)size;
}
