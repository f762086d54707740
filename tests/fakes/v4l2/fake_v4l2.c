// The functions that stand in the place of libv4l2's, and the streaming behind them. All parts of
// the camera are one translation unit, so that a test program can take it in with one include.
#include "tests/fakes/v4l2/fake_camera.h"

#include <errno.h>
#include <fcntl.h>
#include <libv4l2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define CAMERAS 8
#define JPEG_MAX (4 << 20)

// clang-format off
#include "tests/fakes/v4l2/fake_camera.c" // NOLINT(bugprone-suspicious-include)
#include "tests/fakes/v4l2/fake_controls.c" // NOLINT(bugprone-suspicious-include)
#include "tests/fakes/v4l2/fake_mosaic.c" // NOLINT(bugprone-suspicious-include)
#include "tests/fakes/v4l2/fake_picture.c" // NOLINT(bugprone-suspicious-include)
// clang-format on

static struct fake_camera cameras[CAMERAS];

static struct fake_camera *find(int fd)
{
    for (unsigned i = 0; fd >= 0 && i < CAMERAS; i++) {
        if (cameras[i].in_use && cameras[i].fd == fd) {
            return &cameras[i];
        }
    }
    return NULL;
}

static bool load_jpeg(struct fake_camera *camera)
{
    char path[512];
    FILE *file = fopen(fake_option(camera->spec, "mjpg", path), "re");

    if (!file) {
        return false;
    }
    camera->jpeg = malloc(JPEG_MAX);
    camera->jpeg_size = camera->jpeg ? fread(camera->jpeg, 1, JPEG_MAX, file) : 0;
    fclose(file);
    return camera->jpeg_size > 0;
}

// Forgets the camera behind a descriptor, which may have been closed with close().
static void forget_camera(int fd)
{
    struct fake_camera *camera = find(fd);

    if (camera) {
        free(camera->jpeg);
        *camera = (struct fake_camera){0};
    }
}

static int open_camera(const char *spec)
{
    struct fake_camera *camera = cameras;
    int fd;

    if (strstr(spec, "kind=denied")) {
        return fake_refuse(EACCES);
    }
    fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    forget_camera(fd);
    while (camera < cameras + CAMERAS && camera->in_use) {
        camera++;
    }
    if (fd < 0 || camera == cameras + CAMERAS) {
        return fake_refuse(EMFILE);
    }
    *camera = (struct fake_camera){.fd = fd, .in_use = true, .interval = {1, 30}};
    snprintf(camera->spec, sizeof camera->spec, "%s", spec);
    if (strstr(spec, "mjpg=") && !load_jpeg(camera)) {
        forget_camera(fd);
        syscall(SYS_close, fd);
        return fake_refuse(EIO);
    }
    return fd;
}

// The kernel's open(), except for the camera's node.
int open(const char *path, int flags, ...)
{
    const char *spec = getenv("EDGED_FAKE_V4L2");
    char device[512], raw_spec[1024];
    va_list arguments;
    mode_t mode;

    if (spec && strcmp(path, fake_option(spec, "raw-device", device)) == 0) {
        snprintf(raw_spec, sizeof raw_spec, "format=BG10 %s", spec); // the first one counts
        return open_camera(raw_spec);
    }
    if (spec &&
        strcmp(path, fake_option(spec, "device", device)[0] ? device : "/dev/video0") == 0) {
        return open_camera(spec);
    }
    va_start(arguments, flags);
    mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list arguments;
    mode_t mode;

    va_start(arguments, flags);
    mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return open(path, flags, mode);
}

int v4l2_fd_open(int fd, int flags)
{
    struct v4l2_capability capability;
    struct fake_camera *camera = find(fd);

    if (!camera) {
        return syscall(SYS_ioctl, fd, VIDIOC_QUERYCAP, &capability) < 0 ? -1 : fd;
    }
    camera->converting = !(flags & V4L2_DISABLE_CONVERSION);
    return fd;
}

int v4l2_open(const char *path, int flags, ...)
{
    int fd = open(path, flags);

    return fd < 0 ? fd : v4l2_fd_open(fd, 0);
}

static void forget_mappings(struct fake_camera *camera)
{
    for (unsigned i = 0; i < FAKE_BUFFERS; i++) {
        camera->buffers[i].data = NULL;
    }
    camera->queued_count = camera->done_count = 0;
}

int v4l2_close(int fd)
{
    forget_camera(fd);
    return (int)syscall(SYS_close, fd);
}

void *v4l2_mmap(void *start, size_t length, int protection, int flags, int fd, int64_t offset)
{
    struct fake_camera *camera = find(fd);
    size_t index = (size_t)offset / (1U << 24);
    void *data;

    if (!camera) {
        return mmap(start, length, protection, flags, fd, offset);
    }
    if (index >= camera->count) {
        errno = EINVAL;
        return MAP_FAILED;
    }
    data = mmap(NULL, length, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    camera->buffers[index].data = data == MAP_FAILED ? NULL : data;
    return data;
}

int v4l2_munmap(void *start, size_t length)
{
    return munmap(start, length);
}

static int query_capabilities(const struct fake_camera *camera, struct v4l2_capability *capability)
{
    uint32_t kind = fake_option_is(camera, "kind", "output")   ? V4L2_CAP_VIDEO_OUTPUT
                    : fake_option_is(camera, "kind", "mplane") ? V4L2_CAP_VIDEO_CAPTURE_MPLANE
                                                               : V4L2_CAP_VIDEO_CAPTURE;

    *capability = (struct v4l2_capability){.driver = "fake", .card = "Fake Camera"};
    capability->device_caps = kind | V4L2_CAP_STREAMING;
    capability->capabilities = capability->device_caps | V4L2_CAP_DEVICE_CAPS;
    return 0;
}

static int enumerate_format(const struct fake_camera *camera, struct v4l2_fmtdesc *format)
{
    uint32_t index = format->index;
    unsigned rate, own = 0;
    uint32_t code;

    while (camera->converting && fake_format_at(camera, own, &code, &rate)) {
        own++;
    }
    if (!fake_format_at(camera, index, &format->pixelformat, &rate)) {
        return fake_refuse(EINVAL);
    }
    format->flags = camera->converting && index + 1 == own ? V4L2_FMT_FLAG_EMULATED : 0;
    return 0;
}

static int request_buffers(struct fake_camera *camera, struct v4l2_requestbuffers *request)
{
    if (request->memory == V4L2_MEMORY_USERPTR &&
        (camera->converting || fake_option_is(camera, "userptr", "no"))) {
        return fake_refuse(EINVAL);
    }
    if (request->count > FAKE_BUFFERS) {
        request->count = FAKE_BUFFERS;
    }
    forget_mappings(camera);
    camera->memory = request->memory;
    camera->count = request->count;
    return 0;
}

static int query_buffer(const struct fake_camera *camera, struct v4l2_buffer *buffer)
{
    if (buffer->index >= camera->count) {
        return fake_refuse(EINVAL);
    }
    buffer->length = camera->pix.sizeimage;
    buffer->m.offset = buffer->index * (1U << 24);
    return 0;
}

static int queue_buffer(struct fake_camera *camera, const struct v4l2_buffer *buffer)
{
    if (buffer->index >= camera->count || buffer->memory != camera->memory ||
        camera->queued_count == FAKE_BUFFERS) {
        return fake_refuse(EINVAL);
    }
    if (camera->memory == V4L2_MEMORY_USERPTR) {
        if (fake_option_is(camera, "userptr", "qbuf") || buffer->length < camera->pix.sizeimage) {
            return fake_refuse(EFAULT);
        }
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
    if (fake_option_is(camera, "lie", "bytes")) {
        filled->bytesused = UINT32_MAX;
    } else if (fake_option_is(camera, "lie", "index")) {
        filled->index = 1000;
    }
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
    if (camera->queued_count > 0) {
        fill_buffer(camera, shift(camera->queued, &camera->queued_count));
    }
    camera->sequence++;
    camera->frames++;
}

static int dequeue_buffer(struct fake_camera *camera, struct v4l2_buffer *buffer)
{
    uint64_t ticks = 0;

    if (read(camera->fd, &ticks, sizeof ticks) != sizeof ticks) {
        ticks = 0;
    }
    for (uint64_t i = 0; i < ticks * fake_option_number(camera, "burst", 1) && i < 256; i++) {
        expose(camera);
    }
    if (camera->gone && camera->done_count == 0) {
        return fake_refuse(ENODEV);
    }
    if (camera->done_count == 0) {
        return fake_refuse(EAGAIN);
    }
    *buffer = camera->buffers[shift(camera->done, &camera->done_count)].filled;
    return 0;
}

static bool lacks_bandwidth(const struct fake_camera *camera)
{
    char list[512], name[5] = "";

    memcpy(name, &camera->pix.pixelformat, 4);
    return strstr(fake_option(camera->spec, "nospc", list), name);
}

static int stream(struct fake_camera *camera, bool on)
{
    int64_t period_ns = 1000000000LL * camera->interval.numerator / camera->interval.denominator;
    struct timespec period = {period_ns / 1000000000, period_ns % 1000000000};
    struct itimerspec timer = {period, period};

    if (on && fake_option_is(camera, "busy", "stream")) {
        return fake_refuse(EBUSY);
    }
    if (on && lacks_bandwidth(camera)) {
        return fake_refuse(ENOSPC);
    }
    if (!on) {
        camera->queued_count = camera->done_count = 0;
    }
    timer.it_value.tv_sec += fake_option_number(camera, "late", 0);
    if (!on || fake_option_number(camera, "silent", 0)) {
        timer = (struct itimerspec){0};
    }
    return timerfd_settime(camera->fd, 0, &timer, NULL);
}

int v4l2_ioctl(int fd, unsigned long request, ...)
{
    struct fake_camera *camera = find(fd);
    va_list arguments;
    void *argument;

    va_start(arguments, request);
    argument = va_arg(arguments, void *);
    va_end(arguments);
    if (!camera) {
        return (int)syscall(SYS_ioctl, fd, request, argument);
    }
    if (fake_option_is(camera, "kind", "gone") || (camera->gone && camera->done_count == 0)) {
        return fake_refuse(ENODEV);
    }
    switch (request) {
    case VIDIOC_QUERYCAP:
        return query_capabilities(camera, argument);
    case VIDIOC_ENUM_FMT:
        return enumerate_format(camera, argument);
    case VIDIOC_ENUM_FRAMESIZES:
        return fake_enumerate_size(camera, argument);
    case VIDIOC_ENUM_FRAMEINTERVALS:
        return fake_enumerate_interval(camera, argument);
    case VIDIOC_S_FMT:
        return fake_set_format(camera, &((struct v4l2_format *)argument)->fmt.pix);
    case VIDIOC_S_PARM:
        return fake_set_rate(camera,
                             &((struct v4l2_streamparm *)argument)->parm.capture.timeperframe);
    case VIDIOC_QUERYCTRL:
        return fake_query_control(camera, argument);
    case VIDIOC_S_CTRL:
        return fake_control(camera, argument, true);
    case VIDIOC_G_CTRL:
        return fake_control(camera, argument, false);
    case VIDIOC_REQBUFS:
        return request_buffers(camera, argument);
    case VIDIOC_QUERYBUF:
        return query_buffer(camera, argument);
    case VIDIOC_QBUF:
        return queue_buffer(camera, argument);
    case VIDIOC_DQBUF:
        return dequeue_buffer(camera, argument);
    case VIDIOC_STREAMON:
        return stream(camera, true);
    case VIDIOC_STREAMOFF:
        return stream(camera, false);
    default:
        return fake_refuse(ENOTTY);
    }
}
