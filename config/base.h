// Basics for every folder: scope-bound cleanup, ownership transfer, time, error text.
//
// Errors travel as negative errno; a `struct error` beside it carries the sentence a person reads.
#pragma once

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define _cleanup_(function) __attribute__((cleanup(function)))

// Hands a pointer over: yields its value and leaves NULL behind.
#define TAKE(pointer)                                                                              \
    ({                                                                                             \
        __typeof__(pointer) *take_from_ = &(pointer);                                              \
        __typeof__(pointer) taken_ = *take_from_;                                                  \
        *take_from_ = NULL;                                                                        \
        taken_;                                                                                    \
    })

// The same for file descriptors, leaving -1 behind.
#define TAKE_FD(fd)                                                                                \
    ({                                                                                             \
        int *take_from_ = &(fd);                                                                   \
        int taken_ = *take_from_;                                                                  \
        *take_from_ = -1;                                                                          \
        taken_;                                                                                    \
    })

#define ARRAY_LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define NS_PER_S INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_US INT64_C(1000)

// The sentence that goes with an error code, ready for a log line. Starts out empty ({0}).
struct error {
    char text[512];
    unsigned allowed; // where in the text that begins what is allowed; 0: it does not say
};

// The fault in a request or a configuration.
struct fault {
    struct error error; // "got …, allowed: …"
    char key[256];      // the part that is meant; "": all of it
};

// Formats the text of `error` (may be NULL), without secrets (config/redact.h), and yields `code`
// (a negative errno), so that callers write `return error_set(error, -ENODEV, "…")`. A macro, so
// that compilers and analyzers see that the code that comes out is the one that went in.
#define error_set(error, code, ...)                                                                \
    ({                                                                                             \
        int error_set_code_ = (code);                                                              \
        error_format(error, __VA_ARGS__);                                                          \
        error_set_code_;                                                                           \
    })

// Puts "prefix: " in front of the text that is there; yields `code`.
#define error_prefix(error, code, ...)                                                             \
    ({                                                                                             \
        int error_prefix_code_ = (code);                                                           \
        error_format_prefix(error, __VA_ARGS__);                                                   \
        error_prefix_code_;                                                                        \
    })

// Formats "GOT allowed: ALLOWED" from two literals, with the arguments of both, and notes where the
// second begins; yields `code`. GOT ends in a comma or a semicolon.
#define error_refuse(error, code, got, may_be, ...)                                                \
    ({                                                                                             \
        int error_refuse_code_ = (code);                                                           \
        error_format_refusal(error, got, got " allowed: " may_be, ##__VA_ARGS__);                  \
        error_refuse_code_;                                                                        \
    })

// The functions behind the macros.
void error_format(struct error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void error_format_prefix(struct error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void error_format_refusal(struct error *error, const char *got, const char *whole, ...)
    __attribute__((format(printf, 3, 4)));

// Names the key of a fault whose sentence is set along with `code`, and yields `code`.
int fault_at(struct fault *fault, const char *key, int code);

// CLOCK_MONOTONIC in nanoseconds.
static inline int64_t clock_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

// Sleeps until CLOCK_MONOTONIC is there.
static inline void clock_sleep_until_ns(int64_t until_ns)
{
    const struct timespec until = {until_ns / NS_PER_S, until_ns % NS_PER_S};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
}

// A condition whose timed waits count by CLOCK_MONOTONIC.
void condition_init(pthread_cond_t *condition);

static inline void cleanup_free(void *pointer)
{
    free(*(void **)pointer);
}

static inline void cleanup_close(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}
