#include "daemon/recorder/archive.h"

#include "daemon/common/log.h"
#include "daemon/recorder/disk_thread.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

struct archive {
    const struct archive_events *events;
    void *context;
    struct disk_thread *writer, *reader;
    struct storage *storage; // a reference; NULL: it was not opened yet
    struct record_storage limits;
    enum record_state state;
    char sentence[256];
    int64_t retry_ns; // when the folder is opened again
    bool is_opening;
    GPtrArray *clips; // owned, of struct recording, by growing id
    uint64_t next_id;
    struct record_state_report counts; // what it counts
    int64_t slow_ns, slow_at_ns;       // the longest job of the last minute
};

// A job with all that any of them needs.
struct archive_job {
    struct disk_job job;
    struct archive *archive;
    struct storage *storage; // a reference
    struct growing_file *file;
    struct fragment *fragment;  // owned
    struct recording recording; // a copy
    uint8_t *payload;           // owned
    size_t offset, size;
    uint64_t total;
    enum record_action action;
    uint32_t request;
    archive_answer *answer;
    archive_bytes *bytes;
    void *context;
    int result;
    struct error error;
    char *path; // owned
};

static struct archive_job *new_job(struct archive *archive, void (*run)(struct disk_job *),
                                   void (*done)(struct disk_job *))
{
    struct archive_job *job = g_new0(struct archive_job, 1);

    job->job.run = run;
    job->job.done = done;
    job->archive = archive;
    job->storage = archive->storage ? storage_ref(archive->storage) : NULL;
    return job;
}

static void free_fragment(struct fragment *fragment)
{
    if (fragment) {
        g_ptr_array_unref(fragment->units);
        g_free(fragment);
    }
}

static void free_job(struct archive_job *job)
{
    int64_t now_ns = clock_now_ns();
    struct archive *archive = job->archive;

    if (job->job.took_ns > archive->slow_ns || now_ns - archive->slow_at_ns > 60 * NS_PER_S) {
        archive->slow_ns = job->job.took_ns;
        archive->slow_at_ns = now_ns;
    }
    free_fragment(job->fragment);
    storage_unref(job->storage);
    free(job->payload);
    g_free(job->path);
    g_free(job);
}

static struct archive_job *archive_job_of(struct disk_job *job)
{
    return (struct archive_job *)job;
}

// State
// ---------------------------------------------------------------------

static void set_state(struct archive *archive, enum record_state state, const char *sentence)
{
    if (archive->state == state && strcmp(archive->sentence, sentence) == 0) {
        return;
    }
    archive->state = state;
    g_strlcpy(archive->sentence, sentence, sizeof archive->sentence);
    if (state == RECORD_STOPPED) {
        log_error("%s; nothing is recorded, trying again every %d s", sentence,
                  (int)(ARCHIVE_RETRY_NS / NS_PER_S));
    } else if (state == RECORD_READY) {
        log_notice("recording to %s", archive->limits.path);
    }
    archive->events->state(archive->context);
}

static void stop(struct archive *archive, const char *sentence)
{
    if (archive->state != RECORD_STOPPED) {
        archive->retry_ns = clock_now_ns() + ARCHIVE_RETRY_NS;
        set_state(archive, RECORD_STOPPED, sentence);
        archive->events->stopped(archive->context);
    }
}

// A job failed that had to do with the disk.
static void fail(struct archive *archive, const char *what, int result)
{
    g_autofree char *sentence =
        g_strdup_printf("cannot %s in %s: %s", what, archive->limits.path, strerror(-result));

    stop(archive, sentence);
}

// Opening
// ---------------------------------------------------------------------

static void run_open(struct disk_job *disk_job)
{
    struct archive_job *job = archive_job_of(disk_job);

    storage_unref(TAKE(job->storage));
    job->result = storage_open(job->path, &job->error, &job->storage);
}

static void open_done(struct disk_job *disk_job)
{
    struct archive_job *job = archive_job_of(disk_job);
    struct archive *archive = job->archive;

    archive->is_opening = false;
    if (job->result < 0) {
        archive->retry_ns = clock_now_ns() + ARCHIVE_RETRY_NS;
        set_state(archive, RECORD_STOPPED, job->error.text);
    } else {
        storage_unref(archive->storage);
        archive->storage = TAKE(job->storage);
        set_state(archive, RECORD_READY, "");
    }
    free_job(job);
}

static void open_folder(struct archive *archive)
{
    struct archive_job *job = new_job(archive, run_open, open_done);

    archive->is_opening = true;
    job->path = g_strdup(archive->limits.path);
    disk_thread_push(archive->writer, &job->job);
}

void archive_configure(struct archive *archive, const struct record_storage *storage)
{
    bool is_first = archive->limits.path[0] == '\0';
    struct record_storage limits = *storage;

    if (!is_first) {
        memcpy(limits.path, archive->limits.path, sizeof limits.path);
    }
    archive->limits = limits;
    if (is_first) {
        open_folder(archive);
    }
}

void archive_tick(struct archive *archive)
{
    if (archive->state == RECORD_STOPPED && !archive->is_opening &&
        clock_now_ns() >= archive->retry_ns) {
        open_folder(archive);
    }
}

bool archive_is_open(const struct archive *archive)
{
    return archive->storage != NULL;
}

// Growing clips
// ---------------------------------------------------------------------

static guint place_of(const struct archive *archive, uint64_t id)
{
    guint low = 0, high = archive->clips->len;

    while (low < high) {
        guint middle = low + (high - low) / 2;
        const struct recording *recording = archive->clips->pdata[middle];

        if (recording->id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static struct recording *find(const struct archive *archive, uint64_t id)
{
    guint place = place_of(archive, id);
    struct recording *recording = place < archive->clips->len ? archive->clips->pdata[place] : NULL;

    return recording && recording->id == id ? recording : NULL;
}

const struct recording *archive_find(const struct archive *archive, uint64_t id)
{
    return find(archive, id);
}

static void forget(struct archive *archive, uint64_t id)
{
    guint place = place_of(archive, id);

    g_ptr_array_remove_index(archive->clips, place);
}

void archive_announce(struct archive *archive, const struct recording *recording)
{
    archive->events->clip(archive->context, recording);
}

static void run_begin(struct disk_job *disk_job)
{
    struct archive_job *job = archive_job_of(disk_job);

    job->result = growing_file_begin(job->file);
    job->size = growing_file_size(job->file);
}

static void run_append(struct disk_job *disk_job)
{
    struct archive_job *job = archive_job_of(disk_job);
    uint64_t before = growing_file_size(job->file);

    job->result = growing_file_append(job->file, job->fragment);
    job->size = growing_file_size(job->file) - before;
}

static void append_done(struct disk_job *disk_job)
{
    struct archive_job *job = archive_job_of(disk_job);
    struct archive *archive = job->archive;
    struct recording *recording = find(archive, job->recording.id);

    archive->counts.written_bytes += job->size;
    if (recording) {
        recording->bytes += job->size;
    }
    if (job->fragment) {
        archive->counts.waiting_bytes -= job->fragment->bytes;
    }
    if (job->result < 0) {
        archive->counts.lost_units += job->fragment ? job->fragment->units->len : 0;
        fail(archive, "write a clip", job->result);
    }
    free_job(job);
}

struct growing_file *archive_begin(struct archive *archive, const struct recording *recording,
                                   const struct mp4_video *video, struct recording **ret_recording)
{
    struct recording *own;
    struct archive_job *job;

    if (archive->state != RECORD_READY) {
        return NULL;
    }
    own = g_memdup(recording, sizeof *recording);
    own->id = archive->next_id++;
    own->is_open = true;
    g_ptr_array_add(archive->clips, own);
    job = new_job(archive, run_begin, append_done);
    job->file = growing_file_new(archive->storage, own, video);
    job->recording = *own;
    disk_thread_push(archive->writer, &job->job);
    *ret_recording = own;
    return job->file;
}

void archive_count_lost(struct archive *archive, uint64_t units)
{
    archive->counts.lost_units += units;
}

int archive_append(struct archive *archive, struct growing_file *file, struct fragment *fragment)
{
    struct archive_job *job;

    if (archive->counts.waiting_bytes + fragment->bytes > ARCHIVE_WAITING_MAX) {
        archive_count_lost(archive, fragment->units->len);
        free_fragment(fragment);
        return -ENOBUFS;
    }
    archive->counts.waiting_bytes += fragment->bytes;
    job = new_job(archive, run_append, append_done);
    job->file = file;
    job->recording.id = growing_file_id(file);
    job->fragment = fragment;
    disk_thread_push(archive->writer, &job->job);
    return 0;
}

static void run_finish(struct disk_job *disk_job)
{
    struct archive_job *job = archive_job_of(disk_job);
    uint64_t before = growing_file_size(job->file);

    job->result = growing_file_finish(job->file, &job->recording);
    job->total = growing_file_size(job->file);
    job->size = job->total - before;
    growing_file_free(TAKE(job->file));
}

static void finish_done(struct disk_job *disk_job)
{
    struct archive_job *job = archive_job_of(disk_job);
    struct archive *archive = job->archive;
    struct recording *recording = find(archive, job->recording.id);

    archive->counts.written_bytes += job->size;
    recording->is_open = false;
    recording->bytes = job->total;
    archive_announce(archive, recording);
    if (job->result < 0) {
        forget(archive, recording->id);
        fail(archive, "end a clip", job->result);
    } else {
        archive->counts.written_clips++;
    }
    free_job(job);
}

void archive_finish(struct archive *archive, struct growing_file *file)
{
    struct archive_job *job = new_job(archive, run_finish, finish_done);
    struct recording *recording = find(archive, growing_file_id(file));

    recording->is_closing = true;
    job->file = file;
    job->recording = *recording;
    disk_thread_push(archive->writer, &job->job);
}

static void run_put_picture(struct disk_job *disk_job)
{
    struct archive_job *job = archive_job_of(disk_job);

    job->result =
        storage_put_picture(job->storage, &job->recording, job->payload + job->offset, job->size);
}

static void put_picture_done(struct disk_job *disk_job)
{
    struct archive_job *job = archive_job_of(disk_job);
    struct archive *archive = job->archive;
    struct recording *recording = find(archive, job->recording.id);

    archive->counts.waiting_bytes -= job->size;
    if (job->result == 0 && recording) {
        archive->counts.written_bytes += job->size;
        recording->has_picture = true;
        archive_announce(archive, recording);
    } else if (job->result < 0) {
        fail(archive, "write a picture", job->result);
    }
    free_job(job);
}

void archive_put_picture(struct archive *archive, uint64_t id, uint8_t *payload, size_t offset,
                         size_t size)
{
    const struct recording *recording = find(archive, id);
    struct archive_job *job;

    if (!recording || archive->state != RECORD_READY ||
        archive->counts.waiting_bytes + size > ARCHIVE_WAITING_MAX) {
        free(payload);
        return;
    }
    archive->counts.waiting_bytes += size;
    job = new_job(archive, run_put_picture, put_picture_done);
    job->recording = *recording;
    job->payload = payload;
    job->offset = offset;
    job->size = size;
    disk_thread_push(archive->writer, &job->job);
}

// Questions
// ---------------------------------------------------------------------

static bool is_asked_for(const struct recording *recording, const struct record_list *question)
{
    return (!question->to_wall_ns || recording->start_wall_ns < question->to_wall_ns) &&
           recording->end_wall_ns >= question->from_wall_ns &&
           (!question->camera[0] || strcmp(recording->camera, question->camera) == 0);
}

GPtrArray *archive_list(const struct archive *archive, const struct record_list *question)
{
    guint most = question->count ? MIN(question->count, RECORD_LIST_MAX) : RECORD_LIST_MAX;
    guint place =
        question->before_id ? place_of(archive, question->before_id) : archive->clips->len;
    GPtrArray *found = g_ptr_array_new();

    while (place-- > 0 && found->len < most) {
        struct recording *recording = archive->clips->pdata[place];

        if (is_asked_for(recording, question)) {
            g_ptr_array_add(found, recording);
        }
    }
    return found;
}

static void run_change(struct disk_job *disk_job)
{
    struct archive_job *job = archive_job_of(disk_job);

    if (job->action == RECORD_DELETE) {
        job->result = storage_remove(job->storage, &job->recording);
    } else {
        job->result = storage_keep(job->storage, &job->recording, job->action == RECORD_KEEP);
    }
}

static void change_done(struct disk_job *disk_job)
{
    struct archive_job *job = archive_job_of(disk_job);
    struct archive *archive = job->archive;
    struct recording *recording = find(archive, job->recording.id);

    if (!recording) {
        job->result = -ENOENT;
    } else if (job->result < 0) {
        recording->is_leaving = false;
        fail(archive, "change a clip", job->result);
    } else if (job->action == RECORD_DELETE) {
        archive->counts.deleted_clips++;
        forget(archive, recording->id);
    } else {
        recording->is_kept = job->action == RECORD_KEEP;
        archive_announce(archive, recording);
    }
    if (job->answer) {
        job->answer(job->context, job->request, job->result);
    }
    free_job(job);
}

void archive_change(struct archive *archive, uint64_t id, enum record_action action,
                    uint32_t request, archive_answer *answer, void *context)
{
    struct recording *recording = find(archive, id);
    bool keep = action == RECORD_KEEP;
    struct archive_job *job;

    if (!recording || recording->is_leaving) {
        answer(context, request, -ENOENT);
    } else if (action == RECORD_DELETE && recording->is_open) {
        answer(context, request, -EBUSY);
    } else if (action != RECORD_DELETE && recording->is_open && !recording->is_closing) {
        recording->is_kept = keep; // it gets the name when it is finished
        answer(context, request, 0);
    } else if (action != RECORD_DELETE && recording->is_kept == keep) {
        answer(context, request, 0);
    } else {
        recording->is_leaving = action == RECORD_DELETE;
        job = new_job(archive, run_change, change_done);
        job->recording = *recording;
        job->action = action;
        job->request = request;
        job->answer = answer;
        job->context = context;
        disk_thread_push(archive->writer, &job->job);
    }
}

static int open_to_read(const struct archive_job *job)
{
    if (job->action) {
        return storage_open_file(job->storage, &job->recording, RECORDING_PICTURE, O_RDONLY);
    }
    int fd = storage_open_file(job->storage, &job->recording, RECORDING_VIDEO, O_RDONLY);
    // It may have got its name since, or not yet.
    return fd != -ENOENT
               ? fd
               : storage_open_file(job->storage, &job->recording, RECORDING_PART, O_RDONLY);
}

static void run_read(struct disk_job *disk_job)
{
    struct archive_job *job = archive_job_of(disk_job);
    _cleanup_(cleanup_close) int fd = open_to_read(job);
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

static void read_done(struct disk_job *disk_job)
{
    struct archive_job *job = archive_job_of(disk_job);

    job->bytes(job->context, job->request, job->result, job->payload,
               job->result < 0 ? 0 : job->size, job->total);
    free_job(job);
}

void archive_read(struct archive *archive, const struct record_read *question,
                  archive_bytes *answer, void *context)
{
    const struct recording *recording = find(archive, question->id);
    struct archive_job *job;

    if (!recording || !archive->storage) {
        answer(context, question->request, -ENOENT, NULL, 0, 0);
        return;
    }
    job = new_job(archive, run_read, read_done);
    job->recording = *recording;
    job->action = question->part;
    job->offset = question->offset;
    job->size = question->size;
    job->request = question->request;
    job->bytes = answer;
    job->context = context;
    disk_thread_push(archive->reader, &job->job);
}

void archive_report(struct archive *archive, struct record_state_report *ret_report)
{
    struct record_state_report report = archive->counts;

    report.state = archive->state;
    report.write_max_ns = MAX(archive->slow_ns, disk_thread_busy_ns(archive->writer));
    for (guint i = 0; i < archive->clips->len; i++) {
        const struct recording *recording = archive->clips->pdata[i];

        report.clips += !recording->is_open;
        report.open_clips += recording->is_open;
        report.kept_clips += recording->is_kept;
        report.clip_bytes += recording->bytes;
    }
    g_strlcpy(report.sentence, archive->sentence, sizeof report.sentence);
    *ret_report = report;
}

struct archive *archive_new(const struct archive_events *events, void *context)
{
    struct archive *archive = g_new0(struct archive, 1);

    archive->events = events;
    archive->context = context;
    archive->clips = g_ptr_array_new_with_free_func(g_free);
    archive->next_id = 1;
    archive->writer = disk_thread_new("writer");
    archive->reader = disk_thread_new("reader");
    return archive;
}

void archive_free(struct archive *archive)
{
    if (archive) {
        disk_thread_free(archive->writer);
        disk_thread_free(archive->reader);
        storage_unref(archive->storage);
        g_ptr_array_unref(archive->clips);
        g_free(archive);
    }
}
