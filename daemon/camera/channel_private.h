// What the files of a channel share: the struct. Everything but the atomics belongs to the lane
// thread; but while encoders are made for staged settings, `next.encoder` belongs to the thread
// that makes it.
#pragma once

#include "daemon/camera/channel.h"
#include "daemon/camera/encoder.h"
#include "daemon/common/mask_file.h"
#include "kernels/graph/view.h"

#include <stdatomic.h>

// What a channel works with; all owned but settings, GPU, allocator and surfaces.
struct channel_parts {
    const struct config_view *settings;
    struct view *view; // made for the next four
    struct frame_layout input;
    bool input_surfaces;
    struct gpu *gpu;
    const struct frame_allocator *allocator;
    struct gpu_surfaces *surfaces;
    struct mask_stamp masks[3]; // of the pictures that limit the view and the sides of a split
    struct encoder *encoder;
    struct frame_pool *slate_pool;   // the encoder's size and range
    bool lacks_surfaces;             // the encoder reads by the CPU: there were none for the slates
    struct encoder_settings refused; // that no encoder worked with, or zero
    struct error refusal;            // why
};

struct channel {
    atomic_uint references;
    uint32_t number;
    const struct channel_environment *environment;

    bool active;                  // watched as this frame began
    bool begun;                   // a picture is being made
    struct link_access_unit life; // of the picture that was begun
    struct channel_parts now;
    struct channel_parts next; // staged; without a view or an encoder the one that is there stays
    struct encoder_settings next_encoder; // of the encoder to be made
    bool staged, encoder_wanted;
    struct channel_parts old; // an encoder to be ended
    struct error mask_error;  // why the view's mask cannot be read, as last logged
    struct error told;        // why no encoder works, as last taken

    atomic_bool watched, key_frame_wanted;
    atomic_bool gap; // a unit was lost on the link: nothing decodes until a key frame
    _Atomic uint64_t encoded, dropped;
    _Atomic(const char *) encoder_name; // a literal
    _Atomic(const char *) governed;     // a literal
};

// Makes encoder and slate pool of `parts`, whose surfaces are those of the view, or notes in it
// that these settings were refused. -ENOSYS: no encoder works; -ENOMEM.
int channel_make_encoder(struct channel *channel, const struct encoder_settings *settings,
                         struct channel_parts *parts, struct error *error);
// Draws the NO SIGNAL picture, as slate_draw(), where the encoder sees it. What keeps the CPU from
// a surface.
int channel_draw_slate(const struct channel *channel, struct frame *frame, int64_t seconds,
                       struct error *error);

// Encoder's thread: hands a unit to the link.
void channel_send_unit(void *context, const struct encoder_unit *unit);
