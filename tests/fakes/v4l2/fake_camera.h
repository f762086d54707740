// A camera that plays in the place of libv4l2: preloaded, or linked into a test program, it answers
// open() of its device node and the v4l2_ functions. Its file descriptor is a timerfd, so poll()
// works at the frame rate. Everything else goes to the kernel.
//
// EDGED_FAKE_V4L2 describes it, read at every open, KEY=VALUE separated by spaces:
//   device=/dev/video0   its node            format=YUYV,MJPG@15  formats, with a rate of their own
//   size=640x480,…       discrete sizes, or  size=16x16-1920x1080/8x2  a range with its step
//   fps=30,15            rates               stride=0             bytes more in a line
//   range=full|limited   quantization        userptr=no|qbuf|once where USERPTR is refused
//   mjpg=FILE            the JPEG            damage=garbage|truncated  what happens to JPEGs
//                        (of another format: a picture as it lies in memory)
//   colour=8,1,2         colorspace, ycbcr_enc and xfer_func
//   damage-every=1       to every nth        error-every=N        every nth frame flagged
//   short-every=N        every nth too short gap-every=N          a number lost before every nth
//   burst=1              frames a tick       clock=none           no monotonic time
//   unplug-after=N       gone after N frames, till reopened       silent=1   never a frame
//   plugged=FILE         there only while that file is
//   dv=WxH|none          a card: the signal at its input; it has sizes of its own till that is
//   taken dv-change-after=N    a signal of twice the width and height comes after N frames field=1
//   the order of fields, of enum v4l2_field late=N               the first frame comes N seconds
//   late busy=format|stream   EBUSY there         kind=output|mplane|gone|denied   no usable device
//   nospc=YUYV,NV12      formats the USB bus has no bandwidth for
//   hflip=1 vflip=1      has these controls  raw-device=/dev/video1  a node of raw samples alone
//   lie=index|size|stride|zero|bytes         a driver that cannot be trusted
//   lie=urgent|events    POLLPRI without an end, with no event or with no end of them
//
// Frame n (its sequence number), at sample (x, y) of each plane's own grid: Y 16 + (3 x + 5 y + 7
// n) mod 220, Cb 16 + (2 x + y + 3 n) mod 225, Cr 16 + (x + 4 y + 5 n) mod 225; in RGB formats
// these three are R, G and B at every pixel, the x of XR24 is 0. A mosaic has at each pixel the one
// of them that its order says, times 257 and cut to its bits from the upper end. Flipped ones are
// of x or y from the other end.
#pragma once

#include <linux/videodev2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_BUFFERS 32

struct fake_camera {
    int fd;
    bool in_use, converting, gone, refused_once;
    char spec[1024];
    struct v4l2_pix_format pix;
    struct v4l2_fract interval;
    uint32_t memory, count, sequence, frames;
    uint32_t taken_width, taken_height; // of the signal; 0: not yet
    bool subscribed, changed;           // to events; the signal is another one
    uint8_t *jpeg;
    size_t jpeg_size;
    struct {
        uint8_t *data;
        struct v4l2_buffer filled;
    } buffers[FAKE_BUFFERS];
    unsigned queued[FAKE_BUFFERS], queued_count, done[FAKE_BUFFERS], done_count;
};

// Sets errno and returns -1, as an ioctl does.
int fake_refuse(int code);

// The value of a key in a description, "" when it is not there.
const char *fake_option(const char *spec, const char *key, char value[static 512]);
bool fake_option_is(const struct fake_camera *camera, const char *key, const char *expected);
unsigned fake_option_number(const struct fake_camera *camera, const char *key, unsigned fallback);
// True for every nth of the frames made, n by the number under `key`; 0 is never.
bool fake_every(const struct fake_camera *camera, const char *key, unsigned fallback);

// Format `index`: the driver's own, then what libv4l2 would make of them. `ret_rate` is 0 when the
// format has no rate of its own.
bool fake_format_at(const struct fake_camera *camera, unsigned index, uint32_t *ret_fourcc,
                    unsigned *ret_rate);

// The ioctls of the same names.
int fake_set_format(struct fake_camera *camera, struct v4l2_pix_format *pix);
int fake_enumerate_size(const struct fake_camera *camera, struct v4l2_frmsizeenum *query);
int fake_enumerate_interval(const struct fake_camera *camera, struct v4l2_frmivalenum *query);
int fake_set_rate(struct fake_camera *camera, struct v4l2_fract *interval);

// The ioctls of the same names, and whether there is an event.
int fake_query_signal(const struct fake_camera *camera, struct v4l2_dv_timings *timings);
int fake_take_signal(struct fake_camera *camera, const struct v4l2_dv_timings *timings);
int fake_dequeue_event(struct fake_camera *camera, struct v4l2_event *event);
bool fake_signal_has_news(const struct fake_camera *camera);

// A sensor's raw samples, one colour a pixel.
struct fake_mosaic {
    unsigned bits;
    bool packed;
    char order[5]; // of the first two rows' first two pixels, "RGGB"
};

// False: `fourcc` is no mosaic.
bool fake_mosaic(uint32_t fourcc, struct fake_mosaic *ret_mosaic);
// Of a row.
uint32_t fake_mosaic_bytes(const struct fake_mosaic *mosaic, uint32_t width);
// Writes `width` samples, which come as 16 bits each.
void fake_mosaic_write(const struct fake_mosaic *mosaic, const uint16_t *wide, uint32_t width,
                       uint8_t *row);

// Fills a buffer of pix.sizeimage bytes with frame `number`; returns the bytes used.
uint32_t fake_draw(const struct fake_camera *camera, uint32_t number, uint8_t *data);

// The ioctls QUERYCTRL, S_CTRL and G_CTRL, and what unplugging does to the values.
int fake_query_control(const struct fake_camera *camera, struct v4l2_queryctrl *query);
int fake_control(const struct fake_camera *camera, struct v4l2_control *argument, bool set);
bool fake_control_is_on(uint32_t id);
void fake_reset_controls(void);

// The ioctls REQBUFS, QUERYBUF, QBUF, DQBUF, and STREAMON or STREAMOFF.
int fake_request_buffers(struct fake_camera *camera, struct v4l2_requestbuffers *request);
int fake_query_buffer(const struct fake_camera *camera, struct v4l2_buffer *buffer);
int fake_queue_buffer(struct fake_camera *camera, const struct v4l2_buffer *buffer);
int fake_dequeue_buffer(struct fake_camera *camera, struct v4l2_buffer *buffer);
int fake_stream(struct fake_camera *camera, bool on);
