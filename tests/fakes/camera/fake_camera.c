// A camera process for the front's tests: a moving ball from videotestsrc through one x264enc, sent
// for every watched view over the real link. $FAKE_CAMERA makes it misbehave:
//
//   no-slates     sends no slates, and no access units either
//   no-video      sends slates and telemetry, never an access unit
//   hang          stops sending anything once a view is watched, and ignores the link
//   crash         aborts on start, after its slates
//   fatal         declares an incurable fault and exits
//   garbage       sends bytes that are no message once a view is watched
//   two-hellos    sends another hello once a view is watched
//   flood         sends nothing but telemetry once a view is watched, as fast as it is read
//   encoder-hung  says that an encoder hangs once a view is watched, and hangs
//   lane-hung     says that its lane hangs once a view is watched, and hangs
//   bad-video     sends access units that are not H.264
//   bad-times     sends access units that claim to be captured in an hour
//   no-signal     declares NO SIGNAL in its telemetry
//   gpu           has a GPU and computes on it unless told not to; SIGUSR1 makes the GPU fail: the
//                 process says so, and hangs as in a driver
//   gpu-full      has a GPU whose memory is full until it is told to try it, and says that this may
//                 pass
//   motion, bad-motion-X  see motion.h

#include "config/config.h"
#include "daemon/link/link.h"
#include "tests/fakes/camera/motion.h"
#include "tests/fakes/camera/record.h"
#include "tests/fakes/camera/video.h"

#include <errno.h>
#include <glib-unix.h>
#include <gst/app/gstappsink.h>
#include <gst/video/video.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#define QUEUE_BYTES (4u << 20)
struct fake_camera {
    struct link *link;
    const char *mode;
    const char *backend; // of its telemetry
    size_t view_count;
    struct link_configuration head; // of the newest configuration
    GMainLoop *loop;
    GstElement *pipeline;
    pthread_mutex_t
        lock; // guards the flags of the views, set on the main loop, read by the encoder
    bool watched[LINK_VIEWS_MAX], began[LINK_VIEWS_MAX];
    uint64_t sequence;
    struct fake_motion motion;
    bool lost; // the signal
};

static bool is_mode(const struct fake_camera *camera, const char *mode)
{
    return strcmp(camera->mode, mode) == 0;
}

static void say_hello(struct fake_camera *camera)
{
    link_send_bytes(camera->link, LINK_HELLO, 0, EDGED_VERSION, strlen(EDGED_VERSION));
}

static void send_slates(struct fake_camera *camera)
{
    GstElement *pipeline = make_pipeline("videotestsrc num-buffers=2 pattern=black", 1);
    GstElement *sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");

    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    for (int i = 0; i < 2; i++) {
        GstSample *sample = gst_app_sink_pull_sample(GST_APP_SINK(sink));
        GstMapInfo map;

        gst_buffer_map(gst_sample_get_buffer(sample), &map, GST_MAP_READ);
        for (uint32_t view = 0; view < camera->view_count; view++)
            link_send_bytes(camera->link, LINK_SLATE, camera->head.views[view], map.data, map.size);
        gst_buffer_unmap(gst_sample_get_buffer(sample), &map);
        gst_sample_unref(sample);
    }
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(sink);
    gst_object_unref(pipeline);
}

static gboolean send_telemetry(gpointer data)
{
    struct fake_camera *camera = data;
    bool lost = camera->lost || is_mode(camera, "no-signal");
    struct link_telemetry telemetry = {
        .state = lost ? LINK_CAMERA_NO_SIGNAL : LINK_CAMERA_LIVE,
        .width = 320,
        .height = 240,
        .fps_milli = 30000,
        .format = "I420",
        .path = "fake -> x264enc, 0 copies a frame",
        .frames = camera->sequence,
        .configuration = camera->head.number,
    };

    if (lost)
        strcpy(telemetry.error, "the fake camera has none");
    strcpy(telemetry.backend, camera->backend);
    strcpy(telemetry.gpu, strcmp(camera->backend, "CPU") == 0 ? "not used" : "Fake GPU");
    telemetry.gpu_may_return = is_mode(camera, "gpu-full") && strcmp(camera->backend, "CPU") == 0;
    if (is_mode(camera, MOTION_MODE))
        fill_regions(&camera->motion, &telemetry);
    link_send_bytes(camera->link, LINK_TELEMETRY, 0, &telemetry, sizeof telemetry);
    return G_SOURCE_CONTINUE;
}

static void send_access_unit(struct fake_camera *camera, const GstMapInfo *map, bool key_frame)
{
    int64_t now_ns = clock_now_ns();
    struct link_access_unit unit = {
        .captured_ns = now_ns - 3 * NS_PER_MS,
        .grabbed_ns = now_ns - 2 * NS_PER_MS,
        .computed_ns = now_ns - NS_PER_MS,
        .encoded_ns = now_ns,
        .sequence = camera->sequence++,
        .key_frame = key_frame,
    };
    struct iovec pieces[] = {{&unit, sizeof unit}, {map->data, map->size}};

    if (is_mode(camera, "bad-times"))
        unit.captured_ns += 3600 * NS_PER_S;
    if (is_mode(camera, "bad-video")) {
        pieces[1].iov_base = "this is no H.264";
        pieces[1].iov_len = strlen(pieces[1].iov_base);
    }
    pthread_mutex_lock(&camera->lock);
    for (uint32_t view = 0; view < camera->view_count; view++) {
        if (camera->watched[view] && (camera->began[view] || key_frame)) {
            camera->began[view] = true;
            link_send(camera->link, LINK_ACCESS_UNIT, camera->head.views[view], pieces, 2);
        }
    }
    pthread_mutex_unlock(&camera->lock);
}

static GstFlowReturn on_sample(GstAppSink *sink, gpointer data)
{
    GstSample *sample = gst_app_sink_pull_sample(sink);
    GstBuffer *buffer = gst_sample_get_buffer(sample);
    GstMapInfo map;

    gst_buffer_map(buffer, &map, GST_MAP_READ);
    send_access_unit(data, &map, !GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DELTA_UNIT));
    gst_buffer_unmap(buffer, &map);
    gst_sample_unref(sample);
    return GST_FLOW_OK;
}

static void force_key_frame(struct fake_camera *camera)
{
    GstElement *encoder = gst_bin_get_by_name(GST_BIN(camera->pipeline), "enc");
    GstPad *pad = gst_element_get_static_pad(encoder, "src");

    gst_pad_send_event(pad,
                       gst_video_event_new_upstream_force_key_unit(GST_CLOCK_TIME_NONE, TRUE, 0));
    gst_object_unref(pad);
    gst_object_unref(encoder);
}

static void misbehave(struct fake_camera *camera)
{
    static const uint8_t garbage[64] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

    if (is_mode(camera, "garbage"))
        send(link_fd(camera->link), garbage, sizeof garbage, MSG_NOSIGNAL);
    if (is_mode(camera, "two-hellos"))
        say_hello(camera);
    while (is_mode(camera, "flood")) { // until SIGKILL
        struct pollfd room = {.fd = link_fd(camera->link), .events = POLLOUT};

        send_telemetry(camera);
        if (link_wants_write(camera->link) && poll(&room, 1, -1) > 0)
            link_flush(camera->link);
    }
    if (is_mode(camera, "encoder-hung")) {
        uint32_t encoder = CONFIG_ENCODER_V4L2;

        link_send_bytes(camera->link, LINK_ENCODER_HUNG, 0, &encoder, sizeof encoder);
    }
    if (is_mode(camera, "lane-hung")) {
        link_send_bytes(camera->link, LINK_HANGING, 0, "the fake lane hangs", 19);
        link_flush(camera->link);
    }
    if (is_mode(camera, "hang") || is_mode(camera, "encoder-hung") ||
        is_mode(camera, "lane-hung")) {
        gst_element_set_state(camera->pipeline, GST_STATE_NULL);
        poll(NULL, 0, -1); // until SIGKILL
    }
}

static void configure(struct fake_camera *camera, const struct link_message *message,
                      const char *what)
{
    struct config *config;

    memcpy(&camera->head, message->payload, sizeof camera->head);
    record("pass-over %x\n", camera->head.passed_over);
    if (config_parse((const char *)message->payload + sizeof camera->head, "link", stderr,
                     &config) < 0) {
        exit(1);
    }
    config->backend = camera->head.without_gpu ? CONFIG_BACKEND_CPU : config->backend;
    camera->view_count = config->cameras[0].view_count;
    g_autofree char *which = g_strdup_printf("%s %s", what, config_backend_name(config->backend));
    record_blocks(which, config->blocks);
    if (!camera->backend) {
        camera->backend =
            is_mode(camera, "gpu") && config->backend != CONFIG_BACKEND_CPU ? "CUDA sm_87" : "CPU";
    }
    config_free(config);
}

static void hear(struct fake_camera *camera, const struct link_message *message)
{
    if (message->header.type == LINK_CONFIGURE) {
        configure(camera, message, "reconfigure");
        send_telemetry(camera);
    }
    if (message->header.type == LINK_TRY_GPU) {
        record("try-gpu %s\n", (const char *)message->payload);
        camera->backend =
            is_mode(camera, "gpu") || is_mode(camera, "gpu-full") ? "CUDA sm_87" : "CPU";
        send_telemetry(camera);
    }
}

static gboolean on_gpu_fault(gpointer data)
{
    static const char sentence[] = "the fake GPU fell off the bus";
    struct fake_camera *camera = data;

    gst_element_set_state(camera->pipeline, GST_STATE_NULL);
    link_send_bytes(camera->link, LINK_GPU_FAULT, 0, sentence, strlen(sentence));
    poll(NULL, 0, -1); // until SIGKILL
    return G_SOURCE_REMOVE;
}

static gboolean on_motion(gpointer data)
{
    struct fake_camera *camera = data;

    camera->lost = false; // what moves is seen
    change_motion(&camera->motion, camera->mode, camera->link);
    return G_SOURCE_CONTINUE;
}

static gboolean on_loss(gpointer data)
{
    struct fake_camera *camera = data;

    camera->lost = true;
    send_telemetry(camera);
    end_motion(&camera->motion, camera->link);
    return G_SOURCE_CONTINUE;
}

static void await_signals(struct fake_camera *camera)
{
    if (is_mode(camera, "gpu"))
        g_unix_signal_add(SIGUSR1, on_gpu_fault, camera);
    else
        g_unix_signal_add(SIGUSR1, on_motion, camera);
    g_unix_signal_add(SIGUSR2, on_loss, camera);
}

static int on_message(void *context, struct link_message *message)
{
    struct fake_camera *camera = context;
    bool start = message->header.type == LINK_VIEW_START;
    size_t view = 0;

    while (view + 1 < LINK_VIEWS_MAX && camera->head.views[view] != message->header.view)
        view++;

    if (start || message->header.type == LINK_VIEW_STOP) {
        pthread_mutex_lock(&camera->lock);
        camera->watched[view] = start;
        camera->began[view] = false;
        pthread_mutex_unlock(&camera->lock);
    }
    if (start || message->header.type == LINK_KEY_FRAME)
        force_key_frame(camera);
    if (start)
        misbehave(camera);
    hear(camera, message);
    return 0;
}

static gboolean on_readable(gint fd, GIOCondition condition, gpointer data)
{
    struct fake_camera *camera = data;

    (void)fd;
    (void)condition;
    link_flush(camera->link);
    if (link_receive(camera->link, on_message, camera) < 0)
        g_main_loop_quit(camera->loop);
    return G_SOURCE_CONTINUE;
}

static int on_configuration(void *context, struct link_message *message)
{
    configure(context, message, "configure");
    return -ECANCELED; // the rest is read by the main loop
}

static void wait_for_configuration(struct fake_camera *camera)
{
    struct pollfd wanted = {.fd = link_fd(camera->link), .events = POLLIN};

    while (camera->view_count == 0) {
        poll(&wanted, 1, -1);
        if (link_receive(camera->link, on_configuration, camera) == -EPIPE)
            exit(0);
    }
}

static void introduce(struct fake_camera *camera)
{
    say_hello(camera);
    if (is_mode(camera, "fatal")) {
        static const char sentence[] = "the fake camera cannot go on";

        link_send_bytes(camera->link, LINK_FATAL, 0, sentence, strlen(sentence));
        exit(1);
    }
    if (!is_mode(camera, "no-slates"))
        send_slates(camera);
    if (is_mode(camera, "crash"))
        abort();
    send_telemetry(camera);
}

static void start_video(struct fake_camera *camera)
{
    GstAppSinkCallbacks callbacks = {.new_sample = on_sample};
    GstElement *sink;

    camera->pipeline = make_pipeline("videotestsrc is-live=true pattern=ball", 60);
    sink = gst_bin_get_by_name(GST_BIN(camera->pipeline), "sink");
    if (!is_mode(camera, "no-slates") && !is_mode(camera, "no-video"))
        gst_app_sink_set_callbacks(GST_APP_SINK(sink), &callbacks, camera, NULL);
    else
        g_object_set(sink, "drop", TRUE, NULL);
    gst_object_unref(sink);
    gst_element_set_state(camera->pipeline, GST_STATE_PLAYING);
}

int main(int argc, char **argv)
{
    const char *mode = getenv("FAKE_CAMERA");
    struct fake_camera camera = {.mode = mode ? mode : ""};

    if (argc < 2 || strcmp(argv[1], "--link-fd=3") != 0)
        return 2;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    gst_init(NULL, NULL);
    if (link_new(3, QUEUE_BYTES, &camera.link) < 0)
        return 1;
    await_signals(&camera);
    wait_for_configuration(&camera);
    introduce(&camera);
    start_video(&camera);
    camera.loop = g_main_loop_new(NULL, FALSE);
    g_unix_fd_add(link_fd(camera.link), G_IO_IN | G_IO_HUP, on_readable, &camera);
    g_timeout_add_seconds(1, send_telemetry, &camera);
    g_main_loop_run(camera.loop);
    gst_element_set_state(camera.pipeline, GST_STATE_NULL);
    gst_object_unref(camera.pipeline);
    g_main_loop_unref(camera.loop);
    link_free(camera.link);
    return 0;
}
