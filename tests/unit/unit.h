// What every unit test includes: cmocka with the headers it wants first, and tests that register
// themselves: TEST(claim) { … } is all that makes one. They run in the order of their lines.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

// What random sets are drawn from: the same each time, or what make check-random has drawn.
static inline uint32_t random_seed(void)
{
    const char *seed = getenv("EDGED_SEED");

    return seed ? (uint32_t)strtoul(seed, NULL, 10) : 1;
}

static struct CMUnitTest unit_tests[64]; // in the order of unit_test_lines
static int unit_test_lines[64];
static int unit_test_count;

// The compiler chooses the order in which constructors call this.
static inline void unit_test_add(int line, struct CMUnitTest test)
{
    int i = unit_test_count++;

    if (unit_test_count > (int)(sizeof unit_tests / sizeof *unit_tests)) {
        abort();
    }
    for (; i > 0 && unit_test_lines[i - 1] > line; i--) {
        unit_tests[i] = unit_tests[i - 1];
        unit_test_lines[i] = unit_test_lines[i - 1];
    }
    unit_tests[i] = test;
    unit_test_lines[i] = line;
}

// A test of what its name claims; after the name, the functions that prepare and clean up for it.
#define TEST(claim, ...)                                                                           \
    static void claim(void **state);                                                               \
    static void __attribute__((constructor)) add_##claim(void)                                     \
    {                                                                                              \
        unit_test_add(__LINE__, UNIT_TEST(#claim, claim, ##__VA_ARGS__, NULL, NULL));              \
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
