// Messages to the front of a camera process of two views, numbered 1 and 2, of which the first is
// watched: what reaches the rest of the front is checked. The bits of the first byte: 1 says hello;
// 2 lets the process read nothing before the front has to wait for it; 4 lets it hang up early.
//
// Parsers: daemon/front/supervise/camera_link.c daemon/link/link_end.c
#include "tests/fuzz/fuzz_link_messages.h"

#include "config/schema/schema.h"
#include "daemon/front/supervise/camera_link.h"

#include <glib.h>

#define VIEWS 2
#define HELLO 1
#define BUSY 2
#define HANGS_UP 4

static struct camera_link *camera; // NULL: it has ended

static bool is_text(const char *text, size_t size)
{
    return memchr(text, 0, size) != NULL;
}

static void check_region(const struct link_region *region)
{
    fuzz_claim(schema_name_rule.accepts(region->name));
    fuzz_claim(region->share >= 0 && region->share <= 1);
}

static void on_telemetry(void *context, const struct link_telemetry *telemetry)
{
    (void)context;
    fuzz_claim(telemetry->state < LINK_CAMERA_STATE_COUNT);
    fuzz_claim(is_text(telemetry->format, sizeof telemetry->format));
    fuzz_claim(is_text(telemetry->path, sizeof telemetry->path));
    fuzz_claim(is_text(telemetry->error, sizeof telemetry->error));
    fuzz_claim(is_text(telemetry->backend, sizeof telemetry->backend));
    fuzz_claim(is_text(telemetry->gpu, sizeof telemetry->gpu));
    for (size_t i = 0; i < LINK_VIEWS_MAX; i++)
        fuzz_claim(is_text(telemetry->views[i].encoder, sizeof telemetry->views[i].encoder));
    for (size_t i = 0; i < LINK_REGIONS_MAX; i++) {
        if (telemetry->regions[i].name[0])
            check_region(&telemetry->regions[i]);
    }
}

static void on_motion(void *context, const struct link_event *event)
{
    (void)context;
    check_region(&event->region);
    fuzz_claim(event->at_ns >= event->started_ns);
}

static void on_slate(void *context)
{
    (void)context;
}

static void on_ending(void *context, bool fatal, const char *sentence)
{
    (void)context;
    (void)fatal;
    fuzz_claim(sentence != NULL);
}

static void on_encoder_hung(void *context, enum config_encoder encoder)
{
    (void)context;
    fuzz_claim(encoder != CONFIG_ENCODER_AUTO && encoder < CONFIG_ENCODER_COUNT);
}

static void on_ended(void *context, int reason, const char *sentence)
{
    (void)context;
    fuzz_claim(camera && reason < 0 && sentence[0]);
    camera_link_free(camera);
    camera = NULL;
}

static const struct camera_link_events events = {on_telemetry, on_motion,       on_slate,
                                                 on_ending,    on_encoder_hung, on_ended};

static void send_hello(int fd)
{
    struct link_header header = {.type = LINK_HELLO, .size = strlen(EDGED_VERSION)};

    fuzz_claim(send(fd, &header, sizeof header, 0) == sizeof header);
    fuzz_claim(send(fd, EDGED_VERSION, header.size, 0) == (ssize_t)header.size);
}

static void on_demand(void *context, struct stream *stream, bool key_frame)
{
    (void)context;
    if (camera)
        camera_link_update(camera, stream, key_frame);
}

static void on_wake(void *context)
{
    struct stream_reader *reader = context;

    while (reader_peek(reader))
        reader_next(reader);
}

// Whatever the front sends; it is to come through whole in the end.
static void drain(int fd, bool busy)
{
    static uint8_t bytes[1 << 16];

    for (unsigned turn = 0; turn < (busy ? 1 : 16); turn++) {
        while (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0) {
        }
        g_main_context_iteration(NULL, FALSE);
    }
}

// Messages until one ends the link, or there are no more.
static void take_messages(int fd, const uint8_t *data, size_t size)
{
    unsigned flags = *data++;

    size--;
    if (flags & HELLO)
        send_hello(fd);
    for (unsigned i = 0; flags & BUSY && i < 16; i++)
        camera_link_try_gpu(camera, "cuda");
    if (flags & HANGS_UP)
        shutdown(fd, SHUT_RDWR);
    while (camera && fuzz_send_message(fd, &data, &size))
        g_main_context_iteration(NULL, FALSE);
    drain(fd, flags & HANGS_UP);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct stream *streams[VIEWS];
    const struct link_configuration configuration = {.number = 1};
    struct stream_reader reader;
    int fds[2], smallest = 1;

    if (size < 1)
        return -1;
    fuzz_claim(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    if (*data & BUSY)
        fuzz_claim(setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &smallest, sizeof smallest) == 0);
    fuzz_claim(stream_new("/front/edges", &payload_h264, 2000, &streams[0]) == 0);
    fuzz_claim(stream_new("/front/camera", &payload_h264, 2000, &streams[1]) == 0);
    fuzz_claim(camera_link_new(fds[0], &events, NULL, &camera) == 0);
    camera_link_configure(camera, &configuration, "", streams, VIEWS);
    stream_set_demand(streams[0], on_demand, NULL);
    stream_watch(streams[0], &reader, on_wake, &reader);
    stream_resume(streams[0], &reader, DEMAND_BEGIN);
    stream_want_key_frame(streams[0], DEMAND_REPAIR);
    take_messages(fds[1], data, size);
    stream_leave(streams[0], &reader);
    camera_link_free(camera);
    camera = NULL;
    close(fds[1]);
    while (g_main_context_iteration(NULL, FALSE)) {
    }
    stream_unref(streams[0]);
    stream_unref(streams[1]);
    return 0;
}
