// One job at a time: it is open from when the caller publishes it to when somebody finds no row
// left. Threads enter an open job only, and the caller returns when the last one has left; so what
// a job is made of never changes under anybody.
#include "kernels/stage/pool.h"

#include "config/base.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

// A slice is this part of a thread's share of the rows that are left: large ones first, because
// rows at their borders are computed twice, and small ones last, so that nobody waits for long.
#define SLICES_A_SHARE 2
// Fewer rows are not worth a slice. Even.
#define SLICE_ROWS_MIN 16
// The caller sleeps only if the last slices take longer than to fall asleep and to be woken up.
#define SPIN_NS (50 * (int64_t)NS_PER_US)

struct worker {
    struct pool *pool;
    pthread_t thread;
    unsigned number; // from 1 on
};

struct pool_job {
    pool_task *task;
    void *context;
    uint32_t rows;
};

struct pool {
    unsigned threads; // const once the pool is made
    struct worker workers[POOL_THREADS_MAX - 1];
    int caller_cpu;        // that the threads keep away from, the caller's only; -1: none
    cpu_set_t caller_cpus; // that the caller could use then; the caller's only, too
    struct pool_job job;   // changes only while nobody is inside
    _Atomic uint32_t next; // row of the job

    pthread_mutex_t lock; // guards all below
    pthread_cond_t wake;  // `open` or `stopping` has become true
    pthread_cond_t done;  // `inside` has become 0
    bool open, stopping;
    _Atomic unsigned inside; // threads that work on the job, without the caller; read by anybody
};

// An even number, so that slices begin at whole rows of chroma; the last slice may end early.
static uint32_t slice_rows(const struct pool *pool, uint32_t left)
{
    uint32_t share = left / (pool->threads * SLICES_A_SHARE);

    return share < SLICE_ROWS_MIN ? SLICE_ROWS_MIN : share & ~UINT32_C(1);
}

static void take_slices(struct pool *pool, unsigned worker)
{
    const struct pool_job *job = &pool->job;
    uint32_t first = atomic_load(&pool->next);

    while (first < job->rows) {
        uint32_t left = job->rows - first, rows = slice_rows(pool, left);
        uint32_t end = first + (rows < left ? rows : left);

        if (atomic_compare_exchange_weak(&pool->next, &first, end)) {
            job->task(job->context, worker, first, end);
            first = atomic_load(&pool->next);
        }
    }
}

static void *work(void *context)
{
    struct worker *worker = context;
    struct pool *pool = worker->pool;

    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->open && !pool->stopping)
            pthread_cond_wait(&pool->wake, &pool->lock);
        if (pool->stopping)
            break;
        pool->inside++;
        pthread_mutex_unlock(&pool->lock);
        take_slices(pool, worker->number);
        pthread_mutex_lock(&pool->lock);
        pool->open = false;
        if (--pool->inside == 0)
            pthread_cond_signal(&pool->done);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static int start_worker(struct pool *pool, unsigned number)
{
    struct worker *worker = &pool->workers[number - 1];
    char name[16];
    int r;

    *worker = (struct worker){.pool = pool, .number = number};
    r = -pthread_create(&worker->thread, NULL, work, worker);
    if (r == 0) {
        snprintf(name, sizeof name, "rows %u", number);
        pthread_setname_np(worker->thread, name);
    }
    return r;
}

// The threads inherit that signals are blocked: those are for the threads that wait for them. But
// not those of a fault, nor the one that asks a thread where it stands.
static void start_workers(struct pool *pool, unsigned threads, struct error *error)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP, SIGUSR2};
    sigset_t all, before;
    int r = 0;

    sigfillset(&all);
    for (size_t i = 0; i < ARRAY_LENGTH(own); i++)
        sigdelset(&all, own[i]);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool->threads < threads && r == 0) {
        r = start_worker(pool, pool->threads);
        pool->threads += r == 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (r < 0) {
        error_set(error, r, "only %u of %u threads for rows could be started: %s", pool->threads,
                  threads, strerror(-r));
    }
}

int pool_new(unsigned threads, struct error *error, struct pool **ret_pool)
{
    struct pool *pool = calloc(1, sizeof *pool);

    if (!pool)
        return error_set(error, -ENOMEM, "no memory for the threads for rows");
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->done, NULL);
    pool->caller_cpu = -1;
    pool->threads = 1;
    start_workers(pool, threads < POOL_THREADS_MAX ? threads : POOL_THREADS_MAX, error);
    *ret_pool = pool;
    return 0;
}

void pool_free(struct pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->stopping = true;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 1; i < pool->threads; i++)
        pthread_join(pool->workers[i - 1].thread, NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_cond_destroy(&pool->done);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

unsigned pool_threads(const struct pool *pool)
{
    return pool ? pool->threads : 1;
}

// A thread that was woken up on the caller's CPU would take turns with it until the job is done, or
// only wait for it: the scheduler moves threads only after longer than that. So they all keep away
// from that CPU, and the caller sees to it before it wakes them when it has moved itself. They stay
// on those that the caller may use: that changes with what the administrator allows, and with CPUs
// that come and go, so it is asked for anew. Without another CPU, or where that fails, they are as
// slow as they would be.
static void leave_to_caller(struct pool *pool, int cpu)
{
    cpu_set_t cpus, others;

    if (cpu < 0 || sched_getaffinity(0, sizeof cpus, &cpus) < 0 ||
        (cpu == pool->caller_cpu && CPU_EQUAL(&cpus, &pool->caller_cpus))) {
        return;
    }
    pool->caller_cpu = cpu;
    pool->caller_cpus = cpus;
    others = cpus;
    CPU_CLR((size_t)cpu, &others);
    for (unsigned i = 1; i < pool->threads; i++) {
        pthread_setaffinity_np(pool->workers[i - 1].thread, sizeof cpus,
                               CPU_COUNT(&others) > 0 ? &others : &cpus);
    }
}

static void publish(struct pool *pool, const struct pool_job *job)
{
    pool->job = *job;
    atomic_store(&pool->next, 0);
    pthread_mutex_lock(&pool->lock);
    pool->open = true;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
}

static void wait_for_others(struct pool *pool)
{
    int64_t until_ns = clock_now_ns() + SPIN_NS;

    pthread_mutex_lock(&pool->lock);
    pool->open = false;
    pthread_mutex_unlock(&pool->lock);
    while (atomic_load(&pool->inside) > 0 && clock_now_ns() < until_ns) {
    }
    pthread_mutex_lock(&pool->lock);
    while (pool->inside > 0)
        pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

void pool_run(struct pool *pool, uint32_t rows, pool_task *task, void *context)
{
    const struct pool_job job = {task, context, rows};

    if (pool_threads(pool) > 1 && rows > SLICE_ROWS_MIN) {
        leave_to_caller(pool, sched_getcpu());
        publish(pool, &job);
        take_slices(pool, 0);
        wait_for_others(pool);
    } else if (rows > 0) {
        task(context, 0, 0, rows);
    }
}
