// The work that the archive gives to its threads for the disk. A job has copies of all that it
// needs, and the thread touches nothing else; the archive takes the results in the main loop.
#pragma once

#include "daemon/recorder/disk_thread.h"
#include "daemon/recorder/growing_file.h"
#include "daemon/recorder/library.h"

struct archive;

// A job with all that any of them needs.
struct disk_job {
    struct disk_task task;
    struct archive *archive; // for the main loop
    struct storage *storage; // a reference; NULL: the folder is not open
    struct growing_file *file;
    struct fragment *fragment;  // owned
    struct recording recording; // a copy
    struct recording before;    // the same by the names that its files have, or may have; zeros
    uint8_t *payload;           // owned, as `path`
    char *path;
    size_t offset, size;
    uint64_t total, free_bytes, total_bytes;
    enum record_action action;
    enum recording_file file_kind; // to be read or renamed
    // For the main loop: who asked, as archive.h has it.
    uint32_t ticket;
    void (*answer)(void *context, uint32_t ticket, int result);
    void (*bytes)(void *context, uint32_t ticket, int result, const uint8_t *bytes, size_t size,
                  uint64_t total);
    void *context;
    int result; // 0 or a negative errno
    int index_result;
    // The result is the fault of this clip alone: its file is gone or too large, or something
    // foreign is in its way, while the folder takes other files.
    bool is_of_clip;
    bool is_full; // a file system may take no file although it has `free_bytes`
    struct error error;
    struct library_folder folder; // that was open before
    struct library library;
};

// Makes a job that runs `run`, one of those below, in a thread, and then `done` in the main loop,
// which frees the job.
struct disk_job *disk_job_new(struct storage *storage, void (*run)(void *job),
                              void (*done)(void *job));
void disk_job_free(struct disk_job *job);

// Each takes a struct disk_job, and sets its `result`.

// Opens the folder `path` and loads its library: sets `storage`, `library`, `is_full`, `error`.
void disk_job_open(void *job);
// Finds `free_bytes` and `total_bytes`.
void disk_job_measure(void *job);
// Writes the index of `library`, a copy.
void disk_job_write_index(void *job);
// Begin `file`, append `fragment` to it, or finish it; `size` is what that has written, `total` the
// size of the file. Finishing also frees the file, and sets `index_result` of its line and the
// clip's `hole_bytes`.
void disk_job_begin(void *job);
void disk_job_append(void *job);
void disk_job_finish(void *job);
// Writes the `size` bytes at `offset` of `payload` as the picture of a clip.
void disk_job_put_picture(void *job);
// Gives the files of the finished clip `before` the names of `recording`, which has other times.
// Sets `index_result` of its new line.
void disk_job_date(void *job);
// Does `action` with a clip.
void disk_job_change(void *job);
// Reads `size` bytes at `offset` into `payload`; sets `size` and `total`, the size of the file.
void disk_job_read(void *job);
