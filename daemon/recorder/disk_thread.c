#include "daemon/recorder/disk_thread.h"

#include "config/base.h"
#include "daemon/common/log.h"

#include <errno.h>
#include <glib-unix.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define REMEMBERED_NS (60 * NS_PER_S)

// Tasks, the oldest first.
struct disk_queue {
    struct disk_task *first, **end;
};

struct disk_thread {
    pthread_t id;
    int wake_fd; // an eventfd: tasks are done
    guint watch;
    unsigned unfinished; // the main loop's: tasks that are not handed back
    _Atomic int64_t began_ns, longest_ns, longest_at_ns; // of tasks; 0: none

    pthread_mutex_t lock;   // guards all below
    pthread_cond_t changed; // one of the two threads waits at a time
    struct disk_queue asked, done;
    bool is_ending;
};

static void queue_init(struct disk_queue *queue)
{
    queue->first = NULL;
    queue->end = &queue->first;
}

static void queue_push(struct disk_queue *queue, struct disk_task *task)
{
    task->next = NULL;
    *queue->end = task;
    queue->end = &task->next;
}

// NULL: it is empty.
static struct disk_task *queue_pop(struct disk_queue *queue)
{
    struct disk_task *task = queue->first;

    if (task) {
        queue->first = task->next;
        if (!queue->first)
            queue->end = &queue->first;
    }
    return task;
}

// NULL: the thread ends.
static struct disk_task *next_task(struct disk_thread *thread)
{
    struct disk_task *task;

    pthread_mutex_lock(&thread->lock);
    while (!(task = queue_pop(&thread->asked)) && !thread->is_ending)
        pthread_cond_wait(&thread->changed, &thread->lock);
    pthread_mutex_unlock(&thread->lock);
    return task;
}

static void note_time(struct disk_thread *thread, int64_t began_ns)
{
    int64_t now_ns = clock_now_ns();

    thread->began_ns = 0;
    if (now_ns - began_ns > thread->longest_ns || now_ns - thread->longest_at_ns > REMEMBERED_NS) {
        thread->longest_ns = now_ns - began_ns;
        thread->longest_at_ns = now_ns;
    }
}

static void hand_back(struct disk_thread *thread, struct disk_task *task)
{
    pthread_mutex_lock(&thread->lock);
    queue_push(&thread->done, task);
    pthread_cond_signal(&thread->changed);
    pthread_mutex_unlock(&thread->lock);
    eventfd_write(thread->wake_fd, 1);
}

static void *work(void *context)
{
    struct disk_thread *thread = context;
    struct disk_task *task;

    while ((task = next_task(thread))) {
        int64_t began_ns = clock_now_ns();

        thread->began_ns = began_ns;
        task->run(task->owner);
        note_time(thread, began_ns);
        hand_back(thread, task);
    }
    return NULL;
}

// With `wait` not before one is done. NULL: none is.
static struct disk_task *take_done(struct disk_thread *thread, bool wait)
{
    struct disk_task *task;

    pthread_mutex_lock(&thread->lock);
    while (!(task = queue_pop(&thread->done)) && wait)
        pthread_cond_wait(&thread->changed, &thread->lock);
    pthread_mutex_unlock(&thread->lock);
    return task;
}

static void finish_task(struct disk_thread *thread, struct disk_task *task)
{
    thread->unfinished--;
    task->done(task->owner);
}

static gboolean on_done(gint fd, GIOCondition condition, gpointer data)
{
    struct disk_thread *thread = data;
    struct disk_task *task;
    eventfd_t count = 0;

    (void)condition;
    eventfd_read(fd, &count);
    // Those that are done by now: other sources of the loop come between them and later ones.
    for (; count > 0 && (task = take_done(thread, false)); count--)
        finish_task(thread, task);
    return G_SOURCE_CONTINUE;
}

struct disk_thread *disk_thread_new(const char *name)
{
    struct disk_thread *thread = g_new0(struct disk_thread, 1);

    queue_init(&thread->asked);
    queue_init(&thread->done);
    pthread_mutex_init(&thread->lock, NULL);
    pthread_cond_init(&thread->changed, NULL);
    thread->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int r = thread->wake_fd < 0 ? errno : pthread_create(&thread->id, NULL, work, thread);
    if (r) // as GLib does for its own threads and descriptors
        g_error("cannot begin the thread %s: %s", name, g_strerror(r));
    pthread_setname_np(thread->id, name);
    thread->watch = g_unix_fd_add(thread->wake_fd, G_IO_IN, on_done, thread);
    return thread;
}

void disk_thread_free(struct disk_thread *thread)
{
    if (!thread)
        return;
    while (thread->unfinished > 0)
        finish_task(thread, take_done(thread, true));
    pthread_mutex_lock(&thread->lock);
    thread->is_ending = true;
    pthread_cond_signal(&thread->changed);
    pthread_mutex_unlock(&thread->lock);
    pthread_join(thread->id, NULL);
    g_source_remove(thread->watch);
    close(thread->wake_fd);
    pthread_cond_destroy(&thread->changed);
    pthread_mutex_destroy(&thread->lock);
    g_free(thread);
}

void disk_thread_push(struct disk_thread *thread, struct disk_task *task)
{
    thread->unfinished++;
    pthread_mutex_lock(&thread->lock);
    queue_push(&thread->asked, task);
    pthread_cond_signal(&thread->changed);
    pthread_mutex_unlock(&thread->lock);
}

int64_t disk_thread_longest_ns(const struct disk_thread *thread)
{
    int64_t began_ns = thread->began_ns;

    return MAX(thread->longest_ns, began_ns ? clock_now_ns() - began_ns : 0);
}
