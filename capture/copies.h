// The count of whole-frame copies, by name. Zero copy is a measured claim: every place that copies
// or converts a whole frame outside a view counts it here, and status shows the sum per frame.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

struct frame;
struct frame_layout;

enum copy_kind {
    COPY_MMAP_FALLBACK,      // driver buffer to pool frame, where USERPTR is refused
    COPY_MJPEG_DECODE,       // a JPEG decoded into a pool frame
    COPY_LIBV4L_CONVERT,     // a format libv4l2 converts
    COPY_GSTREAMER_FALLBACK, // upstream ignored the offered pool
    COPY_VIC_CONVERT,        // by a Jetson's VIC, of what its camera stack delivers
    COPY_CLIP_PAUSE,         // a clip's picture shown again until the next one is due
    COPY_PRIVACY,            // a lent frame, of which a part is blackened
    COPY_FLIP,               // pictures flipped into frames of their own
    COPY_ENCODER_CONVERT,    // the encoder takes no NV12, no whole size, or no strides of ours
    COPY_ENCODER_UPLOAD,     // by the encoder of a GPU on a card, into the GPU's memory
    COPY_NVMM_COPY,          // by the CPU, into NVMM or out of it
    COPY_VIC_TRANSFORM,      // by a Jetson's VIC, within NVMM, on the way into its encoder
    COPY_KIND_COUNT,
};

struct copies {
    _Atomic uint64_t count[COPY_KIND_COUNT];
};

// "mmap-fallback", "mjpeg-decode", …
const char *copy_kind_name(enum copy_kind kind);
void copies_count(struct copies *copies, enum copy_kind kind);
uint64_t copies_total(const struct copies *copies);
// Copies every plane of a picture laid out as `source_layout` at `data` into `frame`, counted once.
// Format, width and height must be those of the frame; offsets and strides may differ.
void copies_copy_frame(struct copies *copies, enum copy_kind kind, struct frame *frame,
                       const struct frame_layout *source_layout, const uint8_t *data);
