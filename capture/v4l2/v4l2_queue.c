#include "capture/v4l2/v4l2_queue.h"

#include <errno.h>
#include <libv4l2.h>
#include <string.h>
#include <sys/mman.h>

static struct v4l2_buffer buffer_of(const struct v4l2_queue *queue, uint32_t index)
{
    return (struct v4l2_buffer){
        .index = index,
        .type = V4L2_BUF_TYPE_VIDEO_CAPTURE,
        .memory = queue->memory,
    };
}

// REQBUFS. The driver may give more or fewer than asked.
static int request_buffers(struct v4l2_queue *queue, unsigned count)
{
    struct v4l2_requestbuffers request = {
        .count = count,
        .type = V4L2_BUF_TYPE_VIDEO_CAPTURE,
        .memory = queue->memory,
    };
    int r = v4l2_device_ioctl(queue->device, VIDIOC_REQBUFS, &request);

    if (r < 0)
        return r;
    if (request.count > VIDEO_MAX_FRAME || (request.count == 0 && count > 0))
        return -EPROTO;
    queue->count = request.count;
    return 0;
}

static int init(struct v4l2_queue *queue, const struct v4l2_device *device, enum v4l2_memory memory,
                unsigned count, size_t size_bytes, struct error *error)
{
    int r;

    *queue = (struct v4l2_queue){.device = device, .memory = memory, .size_bytes = size_bytes};
    r = request_buffers(queue, count);
    if (r == -EINVAL) // vivid says so now and then
        r = request_buffers(queue, count);
    if (r == -EINVAL || r == -ENOTTY) {
        return error_set(error, -ENOTSUP, "%s: the driver refuses %s", device->path,
                         memory == V4L2_MEMORY_USERPTR ? "USERPTR" : "MMAP");
    }
    return r < 0 ? v4l2_device_failed(device, r, "request buffers", error) : 0;
}

static int map_buffer(struct v4l2_queue *queue, uint32_t index)
{
    struct v4l2_buffer buffer = buffer_of(queue, index);
    void *data;
    int r = v4l2_device_ioctl(queue->device, VIDIOC_QUERYBUF, &buffer);

    if (r < 0)
        return r;
    if (buffer.length < queue->size_bytes)
        return -EPROTO;
    data = v4l2_mmap(NULL, buffer.length, PROT_READ | PROT_WRITE, MAP_SHARED, queue->device->fd,
                     buffer.m.offset);
    if (data == MAP_FAILED)
        return -errno;
    queue->slots[index].data = data;
    queue->slots[index].length = buffer.length;
    return 0;
}

int v4l2_queue_init_mmap(struct v4l2_queue *queue, const struct v4l2_device *device, unsigned count,
                         size_t size_bytes, struct error *error)
{
    int r = init(queue, device, V4L2_MEMORY_MMAP, count, size_bytes, error);

    for (uint32_t i = 0; r == 0 && i < queue->count; i++) {
        r = map_buffer(queue, i);
        if (r == 0)
            r = v4l2_queue_give(queue, i);
        if (r < 0)
            r = v4l2_device_failed(device, r, "map its buffers", error);
    }
    if (r < 0)
        v4l2_queue_finish(queue);
    return r;
}

int v4l2_queue_init_userptr(struct v4l2_queue *queue, const struct v4l2_device *device,
                            unsigned count, const struct frame_layout *layout, size_t size_bytes,
                            const struct frame_allocator *allocator, struct error *error,
                            struct frame_pool **ret_pool)
{
    struct frame_pool *pool = NULL;
    int r = init(queue, device, V4L2_MEMORY_USERPTR, count, size_bytes, error);

    if (r < 0) {
        v4l2_queue_finish(queue);
        return r;
    }
    r = frame_pool_new(layout, queue->count > count ? queue->count : count, allocator, &pool);
    if (r < 0) {
        v4l2_queue_finish(queue);
        return error_set(error, r, "no memory for frames: %s", strerror(-r));
    }
    r = v4l2_queue_fill(queue, pool);
    if (r < 0) {
        v4l2_queue_finish(queue);
        frame_pool_unref(pool);
        return r == -ENODEV
                   ? v4l2_device_failed(device, r, "queue a frame", error)
                   : error_set(error, -ENOTSUP, "%s: the driver refuses USERPTR with %s memory: %s",
                               device->path, allocator->kind, strerror(-r));
    }
    *ret_pool = pool;
    return 0;
}

// The slot with the frame's number, else the first without a frame; `count` when there is none.
static uint32_t slot_for(const struct v4l2_queue *queue, const struct frame *frame)
{
    uint32_t i = 0;

    if (frame->index < queue->count && !queue->slots[frame->index].frame)
        return frame->index;
    while (i < queue->count && queue->slots[i].frame)
        i++;
    return i;
}

int v4l2_queue_fill(struct v4l2_queue *queue, struct frame_pool *pool)
{
    struct frame *frame;

    while ((frame = frame_pool_take(pool))) {
        uint32_t index = slot_for(queue, frame);
        int r;

        if (index == queue->count) {
            frame_unref(frame);
            return 0;
        }
        queue->slots[index].frame = frame;
        queue->slots[index].data = frame->data;
        queue->slots[index].length = frame->layout.size;
        r = v4l2_queue_give(queue, index);
        if (r < 0) {
            frame_unref(TAKE(queue->slots[index].frame));
            return r;
        }
    }
    return 0;
}

int v4l2_queue_start(struct v4l2_queue *queue, struct error *error)
{
    enum v4l2_buf_type type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    int r = v4l2_device_ioctl(queue->device, VIDIOC_STREAMON, &type);

    if (r == -ENOSPC)
        return error_set(error, r, "%s: not enough USB bandwidth", queue->device->path);
    if (r < 0)
        return v4l2_device_failed(queue->device, r, "start streaming", error);
    queue->streaming = true;
    return 0;
}

int v4l2_queue_take(struct v4l2_queue *queue, struct v4l2_buffer *ret_buffer)
{
    struct v4l2_buffer buffer = buffer_of(queue, 0);
    int r = v4l2_device_ioctl(queue->device, VIDIOC_DQBUF, &buffer);

    if (r < 0)
        return r;
    if (buffer.index >= queue->count || !queue->slots[buffer.index].queued)
        return -EPROTO;
    queue->slots[buffer.index].queued = false;
    *ret_buffer = buffer;
    return 0;
}

int v4l2_queue_give(struct v4l2_queue *queue, uint32_t index)
{
    struct v4l2_buffer buffer = buffer_of(queue, index);
    int r;

    if (queue->memory == V4L2_MEMORY_USERPTR) {
        buffer.m.userptr = (unsigned long)queue->slots[index].data;
        buffer.length = (uint32_t)queue->slots[index].length;
    }
    r = v4l2_device_ioctl(queue->device, VIDIOC_QBUF, &buffer);
    queue->slots[index].queued = r == 0;
    return r;
}

struct frame *v4l2_queue_frame(struct v4l2_queue *queue, uint32_t index)
{
    return TAKE(queue->slots[index].frame);
}

void v4l2_queue_finish(struct v4l2_queue *queue)
{
    enum v4l2_buf_type type = V4L2_BUF_TYPE_VIDEO_CAPTURE;

    if (queue->streaming)
        v4l2_device_ioctl(queue->device, VIDIOC_STREAMOFF, &type);
    for (uint32_t i = 0; i < queue->count; i++) {
        if (queue->memory == V4L2_MEMORY_MMAP && queue->slots[i].data && !queue->slots[i].is_lent)
            v4l2_munmap(queue->slots[i].data, queue->slots[i].length);
    }
    if (queue->count > 0)
        request_buffers(queue, 0);
    for (uint32_t i = 0; i < VIDEO_MAX_FRAME; i++)
        frame_unref(queue->slots[i].frame);
    *queue = (struct v4l2_queue){0};
}
