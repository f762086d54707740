// A thread that does jobs which may block, in the order in which the main loop gave them, and hands
// each back to the main loop. The recorder has one for writing and one for reading, because a disk
// may stall for seconds and the main loop may not.
#pragma once

#include <stdint.h>

struct disk_thread;

// Embedded in a struct of the caller's with the job's data.
struct disk_job {
    void (*run)(struct disk_job *job);  // in the thread
    void (*done)(struct disk_job *job); // in the main loop afterwards; frees the job
    struct disk_thread *thread;         // set by disk_thread_push()
    int64_t took_ns;                    // set when it is handed back
};

// `name` shows in top, 15 letters at most. If the thread cannot be started, the process ends.
struct disk_thread *disk_thread_new(const char *name);
// Waits until all jobs are done, in the thread and here. Takes NULL.
void disk_thread_free(struct disk_thread *thread);

void disk_thread_push(struct disk_thread *thread, struct disk_job *job);
// How long the job that runs now has been running; 0: none runs.
int64_t disk_thread_busy_ns(struct disk_thread *thread);
