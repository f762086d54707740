#include "capture/v4l2/v4l2_history.h"

#include "config/base.h"

#define AGE_MAX_NS (10 * NS_PER_S)

uint64_t v4l2_history_add(struct v4l2_history *history, const struct v4l2_buffer *buffer)
{
    uint32_t step = buffer->sequence - history->driver_sequence;
    bool rises = step > 0 && step < UINT32_C(1) << 31;

    if (!history->any) {
        history->any = true;
        history->sequence = buffer->sequence;
        step = 1;
    } else {
        step = rises ? step : 1;
        history->sequence += step;
    }
    history->driver_sequence = buffer->sequence;
    return step - 1;
}

int64_t v4l2_history_pts(struct v4l2_history *history, const struct v4l2_buffer *buffer,
                         int64_t now_ns)
{
    uint32_t clock = buffer->flags & V4L2_BUF_FLAG_TIMESTAMP_MASK;
    int64_t pts_ns = now_ns;

    if (clock == V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC && buffer->timestamp.tv_sec >= 0 &&
        buffer->timestamp.tv_sec <= now_ns / NS_PER_S && buffer->timestamp.tv_usec >= 0 &&
        buffer->timestamp.tv_usec < 1000000) {
        pts_ns = buffer->timestamp.tv_sec * NS_PER_S + buffer->timestamp.tv_usec * NS_PER_US;
    }
    if (pts_ns > now_ns || pts_ns < now_ns - AGE_MAX_NS || pts_ns <= history->pts_ns)
        pts_ns = now_ns;
    history->pts_ns = pts_ns;
    return pts_ns;
}
