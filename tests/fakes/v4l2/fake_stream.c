// Buffers, and the frames that fill them as the timer goes.
#include "tests/fakes/v4l2/fake_camera.h"

#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static void forget_mappings(struct fake_camera *camera)
{
    for (unsigned i = 0; i < FAKE_BUFFERS; i++)
        camera->buffers[i].data = NULL;
    camera->queued_count = camera->done_count = 0;
}

int fake_request_buffers(struct fake_camera *camera, struct v4l2_requestbuffers *request)
{
    if (request->memory == V4L2_MEMORY_USERPTR &&
        (camera->converting || fake_option_is(camera, "userptr", "no") ||
         (fake_option_is(camera, "userptr", "once") && !camera->refused_once))) {
        camera->refused_once = true;
        return fake_refuse(EINVAL);
    }
    if (request->count > FAKE_BUFFERS)
        request->count = FAKE_BUFFERS;
    forget_mappings(camera);
    camera->memory = request->memory;
    camera->count = request->count;
    return 0;
}

int fake_query_buffer(const struct fake_camera *camera, struct v4l2_buffer *buffer)
{
    if (buffer->index >= camera->count)
        return fake_refuse(EINVAL);
    buffer->length = camera->pix.sizeimage;
    buffer->m.offset = buffer->index * (1U << 24);
    return 0;
}

int fake_queue_buffer(struct fake_camera *camera, const struct v4l2_buffer *buffer)
{
    if (buffer->index >= camera->count || buffer->memory != camera->memory ||
        camera->queued_count == FAKE_BUFFERS) {
        return fake_refuse(EINVAL);
    }
    if (camera->memory == V4L2_MEMORY_USERPTR) {
        if (fake_option_is(camera, "userptr", "qbuf") || buffer->length < camera->pix.sizeimage)
            return fake_refuse(EFAULT);
        camera->buffers[buffer->index].data = (uint8_t *)buffer->m.userptr;
    }
    camera->queued[camera->queued_count++] = buffer->index;
    return 0;
}

static unsigned shift(unsigned *list, unsigned *count)
{
    unsigned first = list[0];

    memmove(list, list + 1, --*count * sizeof list[0]);
    return first;
}

static void fill_buffer(struct fake_camera *camera, unsigned index)
{
    struct v4l2_buffer *filled = &camera->buffers[index].filled;
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    *filled = (struct v4l2_buffer){.index = index, .memory = camera->memory};
    filled->type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    filled->sequence = camera->sequence;
    filled->bytesused = fake_draw(camera, camera->sequence, camera->buffers[index].data);
    filled->length = camera->pix.sizeimage;
    if (!fake_option_is(camera, "clock", "none")) {
        filled->flags = V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
        filled->timestamp = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    }
    filled->flags |= fake_every(camera, "error-every", 0) ? V4L2_BUF_FLAG_ERROR : 0;
    filled->bytesused /= fake_every(camera, "short-every", 0) ? 2 : 1;
    if (fake_option_is(camera, "lie", "bytes"))
        filled->bytesused = UINT32_MAX;
    else if (fake_option_is(camera, "lie", "index"))
        filled->index = 1000;
    camera->done[camera->done_count++] = index;
}

// One exposure: into the oldest queued buffer, or lost when there is none.
static void expose(struct fake_camera *camera)
{
    unsigned last = fake_option_number(camera, "unplug-after", 0);

    if (camera->gone || (last > 0 && camera->frames == last)) {
        camera->gone = true;
        fake_reset_controls();
        return;
    }
    camera->sequence += fake_every(camera, "gap-every", 0);
    if (camera->queued_count > 0)
        fill_buffer(camera, shift(camera->queued, &camera->queued_count));
    camera->sequence++;
    camera->frames++;
}

int fake_dequeue_buffer(struct fake_camera *camera, struct v4l2_buffer *buffer)
{
    uint64_t ticks = 0;

    if (read(camera->fd, &ticks, sizeof ticks) != sizeof ticks)
        ticks = 0;
    for (uint64_t i = 0; i < ticks * fake_option_number(camera, "burst", 1) && i < 256; i++)
        expose(camera);
    if (camera->gone && camera->done_count == 0)
        return fake_refuse(ENODEV);
    if (camera->done_count == 0)
        return fake_refuse(EAGAIN);
    *buffer = camera->buffers[shift(camera->done, &camera->done_count)].filled;
    return 0;
}

static bool lacks_bandwidth(const struct fake_camera *camera)
{
    char list[512], name[5] = "";

    memcpy(name, &camera->pix.pixelformat, 4);
    return strstr(fake_option(camera->spec, "nospc", list), name);
}

int fake_stream(struct fake_camera *camera, bool on)
{
    int64_t period_ns = 1000000000LL * camera->interval.numerator / camera->interval.denominator;
    struct timespec period = {period_ns / 1000000000, period_ns % 1000000000};
    struct itimerspec timer = {period, period};

    if (on && fake_option_is(camera, "busy", "stream"))
        return fake_refuse(EBUSY);
    if (on && lacks_bandwidth(camera))
        return fake_refuse(ENOSPC);
    if (!on)
        camera->queued_count = camera->done_count = 0;
    timer.it_value.tv_sec += fake_option_number(camera, "late", 0);
    if (!on || fake_option_number(camera, "silent", 0))
        timer = (struct itimerspec){0};
    return timerfd_settime(camera->fd, 0, &timer, NULL);
}
