// The target of bench and tune: a camera's views, and the pictures it delivers.
#pragma once

#include "capture/frame.h"
#include "config/config.h"
#include "daemon/ctl/arguments.h"

// The formats of pictures in memory, as pixel_format.h has them.
#define BENCH_TARGET_FORMATS "YUYV, UYVY, NV12, NV21, YU12, 422P, 444P, GREY, RGB3, BGR3, XR24"

// For struct command_option: *result is the format of a struct bench_target_request.
int bench_target_format_parse(const char *text, void *result);

struct bench_target_request {
    const char *config_path;  // NULL: the built-in defaults
    const char *camera;       // name; NULL: the first
    const char *view;         // name; NULL: all
    const char *format;       // one of BENCH_TARGET_FORMATS; NULL: as below
    struct picture_size size; // {0, 0}: as below
    bool all_kinds;           // without a configuration: a view of every kind
    bool ask_daemon;          // ask the running edged first, if there is one
};

struct bench_target {
    struct config *config; // owned; with the settings that are kept over its file
    const struct config_camera *camera;
    const struct config_view *views[16];
    size_t view_count;
    struct frame_layout input; // of the camera's pictures
    char origin[640];          // who says so: "the configuration", …
};

// Finds out the target without opening a camera. Settings that the request leaves open come from
// the running edged, else from the clip if that is the source, else from the configuration. -EINVAL
// (the problems of the configuration are on stderr already and `error` is empty; no such camera or
// view; a format that only a camera can tell), errors of config_load(). End it with
// bench_target_finish() in any case.
int bench_target_init(struct bench_target *target, const struct bench_target_request *request,
                      struct error *error);
void bench_target_finish(struct bench_target *target);
