// What the files of the lane share: the struct, and what becomes of the GPU. Lane thread only.
#pragma once

#include "daemon/camera/lane.h"
#include "daemon/camera/schedule.h"
#include "daemon/common/log_limit.h"
#include "kernels/demosaic/demosaic.h"
#include "kernels/flip/flip.h"

#include <pthread.h>
#include <stdatomic.h>

struct lane {
    struct lane_environment environment;
    pthread_t thread;
    bool started;
    int wake_fd; // eventfd
    atomic_bool stopping;
    _Atomic int64_t alive_ns;

    pthread_mutex_t lock;
    struct settings *pending; // a reference, guarded by it: to be gone over to; NULL: none

    // Lane thread only; `next` and `left` are the worker's while that works.
    struct settings *next; // a reference; staged, and waits for encoders
    int next_result;       // of making these
    struct error next_error;
    struct settings *left; // a reference; with encoders to be ended
    pthread_t worker;
    bool worker_started;
    atomic_bool working;
    void (*work)(struct lane *lane); // what the worker does
    struct demosaic *demosaic;       // owned; NULL: frames are pictures
    struct flip *flip;               // owned; NULL: frames are the right way up
    struct frame_layout layout;      // what the views are made for, with its rate
    bool input_surfaces;             // and whether its frames are surfaces
    unsigned fps_numerator, fps_denominator;
    bool decided; // what computes; until then no source is opened
    struct compute_means means;
    struct source_environment source_environment; // of a source while it is open
    struct source *source;                        // owned
    bool fatal;                                   // nothing more can be done
    bool live;                                    // the state, as last reported
    struct log_limit log_limit;
    struct schedule schedule;
    uint64_t source_copies; // copies counted before this source was opened
};

// Closes what there is of a source; `lost`: because it failed.
void lane_close_source(struct lane *lane, bool lost);
// This process can do no more; the front is told why by a message of the type `last_word` with
// `reason`.
void lane_end(struct lane *lane, enum link_type last_word, const char *reason);
// Makes what is in front of the views, these and their encoders fit frames of `mode`. Without an
// encoder (-ENOSYS) the process ends; else what demosaic_new(), flip_new() and view_new() say.
int lane_prepare_channels(struct lane *lane, const struct source_mode *mode, struct error *error);

// Makes the demosaic and the flip that frames of `mode` want, if any, and so the layout of what the
// views get. What demosaic_new() and flip_new() say.
int lane_prepare_picture(struct lane *lane, const struct source_mode *mode, struct error *error);
// Whether there is either of them: the views get a picture that is not the camera's frame.
bool lane_makes_pictures(const struct lane *lane);
// By the demosaic and the flip that there are. *ret_picture is a new reference to what they make of
// `frame`, left alone where all such frames are in use: the frame counts as dropped.
// -ENOTRECOVERABLE: the GPU failed.
int lane_make_picture(struct lane *lane, struct frame *frame, struct error *error,
                      struct frame **ret_picture);
// The steps in the memory path, " -> demosaic -> flip vertical"; empty where there are none.
void lane_describe_picture(const struct lane *lane, char *ret_text, size_t size);

// The memory path: what every frame goes through, as one line.
void lane_describe_path(struct lane *lane, char *ret_path, size_t size);
// Logs why a camera's surfaces are not read in place, if they are not.
void lane_tell_surfaces(const struct lane *lane);

// What views are made from and by, with `layout`, which outlives the result.
struct channel_setup lane_setup(const struct lane *lane, const struct frame_layout *layout);

// Between two frames: adopts the newest settings as far as they are ready.
void lane_follow_settings(struct lane *lane);
// Waits for the thread that makes and ends encoders.
void lane_finish_work(struct lane *lane);

// Handles a failure while the GPU computes. A GPU that does not answer any more is lost; one that
// lacks memory, or something that the views need (`preparing`), leaves them to the CPU. False: it
// is the camera that has failed.
bool lane_blame_gpu(struct lane *lane, int code, bool preparing, const struct error *error);
// Between two frames: begins to compute by CPU or GPU as compute.h has decided.
void lane_follow_compute(struct lane *lane);
