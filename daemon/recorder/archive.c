#include "daemon/recorder/archive.h"

#include "daemon/common/log.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/timex.h>

#define DELETIONS_MAX 64u // what is to be written waits for so many

// Does jobs that may block, in the order in which the main loop gave them, and hands each back to
// it.
struct disk_thread {
    GThread *id;
    GAsyncQueue *jobs;
    _Atomic int64_t began_ns; // of the job that runs; 0: none
    unsigned unfinished;      // the main loop's: jobs that are not handed back
};

struct archive {
    const struct archive_events *events;
    void *context;
    struct disk_thread writer, reader;
    struct storage *storage; // a reference; NULL: it is not open
    struct record_storage limits;
    enum record_state state;
    char sentence[256];
    int64_t retry_ns; // when the folder is opened again
    bool is_opening, is_measuring;
    struct library library;
    struct library_clock clock;
    int64_t started_ns, found_ns; // as struct library_facts has them
    uint64_t total_bytes;
    unsigned leaving;                  // clips that are being deleted
    struct record_state_report counts; // what it counts, and the free space
    int64_t slow_ns, slow_at_ns;       // the longest job of the last minute
};

// A job with all that any of them needs.
struct archive_job {
    void (*run)(struct archive_job *job);  // in the thread; NULL: the thread ends
    void (*done)(struct archive_job *job); // in the main loop afterwards; frees the job
    struct disk_thread *thread;
    int64_t took_ns;
    struct archive *archive;
    struct storage *storage; // a reference
    struct growing_file *file;
    struct fragment *fragment;  // owned
    struct recording recording; // a copy
    uint8_t *payload;           // owned
    size_t offset, size;
    uint64_t total, free_bytes, total_bytes;
    enum record_action action;
    enum recording_file file_kind; // to be read or renamed
    uint32_t ticket;
    archive_answer *answer;
    archive_bytes *bytes;
    void *context;
    int result;
    bool is_full; // a file system may take no file although it has `free_bytes`
    struct error error;
    const char *path, *mark; // borrowed from the archive
    struct library library;
};

static gboolean hand_back(gpointer data)
{
    struct archive_job *job = data;

    job->thread->unfinished--;
    job->done(job);
    return G_SOURCE_REMOVE;
}

static gpointer work(gpointer data)
{
    struct disk_thread *thread = data;
    struct archive_job *job;

    while ((job = g_async_queue_pop(thread->jobs))->run) {
        int64_t began_ns = clock_now_ns();

        thread->began_ns = began_ns;
        job->run(job);
        thread->began_ns = 0;
        job->took_ns = clock_now_ns() - began_ns;
        g_idle_add_full(G_PRIORITY_DEFAULT, hand_back, job, NULL);
    }
    return NULL;
}

// `name` shows in top.
static void start_thread(struct disk_thread *thread, const char *name)
{
    thread->jobs = g_async_queue_new();
    thread->id = g_thread_new(name, work, thread);
}

// Waits until all jobs are done, in the thread and here.
static void end_thread(struct disk_thread *thread)
{
    static struct archive_job last;

    while (thread->unfinished > 0) {
        g_main_context_iteration(NULL, TRUE);
    }
    g_async_queue_push(thread->jobs, &last);
    g_thread_join(thread->id);
    g_async_queue_unref(thread->jobs);
}

static void push(struct disk_thread *thread, struct archive_job *job)
{
    job->thread = thread;
    thread->unfinished++;
    g_async_queue_push(thread->jobs, job);
}

static struct archive_job *new_job(struct archive *archive, void (*run)(struct archive_job *),
                                   void (*done)(struct archive_job *))
{
    struct archive_job *job = g_new0(struct archive_job, 1);

    job->run = run;
    job->done = done;
    job->archive = archive;
    job->storage = archive->storage ? storage_ref(archive->storage) : NULL;
    return job;
}

static void free_job(struct archive_job *job)
{
    int64_t now_ns = clock_now_ns();
    struct archive *archive = job->archive;

    if (job->took_ns > archive->slow_ns || now_ns - archive->slow_at_ns > 60 * NS_PER_S) {
        archive->slow_ns = job->took_ns;
        archive->slow_at_ns = now_ns;
    }
    fragment_free(job->fragment);
    storage_unref(job->storage);
    free(job->payload);
    library_finish(&job->library);
    g_free(job);
}

// State
// ---------------------------------------------------------------------

static void set_state(struct archive *archive, enum record_state state, const char *sentence)
{
    bool is_news = archive->state != state;

    archive->state = state;
    g_strlcpy(archive->sentence, sentence, sizeof archive->sentence);
    if (!is_news) {
        return;
    }
    if (state == RECORD_STOPPED) {
        log_error("%s; nothing is recorded, trying again every %d s", sentence,
                  (int)(ARCHIVE_RETRY_NS / NS_PER_S));
        archive->retry_ns = clock_now_ns() + ARCHIVE_RETRY_NS;
        archive->events->stopped(archive->context);
    } else {
        log_notice("recording to %s", archive->limits.path);
    }
    archive->events->state(archive->context);
}

// A job failed at the disk. Unless that is only full, it is let go of, so that it can be unmounted.
static void fail(struct archive *archive, const char *what, int result)
{
    g_autofree char *sentence =
        g_strdup_printf("cannot %s in %s: %s", what, archive->limits.path, strerror(-result));

    set_state(archive, RECORD_STOPPED, sentence);
    storage_unref(result == -ENOSPC ? NULL : TAKE(archive->storage));
}

// Retention
// ---------------------------------------------------------------------

static GPtrArray *choose(struct archive *archive, const struct record_storage *limits,
                         uint64_t *ret_missing_bytes)
{
    int64_t now_ns = clock_now_ns();
    bool is_good = library_clock_is_good(&archive->clock, now_ns);
    bool is_new = now_ns - archive->started_ns < LIBRARY_JUMP_NS;
    const struct library_facts facts = {
        .free_bytes = archive->counts.free_bytes,
        .total_bytes = archive->total_bytes,
        .wall_ns = is_good ? g_get_real_time() * NS_PER_US : 0,
        .found_ns = is_new ? archive->found_ns : INT64_MAX,
    };

    return library_choose(&archive->library, limits, &facts, ret_missing_bytes);
}

static void ignore_answer(void *context, uint32_t ticket, int result)
{
    (void)context;
    (void)ticket;
    (void)result;
}

// Deletes what has to go, DELETIONS_MAX clips at a time. Once they are gone, the free space is
// measured and the rest goes. False: the file system is too full even then; recording stops.
static bool enforce_limits(struct archive *archive)
{
    uint64_t missing_bytes;

    if (archive->leaving) {
        return true;
    }
    g_autoptr(GPtrArray) chosen = choose(archive, &archive->limits, &missing_bytes);
    for (guint i = 0; i < MIN(chosen->len, DELETIONS_MAX); i++) {
        const struct recording *recording = chosen->pdata[i];

        archive_change(archive, recording->id, RECORD_DELETE, 0, ignore_answer, NULL);
    }
    if (missing_bytes) {
        g_autofree char *free_text = g_format_size(archive->counts.free_bytes);
        g_autofree char *sentence =
            g_strdup_printf("only %s are free in %s, and no clip is left that may be deleted",
                            free_text, archive->limits.path);
        set_state(archive, RECORD_STOPPED, sentence);
    }
    return missing_bytes == 0;
}

static void run_measure(struct archive_job *job)
{
    job->result = storage_space(job->storage, &job->free_bytes, &job->total_bytes);
}

static void measure_done(struct archive_job *job)
{
    struct archive *archive = job->archive;

    archive->is_measuring = false;
    if (job->result < 0) {
        fail(archive, "find the free space", job->result);
    } else {
        archive->counts.free_bytes = job->free_bytes;
        archive->total_bytes = job->total_bytes;
    }
    if (archive->state == RECORD_READY) {
        enforce_limits(archive);
    }
    free_job(job);
}

static void look_at_clock(struct archive *archive)
{
    struct timex about = {.modes = 0};
    int state = adjtimex(&about);

    library_clock_look(&archive->clock, clock_now_ns(), g_get_real_time() * NS_PER_US,
                       state >= 0 && state != TIME_ERROR);
}

static void measure(struct archive *archive)
{
    if (archive->state == RECORD_READY && !archive->is_measuring) {
        archive->is_measuring = true;
        push(&archive->writer, new_job(archive, run_measure, measure_done));
    }
}

void archive_try(struct archive *archive, const struct record_storage *limits, uint64_t *ret_clips,
                 uint64_t *ret_bytes)
{
    uint64_t missing_bytes;
    g_autoptr(GPtrArray) chosen = choose(archive, limits, &missing_bytes);

    *ret_clips = chosen->len;
    *ret_bytes = 0;
    for (guint i = 0; i < chosen->len; i++) {
        *ret_bytes += recording_stored_bytes(chosen->pdata[i]);
    }
}

// Opening
// ---------------------------------------------------------------------

static void run_open(struct archive_job *job)
{
    storage_unref(TAKE(job->storage));
    job->result = storage_open(job->path, &job->error, &job->is_full, &job->storage);
    if (job->result < 0) {
        return;
    }
    job->result = library_load(job->storage, job->mark, &job->error, &job->library);
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

static void take_library(struct archive *archive, struct archive_job *job)
{
    struct library *library = &archive->library;

    storage_unref(archive->storage);
    archive->storage = TAKE(job->storage);
    archive->counts.free_bytes = job->free_bytes;
    archive->total_bytes = job->total_bytes;
    if (!archive_is_open(archive)) {
        archive->found_ns = library_newest(&job->library);
    }
    job->library.next_id = MAX(job->library.next_id, library->next_id);
    library_finish(library);
    *library = job->library;
    job->library.clips = NULL;
    if (library->recovered) {
        log_notice("made %u clips whole that were open when the recorder or the power failed",
                   library->recovered);
    }
    if (library->ignored) {
        log_warning("left %u files alone that are named like clips: they are copies of others, "
                    "cannot be read, or have numbers far beyond the others",
                    library->ignored);
    }
}

static void open_done(struct archive_job *job)
{
    struct archive *archive = job->archive;

    archive->is_opening = false;
    archive->retry_ns = clock_now_ns() + ARCHIVE_RETRY_NS;
    if (job->result < 0) {
        set_state(archive, RECORD_STOPPED, job->error.text);
    } else {
        take_library(archive, job);
        if (enforce_limits(archive) && (!job->is_full || archive->leaving)) {
            set_state(archive, RECORD_READY, "");
        } else if (archive->state != RECORD_STOPPED) {
            fail(archive, "make a file", -ENOSPC);
        }
    }
    free_job(job);
}

static void open_folder(struct archive *archive)
{
    struct archive_job *job = new_job(archive, run_open, open_done);

    archive->is_opening = true;
    job->path = archive->limits.path;
    job->mark = archive->library.mark;
    push(&archive->writer, job);
}

bool archive_configure(struct archive *archive, const struct record_storage *storage)
{
    bool is_first = archive->limits.path[0] == '\0';

    if (!is_first && strcmp(storage->path, archive->limits.path) != 0) {
        return false;
    }
    archive->limits = *storage;
    if (is_first) {
        open_folder(archive);
    }
    return true;
}

void archive_tick(struct archive *archive)
{
    if (archive->state == RECORD_STOPPED && !archive->is_opening &&
        clock_now_ns() >= archive->retry_ns) {
        open_folder(archive);
    }
    look_at_clock(archive);
    measure(archive);
}

bool archive_is_open(const struct archive *archive)
{
    return archive->library.mark[0] != '\0';
}

// Growing clips
// ---------------------------------------------------------------------

const struct library *archive_library(const struct archive *archive)
{
    return &archive->library;
}

void archive_announce(struct archive *archive, const struct recording *recording)
{
    archive->events->clip(archive->context, recording);
}

static void run_begin(struct archive_job *job)
{
    job->result = growing_file_begin(job->file);
    job->size = growing_file_size(job->file);
}

static void run_append(struct archive_job *job)
{
    uint64_t before = growing_file_size(job->file);

    job->result = growing_file_append(job->file, job->fragment);
    job->size = growing_file_size(job->file) - before;
}

static void append_done(struct archive_job *job)
{
    struct archive *archive = job->archive;
    struct recording *recording = library_find(&archive->library, job->recording.id);

    archive->counts.written_bytes += job->size;
    if (recording) {
        recording->bytes += job->size;
    }
    archive->counts.waiting_bytes -= job->fragment ? job->fragment->bytes : 0;
    if (job->result < 0) {
        archive->counts.lost_units += job->fragment ? job->fragment->units->len : 0;
        fail(archive, "write a clip", job->result);
    }
    free_job(job);
}

struct growing_file *archive_begin(struct archive *archive, const struct recording *recording,
                                   const struct mp4_video *video, struct recording **ret_recording)
{
    if (archive->state != RECORD_READY) {
        return NULL;
    }
    struct recording *own = library_add(&archive->library, recording);
    own->is_open = true;
    own->is_dated = library_clock_is_good(&archive->clock, clock_now_ns());
    struct archive_job *job = new_job(archive, run_begin, append_done);
    job->file = growing_file_new(archive->storage, own, video);
    job->recording = *own;
    push(&archive->writer, job);
    *ret_recording = own;
    return job->file;
}

int archive_append(struct archive *archive, struct growing_file *file, struct fragment *fragment)
{
    if (archive->counts.waiting_bytes + fragment->bytes > ARCHIVE_WAITING_MAX) {
        archive->counts.lost_units += fragment->units->len;
        fragment_free(fragment);
        return -ENOBUFS;
    }
    archive->counts.waiting_bytes += fragment->bytes;
    struct archive_job *job = new_job(archive, run_append, append_done);
    job->file = file;
    job->recording.id = growing_file_id(file);
    job->fragment = fragment;
    growing_file_expect(file);
    push(&archive->writer, job);
    return 0;
}

static void run_finish(struct archive_job *job)
{
    uint64_t before = growing_file_size(job->file);

    job->result = growing_file_finish(job->file, &job->recording);
    job->total = growing_file_size(job->file);
    job->size = job->total - before;
    growing_file_free(TAKE(job->file));
    if (job->result == 0) {
        job->recording.bytes = job->total;
        library_note(job->storage, &job->recording); // a line that is missing is made at a start
    }
}

static void finish_done(struct archive_job *job)
{
    struct archive *archive = job->archive;
    struct recording *recording = library_find(&archive->library, job->recording.id);

    archive->counts.written_bytes += job->size;
    recording->is_open = false;
    recording->bytes = job->total;
    archive_announce(archive, recording);
    if (job->result < 0) {
        library_forget(&archive->library, recording->id);
        fail(archive, "end a clip", job->result);
    } else {
        archive->counts.written_clips++;
        enforce_limits(archive);
    }
    free_job(job);
}

void archive_finish(struct archive *archive, struct growing_file *file)
{
    struct archive_job *job = new_job(archive, run_finish, finish_done);
    struct recording *recording = library_find(&archive->library, growing_file_id(file));

    recording->is_closing = true;
    job->file = file;
    job->recording = *recording;
    push(&archive->writer, job);
}

static void run_put_picture(struct archive_job *job)
{
    job->result =
        storage_put_picture(job->storage, &job->recording, job->payload + job->offset, job->size);
}

static void put_picture_done(struct archive_job *job)
{
    struct archive *archive = job->archive;
    struct recording *recording = library_find(&archive->library, job->recording.id);

    archive->counts.waiting_bytes -= job->size;
    if (job->result == 0 && recording) {
        archive->counts.written_bytes += job->size;
        recording->picture_bytes = job->size; // it replaces another
        archive_announce(archive, recording);
    } else if (job->result < 0) {
        fail(archive, "write a picture", job->result);
    }
    free_job(job);
}

void archive_put_picture(struct archive *archive, uint64_t id, uint8_t *payload, size_t offset,
                         size_t size)
{
    const struct recording *recording = library_find(&archive->library, id);

    if (!recording || archive->state != RECORD_READY ||
        archive->counts.waiting_bytes + size > ARCHIVE_WAITING_MAX) {
        free(payload);
        return;
    }
    archive->counts.waiting_bytes += size;
    struct archive_job *job = new_job(archive, run_put_picture, put_picture_done);
    job->recording = *recording;
    job->payload = payload;
    job->offset = offset;
    job->size = size;
    push(&archive->writer, job);
}

// Questions
// ---------------------------------------------------------------------

static void run_change(struct archive_job *job)
{
    job->result = job->action == RECORD_DELETE
                      ? storage_remove(job->storage, &job->recording)
                      : storage_keep(job->storage, &job->recording, job->file_kind,
                                     job->action == RECORD_KEEP);
}

static void change_done(struct archive_job *job)
{
    struct archive *archive = job->archive;
    struct recording *recording = library_find(&archive->library, job->recording.id);

    archive->leaving -= job->action == RECORD_DELETE;
    if (!recording) {
        job->result = -ENOENT;
    } else if (job->result < 0) {
        recording->is_leaving = false;
        recording->is_kept = job->recording.is_kept;
        fail(archive, "change a clip", job->result);
    } else if (job->action == RECORD_DELETE) {
        archive->counts.deleted_clips++;
        library_forget(&archive->library, recording->id);
    } else {
        recording->is_kept = job->action == RECORD_KEEP;
        archive_announce(archive, recording);
    }
    if (job->action == RECORD_DELETE && archive->leaving == 0) {
        measure(archive);
    }
    job->answer(job->context, job->ticket, job->result);
    free_job(job);
}

void archive_change(struct archive *archive, uint64_t id, enum record_action action,
                    uint32_t ticket, archive_answer *answer, void *context)
{
    struct recording *recording = library_find(&archive->library, id);

    if (!recording || recording->is_leaving || !archive->storage) {
        answer(context, ticket, archive->storage ? -ENOENT : -EIO);
    } else if (action == RECORD_DELETE && recording->is_open) {
        answer(context, ticket, -EBUSY);
    } else {
        struct archive_job *job = new_job(archive, run_change, change_done);

        job->recording = *recording;
        job->file_kind =
            recording->is_open && !recording->is_closing ? RECORDING_PART : RECORDING_VIDEO;
        if (action == RECORD_DELETE) {
            recording->is_leaving = true;
            archive->leaving++;
        } else {
            recording->is_kept = action == RECORD_KEEP; // jobs after this one find that name
        }
        job->action = action;
        job->ticket = ticket;
        job->answer = answer;
        job->context = context;
        push(&archive->writer, job);
    }
}

static void run_read(struct archive_job *job)
{
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

static void read_done(struct archive_job *job)
{
    job->bytes(job->context, job->ticket, job->result, job->payload,
               job->result < 0 ? 0 : job->size, job->total);
    free_job(job);
}

void archive_read(struct archive *archive, const struct record_read *question, uint32_t ticket,
                  archive_bytes *answer, void *context)
{
    const struct recording *recording = library_find(&archive->library, question->id);

    if (!recording || !archive->storage) {
        answer(context, ticket, archive->storage ? -ENOENT : -EIO, NULL, 0, 0);
        return;
    }
    struct archive_job *job = new_job(archive, run_read, read_done);
    job->recording = *recording;
    job->file_kind = question->part == RECORD_STILL ? RECORDING_PICTURE : RECORDING_VIDEO;
    job->offset = question->offset;
    job->size = question->size;
    job->ticket = ticket;
    job->bytes = answer;
    job->context = context;
    push(&archive->reader, job);
}

void archive_report(struct archive *archive, struct record_state_report *ret_report)
{
    int64_t began_ns = archive->writer.began_ns;

    *ret_report = archive->counts;
    ret_report->state = archive->state;
    ret_report->write_max_ns = MAX(archive->slow_ns, began_ns ? clock_now_ns() - began_ns : 0);
    library_count(&archive->library, ret_report);
    g_strlcpy(ret_report->sentence, archive->sentence, sizeof ret_report->sentence);
}

struct archive *archive_new(const struct archive_events *events, void *context)
{
    struct archive *archive = g_new0(struct archive, 1);

    archive->events = events;
    archive->context = context;
    archive->started_ns = clock_now_ns();
    look_at_clock(archive);
    library_init(&archive->library);
    start_thread(&archive->writer, "writer");
    start_thread(&archive->reader, "reader");
    return archive;
}

void archive_free(struct archive *archive)
{
    if (archive) {
        end_thread(&archive->writer);
        end_thread(&archive->reader);
        storage_unref(archive->storage);
        library_finish(&archive->library);
        g_free(archive);
    }
}
