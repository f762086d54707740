// The functions that stand in the place of libv4l2's. All parts of the camera are one translation
// unit, so that a test program can take it in with one include.
#include "tests/fakes/v4l2/fake_camera.h"

#include <errno.h>
#include <fcntl.h>
#include <libv4l2.h>
#include <poll.h>
#include <signal.h>
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
#include "tests/fakes/v4l2/fake_signal.c" // NOLINT(bugprone-suspicious-include)
#include "tests/fakes/v4l2/fake_stream.c" // NOLINT(bugprone-suspicious-include)
// clang-format on

static struct fake_camera cameras[CAMERAS];
static unsigned fake_library_opens; // how often libv4l2 was given a camera
static unsigned fake_waits;         // calls of ppoll()

static struct fake_camera *find(int fd)
{
    for (unsigned i = 0; fd >= 0 && i < CAMERAS; i++) {
        if (cameras[i].in_use && cameras[i].fd == fd)
            return &cameras[i];
    }
    return NULL;
}

static bool load_jpeg(struct fake_camera *camera)
{
    char path[512];
    FILE *file = fopen(fake_option(camera->spec, "mjpg", path), "re");

    if (!file)
        return false;
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

static bool is_plugged(const char *spec)
{
    char file[512];

    return !fake_option(spec, "plugged", file)[0] || access(file, F_OK) == 0;
}

static int open_camera(const char *spec)
{
    struct fake_camera *camera = cameras;
    int fd;

    if (!is_plugged(spec))
        return fake_refuse(ENOENT);
    if (strstr(spec, "kind=denied"))
        return fake_refuse(EACCES);
    fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    forget_camera(fd);
    while (camera < cameras + CAMERAS && camera->in_use)
        camera++;
    if (fd < 0 || camera == cameras + CAMERAS)
        return fake_refuse(EMFILE);
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

    if (!camera)
        return syscall(SYS_ioctl, fd, VIDIOC_QUERYCAP, &capability) < 0 ? -1 : fd;
    fake_library_opens++;
    camera->converting = !(flags & V4L2_DISABLE_CONVERSION);
    return fd;
}

int v4l2_open(const char *path, int flags, ...)
{
    int fd = open(path, flags);

    return fd < 0 ? fd : v4l2_fd_open(fd, 0);
}

int v4l2_close(int fd)
{
    forget_camera(fd);
    return (int)syscall(SYS_close, fd);
}

// The kernel's ppoll(), except that a timer has no urgent news and the camera may.
int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
    struct pollfd *volatile first = fds; // which glibc declares as written to alone
    const struct fake_camera *camera = count == 1 ? find(first->fd) : NULL;
    struct timespec left = timeout ? *timeout : (struct timespec){0};

    fake_waits++;
    if (camera && first->events & POLLPRI && fake_signal_has_news(camera)) {
        first->revents = POLLPRI;
        return 1;
    }
    return (int)syscall(SYS_ppoll, fds, count, timeout ? &left : NULL, mask, _NSIG / 8);
}

void *v4l2_mmap(void *start, size_t length, int protection, int flags, int fd, int64_t offset)
{
    struct fake_camera *camera = find(fd);
    size_t index = (size_t)offset / (1U << 24);
    void *data;

    if (!camera)
        return mmap(start, length, protection, flags, fd, offset);
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

    while (camera->converting && fake_format_at(camera, own, &code, &rate))
        own++;
    if (!fake_format_at(camera, index, &format->pixelformat, &rate))
        return fake_refuse(EINVAL);
    format->flags = camera->converting && index + 1 == own ? V4L2_FMT_FLAG_EMULATED : 0;
    return 0;
}

int v4l2_ioctl(int fd, unsigned long request, ...)
{
    struct fake_camera *camera = find(fd);
    va_list arguments;
    void *argument;

    va_start(arguments, request);
    argument = va_arg(arguments, void *);
    va_end(arguments);
    if (!camera)
        return (int)syscall(SYS_ioctl, fd, request, argument);
    if (fake_option_is(camera, "kind", "gone") || !is_plugged(camera->spec) ||
        (camera->gone && camera->done_count == 0)) {
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
    case VIDIOC_QUERY_DV_TIMINGS:
        return fake_query_signal(camera, argument);
    case VIDIOC_S_DV_TIMINGS:
        return fake_take_signal(camera, argument);
    case VIDIOC_SUBSCRIBE_EVENT:
        camera->subscribed = true;
        return 0;
    case VIDIOC_DQEVENT:
        return fake_dequeue_event(camera, argument);
    case VIDIOC_REQBUFS:
        return fake_request_buffers(camera, argument);
    case VIDIOC_QUERYBUF:
        return fake_query_buffer(camera, argument);
    case VIDIOC_QBUF:
        return fake_queue_buffer(camera, argument);
    case VIDIOC_DQBUF:
        return fake_dequeue_buffer(camera, argument);
    case VIDIOC_STREAMON:
        return fake_stream(camera, true);
    case VIDIOC_STREAMOFF:
        return fake_stream(camera, false);
    default:
        return fake_refuse(ENOTTY);
    }
}
