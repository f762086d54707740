#include "daemon/recorder/archive.h"

#include "daemon/common/log.h"
#include "daemon/recorder/clip_faults.h"
#include "daemon/recorder/disk_job.h"
#include "daemon/recorder/retention.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define DATE_WRONG_NS NS_PER_S // so far from the clock, a name is corrected
#define DELETIONS_MAX 64u      // what is to be written waits for so many
// No clip begins while more waits for the disk, because its beginning might be dropped.
#define BEGIN_WAITING_MAX (ARCHIVE_WAITING_MAX / 4 * 3)

struct archive {
    const struct archive_events *events; // NULL: nobody is told any more
    void *context;
    struct disk_thread *writer, *reader; // owned
    struct storage *storage;             // a reference; NULL: it is not open
    struct retention retention;
    enum record_state state;
    char sentence[256];
    int64_t retry_ns; // when the folder is opened again
    bool is_opening, is_measuring, is_writing_index;
    struct library library;
    struct clip_faults faults;
    uint64_t last_clip;    // that ended, until it is known to stay; 0: none
    uint64_t told_picture; // the last clip of which the log said that it gets no picture
    unsigned leaving;      // clips that are being deleted
    struct record_state_report counts;
};

static struct disk_job *new_job(struct archive *archive, void (*run)(void *job),
                                void (*done)(void *job))
{
    struct disk_job *job = disk_job_new(archive->storage, run, done);

    job->archive = archive;
    return job;
}

// State
// ---------------------------------------------------------------------

static void set_state(struct archive *archive, enum record_state state, const char *sentence)
{
    bool is_news = archive->state != state;

    archive->state = state;
    g_strlcpy(archive->sentence, sentence, sizeof archive->sentence);
    if (!is_news)
        return;
    if (state == RECORD_STOPPED) {
        log_error("%s; nothing is recorded, trying again every %d s", sentence,
                  (int)(ARCHIVE_RETRY_NS / NS_PER_S));
        archive->retry_ns = clock_now_ns() + ARCHIVE_RETRY_NS;
        if (archive->events)
            archive->events->stopped(archive->context);
    } else {
        log_notice("recording to %s", archive->retention.limits.path);
    }
    if (archive->events)
        archive->events->state(archive->context);
}

// A job failed at the disk. Unless that is only full, it is let go of, so that it can be unmounted.
static void fail(struct archive *archive, const char *what, int result)
{
    const char *reason =
        result == -ESTALE ? "another folder has taken its place" : strerror(-result);
    g_autofree char *sentence =
        g_strdup_printf("cannot %s in %s: %s", what, archive->retention.limits.path, reason);

    set_state(archive, RECORD_STOPPED, sentence);
    storage_unref(result == -ENOSPC ? NULL : TAKE(archive->storage));
}

// Retention
// ---------------------------------------------------------------------

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
    const struct recording *last = library_find(&archive->library, archive->last_clip);
    uint64_t missing_bytes;

    if (archive->leaving)
        return true;
    g_autoptr(GPtrArray) chosen = retention_choose(&archive->retention, &archive->library,
                                                   &archive->retention.limits, &missing_bytes);
    for (guint i = 0; i < MIN(chosen->len, DELETIONS_MAX); i++) {
        const struct recording *recording = chosen->pdata[i];

        archive_change(archive, recording->id, RECORD_DELETE, 0, ignore_answer, NULL);
    }
    if (last && last->is_leaving) {
        clip_faults_lack_room(&archive->faults, &archive->library, archive->retention.limits.path);
    } else if (last && chosen->len <= DELETIONS_MAX) {
        clip_faults_have_room(&archive->faults);
        archive->last_clip = 0; // it may grow too old one day
    }
    if (missing_bytes) {
        g_autofree char *free_text = g_format_size(archive->retention.free_bytes);
        g_autofree char *missing_text = g_format_size(missing_bytes);
        g_autofree char *sentence =
            g_strdup_printf("only %s are free in %s, %s too few (storage.min_free), and no clip is "
                            "left that may be deleted",
                            free_text, archive->retention.limits.path, missing_text);
        set_state(archive, RECORD_STOPPED, sentence);
    }
    return missing_bytes == 0;
}

static void measure_done(void *context)
{
    struct disk_job *job = context;
    struct archive *archive = job->archive;

    archive->is_measuring = false;
    if (job->result < 0) {
        fail(archive, "find the free space", job->result);
    } else {
        archive->retention.free_bytes = job->free_bytes;
        archive->retention.total_bytes = job->total_bytes;
    }
    if (archive->state == RECORD_READY)
        enforce_limits(archive);
    disk_job_free(job);
}

static void measure(struct archive *archive)
{
    if (archive->state == RECORD_READY && !archive->is_measuring) {
        archive->is_measuring = true;
        disk_thread_push(archive->writer, &new_job(archive, disk_job_measure, measure_done)->task);
    }
}

void archive_try(struct archive *archive, const struct record_storage *limits, uint64_t *ret_clips,
                 uint64_t *ret_bytes)
{
    uint64_t missing_bytes;
    g_autoptr(GPtrArray) chosen =
        retention_choose(&archive->retention, &archive->library, limits, &missing_bytes);

    *ret_clips = chosen->len;
    *ret_bytes = 0;
    for (guint i = 0; i < chosen->len; i++)
        *ret_bytes += recording_stored_bytes(chosen->pdata[i]);
}

// The index
// ---------------------------------------------------------------------

static void note_index(struct archive *archive, int result)
{
    if (result < 0 && archive->library.index_result == 0) {
        log_warning("cannot write index.jsonl in %s: %s; each start reads all clips until it can",
                    archive->retention.limits.path, strerror(-result));
    }
    archive->library.index_result = result;
}

static void write_index_done(void *context)
{
    struct disk_job *job = context;
    struct archive *archive = job->archive;

    archive->is_writing_index = false;
    archive->library.lines = job->library.lines;
    note_index(archive, job->library.index_result);
    disk_job_free(job);
}

static void write_index_if_wanted(struct archive *archive)
{
    if (archive->is_writing_index || !archive->storage || !library_wants_index(&archive->library))
        return;
    struct disk_job *job = new_job(archive, disk_job_write_index, write_index_done);
    archive->is_writing_index = true;
    library_copy(&archive->library, &job->library);
    disk_thread_push(archive->writer, &job->task);
}

static void note_line(struct archive *archive, int result)
{
    archive->library.lines += result == 0;
    note_index(archive, result);
}

// Names
// ---------------------------------------------------------------------

// A copy that says how its file is named when the next job runs.
static struct recording as_named(const struct recording *recording)
{
    struct recording named = *recording;

    named.is_kept = recording->is_named_kept;
    return named;
}

// For a job that may run before or after its clip is renamed, or after that has failed.
static void set_names(struct disk_job *job, const struct recording *recording)
{
    job->recording = as_named(recording);
    job->recording.renamed_from_ns = 0;
    if (recording->renamed_from_ns) {
        job->before = job->recording;
        job->before.start_wall_ns = recording->renamed_from_ns;
    }
}

static void date_done(void *context)
{
    struct disk_job *job = context;
    struct archive *archive = job->archive;
    struct recording *recording = library_find(&archive->library, job->recording.id);

    if (recording)
        recording->renamed_from_ns = 0;
    if (job->result == 0) {
        note_line(archive, job->index_result);
    } else if (recording) {
        recording_date(recording, job->before.wall_offset_ns);
        recording->is_dated = false;
        recording->wall_offset_ns = 0; // so it is not tried again
        log_warning("clip %" PRIu64 " of %s, which began before the clock was set, keeps its name: "
                    "%s",
                    recording->id, clip_faults_view(recording), strerror(-job->result));
    }
    if (recording)
        archive_announce(archive, recording);
    disk_job_free(job);
}

// Gives clips that began before the clock was set the names that they would have got by it. Those
// that are open come later.
static void date_clips(struct archive *archive)
{
    int64_t offset_ns = retention_wall_offset_ns();

    if (archive->state != RECORD_READY || !retention_knows_date(&archive->retention))
        return;
    for (guint i = 0; i < archive->library.clips->len; i++) {
        struct recording *recording = archive->library.clips->pdata[i];

        if (recording->is_dated || recording->is_open || recording->is_leaving ||
            !recording->wall_offset_ns ||
            ABS(offset_ns - recording->wall_offset_ns) < DATE_WRONG_NS) {
            continue;
        }
        struct disk_job *job = new_job(archive, disk_job_date, date_done);
        job->before = as_named(recording);
        recording_date(recording, offset_ns);
        recording->is_dated = true;
        job->recording = as_named(recording);
        recording->renamed_from_ns = job->before.start_wall_ns;
        log_notice("clip %" PRIu64 " of %s began before the clock was set and gets its right name",
                   recording->id, clip_faults_view(recording));
        disk_thread_push(archive->writer, &job->task);
    }
}

// Opening
// ---------------------------------------------------------------------

static void take_library(struct archive *archive, struct disk_job *job)
{
    struct library *library = &archive->library;

    storage_unref(archive->storage);
    archive->storage = TAKE(job->storage);
    archive->retention.free_bytes = job->free_bytes;
    archive->retention.total_bytes = job->total_bytes;
    if (!archive_is_open(archive))
        archive->retention.found_ns = retention_newest(&job->library);
    job->library.next_id = MAX(job->library.next_id, library->next_id);
    note_index(archive, job->library.index_result);
    library_carry_over(&job->library, library);
    library_finish(library);
    *library = job->library;
    job->library.clips = NULL;
    library_log(library, archive->retention.limits.path);
}

static void open_done(void *context)
{
    struct disk_job *job = context;
    struct archive *archive = job->archive;

    archive->is_opening = false;
    archive->retry_ns = clock_now_ns() + ARCHIVE_RETRY_NS;
    if (job->result < 0) {
        set_state(archive, RECORD_STOPPED, job->error.text);
    } else {
        take_library(archive, job);
        if (enforce_limits(archive) && (!job->is_full || archive->leaving))
            set_state(archive, RECORD_READY, "");
        else if (archive->state != RECORD_STOPPED)
            fail(archive, "make a file", -ENOSPC);
    }
    disk_job_free(job);
}

static void open_folder(struct archive *archive)
{
    struct disk_job *job = new_job(archive, disk_job_open, open_done);

    archive->is_opening = true;
    job->path = g_strdup(archive->retention.limits.path);
    job->folder = archive->library.folder;
    disk_thread_push(archive->writer, &job->task);
}

bool archive_configure(struct archive *archive, const struct record_storage *storage)
{
    bool is_first = archive->retention.limits.path[0] == '\0';

    if (!is_first && strcmp(storage->path, archive->retention.limits.path) != 0)
        return false;
    archive->retention.limits = *storage;
    clip_faults_have_room(&archive->faults);
    if (is_first)
        open_folder(archive);
    return true;
}

void archive_tick(struct archive *archive)
{
    if (archive->state == RECORD_STOPPED && !archive->is_opening &&
        clock_now_ns() >= archive->retry_ns) {
        open_folder(archive);
    }
    retention_look_at_clock(&archive->retention);
    date_clips(archive);
    measure(archive);
}

bool archive_is_open(const struct archive *archive)
{
    return archive->library.folder.mark[0] != '\0';
}

// Growing clips
// ---------------------------------------------------------------------

const struct library *archive_library(const struct archive *archive)
{
    return &archive->library;
}

void archive_announce(struct archive *archive, const struct recording *recording)
{
    if (archive->events)
        archive->events->clip(archive->context, recording);
}

static void append_done(void *context)
{
    struct disk_job *job = context;
    struct archive *archive = job->archive;
    struct recording *recording = library_find(&archive->library, job->recording.id);

    archive->counts.written_bytes += job->size;
    if (recording)
        recording->bytes = job->total;
    archive->counts.waiting_bytes -= job->fragment ? job->fragment->bytes : 0;
    if (job->result < 0) {
        archive->counts.lost_units += job->fragment ? job->fragment->units->len : 0;
        if (!job->is_of_clip)
            fail(archive, "write a clip", job->result);
        else if (archive->events)
            archive->events->lost(archive->context, job->recording.id);
    } else if (job->fragment && recording) {
        clip_faults_forget(&archive->faults, recording);
    }
    disk_job_free(job);
}

// A clock that was never set may put the beginning of a clip before 1970, for which there is no
// name.
static void begin_after_1970(struct recording *recording)
{
    recording_date(recording, recording->wall_offset_ns - MIN(recording->start_wall_ns, 0));
    recording->asked_wall_ns = MAX(recording->asked_wall_ns, 0);
}

struct growing_file *archive_begin(struct archive *archive, const struct recording *recording,
                                   const struct mp4_video *video, uint32_t room,
                                   struct recording **ret_recording)
{
    if (archive->state != RECORD_READY || archive->counts.waiting_bytes > BEGIN_WAITING_MAX)
        return NULL;
    struct recording *own = library_add(&archive->library, recording);
    own->wall_offset_ns = retention_wall_offset_ns();
    begin_after_1970(own);
    own->is_open = true;
    own->is_dated = retention_knows_date(&archive->retention);
    struct disk_job *job = new_job(archive, disk_job_begin, append_done);
    job->file = growing_file_new(archive->storage, own, video, room);
    job->recording = *own;
    disk_thread_push(archive->writer, &job->task);
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
    struct disk_job *job = new_job(archive, disk_job_append, append_done);
    job->file = file;
    job->recording.id = growing_file_id(file);
    job->fragment = fragment;
    growing_file_expect(file);
    disk_thread_push(archive->writer, &job->task);
    return 0;
}

static void finish_done(void *context)
{
    struct disk_job *job = context;
    struct archive *archive = job->archive;
    struct recording *recording = library_find(&archive->library, job->recording.id);

    archive->counts.written_bytes += job->size;
    recording->is_open = false;
    recording->bytes = job->total;
    recording->hole_bytes = job->recording.hole_bytes;
    archive_announce(archive, recording);
    if (job->result < 0) {
        if (job->is_of_clip) {
            clip_faults_lose(&archive->faults, recording, archive->retention.limits.path,
                             job->result);
        }
        library_forget(&archive->library, recording->id);
        if (!job->is_of_clip)
            fail(archive, "end a clip", job->result);
    } else {
        archive->counts.written_clips++;
        archive->last_clip = recording->id;
        note_line(archive, job->index_result);
        enforce_limits(archive);
        write_index_if_wanted(archive);
    }
    disk_job_free(job);
}

void archive_finish(struct archive *archive, struct growing_file *file)
{
    struct disk_job *job = new_job(archive, disk_job_finish, finish_done);
    struct recording *recording = library_find(&archive->library, growing_file_id(file));

    recording->is_closing = true;
    job->file = file;
    job->recording = as_named(recording);
    disk_thread_push(archive->writer, &job->task);
}

static void do_nothing(void *context)
{
    (void)context;
}

static void forget_view_done(void *context)
{
    struct disk_job *job = context;

    clip_faults_drop(&job->archive->faults, job->recording.camera, job->recording.view);
    disk_job_free(job);
}

void archive_forget_view(struct archive *archive, const char *camera, const char *view)
{
    struct disk_job *job = new_job(archive, do_nothing, forget_view_done);

    job->recording.camera = camera;
    job->recording.view = view;
    disk_thread_push(archive->writer, &job->task);
}

static void put_picture_done(void *context)
{
    struct disk_job *job = context;
    struct archive *archive = job->archive;
    struct recording *recording = library_find(&archive->library, job->recording.id);

    archive->counts.waiting_bytes -= job->size;
    if (job->result == 0 && recording) {
        archive->counts.written_bytes += job->size;
        recording->picture_bytes = job->size; // it replaces another
        archive_announce(archive, recording);
    } else if (job->result < 0 && !job->is_of_clip) {
        fail(archive, "write a picture", job->result);
    } else if (job->result < 0 && archive->told_picture != job->recording.id) {
        log_warning("clip %" PRIu64 " of %s gets no picture: %s", job->recording.id,
                    clip_faults_view(&job->recording), strerror(-job->result));
        archive->told_picture = job->recording.id;
    }
    disk_job_free(job);
}

void archive_put_picture(struct archive *archive, uint64_t id, uint8_t *payload, size_t offset,
                         size_t size)
{
    const struct recording *recording = library_find(&archive->library, id);

    if (!recording || recording->is_leaving || archive->state != RECORD_READY ||
        archive->counts.waiting_bytes + size > ARCHIVE_WAITING_MAX) {
        free(payload);
        return;
    }
    archive->counts.waiting_bytes += size;
    struct disk_job *job = new_job(archive, disk_job_put_picture, put_picture_done);
    set_names(job, recording);
    job->payload = payload;
    job->offset = offset;
    job->size = size;
    disk_thread_push(archive->writer, &job->task);
}

// Questions
// ---------------------------------------------------------------------

// The clip stays as it is, unless its file is gone.
static void change_failed(struct archive *archive, const struct disk_job *job,
                          struct recording *recording)
{
    bool is_gone = job->result == -ENOENT && !recording->is_open;

    recording->is_leaving = false;
    recording->is_named_kept = recording->is_kept;
    if (!job->is_of_clip) {
        fail(archive, "change a clip", job->result);
        return;
    }
    log_warning("cannot %s clip %" PRIu64 " of %s: %s; %s",
                job->action == RECORD_DELETE ? "delete" : "rename", recording->id,
                clip_faults_view(recording), strerror(-job->result),
                is_gone ? "it is no clip any more" : "leaving it as it is");
    recording->is_stuck |= job->action == RECORD_DELETE;
    if (is_gone)
        library_forget(&archive->library, recording->id);
}

static void change_done(void *context)
{
    struct disk_job *job = context;
    struct archive *archive = job->archive;
    struct recording *recording = library_find(&archive->library, job->recording.id);

    archive->leaving -= job->action == RECORD_DELETE;
    if (!recording) {
        job->result = -ENOENT;
    } else if (job->result < 0) {
        change_failed(archive, job, recording);
    } else if (job->action == RECORD_DELETE) {
        archive->counts.deleted_clips++;
        library_forget(&archive->library, recording->id);
    } else {
        recording->is_kept = job->action == RECORD_KEEP;
        archive_announce(archive, recording);
    }
    if (job->action == RECORD_UNKEEP || job->recording.is_kept)
        clip_faults_have_room(&archive->faults);
    if (job->action == RECORD_DELETE && archive->leaving == 0) {
        measure(archive);
        write_index_if_wanted(archive);
    }
    job->answer(job->context, job->ticket, job->result);
    disk_job_free(job);
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
        struct disk_job *job = new_job(archive, disk_job_change, change_done);

        set_names(job, recording);
        job->file_kind =
            recording->is_open && !recording->is_closing ? RECORDING_PART : RECORDING_VIDEO;
        if (action == RECORD_DELETE) {
            recording->is_leaving = true;
            archive->leaving++;
        } else {
            recording->is_named_kept = action == RECORD_KEEP;
        }
        job->action = action;
        job->ticket = ticket;
        job->answer = answer;
        job->context = context;
        disk_thread_push(archive->writer, &job->task);
    }
}

static void read_done(void *context)
{
    struct disk_job *job = context;

    job->bytes(job->context, job->ticket, job->result, job->payload,
               job->result < 0 ? 0 : job->size, job->total);
    disk_job_free(job);
}

void archive_read(struct archive *archive, const struct record_read *question, uint32_t ticket,
                  archive_bytes *answer, void *context)
{
    const struct recording *recording = library_find(&archive->library, question->id);

    if (!recording || !archive->storage) {
        answer(context, ticket, archive->storage ? -ENOENT : -EIO, NULL, 0, 0);
        return;
    }
    struct disk_job *job = new_job(archive, disk_job_read, read_done);
    job->recording = *recording;
    job->file_kind = question->part == RECORD_STILL ? RECORDING_PICTURE : RECORDING_VIDEO;
    job->offset = question->offset;
    job->size = question->size;
    job->ticket = ticket;
    job->bytes = answer;
    job->context = context;
    disk_thread_push(archive->reader, &job->task);
}

void archive_report(struct archive *archive, struct record_state_report *ret_report)
{
    *ret_report = archive->counts;
    ret_report->state = archive->state;
    ret_report->lost_clips = archive->faults.lost;
    ret_report->write_max_ns =
        MAX(disk_thread_longest_ns(archive->writer), disk_thread_longest_ns(archive->reader));
    ret_report->free_bytes = archive->retention.free_bytes;
    ret_report->total_bytes = archive->retention.total_bytes;
    ret_report->running_ns = clock_now_ns() - archive->retention.started_ns;
    ret_report->syncs = storage_syncs();
    library_count(&archive->library, ret_report);
    g_strlcpy(ret_report->sentence,
              archive->state == RECORD_READY ? clip_faults_sentence(&archive->faults)
                                             : archive->sentence,
              sizeof ret_report->sentence);
}

struct archive *archive_new(const struct archive_events *events, void *context)
{
    struct archive *archive = g_new0(struct archive, 1);

    archive->events = events;
    archive->context = context;
    clip_faults_init(&archive->faults);
    retention_init(&archive->retention);
    library_init(&archive->library);
    archive->writer = disk_thread_new("writer");
    archive->reader = disk_thread_new("reader");
    return archive;
}

void archive_free(struct archive *archive)
{
    if (archive) {
        archive->events = NULL; // their owners are gone
        disk_thread_free(archive->writer);
        disk_thread_free(archive->reader);
        storage_unref(archive->storage);
        library_finish(&archive->library);
        clip_faults_finish(&archive->faults);
        g_free(archive);
    }
}
