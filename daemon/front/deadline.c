// One thread counts the seconds of every deadline down. It counts its own waking up rather than the
// clock, so that a process that was stopped by a signal finds none of them passed.

#include "daemon/front/deadline.h"

#include "daemon/log.h"

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

struct deadline {
    struct deadline *next;
    const char *what;
    int seconds;
    int left; // seconds
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards all below and what is listed
static pthread_cond_t added = PTHREAD_COND_INITIALIZER;
static struct deadline *deadlines;
static bool counting; // the thread has been started

static void count_down(void)
{
    for (struct deadline *deadline = deadlines; deadline; deadline = deadline->next) {
        if (--deadline->left < 0) {
            log_error("%s has hung for %d s, ending edged, which has to be started anew",
                      deadline->what, deadline->seconds);
            abort();
        }
    }
}

static void *run(void *data)
{
    (void)data;
    pthread_mutex_lock(&lock);
    while (true) {
        while (!deadlines) {
            pthread_cond_wait(&added, &lock);
        }
        pthread_mutex_unlock(&lock);
        nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
        pthread_mutex_lock(&lock);
        count_down();
    }
    return NULL;
}

static void start_counting(void)
{
    pthread_t thread;

    if (!counting && pthread_create(&thread, NULL, run, NULL) == 0) {
        pthread_setname_np(thread, "deadlines");
        pthread_detach(thread);
        counting = true;
    }
}

struct deadline *deadline_new(const char *what, int seconds)
{
    struct deadline *deadline = calloc(1, sizeof *deadline);

    if (!deadline) {
        return NULL;
    }
    *deadline = (struct deadline){.what = what, .seconds = seconds, .left = seconds};
    pthread_mutex_lock(&lock);
    start_counting();
    deadline->next = deadlines;
    deadlines = deadline;
    pthread_cond_signal(&added);
    pthread_mutex_unlock(&lock);
    return deadline;
}

void deadline_extend(struct deadline *deadline)
{
    if (!deadline) {
        return;
    }
    pthread_mutex_lock(&lock);
    deadline->left = deadline->seconds;
    pthread_mutex_unlock(&lock);
}

void deadline_free(struct deadline *deadline)
{
    if (!deadline) {
        return;
    }
    pthread_mutex_lock(&lock);
    for (struct deadline **link = &deadlines; *link; link = &(*link)->next) {
        if (*link == deadline) {
            *link = deadline->next;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    free(deadline);
}
