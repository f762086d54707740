// A USB camera for the kernel's own uvcvideo driver, plugged in through vhci_hcd as if by USB/IP.
//
//   uvc_camera WIDTH HEIGHT FPS
//
// A run is one plug-in; the camera is unplugged when the program ends. It has one format, YUYV of
// that size and rate, and sends pictures with a moving square through a bulk endpoint. (dummy_hcd
// with the kernel's f_uvc cannot play a camera: it has no isochronous endpoints.) As root.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/usb/ch9.h>
#include <linux/usb/video.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S INT64_C(1000000000)
#define ATTACH "/sys/devices/platform/vhci_hcd.0/attach"
#define DEVICE_ID 0x10002
#define STREAMING_INTERFACE 1
#define PAYLOAD_BYTES 16384
#define PAYLOAD_HEADER_BYTES 2
#define PROBE_BYTES 26
#define TRANSFERS_MAX 256
#define SQUARE_PX 40

// Of USB/IP, all big-endian. The words of a request: flags, length, and of USBIP_UNLINK first the
// number of the request to unlink; of a reply: status, length.
struct message {
    uint32_t command, number, device, is_input, endpoint, words[5];
    uint8_t setup[8];
};

enum { USBIP_SUBMIT = 1, USBIP_UNLINK = 2, USBIP_SUBMITTED = 3, USBIP_UNLINKED = 4 };

struct transfer {
    uint32_t number, length;
};

struct camera {
    int fd; // to the kernel
    unsigned width, height, fps;
    uint8_t configuration[256];
    size_t configuration_bytes;
    uint8_t probe[PROBE_BYTES];

    uint8_t *picture; // the one on its way, up to picture_sent
    size_t picture_bytes, picture_sent;
    unsigned pictures;
    bool sends, streams;
    struct transfer transfers[TRANSFERS_MAX]; // that wait for data, oldest first
    size_t transfer_count;
};

static const struct usb_device_descriptor device_descriptor = {
    .bLength = USB_DT_DEVICE_SIZE,
    .bDescriptorType = USB_DT_DEVICE,
    .bcdUSB = 0x0200, // these are little-endian, as are all machines with this test
    .bDeviceClass = USB_CLASS_MISC,
    .bDeviceSubClass = 2,
    .bDeviceProtocol = 1,
    .bMaxPacketSize0 = 64,
    .idVendor = 0x1d6b,
    .idProduct = 0x0102,
    .bcdDevice = 0x0100,
    .iProduct = 2,
    .bNumConfigurations = 1,
};

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static void tell(const char *event)
{
    printf("%s %lld\n", event, (long long)now_ns());
    fflush(stdout);
}

static void die(const char *doing)
{
    perror(doing);
    exit(1);
}

static void receive(struct camera *camera, void *data, size_t size)
{
    for (ssize_t r; size > 0; size -= (size_t)r, data = (uint8_t *)data + r) {
        r = read(camera->fd, data, size);
        if (r <= 0)
            die("the kernel's end of USB/IP is closed");
    }
}

static void send_all(struct camera *camera, const void *data, size_t size)
{
    for (ssize_t r; size > 0; size -= (size_t)r, data = (const uint8_t *)data + r) {
        r = write(camera->fd, data, size);
        if (r <= 0)
            die("the kernel's end of USB/IP is closed");
    }
}

// `data`: NULL: the transfer was to the camera, which has taken `length` bytes.
static void reply(struct camera *camera, uint32_t number, int status, const void *data,
                  size_t length)
{
    const struct message message = {.command = htonl(USBIP_SUBMITTED),
                                    .number = htonl(number),
                                    .words = {htonl((uint32_t)status), htonl((uint32_t)length)}};

    send_all(camera, &message, sizeof message);
    if (data)
        send_all(camera, data, length);
}

static void put_le(uint8_t *at, unsigned bytes, uint32_t value)
{
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static uint8_t *add_descriptor(struct camera *camera, const uint8_t *bytes)
{
    uint8_t *at = camera->configuration + camera->configuration_bytes;

    memcpy(at, bytes, bytes[0]);
    camera->configuration_bytes += bytes[0];
    return at;
}

#define ADD(camera, ...) add_descriptor(camera, (const uint8_t[]){__VA_ARGS__})
#define CS_INTERFACE USB_DT_CS_INTERFACE

// The numbers of bytes are those of the USB Video Class's specification, 1.0.
static void describe_control(struct camera *camera)
{
    size_t begin;

    ADD(camera, 8, USB_DT_INTERFACE_ASSOCIATION, 0, 2, USB_CLASS_VIDEO, 3, 0, 0);
    ADD(camera, 9, USB_DT_INTERFACE, 0, 0, 0, USB_CLASS_VIDEO, UVC_SC_VIDEOCONTROL, 0, 0);
    begin = camera->configuration_bytes;
    uint8_t *header = ADD(camera, 13, CS_INTERFACE, UVC_VC_HEADER, 0, 1, 0, 0, 0x80, 0x8d, 0x5b, 0,
                          1, STREAMING_INTERFACE);
    // Terminal 1 is a sensor (0x0201), terminal 2 gives what comes from it to USB (0x0101).
    ADD(camera, 18, CS_INTERFACE, UVC_VC_INPUT_TERMINAL, 1, 1, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0);
    ADD(camera, 9, CS_INTERFACE, UVC_VC_OUTPUT_TERMINAL, 2, 1, 1, 0, 1, 0);
    put_le(header + 5, 2, (uint32_t)(camera->configuration_bytes - begin));
}

static void describe_streaming(struct camera *camera)
{
    size_t begin;

    ADD(camera, 9, USB_DT_INTERFACE, STREAMING_INTERFACE, 0, 1, USB_CLASS_VIDEO,
        UVC_SC_VIDEOSTREAMING, 0, 0);
    begin = camera->configuration_bytes;
    uint8_t *header =
        ADD(camera, 14, CS_INTERFACE, UVC_VS_INPUT_HEADER, 1, 0, 0, 0x81, 0, 2, 0, 0, 0, 1, 0);
    ADD(camera, 27, CS_INTERFACE, UVC_VS_FORMAT_UNCOMPRESSED, 1, 1, 'Y', 'U', 'Y', '2', 0, 0, 0x10,
        0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71, 16, 1, 0, 0, 0, 0);
    uint8_t *frame = ADD(camera, 30, CS_INTERFACE, UVC_VS_FRAME_UNCOMPRESSED, 1, 0, 0, 0, 0, 0, 0,
                         0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0);
    ADD(camera, 6, CS_INTERFACE, UVC_VS_COLORFORMAT, 1, 1, 4);
    put_le(header + 4, 2, (uint32_t)(camera->configuration_bytes - begin));
    ADD(camera, 7, USB_DT_ENDPOINT, 0x81, USB_ENDPOINT_XFER_BULK, 0, 2, 0);

    uint32_t period = 10000000 / camera->fps; // of 100 ns
    uint32_t bits_per_s = (uint32_t)camera->picture_bytes * 8 * camera->fps;

    put_le(frame + 5, 2, camera->width);
    put_le(frame + 7, 2, camera->height);
    put_le(frame + 9, 4, bits_per_s);
    put_le(frame + 13, 4, bits_per_s);
    put_le(frame + 17, 4, (uint32_t)camera->picture_bytes);
    put_le(frame + 21, 4, period);
    put_le(frame + 26, 4, period);
    // The answer to the driver's negotiation: the only format, frame and period.
    camera->probe[2] = camera->probe[3] = 1;
    put_le(camera->probe + 4, 4, period);
    put_le(camera->probe + 18, 4, (uint32_t)camera->picture_bytes);
    put_le(camera->probe + 22, 4, PAYLOAD_BYTES);
}

static void describe(struct camera *camera)
{
    uint8_t *configuration = ADD(camera, 9, USB_DT_CONFIG, 0, 0, 2, 1, 0, 0x80, 250);

    describe_control(camera);
    describe_streaming(camera);
    put_le(configuration + 2, 2, (uint32_t)camera->configuration_bytes);
}

// The list of languages (0), or the product's name. Its size.
static size_t describe_string(unsigned index, uint8_t data[static 64])
{
    static const char name[] = "Test Camera";

    data[1] = USB_DT_STRING;
    if (index == 0) {
        data[0] = 4;
        put_le(data + 2, 2, 0x0409);
        return 4;
    }
    data[0] = 2 * sizeof name;
    for (size_t i = 0; i < sizeof name - 1; i++)
        put_le(data + 2 + 2 * i, 2, (uint8_t)name[i]);
    return data[0];
}

static void reply_data(struct camera *camera, uint32_t number, const struct usb_ctrlrequest *setup,
                       const void *data, size_t size)
{
    reply(camera, number, 0, data, size < setup->wLength ? size : setup->wLength);
}

static void give_descriptor(struct camera *camera, uint32_t number,
                            const struct usb_ctrlrequest *setup)
{
    uint8_t string[64] = {0};

    switch (setup->wValue >> 8) {
    case USB_DT_DEVICE:
        reply_data(camera, number, setup, &device_descriptor, USB_DT_DEVICE_SIZE);
        break;
    case USB_DT_CONFIG:
        reply_data(camera, number, setup, camera->configuration, camera->configuration_bytes);
        break;
    case USB_DT_STRING:
        reply_data(camera, number, setup, string, describe_string(setup->wValue & 0xff, string));
        break;
    default:
        reply(camera, number, -EPIPE, NULL, 0);
    }
}

static void stop(struct camera *camera)
{
    camera->streams = camera->sends = false;
    camera->transfer_count = 0;
}

// The driver negotiates with UVC_VS_PROBE_CONTROL and begins with UVC_VS_COMMIT_CONTROL.
static void negotiate(struct camera *camera, uint32_t number, const struct usb_ctrlrequest *setup)
{
    static const uint8_t can_get_and_set = 3, size[] = {PROBE_BYTES, 0};

    switch (setup->bRequest) {
    case UVC_SET_CUR:
        if (setup->wValue >> 8 == UVC_VS_COMMIT_CONTROL && !camera->streams) {
            camera->streams = true;
            tell("committed");
        }
        reply(camera, number, 0, NULL, setup->wLength);
        break;
    case UVC_GET_INFO:
        reply_data(camera, number, setup, &can_get_and_set, 1);
        break;
    case UVC_GET_LEN:
        reply_data(camera, number, setup, size, sizeof size);
        break;
    default:
        reply_data(camera, number, setup, camera->probe, PROBE_BYTES);
    }
}

static void control(struct camera *camera, uint32_t number, const struct usb_ctrlrequest *setup)
{
    static const uint8_t status[2];
    uint8_t taken[1024];

    if (!(setup->bRequestType & USB_DIR_IN) && setup->wLength > 0) {
        if (setup->wLength > sizeof taken)
            die("a control transfer is too long");
        receive(camera, taken, setup->wLength);
    }
    if ((setup->bRequestType & USB_TYPE_MASK) == USB_TYPE_CLASS) {
        if ((setup->wIndex & 0xff) == STREAMING_INTERFACE)
            negotiate(camera, number, setup);
        else
            reply(camera, number, -EPIPE, NULL, 0);
    } else if (setup->bRequest == USB_REQ_GET_DESCRIPTOR) {
        give_descriptor(camera, number, setup);
    } else if (setup->bRequestType & USB_DIR_IN) {
        reply_data(camera, number, setup, status, sizeof status);
    } else {
        // uvcvideo ends a bulk stream by clearing the endpoint's halt.
        if (setup->bRequest == USB_REQ_CLEAR_FEATURE)
            stop(camera);
        reply(camera, number, 0, NULL, 0);
    }
}

static void submit(struct camera *camera, const struct message *message)
{
    uint32_t number = ntohl(message->number), length = ntohl(message->words[1]);
    struct usb_ctrlrequest setup;

    if (message->endpoint == 0) {
        memcpy(&setup, message->setup, sizeof setup);
        control(camera, number, &setup);
    } else if (camera->transfer_count == TRANSFERS_MAX) {
        die("the driver asks for more than fits");
    } else {
        camera->transfers[camera->transfer_count++] = (struct transfer){number, length};
    }
}

static void drop_transfer(struct camera *camera, size_t index)
{
    struct transfer *at = camera->transfers + index;

    camera->transfer_count--;
    memmove(at, at + 1, (camera->transfer_count - index) * sizeof *at);
}

static void unlink_transfer(struct camera *camera, const struct message *message)
{
    struct message answer = {.command = htonl(USBIP_UNLINKED), .number = message->number};

    for (size_t i = 0; i < camera->transfer_count; i++) {
        if (camera->transfers[i].number == ntohl(message->words[0])) {
            drop_transfer(camera, i);
            answer.words[0] = htonl((uint32_t)-ECONNRESET);
            break;
        }
    }
    send_all(camera, &answer, sizeof answer);
}

// A chessboard, over which a square moves.
static void paint(struct camera *camera)
{
    unsigned left = camera->pictures * 7 % (camera->width - SQUARE_PX), top = camera->height / 3;

    for (unsigned y = 0; y < camera->height; y++) {
        for (unsigned x = 0; x < camera->width; x++) {
            uint8_t *pixel = camera->picture + 2 * ((size_t)y * camera->width + x);
            bool square = x - left < SQUARE_PX && y - top < SQUARE_PX;

            pixel[0] = square ? 235 : (x / SQUARE_PX + y / SQUARE_PX) % 2 ? 60 : 140;
            pixel[1] = 128;
        }
    }
    camera->pictures++;
    camera->picture_sent = 0;
    camera->sends = true;
}

// As much of the picture as the driver has room for.
static void send_picture(struct camera *camera)
{
    static uint8_t payload[PAYLOAD_BYTES];

    while (camera->sends && camera->transfer_count > 0) {
        struct transfer transfer = camera->transfers[0];
        size_t room = transfer.length < PAYLOAD_BYTES ? transfer.length : PAYLOAD_BYTES;
        size_t size = camera->picture_bytes - camera->picture_sent;

        if (size > room - PAYLOAD_HEADER_BYTES)
            size = room - PAYLOAD_HEADER_BYTES;
        memcpy(payload + PAYLOAD_HEADER_BYTES, camera->picture + camera->picture_sent, size);
        camera->picture_sent += size;
        camera->sends = camera->picture_sent < camera->picture_bytes;
        payload[0] = PAYLOAD_HEADER_BYTES;
        payload[1] = (uint8_t)(UVC_STREAM_EOH | (camera->pictures % 2 ? UVC_STREAM_FID : 0) |
                               (camera->sends ? 0 : UVC_STREAM_EOF));
        drop_transfer(camera, 0);
        reply(camera, transfer.number, 0, payload, size + PAYLOAD_HEADER_BYTES);
    }
}

static void plug_in(struct camera *camera)
{
    int ends[2], attach = open(ATTACH, O_WRONLY);
    char text[64];

    if (attach < 0)
        die(ATTACH ": is vhci_hcd loaded?");
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
        die("socketpair");
    camera->fd = ends[0];
    tell("plugged");
    int size = snprintf(text, sizeof text, "0 %d %d %d", ends[1], DEVICE_ID, USB_SPEED_HIGH);
    if (write(attach, text, (size_t)size) < 0)
        die(ATTACH);
    close(attach);
    close(ends[1]);
}

static void serve(struct camera *camera)
{
    struct pollfd pollfd = {.fd = camera->fd, .events = POLLIN};
    int64_t next_ns = 0;

    for (;;) {
        struct message message;
        int64_t left_ns = next_ns - now_ns();

        if (poll(&pollfd, 1,
                 !camera->streams ? -1
                 : left_ns > 0    ? (int)(left_ns / 1000000) + 1
                                  : 0)) {
            receive(camera, &message, sizeof message);
            if (ntohl(message.command) == USBIP_SUBMIT)
                submit(camera, &message);
            else
                unlink_transfer(camera, &message);
        }
        if (camera->streams && now_ns() >= next_ns) {
            if (!camera->sends && camera->transfer_count > 0)
                paint(camera);
            next_ns += NS_PER_S / camera->fps;
            if (next_ns < now_ns())
                next_ns = now_ns() + NS_PER_S / camera->fps;
        }
        send_picture(camera);
    }
}

int main(int count, char **words)
{
    static struct camera camera;

    if (count != 4) {
        fputs("Usage: uvc_camera WIDTH HEIGHT FPS\n", stderr);
        return 2;
    }
    camera.width = (unsigned)atoi(words[1]);
    camera.height = (unsigned)atoi(words[2]);
    camera.fps = (unsigned)atoi(words[3]);
    camera.picture_bytes = (size_t)camera.width * camera.height * 2;
    camera.picture = malloc(camera.picture_bytes);
    if (!camera.picture || camera.fps == 0 || camera.width <= SQUARE_PX)
        die("no such picture");
    describe(&camera);
    plug_in(&camera);
    serve(&camera);
}
