// One view of a camera on its way to the front: the view, its encoder and its slate.
//
// The lane thread runs frames through it; the control thread says whether anybody watches and when
// a key frame or a snapshot is wanted; encoded units leave over the link from the encoder's thread,
// and JPEGs from that of the snapshots.
#pragma once

#include "board/board.h"
#include "capture/copies.h"
#include "capture/frame_pool.h"
#include "config/config.h"
#include "daemon/link/link.h"
#include "kernels/graph/graph.h"
#include "kernels/stage/pool.h"

#include <stdbool.h>

struct channel;
struct gpu_surfaces;
struct snapshots;

struct channel_environment {
    const char *camera; // its name, for the slate
    struct link *link;
    struct copies *copies;
    struct encoder_watches *encoders;
    struct snapshots *snapshots;
    struct graph *graph;               // what the camera's views have in common
    const struct board_profile *board; // static
};

// The input of a view and the means to compute it.
struct channel_setup {
    const struct frame_layout *input;
    bool input_surfaces; // frames are surfaces
    unsigned fps_numerator, fps_denominator;
    struct gpu *gpu;                         // NULL: the CPU
    struct pool *pool;                       // for what the CPU computes; outlives the channel
    const struct frame_allocator *allocator; // of the view's pictures
    struct gpu_surfaces *surfaces; // for pictures that a Jetson's encoder takes; NULL: none
};

// `number` is what messages call the view. The environment outlives the channel. -ENOMEM.
int channel_new(uint32_t number, const struct channel_environment *environment,
                struct channel **ret_channel);
struct channel *channel_ref(struct channel *channel);
// The last reference to a channel that has computed pictures is dropped by the lane, or after the
// lane has ended. Takes NULL.
void channel_unref(struct channel *channel);
uint32_t channel_number(const struct channel *channel);

// Lane thread. Sets the first settings; they outlive the channel, or the change to others.
void channel_begin_settings(struct channel *channel, const struct config_view *settings);
// Lane thread. Builds the view for `setup` and, when the picture it makes has another size, range
// or colour than before, an encoder, whose first two units go to the front as slate. Does nothing
// when all fits already. -ENOSYS: no encoder works, and none is tried again until channel_forget()
// or with other settings; else what view_new() says.
int channel_prepare(struct channel *channel, const struct channel_setup *setup,
                    struct error *error);
// Lane thread. Takes why no encoder works, each reason once; false: nothing is to be told.
bool channel_take_refusal(struct channel *channel, struct error *ret_why);
// Lane thread. Prepares other settings, or the same once more, (stages them) while the old ones
// run: builds a view for `setup` if they ask for another one. Errors as above. Staged settings are
// committed or aborted before the next change is staged.
int channel_stage(struct channel *channel, const struct config_view *settings,
                  const struct channel_setup *setup, struct error *error);
// Lane thread. Whether the encoder has failed: the next change, of the same settings if there are
// no others, makes it again, and after a second failure within a minute the next one that works.
bool channel_has_lost_encoder(const struct channel *channel);
// Whether the staged settings need another encoder; if so, the second function makes it, in any
// thread, for which the lane waits before it commits or aborts. Its first two units go to the front
// as slate. -ENOSYS as above.
bool channel_wants_encoder(const struct channel *channel);
int channel_stage_encoder(struct channel *channel, struct error *error);
// Lane thread. Puts the staged settings in force from the next frame on; or drops them.
void channel_commit(struct channel *channel);
void channel_abort(struct channel *channel); // fine where nothing is staged
// Lane thread. The view was taken out of the configuration.
void channel_close(struct channel *channel);
// Encoders that these functions leave behind are ended only here: by any thread, before the next
// change is staged.
bool channel_has_old_encoder(const struct channel *channel);
void channel_end_old_encoder(struct channel *channel);

// Lane thread. To be called before the first of a camera's channels runs a frame: notes for all of
// that frame whether somebody watches, and there is an encoder for it, or wants a snapshot, or
// wanted one a second ago. Returns whether it is so.
bool channel_begin(struct channel *channel);
// Lane thread. Frames come from another source now, or after a pause: the next one is not compared
// with the one before, and where no encoder worked one is looked for again.
void channel_forget(struct channel *channel);
// Lane thread. Begins the picture of one frame if somebody watches. On a GPU the work is only
// queued, and the frame then belongs to the GPU. -ENOTRECOVERABLE: the GPU failed.
int channel_begin_picture(struct channel *channel, struct frame *frame, struct error *error);
// Lane thread. Waits for the picture that was begun, if one was, encodes it where somebody watches,
// and has the snapshots made of it that are wanted. -ENOTRECOVERABLE
// as above. If the encoder fails, this view alone has no more pictures, until another is committed.
int channel_end_picture(struct channel *channel, struct error *error);
// Lane thread. Instead of channel_end_picture(), when the GPU is lost.
void channel_drop_picture(struct channel *channel);
// Lane thread. The maker of the pictures. CHANNEL_MAKER_NONE: the frame itself goes to the encoder,
// and must not change sides any more.
enum channel_maker { CHANNEL_MAKER_GPU, CHANNEL_MAKER_CPU, CHANNEL_MAKER_NONE };
enum channel_maker channel_maker(const struct channel *channel);
// Lane thread. Encodes the NO SIGNAL picture when somebody watches.
void channel_run_slate(struct channel *channel, int64_t seconds);

// Any thread.
void channel_set_watched(struct channel *channel, bool watched);
void channel_want_key_frame(struct channel *channel);
// A JPEG of 1 of 2^scale columns and rows, once, of the next picture. Where a picture is compared
// with the one before it, the first after a pause, in which nothing moves, is left out.
void channel_want_snapshot(struct channel *channel, unsigned scale);
bool channel_is_watched(const struct channel *channel);
// Lane thread. Waits until no picture waits for the encoder, or CLOCK_MONOTONIC is past
// `deadline_ns`.
void channel_wait_for_room(struct channel *channel, int64_t deadline_ns);
// Fills in view `index` of the telemetry.
void channel_describe(const struct channel *channel, struct link_telemetry *telemetry,
                      size_t index);

// "" while there is none, LINK_WITHOUT_ENCODER where none works.
const char *channel_encoder_name(const struct channel *channel);

// Lane thread. The steps behind the frames in the memory path, "CUDA sm_87 -> nvmm ->
// nvv4l2h264enc".
void channel_describe_path(const struct channel *channel, char *ret_text, size_t size);
