// Shared by the tests of the V4L2 source: the fake camera, linked into the program, where its
// functions win over libv4l2's, and the ways to open it.
#pragma once

#include "tests/unit/unit.h"

#include "capture/source.h"

#include <errno.h>
#include <fcntl.h>
#include <libv4l2.h>
#include <linux/videodev2.h>
#include <string.h>

// Last, for it is the code of the camera.
#include "tests/fakes/v4l2/fake_v4l2.c" // NOLINT(bugprone-suspicious-include)

static struct copies copies;

// The camera's own settings: 64x48 at 30 frames/s, whatever format.
static inline struct config_camera camera_wish(void)
{
    return (struct config_camera){
        .name = (char *)"front",
        .source = CONFIG_SOURCE_V4L2,
        .device = (char *)"/dev/video0",
        .format = (char *)"auto",
        .width = 64,
        .height = 48,
        .fps = 30,
    };
}

static const struct frame_allocator *source_allocator; // NULL: the host's

// Opens the camera that `camera` describes, as in EDGED_FAKE_V4L2.
static inline int open_source(const char *camera, const struct config_camera *wish,
                              struct error *error, struct source **ret_source)
{
    struct source_environment environment = {
        source_allocator ? source_allocator : frame_allocator_host(), &copies, NULL};

    setenv("EDGED_FAKE_V4L2", camera, 1);
    memset(&copies, 0, sizeof copies);
    *error = (struct error){0};
    return source_v4l2_ops.open(wish, &environment, error, ret_source);
}

static inline struct source *start_source(const char *camera, const struct config_camera *wish)
{
    struct source *source = NULL;
    struct error error;
    int r = open_source(camera, wish, &error, &source);

    if (r < 0)
        fail_msg("%s: %s", camera, error.text);
    assert_int_equal(source_v4l2_ops.start(source, &error), 0);
    return source;
}

static inline struct frame *next_frame(struct source *source)
{
    struct frame *frame = NULL;
    struct error error = {0};
    int r = source_v4l2_ops.next(source, 2000, &error, &frame);

    if (r < 0)
        fail_msg("%s", r == -EAGAIN ? "no frame in 2 s" : error.text);
    return frame;
}

static inline void close_source(struct source *source)
{
    source_v4l2_ops.close(source);
}
