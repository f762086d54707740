// Opens sources for tests and waits for their frames.
#pragma once

#include "tests/unit/unit.h"

#include "capture/source.h"
#include "tests/unit/stopwatch.h"

#include <errno.h>
#include <string.h>

struct harness {
    struct copies copies;
    struct source_environment environment;
    struct config_camera camera;
    struct error error;
    struct source *source;
};

static inline void harness_init(struct harness *harness)
{
    *harness = (struct harness){
        .camera = {.name = (char *)"front",
                   .device = (char *)"",
                   .pipeline = (char *)"",
                   .path = (char *)"",
                   .format = (char *)"auto",
                   .width = 320,
                   .height = 240,
                   .fps = 30},
    };
    harness->environment = (struct source_environment){.allocator = frame_allocator_host(),
                                                       .copies = &harness->copies};
}

static inline int harness_open(struct harness *harness, const struct source_ops *ops)
{
    return ops->open(&harness->camera, &harness->environment, &harness->error, &harness->source);
}

static inline void harness_start(struct harness *harness, const struct source_ops *ops)
{
    if (harness_open(harness, ops) < 0)
        fail_msg("open: %s", harness->error.text);
    assert_int_equal(source_start(harness->source, &harness->error), 0);
}

// The next frame, which has to come.
static inline struct frame *harness_next(struct harness *harness)
{
    struct frame *frame = NULL;
    int r = source_next(harness->source, (int)(PATIENCE_NS / NS_PER_MS), &harness->error, &frame);

    if (r < 0)
        fail_msg("next: %s: %s", strerror(-r), harness->error.text);
    return frame;
}

static inline void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" does not say \"%s\"", text, part);
}
