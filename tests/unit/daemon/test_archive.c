// The archive of clips without a recorder around it: what its threads and the main loop share, and
// what of a clip's life no run of the program reaches at will.
#include "daemon/recorder/archive.h"
#include "tests/unit/caught_stderr.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/timex.h>

// x264's: baseline, 176x144; a picture behind its sets.
static const uint8_t unit[] = "\0\0\0\1\x67\x42\x00\x0a\x96\x53\x05\x89\x88"
                              "\0\0\0\1\x68\xce\x38\x80"
                              "\0\0\0\1\x65\x88\x84\x04\x88\x84\x80";
#define UNIT_SIZE (sizeof unit - 1)

// The clock of day, in place of the machine's.
static int64_t wall_ahead_us;
static bool is_synchronized;

gint64 g_get_real_time(void)
{
    return clock_now_ns() / NS_PER_US + wall_ahead_us;
}

int adjtimex(struct timex *about)
{
    (void)about;
    return is_synchronized ? TIME_OK : TIME_ERROR;
}

struct fixture {
    char folder[40];
    struct archive *archive;
    struct mp4_video video;
    uint32_t room; // for the tables of clips
    unsigned stopped, clips;
    unsigned answers;
    int result; // of the last one
};

static void note_stopped(void *context)
{
    ((struct fixture *)context)->stopped++;
}

static void note_state(void *context)
{
    (void)context;
}

static void note_clip(void *context, const struct recording *recording)
{
    (void)recording;
    ((struct fixture *)context)->clips++;
}

static const struct archive_events events = {
    .stopped = note_stopped, .state = note_state, .clip = note_clip};

static void note_answer(void *context, uint32_t ticket, int result)
{
    struct fixture *fixture = context;

    (void)ticket;
    fixture->answers++;
    fixture->result = result;
}

static void note_bytes(void *context, uint32_t ticket, int result, const uint8_t *bytes,
                       size_t size, uint64_t total)
{
    (void)bytes;
    (void)size;
    (void)total;
    note_answer(context, ticket, result);
}

static struct record_state_report report_of(const struct fixture *fixture)
{
    struct record_state_report report;

    archive_report(fixture->archive, &report);
    return report;
}

static void open_archive(struct fixture *fixture)
{
    struct record_storage storage = {.min_free_bytes = 1};

    fixture->archive = archive_new(&events, fixture);
    g_strlcpy(storage.path, fixture->folder, sizeof storage.path);
    assert_true(archive_configure(fixture->archive, &storage));
    storage.max_bytes = 1 << 20; // while the folder is opened
    assert_true(archive_configure(fixture->archive, &storage));
    while (report_of(fixture).state != RECORD_READY)
        g_main_context_iteration(NULL, TRUE);
}

static int set_up(void **state)
{
    struct fixture *fixture = g_new0(struct fixture, 1);

    is_synchronized = false;
    wall_ahead_us = 0;
    fixture->room = 4096;
    strcpy(fixture->folder, "/tmp/edged-archive-XXXXXX");
    assert_non_null(mkdtemp(fixture->folder));
    assert_int_equal(mp4_video_read(&fixture->video, CONFIG_CODEC_H264, unit, UNIT_SIZE), 0);
    open_archive(fixture);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    g_autofree char *command = g_strconcat("rm -r ", fixture->folder, NULL);

    archive_free(fixture->archive);
    assert_int_equal(system(command), 0);
    g_free(fixture);
    return 0;
}

static struct fragment *make_fragment(int64_t captured_ns)
{
    struct fragment *fragment = g_new0(struct fragment, 1);
    const struct footage_unit one = {
        .references = 1,
        .captured_ns = captured_ns,
        .is_key_frame = true,
        .size = UNIT_SIZE,
        .bytes = unit,
    };

    fragment->units = g_ptr_array_new_with_free_func((GDestroyNotify)footage_unit_unref);
    g_ptr_array_add(fragment->units, g_memdup(&one, sizeof one));
    fragment->bytes = UNIT_SIZE;
    fragment->end_ns = captured_ns + NS_PER_S;
    return fragment;
}

static struct growing_file *begin_clip(struct fixture *fixture, int64_t start_wall_ns,
                                       struct recording **ret_recording)
{
    const struct recording recording = {
        .camera = g_intern_static_string("front"),
        .view = g_intern_static_string("plain"),
        .regions = "",
        .start_wall_ns = start_wall_ns,
        .end_wall_ns = start_wall_ns,
    };

    return archive_begin(fixture->archive, &recording, &fixture->video, fixture->room,
                         ret_recording);
}

// Two seconds of video. Returns the id.
static uint64_t write_clip(struct fixture *fixture, int64_t start_wall_ns)
{
    struct recording *recording;
    struct growing_file *file = begin_clip(fixture, start_wall_ns, &recording);

    assert_non_null(file);
    for (int64_t second = 1; second <= 2; second++)
        archive_append(fixture->archive, file, make_fragment(second * NS_PER_S));
    recording->end_wall_ns = recording->start_wall_ns + 2 * NS_PER_S;
    archive_finish(fixture->archive, file);
    return recording->id;
}

static void wait_for_answers(const struct fixture *fixture, unsigned count)
{
    while (fixture->answers < count)
        g_main_context_iteration(NULL, TRUE);
}

// For ThreadSanitizer: jobs of all kinds, and their results, cross between the threads.
TEST(test_clips_are_written_kept_read_and_deleted_side_by_side, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct record_storage storage = {.max_bytes = 1 << 20, .min_free_bytes = 1};
    uint64_t ids[20];

    for (size_t i = 0; i < ARRAY_LENGTH(ids); i++) {
        const struct record_read read = {.size = 100};

        ids[i] = write_clip(fixture, (int64_t)(i + 1) * 10 * NS_PER_S);
        archive_change(fixture->archive, ids[i], RECORD_KEEP, 1, note_answer, fixture);
        archive_change(fixture->archive, ids[i], RECORD_UNKEEP, 2, note_answer, fixture);
        struct record_read question = read;
        question.id = ids[i];
        archive_read(fixture->archive, &question, 3, note_bytes, fixture);
        g_strlcpy(storage.path, fixture->folder, sizeof storage.path);
        archive_configure(fixture->archive, &storage);
        archive_tick(fixture->archive);
    }
    wait_for_answers(fixture, 3 * ARRAY_LENGTH(ids));
    assert_int_equal(report_of(fixture).written_clips, ARRAY_LENGTH(ids));
    assert_int_equal(report_of(fixture).clips, ARRAY_LENGTH(ids));
    for (size_t i = 0; i < ARRAY_LENGTH(ids); i++)
        archive_change(fixture->archive, ids[i], RECORD_DELETE, 4, note_answer, fixture);
    wait_for_answers(fixture, 4 * ARRAY_LENGTH(ids));
    assert_int_equal(fixture->result, 0);
    assert_int_equal(report_of(fixture).clips, 0);
}

TEST(test_a_disk_that_fails_while_the_archive_is_freed_tells_nobody, set_up, tear_down)
{
    struct fixture *fixture = *state;
    const struct rlimit none = {0, RLIM_INFINITY}, all = {RLIM_INFINITY, RLIM_INFINITY};

    catch_stderr();
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0); // each write fails with EFBIG
    write_clip(fixture, NS_PER_S);
    archive_free(TAKE(fixture->archive));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
    release_stderr();
    assert_int_equal(fixture->stopped, 0);
    assert_int_equal(fixture->clips, 0);
}

TEST(test_a_clip_of_a_clock_before_1970_is_found_again, set_up, tear_down)
{
    struct fixture *fixture = *state;
    uint64_t id = write_clip(fixture, -5 * NS_PER_S);

    archive_free(TAKE(fixture->archive));
    open_archive(fixture);
    const struct recording *found = library_find(archive_library(fixture->archive), id);
    assert_non_null(found);
    assert_int_equal(found->start_wall_ns, 0);
    assert_int_equal(found->end_wall_ns, 2 * NS_PER_S);
    assert_int_equal(archive_library(fixture->archive)->ignored, 0);
}

static const struct recording *find_clip(const struct fixture *fixture, uint64_t id)
{
    const struct recording *found = library_find(archive_library(fixture->archive), id);

    assert_non_null(found);
    return found;
}

// The clip lies where its times say, 10 minutes after the clock's 2027-01-15T08:00:00Z of its
// begin.
static void check_dated(const struct fixture *fixture, uint64_t id, bool is_kept)
{
    const struct recording *found = find_clip(fixture, id);
    g_autofree char *path = NULL;
    char name[RECORDING_FILE_SIZE];

    assert_true(found->is_dated);
    assert_int_equal(found->is_kept, is_kept);
    assert_int_equal((found->start_wall_ns + NS_PER_S / 2) / NS_PER_S, 1800000600);
    assert_int_equal(found->end_wall_ns - found->start_wall_ns, 2 * NS_PER_S);
    recording_file_name(found, RECORDING_VIDEO, name);
    path = g_strconcat(fixture->folder, "/front/plain/2027-01-15/", name, NULL);
    assert_int_equal(access(path, F_OK), 0);
}

static void wait_for_lines(const struct fixture *fixture, unsigned lines)
{
    while (archive_library(fixture->archive)->lines < lines)
        g_main_context_iteration(NULL, TRUE);
}

TEST(test_clips_get_their_right_names_when_the_clock_is_set, set_up, tear_down)
{
    struct fixture *fixture = *state;
    g_autofree char *before = g_strconcat(fixture->folder, "/front/plain/1970-01-01", NULL);
    g_autofree char *index = g_strconcat(fixture->folder, "/index.jsonl", NULL);
    struct recording *open;
    uint64_t ids[2];

    wall_ahead_us = -clock_now_ns() / NS_PER_US; // begins with 1970
    struct growing_file *file = begin_clip(fixture, 600 * NS_PER_S, &open);
    ids[0] = write_clip(fixture, 600 * NS_PER_S);
    ids[1] = open->id;
    archive_change(fixture->archive, ids[0], RECORD_KEEP, 1, note_answer, fixture);
    archive_put_picture(fixture->archive, ids[0], g_malloc0(8), 0, 8);
    archive_append(fixture->archive, file, make_fragment(NS_PER_S));
    wait_for_answers(fixture, 1);
    archive_tick(fixture->archive);
    assert_int_equal(find_clip(fixture, ids[0])->start_wall_ns, 600 * NS_PER_S);

    is_synchronized = true;
    wall_ahead_us += INT64_C(1800000000) * 1000000;
    archive_tick(fixture->archive);
    wait_for_lines(fixture, 2);
    check_dated(fixture, ids[0], true);
    assert_int_equal(access(before, F_OK), 0); // of the clip that is open
    open->end_wall_ns = open->start_wall_ns + 2 * NS_PER_S;
    archive_finish(fixture->archive, file);
    wait_for_lines(fixture, 3);
    archive_tick(fixture->archive);
    wait_for_lines(fixture, 4);
    check_dated(fixture, ids[1], false);
    assert_int_equal(access(before, F_OK), -1);
    for (unsigned i = 0; i < 2; i++) { // by the index, then by the files
        archive_free(TAKE(fixture->archive));
        assert_true(i == 0 || unlink(index) == 0);
        open_archive(fixture);
        check_dated(fixture, ids[0], true);
        check_dated(fixture, ids[1], false);
        assert_int_equal(find_clip(fixture, ids[0])->picture_bytes, 8);
        assert_int_equal(archive_library(fixture->archive)->ignored, 0);
    }
}

// Of 1 MiB that may be taken, in clips with a room of 2 MiB each.
TEST(test_room_for_a_table_that_was_not_needed_does_not_count, set_up, tear_down)
{
    struct fixture *fixture = *state;
    g_autofree char *index = g_strconcat(fixture->folder, "/index.jsonl", NULL);

    fixture->room = 2 << 20;
    for (unsigned i = 1; i <= 4; i++)
        write_clip(fixture, i * 10 * NS_PER_S);
    wait_for_lines(fixture, 4);
    for (unsigned i = 0; i < 3; i++) { // as they were written, by the index, by the files
        const struct record_state_report report = report_of(fixture);

        assert_true(find_clip(fixture, 1)->bytes > 2 << 20);
        assert_int_equal(report.clips, 4);
        assert_in_range(report.clip_bytes, 1, 256 << 10);
        archive_free(TAKE(fixture->archive));
        assert_true(i == 0 || unlink(index) == 0);
        open_archive(fixture);
    }
}

// Folders have all the names that the picture may get, to the millisecond.
static void block_pictures(const struct fixture *fixture, uint64_t id)
{
    for (int64_t ms = -50; ms <= 50; ms++) {
        const struct recording recording = {
            .id = id, .start_wall_ns = 1800000600 * NS_PER_S + ms * NS_PER_MS};
        char name[RECORDING_FILE_SIZE];

        recording_file_name(&recording, RECORDING_PICTURE, name);
        g_autofree char *path =
            g_strconcat(fixture->folder, "/front/plain/2027-01-15/", name, NULL);
        assert_int_equal(g_mkdir_with_parents(path, 0700), 0);
    }
}

// Clips 1 to `count`, of a clock that was not set, are about to get their right names, which they
// cannot get, because something has those of their pictures.
static void begin_renames_in_vain(struct fixture *fixture, uint64_t count)
{
    wall_ahead_us = -clock_now_ns() / NS_PER_US;
    for (uint64_t id = 1; id <= count; id++) {
        assert_int_equal(write_clip(fixture, 600 * NS_PER_S), id);
        archive_put_picture(fixture->archive, id, g_malloc0(8), 0, 8);
        block_pictures(fixture, id);
    }
    wait_for_lines(fixture, (unsigned)count);
    is_synchronized = true;
    wall_ahead_us += INT64_C(1800000000) * 1000000;
    archive_tick(fixture->archive);
    for (uint64_t id = 1; id <= count; id++)
        assert_int_equal(find_clip(fixture, id)->renamed_from_ns, 600 * NS_PER_S);
}

TEST(test_a_clip_whose_picture_cannot_get_its_right_name_keeps_its_own, set_up, tear_down)
{
    struct fixture *fixture = *state;
    const struct record_read picture = {.id = 1, .part = RECORD_STILL, .size = 8};
    const struct record_read video = {.id = 1, .part = RECORD_VIDEO, .size = 8};

    catch_stderr();
    begin_renames_in_vain(fixture, 1);
    while (find_clip(fixture, 1)->renamed_from_ns)
        g_main_context_iteration(NULL, TRUE);
    release_stderr();
    archive_read(fixture->archive, &picture, 1, note_bytes, fixture);
    wait_for_answers(fixture, 1);
    assert_int_equal(fixture->result, 0);
    archive_read(fixture->archive, &video, 2, note_bytes, fixture);
    wait_for_answers(fixture, 2);
    assert_int_equal(fixture->result, 0);
    assert_int_equal(find_clip(fixture, 1)->start_wall_ns, 600 * NS_PER_S);
}

// They wait for the disk behind the rename: one is kept, one deleted, one gets a picture.
TEST(test_changes_behind_a_rename_that_fails_are_of_the_clip_as_it_is_named, set_up, tear_down)
{
    struct fixture *fixture = *state;
    const struct record_read picture = {.id = 3, .part = RECORD_STILL, .size = 16};
    g_autofree char *day = g_strconcat(fixture->folder, "/front/plain/1970-01-01", NULL);
    g_autofree char *kept = g_strconcat(day, "/001000.000Z-event-1.keep.mp4", NULL);
    g_autofree char *deleted = g_strconcat(day, "/001000.000Z-event-2.mp4", NULL);

    catch_stderr();
    begin_renames_in_vain(fixture, 3);
    assert_int_equal(access(deleted, F_OK), 0);
    archive_change(fixture->archive, 1, RECORD_KEEP, 1, note_answer, fixture);
    archive_change(fixture->archive, 2, RECORD_DELETE, 2, note_answer, fixture);
    archive_put_picture(fixture->archive, 3, g_malloc0(16), 0, 16);
    wait_for_answers(fixture, 2);
    release_stderr();
    assert_int_equal(fixture->result, 0);
    assert_true(find_clip(fixture, 1)->is_kept);
    assert_int_equal(access(kept, F_OK), 0);
    assert_int_equal(access(deleted, F_OK), -1);
    assert_null(library_find(archive_library(fixture->archive), 2));
    archive_read(fixture->archive, &picture, 3, note_bytes, fixture);
    wait_for_answers(fixture, 3);
    assert_int_equal(fixture->result, 0);
    while (find_clip(fixture, 3)->picture_bytes != 16)
        g_main_context_iteration(NULL, TRUE);
}

// A power cut between the note and the name; then the index is lost. Its day of 1970 is none by
// which it may be too old.
TEST(test_a_clip_whose_rename_was_cut_off_is_not_too_old, set_up, tear_down)
{
    struct fixture *fixture = *state;
    g_autofree char *index = g_strconcat(fixture->folder, "/index.jsonl", NULL);

    catch_stderr();
    begin_renames_in_vain(fixture, 1);
    archive_free(TAKE(fixture->archive));
    assert_int_equal(unlink(index), 0);
    open_archive(fixture);
    release_stderr();
    assert_int_equal(find_clip(fixture, 1)->start_wall_ns, 600 * NS_PER_S);
    assert_false(find_clip(fixture, 1)->is_dated);
}

RUN_TESTS(NULL, NULL)
