// Between source_v4l2.c, which opens and negotiates, source_v4l2_first.c, which finds a device, and
// source_v4l2_frames.c, which hands out frames.
#pragma once

#include "capture/source.h"
#include "capture/v4l2/mjpeg.h"
#include "capture/v4l2/mjpeg_mend.h"
#include "capture/v4l2/v4l2_history.h"
#include "capture/v4l2/v4l2_mode.h"
#include "capture/v4l2/v4l2_queue.h"

struct source_v4l2 {
    struct source source;
    struct config_camera wish;               // its strings are not owned
    const struct frame_allocator *allocator; // not owned
    struct copies *copies;                   // not owned
    struct v4l2_device device;               // owned
    struct v4l2_mode driver;
    struct v4l2_refused refused; // by the USB bus for lack of bandwidth, or when opened
    struct v4l2_queue queue;     // owned
    struct frame_pool *pool;     // owned reference
    struct mjpeg *mjpeg;         // owned, NULL unless the driver delivers JPEGs
    struct v4l2_history history;
    size_t needed_bytes; // a buffer with fewer holds no picture
};

// Opens the device at `path`. `plain`: only if one of the driver's own formats is a picture.
int source_v4l2_open_at(const char *path, const struct config_camera *wish,
                        const struct source_environment *environment, bool plain,
                        struct error *error, struct source **ret_source);
// Opens the first device that works. -ENODEV: none does.
int source_v4l2_open_first(const struct config_camera *wish,
                           const struct source_environment *environment, struct error *error,
                           struct source **ret_source);

// Waits for the driver until `deadline_ns` (CLOCK_MONOTONIC). Poll events, -EAGAIN when nothing
// happened, else a failure with its sentence.
int source_v4l2_wait(struct source_v4l2 *self, int64_t deadline_ns, struct error *error);

// source_ops.next.
int source_v4l2_next(struct source *source, int timeout_ms, struct error *error,
                     struct frame **ret_frame);
