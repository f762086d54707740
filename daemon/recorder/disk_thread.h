// A thread for work that may block: it does tasks in the order in which the main loop gives them,
// and hands each back to the main loop once it is done. The owner of a task embeds it.
#pragma once

#include <stdint.h>

struct disk_thread;

struct disk_task {
    void (*run)(void *owner);  // in the thread
    void (*done)(void *owner); // in the main loop afterwards; may free the owner
    void *owner;
    struct disk_task *next; // the thread's
};

// Begins a thread with this name, which top shows.
struct disk_thread *disk_thread_new(const char *name);
// Waits until all tasks are done, also those that are given meanwhile, and calls `done` of each;
// nothing else of the main loop runs. Takes NULL.
void disk_thread_free(struct disk_thread *thread);

// Main loop only. The task is borrowed until its `done`.
void disk_thread_push(struct disk_thread *thread, struct disk_task *task);
// The longest task of the last minute in ns, or the one that runs if that has taken longer so far.
int64_t disk_thread_longest_ns(const struct disk_thread *thread);
