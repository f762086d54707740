// Which CPUs the threads that share rows run on. The source is compiled in here with a
// sched_getaffinity() that may be told what to say.
#include "tests/unit/unit.h"

#include <sched.h>

static const cpu_set_t *told_cpus; // that the caller may use; NULL: the truth

static int tell_affinity(pid_t thread, size_t size, cpu_set_t *ret_cpus)
{
    if (!told_cpus)
        return sched_getaffinity(thread, size, ret_cpus);
    *ret_cpus = *told_cpus;
    return 0;
}

#define sched_getaffinity tell_affinity
#include "kernels/stage/pool.c"
#undef sched_getaffinity

#define ROWS 1080

static struct pool *new_pool(unsigned threads)
{
    struct pool *pool;

    assert_int_equal(pool_new(threads, NULL, &pool), 0);
    assert_int_equal(pool_threads(pool), threads);
    return pool;
}

static void nothing(void *context, unsigned worker, uint32_t first, uint32_t end)
{
    (void)context;
    (void)worker;
    (void)first;
    (void)end;
}

struct places {
    pthread_barrier_t barrier;
    bool here[POOL_THREADS_MAX]; // each written by its own thread
    int cpus[POOL_THREADS_MAX];  // so are these
};

static void note_place(void *context, unsigned worker, uint32_t first, uint32_t end)
{
    struct places *places = context;

    (void)first;
    (void)end;
    places->cpus[worker] = sched_getcpu();
    if (!places->here[worker]) {
        places->here[worker] = true;
        pthread_barrier_wait(&places->barrier);
    }
}

// After the first job a thread may not have run yet; it must not be waiting behind the caller.
static void check_places(struct pool *pool, int cpu, bool others)
{
    struct places places = {0};
    cpu_set_t allowed;

    pool_run(pool, ROWS, nothing, NULL);
    for (unsigned i = 1; i < pool_threads(pool); i++) {
        pthread_getaffinity_np(pool->workers[i - 1].thread, sizeof allowed, &allowed);
        assert_int_equal(CPU_ISSET((size_t)cpu, &allowed) == 0, others);
        assert_true(CPU_COUNT(&allowed) > 0);
    }
    assert_int_equal(pthread_barrier_init(&places.barrier, NULL, pool_threads(pool)), 0);
    pool_run(pool, ROWS, note_place, &places);
    pthread_barrier_destroy(&places.barrier);
    assert_int_equal(places.cpus[0], cpu);
    for (unsigned i = 1; i < pool_threads(pool); i++)
        assert_int_equal(places.cpus[i] != cpu, others);
}

static cpu_set_t one_cpu(int cpu)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    return one;
}

// The next one, -1 where there is none.
static int next_cpu(const cpu_set_t *cpus, int cpu)
{
    do {
        cpu++;
    } while (cpu < CPU_SETSIZE && !CPU_ISSET((size_t)cpu, cpus));
    return cpu < CPU_SETSIZE ? cpu : -1;
}

TEST(test_threads_leave_the_callers_cpu_to_it_wherever_it_goes)
{
    struct pool *pool = new_pool(3);
    cpu_set_t all, one;

    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    told_cpus = &all; // so that the caller has moved though it may run nowhere else
    for (int cpu = next_cpu(&all, -1); cpu >= 0; cpu = next_cpu(&all, cpu)) {
        one = one_cpu(cpu);
        assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
        check_places(pool, cpu, CPU_COUNT(&all) > 1);
    }
    told_cpus = NULL;
    sched_setaffinity(0, sizeof all, &all);
    pool_free(pool);
}

static void assert_threads_may_use(const struct pool *pool, const cpu_set_t *cpus)
{
    cpu_set_t allowed;

    for (unsigned i = 1; i < pool->threads; i++) {
        assert_int_equal(
            pthread_getaffinity_np(pool->workers[i - 1].thread, sizeof allowed, &allowed), 0);
        assert_true(CPU_EQUAL(&allowed, cpus));
    }
}

// As `taskset -ap` does.
static void restrict_all(const struct pool *pool, const cpu_set_t *cpus)
{
    assert_int_equal(sched_setaffinity(0, sizeof *cpus, cpus), 0);
    for (unsigned i = 1; i < pool->threads; i++) {
        assert_int_equal(pthread_setaffinity_np(pool->workers[i - 1].thread, sizeof *cpus, cpus),
                         0);
    }
}

TEST(test_threads_stay_on_the_cpus_that_are_allowed_now)
{
    struct pool *pool = new_pool(3);
    cpu_set_t all, one;

    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    for (int cpu = next_cpu(&all, -1); cpu >= 0; cpu = next_cpu(&all, cpu)) {
        one = one_cpu(cpu);
        restrict_all(pool, &all);
        pool_run(pool, ROWS, nothing, NULL);
        restrict_all(pool, &one);
        pool_run(pool, ROWS, nothing, NULL);
        assert_threads_may_use(pool, &one);
        restrict_all(pool, &all);
        pool_run(pool, ROWS, nothing, NULL);
        assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0); // the caller alone
        pool_run(pool, ROWS, nothing, NULL);
        assert_threads_may_use(pool, &one);
    }
    sched_setaffinity(0, sizeof all, &all);
    pool_free(pool);
}

// The caller stays where it is meanwhile.
TEST(test_threads_use_a_cpu_that_comes_back)
{
    struct pool *pool = new_pool(3);
    cpu_set_t all, here, others;

    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    here = one_cpu(next_cpu(&all, -1));
    CPU_XOR(&others, &all, &here);
    assert_int_equal(sched_setaffinity(0, sizeof here, &here), 0);
    for (unsigned i = 0; i < 2; i++) {
        told_cpus = &here;
        pool_run(pool, ROWS, nothing, NULL);
        assert_threads_may_use(pool, &here);
        told_cpus = &all;
        pool_run(pool, ROWS, nothing, NULL);
        assert_threads_may_use(pool, CPU_COUNT(&others) > 0 ? &others : &here);
    }
    told_cpus = NULL;
    sched_setaffinity(0, sizeof all, &all);
    pool_free(pool);
}

RUN_TESTS(NULL, NULL)
