#include "daemon/recorder/disk_job.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

struct disk_job *disk_job_new(struct storage *storage, void (*run)(void *job),
                              void (*done)(void *job))
{
    struct disk_job *job = g_new0(struct disk_job, 1);

    job->task = (struct disk_task){.run = run, .done = done, .owner = job};
    job->storage = storage ? storage_ref(storage) : NULL;
    return job;
}

void disk_job_free(struct disk_job *job)
{
    fragment_free(job->fragment);
    storage_unref(job->storage);
    free(job->payload);
    g_free(job->path);
    library_finish(&job->library);
    g_free(job);
}

// Tells a fault of one clip from one of the storage: the clip's file is gone or too large, or
// something foreign is in its way, while the folder takes other files.
static void judge(struct disk_job *job)
{
    static const int faults[] = {-ENOENT, -EEXIST, -ENOTDIR, -EISDIR, -ELOOP,
                                 -EACCES, -EPERM,  -EFBIG,   -EXDEV};

    for (size_t i = 0; i < ARRAY_LENGTH(faults); i++)
        job->is_of_clip |= job->result == faults[i];
    int r = job->is_of_clip ? storage_try(job->storage) : 0;
    if (r < 0) {
        job->is_of_clip = false;
        job->result = r;
    }
}

void disk_job_measure(void *context)
{
    struct disk_job *job = context;

    job->result = storage_space(job->storage, &job->free_bytes, &job->total_bytes);
}

void disk_job_write_index(void *context)
{
    struct disk_job *job = context;

    library_write_index(job->storage, &job->library);
}

void disk_job_open(void *context)
{
    struct disk_job *job = context;

    storage_unref(TAKE(job->storage));
    job->result = storage_open(job->path, &job->error, &job->is_full, &job->storage);
    if (job->result < 0)
        return;
    job->result = library_load(job->storage, &job->folder, &job->error, &job->library);
    if (job->result < 0) {
        error_prefix(&job->error, job->result, "the folder %s", job->path);
        return;
    }
    job->result = storage_space(job->storage, &job->free_bytes, &job->total_bytes);
    if (job->result < 0) {
        error_set(&job->error, job->result, "cannot find the free space in %s: %s", job->path,
                  strerror(-job->result));
    }
}

void disk_job_begin(void *context)
{
    struct disk_job *job = context;

    job->result = growing_file_begin(job->file);
    job->size = growing_file_written(job->file);
    job->total = growing_file_size(job->file);
    judge(job);
}

void disk_job_append(void *context)
{
    struct disk_job *job = context;
    uint64_t before = growing_file_written(job->file);

    job->result = growing_file_append(job->file, job->fragment);
    job->size = growing_file_written(job->file) - before;
    job->total = growing_file_size(job->file);
    judge(job);
}

void disk_job_finish(void *context)
{
    struct disk_job *job = context;
    uint64_t before = growing_file_written(job->file);

    job->result = growing_file_finish(job->file, &job->recording);
    job->total = growing_file_size(job->file);
    job->size = growing_file_written(job->file) - before;
    job->recording.hole_bytes = growing_file_hole(job->file);
    growing_file_free(TAKE(job->file));
    if (job->result == 0) {
        job->recording.bytes = job->total;
        job->index_result = library_note(job->storage, &job->recording);
    }
    judge(job);
}

// The clip by the names that its files have, which those of `before` are if they could not be
// changed.
static const struct recording *find_names(const struct disk_job *job)
{
    if (!job->before.id)
        return &job->recording;
    _cleanup_(cleanup_close) int fd =
        storage_open_to_read(job->storage, &job->recording, RECORDING_VIDEO);

    return fd == -ENOENT ? &job->before : &job->recording;
}

void disk_job_put_picture(void *context)
{
    struct disk_job *job = context;

    job->result =
        storage_put_picture(job->storage, find_names(job), job->payload + job->offset, job->size);
    judge(job);
}

void disk_job_date(void *context)
{
    struct disk_job *job = context;

    job->result = growing_file_rename(job->storage, &job->before, &job->recording);
    if (job->result == 0)
        job->index_result = library_note(job->storage, &job->recording);
    judge(job);
}

void disk_job_change(void *context)
{
    struct disk_job *job = context;

    const struct recording *recording = find_names(job);

    job->result =
        job->action == RECORD_DELETE
            ? storage_remove(job->storage, recording)
            : storage_keep(job->storage, recording, job->file_kind, job->action == RECORD_KEEP);
    judge(job);
}

void disk_job_read(void *context)
{
    struct disk_job *job = context;
    _cleanup_(cleanup_close) int fd =
        storage_open_to_read(job->storage, &job->recording, job->file_kind);
    struct stat about;

    if (fd < 0 || fstat(fd, &about) < 0) {
        job->result = fd < 0 ? fd : -errno;
        return;
    }
    job->payload = malloc(job->size);
    ssize_t got = job->payload ? pread(fd, job->payload, job->size, (off_t)job->offset) : -1;
    job->result = got < 0 ? -errno : 0;
    job->size = got < 0 ? 0 : (size_t)got;
    job->total = (uint64_t)about.st_size;
}
