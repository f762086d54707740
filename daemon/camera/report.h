// Telemetry: the lane writes what it knows, and the control thread sends it to the front. One lock
// guards it.
//
// Written by the lane thread, read by any.
#pragma once

#include "capture/copies.h"
#include "capture/source.h"
#include "daemon/camera/motion_watch.h"
#include "daemon/link/messages.h"

#include <pthread.h>
#include <stdbool.h>

struct report {
    const struct copies
        *copies;          // of the camera; reported together with the frames they were made for
    pthread_mutex_t lock; // guards all below
    struct link_telemetry telemetry;
    struct source_counters closed; // sums over the sources before this one
    enum link_type end;            // the message with which the process is to end; 0: it is not to
    char end_reason[512];

    // Lane thread only: the window over which fps is measured.
    int64_t window_ns;      // when the frame came at which it begins; 0: none has come
    uint64_t window_frames; // since then
};

// `copies` is the camera's and outlives the report.
void report_init(struct report *report, const struct copies *copies);
void report_finish(struct report *report);

// Returns true when the state or the error has changed. Silence that becomes a lost signal for the
// same reason is no change: it has been told.
bool report_set_state(struct report *report, enum link_camera_state state, const char *error);
// No retry in this process can help. It is to end, and to send the front a message of this type,
// LINK_FATAL, LINK_RESTART or LINK_GPU_FAULT, with this sentence.
void report_set_end(struct report *report, enum link_type type, const char *reason);
// Copies the sentence into `ret_reason` and returns the message's type; 0 while there is none.
enum link_type report_get_end(struct report *report, char *ret_reason, size_t size);

// The source is new, gave a frame at `now_ns` (an fps window's end returns true: a good moment to
// describe the path anew), or is about to be closed; `lost`: because it failed. `patience_ns`: for
// how long no other frame may come, see source_watch_patience_ns().
void report_source_opened(struct report *report);
bool report_source_frame(struct report *report, const struct source *source, int64_t now_ns,
                         int64_t patience_ns);
void report_source_closed(struct report *report, const struct source *source, bool lost);
// The memory path line, and the layout of what the views get.
void report_set_path(struct report *report, const struct frame_layout *picture, const char *path);
// How the regions are now.
void report_set_regions(struct report *report, const struct motion_watch *motion_watch);
// The number of the newest configuration that is in force, or was refused for this reason; "": it
// is in force.
void report_set_configuration(struct report *report, uint32_t number, const char *refusal);

void report_get(struct report *report, struct link_telemetry *ret_telemetry);
