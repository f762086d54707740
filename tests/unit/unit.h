// Included by every unit test: cmocka with the headers it wants first, and tests that register
// themselves: TEST(claim) { … } is all that makes one. They run in the order of their lines.
#pragma once

#include <execinfo.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#ifdef assert_uint_in_range // from cmocka 2.0 on, which calls the older one deprecated
#undef assert_in_range
#define assert_in_range assert_uint_in_range
#endif

// The seed of random sets: the same each time, or what make check-random has drawn.
static inline uint32_t random_seed(void)
{
    const char *seed = getenv("EDGED_SEED");

    return seed ? (uint32_t)strtoul(seed, NULL, 10) : 1;
}

// Tells where a crash was, and lets it happen again.
static inline void unit_crash(int number)
{
    void *callers[64];
    int count = backtrace(callers, 64);

    backtrace_symbols_fd(callers, count, STDERR_FILENO);
    signal(number, SIG_DFL);
}

// In place of cmocka's handlers, which would end the program without a word where a crash is not in
// the thread of the test.
static inline void unit_watch_crashes(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS};

    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], unit_crash);
}

// Leaves a test out, within its own function, with the reason that `make check` shows at its end.
#define SKIP(reason)                                                                               \
    do {                                                                                           \
        print_message("SKIPPED [1] %s: %s\n", __func__, reason);                                   \
        skip();                                                                                    \
    } while (0)

static struct CMUnitTest unit_tests[64]; // in the order of unit_test_lines
static int unit_test_lines[64];
static int unit_test_count;

// Whether EDGED_WITHOUT, names between spaces, has this test: an emulator cannot run it.
static inline bool unit_test_is_left_out(const char *name)
{
    const char *names = getenv("EDGED_WITHOUT");
    char word[256];

    snprintf(word, sizeof word, " %s ", name);
    return names && strstr(names, word);
}

// The compiler chooses the order in which constructors call this.
static inline void unit_test_add(int line, struct CMUnitTest test)
{
    int i;

    if (unit_test_is_left_out(test.name))
        return;
    i = unit_test_count++;
    if (unit_test_count > (int)(sizeof unit_tests / sizeof *unit_tests))
        abort();
    for (; i > 0 && unit_test_lines[i - 1] > line; i--) {
        unit_tests[i] = unit_tests[i - 1];
        unit_test_lines[i] = unit_test_lines[i - 1];
    }
    unit_tests[i] = test;
    unit_test_lines[i] = line;
}

// A test of what its name claims; after the name, the functions that prepare and clean up for it.
#define TEST(claim, ...)                                                                           \
    static void __attribute__((noinline)) claim(void **state);                                     \
    static void run_##claim(void **state)                                                          \
    {                                                                                              \
        unit_watch_crashes();                                                                      \
        claim(state);                                                                              \
    }                                                                                              \
    static void __attribute__((constructor)) add_##claim(void)                                     \
    {                                                                                              \
        unit_test_add(__LINE__, UNIT_TEST(#claim, run_##claim, ##__VA_ARGS__, NULL, NULL));        \
    }                                                                                              \
    static void claim(__attribute__((unused)) void **state)
#define UNIT_TEST(name, function, setup, teardown, ...)                                            \
    (struct CMUnitTest)                                                                            \
    {                                                                                              \
        name, function, setup, teardown, NULL                                                      \
    }

// Runs them all. cmocka passes over the empty entries behind the last one.
static inline int run_unit_tests(CMFixtureFunction setup, CMFixtureFunction teardown)
{
    return cmocka_run_group_tests(unit_tests, setup, teardown);
}

#define RUN_TESTS(setup, teardown)                                                                 \
    int main(void)                                                                                 \
    {                                                                                              \
        return run_unit_tests(setup, teardown);                                                    \
    }
