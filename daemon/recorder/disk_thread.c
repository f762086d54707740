#include "daemon/recorder/disk_thread.h"

#include "config/base.h"

#include <glib.h>
#include <stdatomic.h>

struct disk_thread {
    GThread *id;
    GAsyncQueue *jobs;
    _Atomic int64_t began_ns; // of the job that runs; 0: none
    unsigned unfinished;      // the main loop's: jobs that are not handed back
};

static struct disk_job last_job; // tells the thread to end

static gboolean hand_back(gpointer data)
{
    struct disk_job *job = data;

    job->thread->unfinished--;
    job->done(job);
    return G_SOURCE_REMOVE;
}

static gpointer work(gpointer data)
{
    struct disk_thread *thread = data;
    struct disk_job *job;

    while ((job = g_async_queue_pop(thread->jobs)) != &last_job) {
        int64_t began_ns = clock_now_ns();

        thread->began_ns = began_ns;
        job->run(job);
        thread->began_ns = 0;
        job->took_ns = clock_now_ns() - began_ns;
        g_idle_add_full(G_PRIORITY_DEFAULT, hand_back, job, NULL);
    }
    return NULL;
}

struct disk_thread *disk_thread_new(const char *name)
{
    struct disk_thread *thread = g_new0(struct disk_thread, 1);

    thread->jobs = g_async_queue_new();
    thread->id = g_thread_new(name, work, thread);
    return thread;
}

void disk_thread_free(struct disk_thread *thread)
{
    if (!thread) {
        return;
    }
    while (thread->unfinished > 0) {
        g_main_context_iteration(NULL, TRUE);
    }
    g_async_queue_push(thread->jobs, &last_job);
    g_thread_join(thread->id);
    g_async_queue_unref(thread->jobs);
    g_free(thread);
}

void disk_thread_push(struct disk_thread *thread, struct disk_job *job)
{
    job->thread = thread;
    thread->unfinished++;
    g_async_queue_push(thread->jobs, job);
}

int64_t disk_thread_busy_ns(struct disk_thread *thread)
{
    int64_t began_ns = thread->began_ns;

    return began_ns ? clock_now_ns() - began_ns : 0;
}
