#include "capture/v4l2/v4l2_lent.h"

#include <errno.h>
#include <libv4l2.h>

struct lent_frame {
    struct frame frame; // first
    struct v4l2_lent *of;
    size_t length; // of its mapping
};

_Static_assert(VIDEO_MAX_FRAME <= 32, "a bit of an atomic word for each buffer");

struct v4l2_lent {
    atomic_uint references; // of the source, and of frames that are out
    atomic_uint back;       // a bit for each buffer that is to be queued
    struct frame_allocator allocator;
    unsigned count;
    struct lent_frame frames[VIDEO_MAX_FRAME];
};

static void drop_reference(struct v4l2_lent *lent)
{
    if (atomic_fetch_sub_explicit(&lent->references, 1, memory_order_acq_rel) != 1)
        return;
    for (unsigned i = 0; i < lent->count; i++) {
        struct lent_frame *lent_frame = &lent->frames[i];

        lent->allocator.end_loan(lent->allocator.context, lent_frame->frame.data);
        v4l2_munmap(lent_frame->frame.data, lent_frame->length);
    }
    free(lent);
}

// Any thread.
static void give_back(struct frame *frame)
{
    struct v4l2_lent *lent = ((struct lent_frame *)frame)->of;

    atomic_fetch_or_explicit(&lent->back, 1U << frame->index, memory_order_release);
    drop_reference(lent);
}

static int lend(struct v4l2_lent *lent, const struct v4l2_queue *queue)
{
    const struct frame_allocator *allocator = &lent->allocator;
    int r = 0;

    for (unsigned i = 0; i < queue->count && r == 0; i++) {
        r = allocator->lend(allocator->context, queue->slots[i].data, queue->slots[i].length);
        lent->count += r == 0;
    }
    return r;
}

int v4l2_lent_new(struct v4l2_queue *queue, const struct frame_layout *layout,
                  const struct frame_allocator *allocator, struct v4l2_lent **ret_lent)
{
    struct v4l2_lent *lent;

    if (!allocator->lend)
        return -ENOTSUP;
    lent = calloc(1, sizeof *lent);
    if (!lent)
        return -ENOMEM;
    lent->allocator = *allocator;
    atomic_init(&lent->references, 1);
    if (lend(lent, queue) < 0) {
        while (lent->count > 0)
            allocator->end_loan(allocator->context, queue->slots[--lent->count].data);
        free(lent);
        return -ENOTSUP;
    }
    for (unsigned i = 0; i < lent->count; i++) {
        lent->frames[i] = (struct lent_frame){.of = lent, .length = queue->slots[i].length};
        lent->frames[i].frame = (struct frame){.allocator = &lent->allocator,
                                               .give_back = give_back,
                                               .layout = *layout,
                                               .data = queue->slots[i].data,
                                               .index = i};
        queue->slots[i].is_lent = true;
    }
    *ret_lent = lent;
    return 0;
}

void v4l2_lent_end(struct v4l2_lent *lent)
{
    if (lent)
        drop_reference(lent);
}

const struct frame_layout *v4l2_lent_layout(const struct v4l2_lent *lent)
{
    return &lent->frames[0].frame.layout;
}

struct frame *v4l2_lent_take(struct v4l2_lent *lent, uint32_t index)
{
    struct frame *frame = &lent->frames[index].frame;

    atomic_fetch_add_explicit(&lent->references, 1, memory_order_relaxed);
    frame->side = FRAME_SIDE_CPU;
    atomic_store_explicit(&frame->references, 1, memory_order_relaxed);
    return frame;
}

int v4l2_lent_fill(struct v4l2_lent *lent, struct v4l2_queue *queue)
{
    unsigned back = atomic_exchange_explicit(&lent->back, 0, memory_order_acquire);
    int r = 0;

    for (; back && r == 0; back &= back - 1)
        r = v4l2_queue_give(queue, (uint32_t)__builtin_ctz(back));
    return r;
}
