// The threads that share rows: each row once, in whatever thread; and a system that starts none.
// The source is compiled in here with a pthread_create() that fails on demand.
#include "tests/unit/unit.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int threads_left = -1; // until one fails; negative: none fails

static int fail_create(pthread_t *thread, const pthread_attr_t *attributes,
                       void *(*start)(void *context), void *context)
{
    if (threads_left >= 0 && threads_left-- == 0)
        return EAGAIN;
    return pthread_create(thread, attributes, start, context);
}

#define pthread_create fail_create
#include "kernels/stage/pool.c"
#undef pthread_create

#define ROWS_MAX 2161

// The traces of a job's slices. The rows are nobody's but the slice's, so no atomics: a row that
// two threads had would be a race.
struct trace {
    unsigned times[ROWS_MAX];
    uint32_t rows;
    unsigned threads;
    pthread_t of[POOL_THREADS_MAX];
    bool worked[POOL_THREADS_MAX];
    atomic_uint wrong; // asserts belong into the test's own thread
};

static void trace_slice(void *context, unsigned worker, uint32_t first, uint32_t end)
{
    struct trace *trace = context;

    if (worker >= trace->threads || first >= end || end > trace->rows || first % 2 != 0) {
        trace->wrong++;
        return;
    }
    if (trace->worked[worker] && !pthread_equal(trace->of[worker], pthread_self()))
        trace->wrong++;
    trace->of[worker] = pthread_self();
    trace->worked[worker] = true;
    for (uint32_t y = first; y < end; y++)
        trace->times[y]++;
}

static void check_job(struct pool *pool, uint32_t rows)
{
    static struct trace trace;

    memset(&trace, 0, sizeof trace);
    trace.rows = rows;
    trace.threads = pool_threads(pool);
    pool_run(pool, rows, trace_slice, &trace);
    assert_int_equal(trace.wrong, 0);
    for (uint32_t y = 0; y < ROWS_MAX; y++)
        assert_int_equal(trace.times[y], y < rows);
    assert_true(!trace.worked[0] || pthread_equal(trace.of[0], pthread_self()));
}

static struct pool *new_pool(unsigned threads)
{
    struct error error = {0};
    struct pool *pool;

    assert_int_equal(pool_new(threads, &error, &pool), 0);
    assert_string_equal(error.text, "");
    assert_int_equal(pool_threads(pool), threads);
    return pool;
}

TEST(test_every_row_is_computed_once_by_any_number_of_threads)
{
    for (unsigned threads = 1; threads <= 5; threads++) {
        struct pool *pool = new_pool(threads);

        for (uint32_t rows = 0; rows <= 200; rows++)
            check_job(pool, rows);
        check_job(pool, 1080);
        check_job(pool, ROWS_MAX);
        pool_free(pool);
    }
}

TEST(test_without_a_pool_it_is_one_slice_in_the_callers_thread)
{
    assert_int_equal(pool_threads(NULL), 1);
    check_job(NULL, 0);
    check_job(NULL, 1);
    check_job(NULL, ROWS_MAX);
    pool_free(NULL);
}

struct meeting {
    pthread_barrier_t barrier;
    bool here[POOL_THREADS_MAX]; // each written by its own thread
};

static void meet(void *context, unsigned worker, uint32_t first, uint32_t end)
{
    struct meeting *meeting = context;

    (void)first;
    (void)end;
    if (!meeting->here[worker]) {
        meeting->here[worker] = true;
        pthread_barrier_wait(&meeting->barrier);
    }
}

TEST(test_all_threads_work_at_the_same_time)
{
    for (unsigned threads = 2; threads <= POOL_THREADS_MAX; threads += 7) {
        struct meeting meeting = {0};
        struct pool *pool = new_pool(threads);

        assert_int_equal(pthread_barrier_init(&meeting.barrier, NULL, threads), 0);
        pool_run(pool, ROWS_MAX, meet, &meeting);
        for (unsigned i = 0; i < threads; i++)
            assert_true(meeting.here[i]);
        pool_free(pool);
        pthread_barrier_destroy(&meeting.barrier);
    }
}

TEST(test_jobs_follow_each_other_without_mixing)
{
    struct pool *pool = new_pool(3);

    for (uint32_t i = 0; i < 3000; i++)
        check_job(pool, 32 + i % 97);
    pool_free(pool);
}

TEST(test_pools_come_and_go)
{
    for (unsigned i = 0; i < 60; i++) {
        struct pool *pool = new_pool(1 + i % POOL_THREADS_MAX);

        if (i % 2 == 0)
            check_job(pool, 1080);
        pool_free(pool);
    }
}

TEST(test_threads_that_cannot_be_started_are_named_and_done_without)
{
    static const char *const expected[] = {
        "only 1 of 5 threads for rows could be started: Resource temporarily unavailable",
        "only 2 of 5 threads for rows could be started: Resource temporarily unavailable",
        "only 3 of 5 threads for rows could be started: Resource temporarily unavailable",
        "only 4 of 5 threads for rows could be started: Resource temporarily unavailable",
    };

    for (unsigned i = 0; i < ARRAY_LENGTH(expected); i++) {
        struct error error = {0};
        struct pool *pool;

        threads_left = (int)i;
        assert_int_equal(pool_new(5, &error, &pool), 0);
        threads_left = -1;
        assert_string_equal(error.text, expected[i]);
        assert_int_equal(pool_threads(pool), i + 1);
        check_job(pool, 1080);
        pool_free(pool);
    }
}

struct facts {
    pthread_barrier_t barrier;
    bool met[2]; // each written by its own thread
    char name[16];
    sigset_t mask;
};

// By one slice of each of two threads.
static void note_facts(void *context, unsigned worker, uint32_t first, uint32_t end)
{
    struct facts *facts = context;

    (void)first;
    (void)end;
    if (facts->met[worker])
        return;
    facts->met[worker] = true;
    if (worker == 1) {
        pthread_getname_np(pthread_self(), facts->name, sizeof facts->name);
        pthread_sigmask(SIG_SETMASK, NULL, &facts->mask);
    }
    pthread_barrier_wait(&facts->barrier);
}

TEST(test_threads_have_names_and_leave_signals_to_others)
{
    struct facts facts = {0};
    struct pool *pool = new_pool(2);
    sigset_t own;

    assert_int_equal(pthread_barrier_init(&facts.barrier, NULL, 2), 0);
    pool_run(pool, 1080, note_facts, &facts);
    pool_free(pool);
    pthread_barrier_destroy(&facts.barrier);
    assert_string_equal(facts.name, "rows 1");
    assert_int_equal(sigismember(&facts.mask, SIGTERM), 1);
    assert_int_equal(sigismember(&facts.mask, SIGINT), 1);
    pthread_sigmask(SIG_SETMASK, NULL, &own);
    assert_int_equal(sigismember(&own, SIGTERM), 0);
}

RUN_TESTS(NULL, NULL)
