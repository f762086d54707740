// A frame: one picture in one contiguous, page-aligned block of memory, reference counted.
//
// A frame has one writer, the one that took it from its pool. Publishing it (handing out a
// reference) makes it read-only. When the last reference goes it returns to its pool.
// Stages, encoders and sources may hold references from any thread.
#pragma once

#include "capture/pixel_format.h"
#include "config/base.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

// The colours that the code values of a picture stand for, in the numbers of ITU-T H.273, which
// H.264 and MP4 carry as they are. The numbers that edged chooses by itself; sources may say
// others.
enum {
    COLOUR_RGB = 0,         // matrix: none, the values are red, green and blue
    COLOUR_BT709 = 1,       // primaries (sRGB's, too), transfer, matrix
    COLOUR_UNSPECIFIED = 2, // primaries, transfer, matrix
    COLOUR_BT601 = 6,       // primaries, transfer, matrix
    COLOUR_SRGB = 13,       // transfer
};

struct frame_colour {
    uint32_t primaries, transfer, matrix;
};

// The colour of pictures whose source says nothing: sRGB if they are RGB, else BT.601 below 720
// lines and BT.709 from there on.
struct frame_colour frame_colour_default(bool rgb, uint32_t height);
// `said` with what is unspecified in it taken from `otherwise`.
struct frame_colour frame_colour_complete(struct frame_colour said, struct frame_colour otherwise);
// The colour of a picture of `colour` once it is YUV: RGB becomes YUV by the matrix of BT.601,
// whatever its size.
struct frame_colour frame_colour_yuv(struct frame_colour colour);
bool frame_colour_equal(struct frame_colour a, struct frame_colour b);

struct frame_pool;

// Which code values luma uses: 16..235 or 0..255. Signalled to viewers as it is.
enum frame_range { FRAME_RANGE_LIMITED, FRAME_RANGE_FULL };

// How a mosaic's samples become light: those up to `black` are black, and the full range above it
// times a colour's factor becomes 0..255 (kernels/demosaic). All zero for formats that are no
// mosaic.
struct frame_development {
    uint16_t black;          // in samples as they come
    double red, green, blue; // above 0
};

// Geometry of a picture in memory, equal for all frames of a pool.
struct frame_layout {
    const struct pixel_format *format;
    uint32_t width, height; // pixels, both >= 1
    struct {
        size_t offset; // bytes from the start of the block
        size_t stride; // bytes from row to row
        uint32_t width_bytes, rows;
    } planes[PIXEL_FORMAT_PLANES_MAX];
    size_t size; // bytes of the whole block
    enum frame_range range;
    struct frame_colour colour;
    struct frame_development development;
};

// The `stride_align` of pictures of our own, bytes: a cache line.
#define FRAME_STRIDE_ALIGN 64

// Fills a layout with planes one behind the other, each stride rounded up to `stride_align` bytes
// (a power of two). Odd widths and heights round subsampled planes up. Range: limited, full for
// RGB, mosaics and GREY; colour: frame_colour_default(); development: black is 0, the factors
// are 1.
void frame_layout_init(struct frame_layout *layout, const struct pixel_format *format,
                       uint32_t width, uint32_t height, size_t stride_align);

// Whether pictures of both layouts look the same in memory, and mean the same colours.
bool frame_layout_equal(const struct frame_layout *a, const struct frame_layout *b);

// Which processor may touch a frame's memory now. Kinds of memory that both may touch at any time
// only record it.
enum frame_side { FRAME_SIDE_CPU, FRAME_SIDE_GPU };

// A picture in a surface: memory that another part of the chip laid out, each plane of which lies
// somewhere for the CPU and somewhere else for the GPU. The bases are what the offsets of a layout
// count from.
struct frame_surface {
    uintptr_t cpu_bases[PIXEL_FORMAT_PLANES_MAX];
    uint64_t gpu_bases[PIXEL_FORMAT_PLANES_MAX];
    void *handle; // what takes the place of the pixels in a GstBuffer
    size_t handle_size;
};

// Where surfaces come from. `context` is the allocator's. All: 0 or a negative errno; any thread.
struct frame_surface_ops {
    // Changes offsets, strides and size of `layout` to those that surfaces of its format and size
    // have.
    int (*lay_out)(void *context, struct frame_layout *layout, struct error *error);
    // A surface for a picture that is laid out so.
    int (*allocate)(void *context, const struct frame_layout *layout,
                    struct frame_surface **ret_surface);
    // Somebody else's surface, which stays theirs, for as long as it is not released. Lays out
    // `layout`, of which format and size are given, as it is.
    int (*adopt)(void *context, void *handle, struct frame_layout *layout, struct error *error,
                 struct frame_surface **ret_surface);
    void (*release)(void *context, struct frame_surface *surface);
    // For frame_begin_cpu_access() and frame_end_cpu_access().
    int (*begin_cpu_access)(void *context, struct frame_surface *surface, struct error *error);
    int (*end_cpu_access)(void *context, struct frame_surface *surface, struct error *error);
};

// Where frame memory comes from. `context` outlives every pool made from it.
struct frame_allocator {
    const char *kind; // "host", "registered", …: as in the config and the memory path
    void *context;
    const struct frame_surface_ops *surfaces; // NULL: frames are plain memory, of the next two
    // Page-aligned, zeroed memory of at least `size` bytes. 0 or a negative errno.
    int (*allocate)(void *context, size_t size, void **ret_memory);
    void (*release)(void *context, void *memory, size_t size);
    // For frame_to_gpu() and frame_queue_to_cpu(), with `memory` and `size` as allocated; `wait`
    // until all that is queued is done, at most 1 s. NULL, all: memory no GPU can use.
    int (*to_gpu)(void *context, void *memory, size_t size, struct error *error,
                  uint64_t *ret_address);
    int (*to_cpu)(void *context, void *memory, size_t size, struct error *error);
    int (*wait)(void *context, struct error *error);
    // Has the GPU use memory of somebody else's, page-aligned, as if it came from allocate(), until
    // end_loan(); any thread. 0 or a negative errno. NULL, both: memory of its own alone.
    int (*lend)(void *context, void *memory, size_t size);
    void (*end_loan)(void *context, void *memory);
};

struct frame {
    struct frame_pool *pool;                 // owned reference
    const struct frame_allocator *allocator; // of the pool, which owns it
    void (*give_back)(struct frame *frame);  // to the pool, with the reference to it
    enum frame_side side;                    // changed by frame_to_gpu() and those to the CPU alone
    uint64_t gpu_address;                    // of the first byte, while it is the GPU's
    atomic_uint references;
    struct frame_layout layout;
    uint8_t *data;                 // the block; owned by the pool; NULL: it is a surface
    struct frame_surface *surface; // owned by the pool; NULL: it is plain memory
    unsigned index;                // number of this frame in its pool
    bool lent; // its memory is still read by what wrote it: nobody writes into it
    // Capture: first byte of exposure or delivery as the driver says, CLOCK_MONOTONIC; and when
    // edged got hold of the frame.
    int64_t pts_ns, grabbed_ns;
    uint64_t sequence; // the source's frame number; gaps are frames the driver dropped
};

// Where the CPU finds a plane.
static inline uint8_t *frame_plane(const struct frame *frame, unsigned plane)
{
    uintptr_t base = frame->surface ? frame->surface->cpu_bases[plane] : (uintptr_t)frame->data;

    return (uint8_t *)(base + frame->layout.planes[plane].offset);
}

// Hand a frame to the GPU, before work on it is queued, and back to the CPU. A frame that is there
// already stays. Where the GPU finds the frame's first byte is returned. frame_queue_to_cpu() does
// not wait: the CPU may touch the frame when all that was queued before is done. frame_to_cpu()
// waits for that, at most 1 s. Called by the thread that runs the views, while no other thread
// touches the frame. -ENOTSUP: memory no GPU can use; or the allocator's error, after which the
// side is what it was.
int frame_to_gpu(struct frame *frame, struct error *error, uint64_t *ret_address);
int frame_queue_to_cpu(struct frame *frame, struct error *error);
int frame_to_cpu(struct frame *frame, struct error *error);

// Around what the CPU reads and writes of a frame that may be a surface, which the CPU sees by its
// cache: begin lets it see what others have written, end lets them see what it has. Nothing happens
// where the frame is plain memory. A negative errno: the allocator's.
int frame_begin_cpu_access(const struct frame *frame, struct error *error);
int frame_end_cpu_access(const struct frame *frame, struct error *error);

struct frame *frame_ref(struct frame *frame);
// Drops a reference; NULL is fine.
void frame_unref(struct frame *frame);

static inline void cleanup_frame(struct frame **frame)
{
    frame_unref(*frame);
}
