// A supervisor with the fake camera as its process, for the tests of both.
#pragma once

#include "config/config.h"
#include "daemon/front/supervise/supervisor.h"
#include "tests/unit/fake_path.h"
#include "tests/unit/stopwatch.h"
#include "tests/unit/unit.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

#define CAMERA "cameras = ( { name = \"front\"; source = \"pattern\"; } );"

struct fixture {
    char program[600];
    struct config *config;
    char *record; // path of the file in which the processes write what they are told
    struct stream *stream;
    struct stream_reader viewer; // of the stream; {0}: nobody watches
    struct supervisor *supervisor;
    unsigned changes;
    struct motion_event motion[16]; // as told
    size_t motion_count;
};

static inline void on_changed(void *context)
{
    struct fixture *fixture = context;

    fixture->changes++;
}

static inline void on_motion(void *context, const struct motion_event *event)
{
    struct fixture *fixture = context;

    assert_in_range(fixture->motion_count, 0, ARRAY_LENGTH(fixture->motion) - 1);
    fixture->motion[fixture->motion_count++] = *event;
}

static inline gboolean on_tick(gpointer data)
{
    (void)data; // only so that an iteration of the main context ends
    return G_SOURCE_CONTINUE;
}

static inline struct config *parse(const char *text)
{
    struct config *config = NULL;

    assert_int_equal(config_parse(text, "test", stderr, &config), 0);
    return config;
}

static inline int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);

    fake_path("camera/fake_camera", fixture->program);
    fixture->config = parse(CAMERA);
    fixture->record = g_build_filename(g_get_tmp_dir(), "edged-record-XXXXXX", NULL);
    close(g_mkstemp(fixture->record));
    setenv("FAKE_CAMERA_RECORD", fixture->record, 1);
    assert_int_equal(stream_new("/front/edges", &payload_h264, 4000, &fixture->stream), 0);
    const struct supervisor_environment environment = {.program = fixture->program,
                                                       .changed = on_changed,
                                                       .motion = on_motion,
                                                       .context = fixture};
    fixture->supervisor = supervisor_new(fixture->config, 0, &fixture->stream, &environment);
    *state = fixture;
    return 0;
}

static inline void replace_process(struct fixture *fixture)
{
    supervisor_configure(fixture->supervisor, fixture->config, 0, &fixture->stream,
                         CONFIG_COST_CAMERA);
}

static inline int tear_down(void **state)
{
    struct fixture *fixture = *state;

    supervisor_free(fixture->supervisor);
    if (fixture->viewer.ring)
        stream_leave(fixture->stream, &fixture->viewer);
    while (g_main_context_iteration(NULL, FALSE)) {
    }
    stream_unref(fixture->stream);
    unlink(fixture->record);
    g_free(fixture->record);
    config_free(fixture->config);
    free(fixture);
    unsetenv("FAKE_CAMERA");
    unsetenv("FAKE_CAMERA_RECORD");
    return 0;
}

static inline struct supervisor_report describe(struct fixture *fixture)
{
    struct supervisor_report camera;

    supervisor_describe(fixture->supervisor, &camera);
    return camera;
}

typedef bool condition(struct fixture *fixture);

// Runs the main loop until `fulfilled`, which has to last from `least_ns` to `most_ns`.
static inline void wait_within(struct fixture *fixture, condition *fulfilled, int64_t least_ns,
                               int64_t most_ns)
{
    guint tick = g_timeout_add(20, on_tick, NULL);
    int64_t begin_ns = clock_now_ns();

    while (!fulfilled(fixture)) {
        assert_true(clock_now_ns() - begin_ns < PATIENCE_NS);
        g_main_context_iteration(NULL, TRUE);
    }
    g_source_remove(tick);
    assert_lasted(begin_ns, least_ns, most_ns);
}

static inline void wait_until(struct fixture *fixture, condition *fulfilled)
{
    wait_within(fixture, fulfilled, 0, PATIENCE_NS);
}

static inline bool is_live(struct fixture *fixture)
{
    return strcmp(describe(fixture).state, "live") == 0;
}

static inline bool is_failed(struct fixture *fixture)
{
    return strcmp(describe(fixture).state, "failed") == 0;
}

static inline bool is_restarted(struct fixture *fixture)
{
    return describe(fixture).restarts > 0;
}

static inline bool is_stopped(struct fixture *fixture)
{
    return supervisor_is_stopped(fixture->supervisor);
}

static inline bool has_frames(struct fixture *fixture)
{
    struct stream_statistics counted = {0};

    stream_count(fixture->stream, &counted);
    return counted.access_units >= 10;
}

static inline void start(struct fixture *fixture, const char *mood)
{
    setenv("FAKE_CAMERA", mood, 1);
    assert_int_equal(supervisor_start(fixture->supervisor), 0);
}

// Takes all that the stream has.
static inline void take_units(void *viewer)
{
    while (reader_peek(viewer))
        reader_next(viewer);
}

static inline void watch(struct fixture *fixture)
{
    stream_watch(fixture->stream, &fixture->viewer, take_units, &fixture->viewer);
    stream_resume(fixture->stream, &fixture->viewer, DEMAND_BEGIN);
    take_units(&fixture->viewer);
}

// How often a process was told `what`, and which one was the last, unless that is NULL.
static inline unsigned count_told(struct fixture *fixture, const char *what, pid_t *ret_last)
{
    g_autofree char *text = NULL;
    unsigned count = 0;

    assert_true(g_file_get_contents(fixture->record, &text, NULL, NULL));
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line; line++) {
        const char *space = strchr(*line, ' ');

        if (space && strcmp(space + 1, what) == 0) {
            count++;
            if (ret_last)
                *ret_last = atoi(*line);
        }
    }
    return count;
}
