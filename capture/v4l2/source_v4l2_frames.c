// Takes what the driver filled, trusts none of it, and hands out the newest.
#include "capture/v4l2/source_v4l2_private.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>

int source_v4l2_wait(struct source_v4l2 *self, int64_t deadline_ns, struct error *error)
{
    struct pollfd pollfd = {.fd = self->device.fd, .events = POLLIN};
    int r;

    do {
        int64_t left_ns = deadline_ns - clock_now_ns();
        struct timespec left = {0};

        if (left_ns > 0) {
            left = (struct timespec){left_ns / NS_PER_S, left_ns % NS_PER_S};
        }
        r = ppoll(&pollfd, 1, &left, NULL);
    } while (r < 0 && errno == EINTR);
    if (r < 0) {
        return v4l2_device_failed(&self->device, -errno, "wait for a frame", error);
    }
    return r == 0 ? -EAGAIN : pollfd.revents;
}

static bool is_whole(const struct source_v4l2 *self, const struct v4l2_buffer *buffer)
{
    return !(buffer->flags & V4L2_BUF_FLAG_ERROR) && buffer->bytesused >= self->needed_bytes &&
           buffer->bytesused <= self->queue.slots[buffer->index].length;
}

// One filled buffer with a picture in it; those without go back, counted.
static int take_whole(struct source_v4l2 *self, struct v4l2_buffer *ret_buffer)
{
    for (unsigned i = 0; i < VIDEO_MAX_FRAME; i++) {
        struct v4l2_buffer buffer;
        int r = v4l2_queue_take(&self->queue, &buffer);

        if (r < 0) {
            return r;
        }
        self->source.counters.dropped += v4l2_history_add(&self->history, &buffer);
        if (is_whole(self, &buffer)) {
            *ret_buffer = buffer;
            return 0;
        }
        self->source.counters.corrupted++;
        r = v4l2_queue_give(&self->queue, buffer.index);
        if (r < 0) {
            return r;
        }
    }
    return -EAGAIN;
}

// The newest of the filled buffers and its sequence number; older ones go back, counted.
static int take_newest(struct source_v4l2 *self, struct v4l2_buffer *ret_buffer,
                       uint64_t *ret_sequence)
{
    struct v4l2_buffer newest, buffer;
    uint64_t sequence;
    int r = take_whole(self, &newest);

    if (r < 0) {
        return r;
    }
    sequence = self->history.sequence;
    for (unsigned i = 0; i < VIDEO_MAX_FRAME; i++) {
        r = take_whole(self, &buffer);
        if (r < 0) {
            break;
        }
        r = v4l2_queue_give(&self->queue, newest.index);
        if (r < 0) {
            return r;
        }
        self->source.counters.dropped++;
        newest = buffer;
        sequence = self->history.sequence;
    }
    if (r < 0 && r != -EAGAIN) {
        return r;
    }
    *ret_buffer = newest;
    *ret_sequence = sequence;
    return 0;
}

// From the driver's memory into a pool frame. An error as mjpeg_decode().
static int fill_frame(struct source_v4l2 *self, const struct v4l2_buffer *buffer,
                      struct frame *frame)
{
    uint8_t *data = self->queue.slots[buffer->index].data;

    if (self->mjpeg) {
        size_t size = mjpeg_mend(data, buffer->bytesused, self->queue.slots[buffer->index].length);

        return mjpeg_decode(self->mjpeg, data, size, self->copies, frame);
    }
    if (self->device.converting) {
        copies_count(self->copies, COPY_LIBV4L_CONVERT);
    }
    copies_copy_frame(self->copies, COPY_MMAP_FALLBACK, frame, &self->driver.layout, data);
    return 0;
}

// MMAP: copies or decodes the buffer and gives it back. -EAGAIN when that makes no frame.
static int frame_from_driver_memory(struct source_v4l2 *self, const struct v4l2_buffer *buffer,
                                    struct error *error, struct frame **ret_frame)
{
    _cleanup_(cleanup_frame) struct frame *frame = frame_pool_take(self->pool);
    int filled = 0;
    int r;

    if (frame) {
        filled = fill_frame(self, buffer, frame);
    }
    r = v4l2_queue_give(&self->queue, buffer->index);
    if (r < 0) {
        return v4l2_device_failed(&self->device, r, "queue a buffer", error);
    }
    if (!frame) {
        self->source.counters.dropped++;
        return -EAGAIN;
    }
    if (filled < 0) {
        self->source.counters.corrupted++;
        return -EAGAIN;
    }
    *ret_frame = TAKE(frame);
    return 0;
}

static int take_frame(struct source_v4l2 *self, struct error *error, struct frame **ret_frame)
{
    struct v4l2_buffer buffer;
    struct frame *frame = NULL;
    uint64_t sequence;
    int64_t now_ns;
    int r = take_newest(self, &buffer, &sequence);

    if (r < 0) {
        return r == -EAGAIN ? r : v4l2_device_failed(&self->device, r, "take a frame", error);
    }
    now_ns = clock_now_ns();
    if (self->queue.memory == V4L2_MEMORY_USERPTR) {
        frame = v4l2_queue_frame(&self->queue, buffer.index);
    } else {
        r = frame_from_driver_memory(self, &buffer, error, &frame);
        if (r < 0) {
            return r;
        }
    }
    assert(frame); // a queued USERPTR slot owns one
    frame->sequence = sequence;
    frame->grabbed_ns = now_ns;
    frame->pts_ns = v4l2_history_pts(&self->history, &buffer, now_ns);
    self->source.counters.frames++;
    *ret_frame = frame;
    return 0;
}

int source_v4l2_next(struct source *source, int timeout_ms, struct error *error,
                     struct frame **ret_frame)
{
    struct source_v4l2 *self = (struct source_v4l2 *)source;
    int64_t deadline_ns = clock_now_ns() + timeout_ms * NS_PER_MS;

    for (;;) {
        int events, r = 0;

        if (self->queue.memory == V4L2_MEMORY_USERPTR) {
            r = v4l2_queue_fill(&self->queue, self->pool);
        }
        if (r < 0) {
            return v4l2_device_failed(&self->device, r, "queue a frame", error);
        }
        events = source_v4l2_wait(self, deadline_ns, error);
        if (events < 0) {
            return events;
        }
        r = take_frame(self, error, ret_frame);
        if (r != -EAGAIN) {
            return r;
        }
        if (events & (POLLERR | POLLHUP | POLLNVAL)) {
            return v4l2_device_failed(&self->device, -EIO, "go on streaming", error);
        }
        if (clock_now_ns() >= deadline_ns) { // while broken frames kept coming
            return -EAGAIN;
        }
    }
}
