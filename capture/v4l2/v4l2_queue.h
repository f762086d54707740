// The buffers a V4L2 driver fills: pool frames it writes into itself (USERPTR), or its own memory
// mapped here (MMAP).
//
// A USERPTR slot owns its frame from queueing until the driver hands it back, so a frame that a
// view or an encoder still reads is never with the driver. Slot and frame keep the same number
// where they can: the kernel then finds the same pages in the slot and need not pin them again.
#pragma once

#include "capture/frame_pool.h"
#include "capture/v4l2/v4l2_device.h"

struct v4l2_queue {
    const struct v4l2_device *device; // not owned, outlives the queue
    enum v4l2_memory memory;          // 0: not set up
    unsigned count;                   // buffers the driver has
    size_t size_bytes;                // of a picture, at most the length of a buffer
    bool streaming;
    struct {
        bool queued;
        struct frame *frame; // USERPTR: owned while queued or just taken
        uint8_t *data;       // MMAP: the mapping
        bool is_lent;        // MMAP: which is not the queue's any more (v4l2_lent.h)
        size_t length;
    } slots[VIDEO_MAX_FRAME];
};

// Asks for `count` buffers of at least `size_bytes`, maps them and queues them all.
// -ENOTSUP when the driver has no MMAP; -EBUSY, -ENODEV, -EIO as v4l2_device_failed().
int v4l2_queue_init_mmap(struct v4l2_queue *queue, const struct v4l2_device *device, unsigned count,
                         size_t size_bytes, struct error *error);

// Asks for `count` USERPTR buffers, a second time where the driver refuses them, and lets
// `allocator` make a pool of `layout` for them, at least as many frames, all queued. -ENOTSUP when
// the driver refuses USERPTR or this memory; otherwise as above, and -ENOMEM. The caller owns the
// pool.
int v4l2_queue_init_userptr(struct v4l2_queue *queue, const struct v4l2_device *device,
                            unsigned count, const struct frame_layout *layout, size_t size_bytes,
                            const struct frame_allocator *allocator, struct error *error,
                            struct frame_pool **ret_pool);

// USERPTR: queues every frame that is free in `pool`. 0 or a negative errno of the driver.
int v4l2_queue_fill(struct v4l2_queue *queue, struct frame_pool *pool);

// STREAMON. -ENOSPC when the USB bus has no bandwidth left for the format, size and rate; otherwise
// as v4l2_device_failed().
int v4l2_queue_start(struct v4l2_queue *queue, struct error *error);

// Takes the next filled buffer, without waiting. -EAGAIN: none; -EPROTO: the driver hands back what
// it did not have; other negative errno: streaming is over.
int v4l2_queue_take(struct v4l2_queue *queue, struct v4l2_buffer *ret_buffer);
// Queues a taken buffer again as it is. 0 or a negative errno of the driver.
int v4l2_queue_give(struct v4l2_queue *queue, uint32_t index);

// USERPTR: the frame of a taken buffer; the caller owns it and the slot is empty.
struct frame *v4l2_queue_frame(struct v4l2_queue *queue, uint32_t index);

// Stops and gives all memory back. Takes a zeroed queue. The device must still be open.
void v4l2_queue_finish(struct v4l2_queue *queue);
