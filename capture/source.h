// Where frames come from: V4L2, GStreamer, a clip, RTSP, the moving pattern, behind one ops table.
//
// Life: source_open() finds and negotiates, source_start() streams, source_next() hands out frames
// until it fails, source_close() ends it all. Any failure means close and open again: nothing is
// re-queued after an error. Used by one thread (the lane).
#pragma once

#include "capture/copies.h"
#include "capture/frame_pool.h"
#include "config/config.h"

struct source;

// Services of the process for its sources. Not owned; outlives the source.
struct source_environment {
    const struct frame_allocator *allocator;
    struct copies *copies;
    const struct frame_allocator *surfaces; // adopts a Jetson camera's own; NULL: nothing does
};

// The negotiated mode.
struct source_mode {
    struct frame_layout layout;
    unsigned fps_numerator, fps_denominator;
    bool surfaces; // frames are surfaces of the environment's, not memory of its allocator
    bool flipped; // the source does what the configuration's flip says; else it is still to be done
    // First half of the memory path line: "V4L2 USERPTR YUYV 1280x720@30".
    char description[128];
};

struct source_counters {
    uint64_t frames;    // handed out
    uint64_t dropped;   // sequence gaps, and frames skipped because all pool frames were in use
    uint64_t corrupted; // error flags and broken JPEGs, not handed out
};

struct source_ops {
    // -ESTALE: this process cannot open it any more, and a new one perhaps can. -EKEYREJECTED: the
    // camera refuses the login, and does so until a person changes something.
    int (*open)(const struct config_camera *camera, const struct source_environment *environment,
                struct error *error, struct source **ret_source);
    int (*start)(struct source *source, struct error *error);
    int (*next)(struct source *source, int timeout_ms, struct error *error,
                struct frame **ret_frame);
    void (*close)(struct source *source); // stops first; takes half-built objects
};

extern const struct source_ops source_v4l2_ops; // device "" is the first that works
extern const struct source_ops source_gstreamer_ops;
extern const struct source_ops source_file_ops;
extern const struct source_ops source_pattern_ops;
extern const struct source_ops source_rtsp_ops;
extern const struct source_ops source_argus_ops;

// Writes `caption` (not copied) across the pictures of a source of source_pattern_ops, if they are
// NV12.
void source_pattern_set_caption(struct source *source, const char *caption);

// Embedded first in every source.
struct source {
    const struct source_ops *ops;
    struct source_mode mode;
    struct source_counters counters;
    // Why frames are no surfaces, or not the camera's own, although something adopts those.
    struct error surfaces_missed;
    // Why a V4L2 driver does not write into frames; "": it does, or nobody asked for that.
    struct error userptr_missed;
    // Times that a source knows better than the mode's rate does; 0: not known. A camera that sends
    // data is not silent until then, on CLOCK_MONOTONIC, though there is no frame; and the time
    // from one picture to the next, as measured.
    int64_t patient_until_ns, period_ns;
    // Frames come in order, and may come in bursts, if the next one is taken until then, on
    // CLOCK_MONOTONIC; 0: the newest one comes.
    int64_t in_order_until_ns;
    // source_next(), or the CPU's access to its frame, failed with one: the source should be opened
    // again without what adopts them.
    bool surface_failed;
};

// Fills in mode->description from the rest: "LABEL NV12 1280x720@30".
void source_mode_describe(struct source_mode *mode, const char *label);

// Opens what `camera` asks for and negotiates the nearest format, size and rate to the wish, whose
// width and height are those of the flipped picture.
// "auto" takes the first V4L2 device that delivers a known format, else the pattern, on which it
// writes NO CAMERA.
// Errors carry a sentence that names the device and what is allowed: -ENOENT or -ENODEV (missing),
// -EBUSY (another program streams from it), -EACCES, -EINVAL (not a capture device, bad pipeline),
// -ENOTSUP (no format in common), -ETIMEDOUT (a pipeline that delivers nothing),
// -ENODATA (clip unreadable).
int source_open(const struct config_camera *camera, const struct source_environment *environment,
                struct error *error, struct source **ret_source);
// May settle on another format, and then changes the mode, when the best one cannot be streamed.
// The strings of source_open()'s `camera` and the environment's allocator must still be there.
// -ENOSPC: not enough USB bandwidth.
int source_start(struct source *source, struct error *error);
// Waits up to `timeout_ms` for the newest frame; older ones that piled up are dropped and counted.
// Of a network camera or a pipeline it is the next frame, while in_order_until_ns says so. The
// caller owns the reference. -EAGAIN: nothing came in time, ask again. Anything else ends the
// source: -ENODEV (unplugged), -EIO, -EPIPE (pipeline error), -ENODATA (clip unreadable).
int source_next(struct source *source, int timeout_ms, struct error *error,
                struct frame **ret_frame);
// Takes NULL.
void source_close(struct source *source);

static inline void cleanup_source(struct source **source)
{
    source_close(*source);
}
