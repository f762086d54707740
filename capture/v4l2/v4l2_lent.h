// Frames over the buffers that a V4L2 driver has mapped into this process, where an allocator takes
// such memory: nobody copies them.
//
// A buffer is away from the driver from when it is taken until the last reference to its frame
// goes. The mappings belong to this module, because frames may outlive the source and the device.
#pragma once

#include "capture/frame_pool.h"
#include "capture/v4l2/v4l2_queue.h"

struct v4l2_lent;

// Lends all buffers of a queue of mapped ones, which gives its mappings away. `layout` is that of
// the driver's pictures, `allocator` outlives every frame. -ENOTSUP: the allocator takes none, or
// not these; then the queue has them still. -ENOMEM.
int v4l2_lent_new(struct v4l2_queue *queue, const struct frame_layout *layout,
                  const struct frame_allocator *allocator, struct v4l2_lent **ret_lent);
// Lets go of the mappings, or leaves that to the last frame that is out. Takes NULL.
void v4l2_lent_end(struct v4l2_lent *lent);

const struct frame_layout *v4l2_lent_layout(const struct v4l2_lent *lent);
// The frame over a buffer that was taken from the queue.
struct frame *v4l2_lent_take(struct v4l2_lent *lent, uint32_t index);
// Queues each buffer whose frame came back. 0 or a negative errno of the driver.
int v4l2_lent_fill(struct v4l2_lent *lent, struct v4l2_queue *queue);
