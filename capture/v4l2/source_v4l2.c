// A camera behind V4L2. Frames are pool frames the driver writes into (USERPTR, no copy), or the
// driver's own buffers (MMAP), used where they are if the allocator takes them, else copied (one
// counted copy), or decoded from them (MJPG).
//
// The driver holds every free frame of the pool. When several are filled, the newest is handed out
// and the others go straight back. Any failure ends the source; nothing is queued after it.
#include "capture/source.h"
#include "capture/v4l2/mjpeg.h"
#include "capture/v4l2/v4l2_controls.h"
#include "capture/v4l2/v4l2_history.h"
#include "capture/v4l2/v4l2_lent.h"
#include "capture/v4l2/v4l2_mode.h"
#include "capture/v4l2/v4l2_queue.h"
#include "capture/v4l2/v4l2_signal.h"

#include <assert.h>
#include <errno.h>
#include <glob.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define POOL_FRAMES 8
#define MMAP_BUFFERS 4 // that are copied
// How long to wait for the JPEG that tells the subsampling; cameras need up to a second to wake.
#define FIRST_JPEG_MS 1500

struct source_v4l2 {
    struct source source;
    struct config_camera wish;               // its strings are not owned
    const struct frame_allocator *allocator; // not owned
    struct copies *copies;                   // not owned
    struct v4l2_device device;               // owned
    struct v4l2_mode driver;
    struct v4l2_refused refused; // by the USB bus for lack of bandwidth, or when opened
    struct v4l2_queue queue;     // owned
    struct frame_pool *pool;     // owned reference; NULL: the frames are lent
    struct v4l2_lent *lent;      // owned, NULL unless frames are the driver's buffers
    struct mjpeg *mjpeg;         // owned, NULL unless the driver delivers JPEGs
    struct v4l2_history history;
    bool signal_tells;   // when it becomes another one
    size_t needed_bytes; // a buffer with fewer holds no picture
};

static void drop_buffers(struct source_v4l2 *self)
{
    v4l2_queue_finish(&self->queue);
    v4l2_lent_end(TAKE(self->lent));
    frame_pool_unref(TAKE(self->pool));
    mjpeg_free(TAKE(self->mjpeg));
}

static void v4l2_source_close(struct source *source)
{
    struct source_v4l2 *self = (struct source_v4l2 *)source;

    drop_buffers(self);
    if (self->source.mode.flipped) // the next program that uses the camera did not ask for it
        v4l2_controls_flip(&self->device, CONFIG_FLIP_NONE);
    v4l2_device_close(&self->device);
    free(self);
}

static void cleanup_half_open(struct source_v4l2 **self)
{
    if (*self)
        v4l2_source_close(&(*self)->source);
}

// The driver's own formats first; those libv4l2 makes of them only when none fits.
static int open_device(struct source_v4l2 *self, const char *path, const struct config_camera *wish,
                       struct error *error)
{
    int r = v4l2_device_open(path, false, error, &self->device);

    if (r == 0)
        r = v4l2_signal_take(&self->device, error, &self->signal_tells);
    if (r < 0)
        return r;
    r = v4l2_mode_negotiate(&self->device, wish, &self->refused, error, &self->driver);
    if (r != -ENOTSUP || wish->io == CONFIG_V4L2_IO_USERPTR || self->refused.raw)
        return r;
    v4l2_device_close(&self->device);
    r = v4l2_device_open(path, true, error, &self->device);
    return r < 0 ? r
                 : v4l2_mode_negotiate(&self->device, wish, &self->refused, error, &self->driver);
}

// Waits for frames, and for what `also` names, until `deadline_ns` (CLOCK_MONOTONIC). Poll events,
// -EAGAIN when nothing happened, else a failure with its sentence.
static int wait_for_driver(struct source_v4l2 *self, short also, int64_t deadline_ns,
                           struct error *error)
{
    struct pollfd pollfd = {.fd = self->device.fd, .events = (short)(POLLIN | also)};
    int r;

    do {
        int64_t left_ns = deadline_ns - clock_now_ns();
        struct timespec left = {0};

        if (left_ns > 0)
            left = (struct timespec){left_ns / NS_PER_S, left_ns % NS_PER_S};
        r = ppoll(&pollfd, 1, &left, NULL);
    } while (r < 0 && errno == EINTR);
    if (r < 0)
        return v4l2_device_failed(&self->device, -errno, "wait for a frame", error);
    return r == 0 ? -EAGAIN : pollfd.revents;
}

static int make_pool(struct source_v4l2 *self, const struct frame_layout *layout,
                     const struct frame_allocator *allocator, struct error *error)
{
    int r = frame_pool_new(layout, POOL_FRAMES, allocator, &self->pool);

    return r < 0 ? error_set(error, r, "no memory for frames: %s", strerror(-r)) : 0;
}

static int set_up_userptr(struct source_v4l2 *self, const struct frame_allocator *allocator,
                          struct error *error)
{
    return v4l2_queue_init_userptr(&self->queue, &self->device, POOL_FRAMES, &self->driver.layout,
                                   self->driver.size_bytes, allocator, error, &self->pool);
}

static int set_up_mmap(struct source_v4l2 *self, const struct frame_allocator *allocator,
                       struct error *error)
{
    const struct frame_layout *driver = &self->driver.layout;
    bool lends = allocator->lend && !self->device.converting;
    struct frame_layout layout;
    int r = v4l2_queue_init_mmap(&self->queue, &self->device, lends ? POOL_FRAMES : MMAP_BUFFERS,
                                 driver->size, error);

    if (r < 0)
        return r;
    if (lends && v4l2_lent_new(&self->queue, driver, allocator, &self->lent) == 0)
        return 0;
    frame_layout_init(&layout, driver->format, driver->width, driver->height, FRAME_STRIDE_ALIGN);
    v4l2_colour_read(&self->driver.answer, &layout);
    layout.development = driver->development;
    return make_pool(self, &layout, allocator, error);
}

// NULL when there is no JPEG of the right size in the buffer.
static const struct pixel_format *format_of_jpeg(struct source_v4l2 *self,
                                                 const struct v4l2_buffer *buffer)
{
    uint8_t *data = self->queue.slots[buffer->index].data;
    size_t length = self->queue.slots[buffer->index].length;

    if (buffer->bytesused > length)
        return NULL;
    return mjpeg_format(self->mjpeg, data, mjpeg_mend(data, buffer->bytesused, length),
                        self->driver.width, self->driver.height);
}

// Looks at buffers until one holds a JPEG of the right size. NULL when none comes in time.
static int find_jpeg_format(struct source_v4l2 *self, struct error *error,
                            const struct pixel_format **ret_format)
{
    int64_t deadline_ns = clock_now_ns() + FIRST_JPEG_MS * NS_PER_MS;

    *ret_format = NULL;
    while (!*ret_format) {
        struct v4l2_buffer buffer;
        int events = wait_for_driver(self, 0, deadline_ns, error);
        int r;

        if (events < 0)
            return events == -EAGAIN ? 0 : events;
        r = v4l2_queue_take(&self->queue, &buffer);
        if (r == 0) {
            *ret_format = format_of_jpeg(self, &buffer);
            r = v4l2_queue_give(&self->queue, buffer.index);
        }
        if (r < 0 && (r != -EAGAIN || events != POLLIN))
            return v4l2_device_failed(&self->device, r, "take the first frame", error);
    }
    return 0;
}

// The subsampling stands in the JPEGs alone, so streaming begins here. A camera that delivers none
// is taken to be 4:2:2, as most are; should that be wrong, no JPEG fits and the source is opened
// again.
static int set_up_mjpeg(struct source_v4l2 *self, const struct frame_allocator *allocator,
                        struct error *error)
{
    const struct pixel_format *format = NULL;
    struct frame_layout layout;
    int r = mjpeg_new(&self->mjpeg);

    if (r < 0)
        return error_set(error, r, "no JPEG decoder: %s", strerror(-r));
    r = v4l2_queue_init_mmap(&self->queue, &self->device, MMAP_BUFFERS, self->driver.size_bytes,
                             error);
    if (r == 0)
        r = v4l2_queue_start(&self->queue, error);
    if (r == 0)
        r = find_jpeg_format(self, error, &format);
    if (r < 0)
        return r;
    frame_layout_init(&layout, format ? format : pixel_format_by_name("422P"), self->driver.width,
                      self->driver.height, FRAME_STRIDE_ALIGN);
    v4l2_colour_read(&self->driver.answer, &layout);
    return make_pool(self, &layout, allocator, error);
}

static int set_up_buffers(struct source_v4l2 *self, const struct config_camera *wish,
                          const struct frame_allocator *allocator, struct error *error)
{
    const struct frame_layout *layout = &self->driver.layout;
    unsigned last;
    int r;

    if (self->driver.fourcc == V4L2_PIX_FMT_MJPEG) {
        self->needed_bytes = 1;
        return set_up_mjpeg(self, allocator, error);
    }
    last = layout->format->plane_count - 1;
    self->needed_bytes = layout->planes[last].offset +
                         layout->planes[last].stride * (layout->planes[last].rows - 1) +
                         layout->planes[last].width_bytes;
    if (wish->io != CONFIG_V4L2_IO_MMAP && !self->device.converting) {
        r = set_up_userptr(self, allocator, error);
        if (r != -ENOTSUP || wish->io == CONFIG_V4L2_IO_USERPTR)
            return r;
        self->source.userptr_missed = *error;
    }
    return set_up_mmap(self, allocator, error);
}

static const char *driver_format(uint32_t fourcc)
{
    return fourcc == V4L2_PIX_FMT_MJPEG ? "MJPG" : pixel_format_by_fourcc(fourcc)->name;
}

static void describe(struct source_v4l2 *self)
{
    struct source_mode *mode = &self->source.mode;

    mode->layout = self->lent ? *v4l2_lent_layout(self->lent) : *frame_pool_layout(self->pool);
    mode->fps_numerator = self->driver.fps_numerator;
    mode->fps_denominator = self->driver.fps_denominator;
    source_mode_describe(mode, self->mjpeg                                 ? "V4L2 MMAP MJPG ->"
                               : self->device.converting                   ? "V4L2 MMAP libv4l2 ->"
                               : self->queue.memory == V4L2_MEMORY_USERPTR ? "V4L2 USERPTR"
                                                                           : "V4L2 MMAP");
    if (self->refused.count > 0) {
        size_t length = strlen(mode->description);

        snprintf(mode->description + length, sizeof mode->description - length,
                 " (not enough USB bandwidth for %s)", driver_format(self->refused.list[0]));
    }
}

static int lack_bandwidth(const struct source_v4l2 *self, struct error *error)
{
    const struct v4l2_mode *driver = &self->driver;
    bool named = strcmp(self->wish.format, "auto") != 0;

    return error_set(error, -ENOSPC,
                     "%s: not enough USB bandwidth for %s %ux%u@%.4g; try %sa smaller size, a "
                     "lower fps or another USB bus",
                     self->device.path, driver_format(driver->fourcc), driver->width,
                     driver->height, (double)driver->fps_numerator / driver->fps_denominator,
                     named && driver->fourcc != V4L2_PIX_FMT_MJPEG ? "format = \"MJPG\", " : "");
}

// After the mode's STREAMON lacked bandwidth: buffers in the next best format, unless the user
// named the one to use. -ENOSPC, with its sentence, when there is none left.
static int fall_back(struct source_v4l2 *self, struct error *error)
{
    int r = lack_bandwidth(self, error);

    while (r == -ENOSPC && strcmp(self->wish.format, "auto") == 0 &&
           self->refused.count < V4L2_CANDIDATES_MAX) {
        struct error reason = {0};

        drop_buffers(self);
        self->refused.list[self->refused.count++] = self->driver.fourcc;
        r = v4l2_mode_negotiate(&self->device, &self->wish, &self->refused, &reason, &self->driver);
        if (r == -ENOTSUP)
            return -ENOSPC;
        if (r == 0)
            r = set_up_buffers(self, &self->wish, self->allocator, &reason);
        if (r == -ENOSPC)
            lack_bandwidth(self, error);
        else if (r < 0)
            *error = reason;
    }
    return r;
}

// libv4l2 has controls of its own for cameras that only deliver what it converts; they do nothing
// to what it does not convert. In a flipped mosaic another colour comes first.
static bool flip_in_camera(const struct source_v4l2 *self)
{
    return self->wish.flip != CONFIG_FLIP_NONE && !self->device.converting &&
           self->driver.fourcc != V4L2_PIX_FMT_MJPEG &&
           self->driver.layout.format->mosaic.bits == 0 &&
           v4l2_controls_flip(&self->device, self->wish.flip);
}

// Opens the device at `path`. `plain`: only if one of the driver's own formats is a picture.
static int open_at(const char *path, const struct config_camera *wish,
                   const struct source_environment *environment, bool plain, struct error *error,
                   struct source **ret_source)
{
    _cleanup_(cleanup_half_open) struct source_v4l2 *self = calloc(1, sizeof *self);
    int r;

    if (!self)
        return error_set(error, -ENOMEM, "%s: out of memory", path);
    self->source.ops = &source_v4l2_ops;
    self->wish = *wish;
    self->refused.raw = plain;
    self->allocator = environment->allocator;
    self->copies = environment->copies;
    self->device.fd = -1;
    r = open_device(self, path, wish, error);
    if (r == 0)
        r = v4l2_controls_apply(&self->device, wish->controls, wish->control_count, error);
    if (r == 0) {
        self->source.mode.flipped = flip_in_camera(self);
        r = set_up_buffers(self, wish, environment->allocator, error);
    }
    if (r == -ENOSPC)
        r = fall_back(self, error);
    if (r < 0)
        return r;
    describe(self);
    *ret_source = &TAKE(self)->source;
    return 0;
}

struct device_search {
    const struct config_camera *wish;
    const struct source_environment *environment;
    bool plain;
};

// The reason why the first camera does not work, for the sentence when none does: a node that is no
// camera counts for less than a camera that is busy.
struct obstacle {
    int code;
    struct error reason;
};

static int try_path(const struct device_search *search, const char *path, struct obstacle *obstacle,
                    struct source **ret_source)
{
    struct error reason = {0};
    int r = open_at(path, search->wish, search->environment, search->plain, &reason, ret_source);

    if (r < 0 && r != -ENOENT && r != -ENODEV &&
        (obstacle->code == 0 || (obstacle->code == -EINVAL && r != -EINVAL))) {
        *obstacle = (struct obstacle){r, reason};
    }
    return r;
}

static int try_by_path(const struct device_search *search, struct obstacle *obstacle,
                       struct source **ret_source)
{
    glob_t links;
    int r = -ENODEV;

    if (glob("/dev/v4l/by-path/*", 0, NULL, &links) != 0)
        return -ENODEV;
    for (size_t i = 0; r < 0 && i < links.gl_pathc; i++)
        r = try_path(search, links.gl_pathv[i], obstacle, ret_source);
    globfree(&links);
    return r;
}

static int try_all(const struct device_search *search, struct obstacle *obstacle,
                   struct source **ret_source)
{
    int r = try_by_path(search, obstacle, ret_source);

    for (int i = 0; r < 0 && i < V4L2_DEVICES; i++) {
        char path[32];

        snprintf(path, sizeof path, "/dev/video%d", i);
        r = try_path(search, path, obstacle, ret_source);
    }
    return r;
}

// Opens the first camera that works: one whose own formats are pictures, before one that delivers
// raw samples, as the nodes in front of a sensor's processor do, or what libv4l2 has to convert.
// -ENODEV: none does.
static int open_first(const struct config_camera *wish,
                      const struct source_environment *environment, struct error *error,
                      struct source **ret_source)
{
    struct device_search search = {wish, environment, .plain = true};
    struct obstacle obstacle = {0};
    int r = try_all(&search, &obstacle, ret_source);

    if (r < 0) {
        search.plain = false;
        obstacle = (struct obstacle){0};
        r = try_all(&search, &obstacle, ret_source);
    }
    if (r < 0 && obstacle.code == 0) {
        return error_set(error, -ENODEV,
                         "no capture device in /dev/v4l/by-path or /dev/video0..63");
    }
    return r < 0 ? error_set(error, -ENODEV, "no camera can be used: %s", obstacle.reason.text) : 0;
}

static int v4l2_source_open(const struct config_camera *camera,
                            const struct source_environment *environment, struct error *error,
                            struct source **ret_source)
{
    char devices[384];
    int r;

    if (camera->device[0] == '\0')
        return open_first(camera, environment, error, ret_source);
    r = open_at(camera->device, camera, environment, false, error, ret_source);
    if (r == -ENOENT) {
        v4l2_device_list(devices, sizeof devices);
        return error_set(error, r, "%s does not exist; capture devices: %s", camera->device,
                         devices);
    }
    return r;
}

static int v4l2_source_start(struct source *source, struct error *error)
{
    struct source_v4l2 *self = (struct source_v4l2 *)source;
    int r = self->queue.streaming ? 0 : v4l2_queue_start(&self->queue, error);

    while (r == -ENOSPC) {
        r = fall_back(self, error);
        if (r < 0)
            return r;
        describe(self); // an MJPG camera streams already
        r = self->queue.streaming ? 0 : v4l2_queue_start(&self->queue, error);
    }
    return r;
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

        if (r < 0)
            return r;
        self->source.counters.dropped += v4l2_history_add(&self->history, &buffer);
        if (is_whole(self, &buffer)) {
            *ret_buffer = buffer;
            return 0;
        }
        self->source.counters.corrupted++;
        r = v4l2_queue_give(&self->queue, buffer.index);
        if (r < 0)
            return r;
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

    if (r < 0)
        return r;
    sequence = self->history.sequence;
    for (unsigned i = 0; i < VIDEO_MAX_FRAME; i++) {
        r = take_whole(self, &buffer);
        if (r < 0)
            break;
        r = v4l2_queue_give(&self->queue, newest.index);
        if (r < 0)
            return r;
        self->source.counters.dropped++;
        newest = buffer;
        sequence = self->history.sequence;
    }
    if (r < 0 && r != -EAGAIN)
        return r;
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
    if (self->device.converting)
        copies_count(self->copies, COPY_LIBV4L_CONVERT);
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

    if (frame)
        filled = fill_frame(self, buffer, frame);
    r = v4l2_queue_give(&self->queue, buffer->index);
    if (r < 0)
        return v4l2_device_failed(&self->device, r, "queue a buffer", error);
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

    if (r < 0)
        return r == -EAGAIN ? r : v4l2_device_failed(&self->device, r, "take a frame", error);
    now_ns = clock_now_ns();
    if (self->lent) {
        frame = v4l2_lent_take(self->lent, buffer.index);
    } else if (self->queue.memory == V4L2_MEMORY_USERPTR) {
        frame = v4l2_queue_frame(&self->queue, buffer.index);
    } else {
        r = frame_from_driver_memory(self, &buffer, error, &frame);
        if (r < 0)
            return r;
    }
    assert(frame); // a queued USERPTR slot owns one
    frame->sequence = sequence;
    frame->grabbed_ns = now_ns;
    frame->pts_ns = v4l2_history_pts(&self->history, &buffer, now_ns);
    self->source.counters.frames++;
    *ret_frame = frame;
    return 0;
}

static int v4l2_source_next(struct source *source, int timeout_ms, struct error *error,
                            struct frame **ret_frame)
{
    struct source_v4l2 *self = (struct source_v4l2 *)source;
    int64_t deadline_ns = clock_now_ns() + timeout_ms * NS_PER_MS;
    short signal = self->signal_tells ? POLLPRI : 0;

    for (;;) {
        int events, r = 0;

        if (self->lent)
            r = v4l2_lent_fill(self->lent, &self->queue);
        else if (self->queue.memory == V4L2_MEMORY_USERPTR)
            r = v4l2_queue_fill(&self->queue, self->pool);
        if (r < 0)
            return v4l2_device_failed(&self->device, r, "queue a frame", error);
        events = wait_for_driver(self, signal, deadline_ns, error);
        if (events < 0)
            return events;
        if (events & POLLPRI) {
            if (v4l2_signal_has_changed(&self->device)) {
                return error_set(error, -EIO, "%s: the signal at its input has changed",
                                 self->device.path);
            }
            signal = 0; // a driver that never clears it would keep a core busy
        }
        r = take_frame(self, error, ret_frame);
        if (r != -EAGAIN)
            return r;
        if (events & (POLLERR | POLLHUP | POLLNVAL))
            return v4l2_device_failed(&self->device, -EIO, "go on streaming", error);
        if (clock_now_ns() >= deadline_ns) // while broken frames kept coming
            return -EAGAIN;
    }
}

const struct source_ops source_v4l2_ops = {
    .open = v4l2_source_open,
    .start = v4l2_source_start,
    .next = v4l2_source_next,
    .close = v4l2_source_close,
};
