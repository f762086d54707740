#include "capture/gstreamer/sample_queue.h"

#include <string.h>

// A second after an encoder that is too slow for its view is not waited for any more (encoder.h),
// so that it does not cost the other views pictures.
#define IN_ORDER_NS (4 * NS_PER_S)

int64_t sample_queue_in_order_until_ns(const struct sample_queue *queue)
{
    switch (queue->order) {
    case INTAKE_NEWEST:
        return 0;
    case INTAKE_EVERY:
        return INT64_MAX;
    case INTAKE_HELD:
    case INTAKE_QUEUED:
        break;
    }
    return queue->drained_ns + IN_ORDER_NS;
}

static bool is_in_order(const struct sample_queue *queue)
{
    return clock_now_ns() < sample_queue_in_order_until_ns(queue);
}

bool sample_queue_is_closed(const struct sample_queue *queue)
{
    return queue->order != INTAKE_QUEUED && queue->count > 0 && is_in_order(queue);
}

unsigned sample_queue_add(struct sample_queue *queue, GstSample *sample, GstSample **ret_gone)
{
    int64_t now_ns = clock_now_ns();
    unsigned room, gone_count = 0;

    if (queue->arrived == 0)
        queue->drained_ns = now_ns;
    room = is_in_order(queue) ? queue->room : 1;
    while (queue->count >= room)
        ret_gone[gone_count++] = sample_queue_take(queue).sample;
    queue->replaced += gone_count;
    queue->arrivals[queue->count++] =
        (struct arrival){.sample = sample, .grabbed_ns = now_ns, .sequence = queue->arrived++};
    return gone_count;
}

struct arrival sample_queue_take(struct sample_queue *queue)
{
    struct arrival first = queue->arrivals[0];

    queue->count--;
    memmove(queue->arrivals, queue->arrivals + 1, queue->count * sizeof queue->arrivals[0]);
    return first;
}

void sample_queue_clear(struct sample_queue *queue)
{
    while (queue->count > 0)
        gst_sample_unref(sample_queue_take(queue).sample);
}
