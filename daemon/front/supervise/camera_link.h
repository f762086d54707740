// The conversation with one camera process: reads its messages on the main loop, checks them,
// feeds the streams, and tells it which views are watched.
#pragma once

#include "config/config.h"
#include "daemon/front/stream/stream.h"
#include "daemon/link/messages.h"

#include <stdbool.h>
#include <stddef.h>

struct camera_link;

// Called on the main loop.
struct camera_link_events {
    void (*telemetry)(void *context, const struct link_telemetry *telemetry);
    void (*motion)(void *context, const struct link_event *event); // began or ended
    void (*slate)(void *context);                                  // one more was taken by a stream
    // The process ends, and says why; no retry can help where that is `fatal`.
    void (*ending)(void *context, bool fatal, const char *sentence);
    // A thread of the process hangs in that encoder; `ended` follows.
    void (*encoder_hung)(void *context, enum config_encoder encoder);
    // The last call: the other end is gone (-EPIPE), does not speak the protocol (-EPROTO,
    // `sentence` says how), has lost its GPU and ends (-ENODEV, `sentence` says why), hangs in an
    // encoder and ends (-EDEADLK), or hangs (-ETIME): it says so, or has sent no telemetry for 5 s,
    // the first for a minute. The handler may free the link.
    void (*ended)(void *context, int reason, const char *sentence);
};

// Listener of a tune. `stream` is that of the view that was tried, NULL where it is gone or none is
// meant. Nothing comes after LINK_TUNE_DONE and LINK_TUNE_FAILED, of which the latter is made up
// where the process ends.
struct camera_link_tuner {
    void (*progress)(void *context, const struct link_tune_progress *progress,
                     const struct stream *stream);
    void *context;
};

// Takes over `fd`. The first message is a configuration.
int camera_link_new(int fd, const struct camera_link_events *events, void *context,
                    struct camera_link **ret_link);
// Sends a configuration; after the first, one that the process can adopt without being replaced.
// `configuration` is all but the numbers of the views; the `count` streams (up to LINK_VIEWS_MAX)
// are those of the views, in the order of `text`, and borrowed until the next configuration.
// -ENOBUFS: the process does not read.
int camera_link_configure(struct camera_link *link, const struct link_configuration *configuration,
                          const char *text, struct stream *const *streams, size_t count);
// Closes the fd. Takes NULL.
void camera_link_free(struct camera_link *link);

// Tells the process whether `stream` is watched, if that changed, else asks for a key frame if
// `key_frame` is set and somebody watches; and for the snapshots that somebody waits for.
void camera_link_update(struct camera_link *link, const struct stream *stream, bool key_frame);
// The process may try the GPU; `backend` is the word of the configuration ("auto").
void camera_link_try_gpu(struct camera_link *link, const char *backend);
// The camera may be asked again now if it has refused the login.
void camera_link_try_camera(struct camera_link *link);
// Has the process tune its kernels, a bit for each enum config_kernel (0: all), of one view or,
// with NULL, of all. -EBUSY: it is tuning already; -ENOENT: it has no such view; -ENOBUFS: it does
// not read.
int camera_link_tune(struct camera_link *link, const struct stream *stream, uint32_t kernels,
                     const struct camera_link_tuner *tuner);
// Stops that; nothing is told any more. Fine where it does not tune.
void camera_link_stop_tune(struct camera_link *link);
// Reads what the socket of a process that is gone still holds, which takes a few calls. Not more,
// because a helper of the process that outlived it may go on sending.
void camera_link_receive_last(struct camera_link *link);

// As status shows it: "live". `state` is an enum link_camera_state.
const char *camera_link_state_name(uint32_t state);
