// An RTSP viewer that tells which frames of the moving pattern it sees; it needs nothing but what a
// bundle of edged holds.
//
//   daemon_client [OPTION]... URL
//   --view edges|camera|none  how the frame number looks; none: there is none
//   --seconds S               ends by itself; otherwise when its stdin closes
//   --dump DIRECTORY          keeps frames as DIRECTORY/NUMBER.pgm: --dump-count (10) of them, one
//                             in --dump-every (30) of those that came
//
// On stdout, times in seconds of CLOCK_MONOTONIC, NUMBER "-" for a picture without one:
//   frame NUMBER ARRIVAL                each picture
//   second N frames F lost L unreadable U gap_ms G    each second of pictures; G: the longest gap
//   total frames F lost L unreadable U restarts R gap_ms G gap_begin T gap_end T disconnects D
// Lost are the numbers between two pictures. A number that goes back is a restart of the camera.
// It connects once: a disconnect ends it with status 1.
#include "tests/gpu/pattern_code.h"

#include <glib-unix.h>
#include <gst/app/gstappsink.h>
#include <gst/video/video.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#define NUMBERS 65536
#define NS_PER_MS 1000000.0
#define NS_PER_S 1e9

struct tally {
    unsigned frames, lost, unreadable, restarts;
    int64_t gap_ns, gap_begin_ns, gap_end_ns; // the longest
};

struct client {
    GMainLoop *loop;
    // Written by the streaming thread, read when that has ended.
    struct tally total;
    struct tally second; // since second_begin_ns
    int64_t second_begin_ns;
    int64_t last_ns; // arrival of the last picture, 0: none yet
    int last_number; // -1: none yet
    unsigned seconds, numbered, dumped;
    unsigned disconnects; // the main loop's
};

static char *view_name, *dump_directory;
static double run_seconds;
static int dump_count = 10, dump_every = 30;

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void tally_gap(struct tally *tally, int64_t begin_ns, int64_t end_ns)
{
    if (end_ns - begin_ns > tally->gap_ns) {
        tally->gap_ns = end_ns - begin_ns;
        tally->gap_begin_ns = begin_ns;
        tally->gap_end_ns = end_ns;
    }
}

static void tally_picture(struct tally *tally, int number, int last_number, int64_t last_ns,
                          int64_t arrival_ns)
{
    tally->frames++;
    if (last_ns)
        tally_gap(tally, last_ns, arrival_ns);
    if (number < 0) {
        tally->unreadable++;
    } else if (last_number >= 0) {
        int ahead = (number - last_number + NUMBERS) % NUMBERS;

        if (ahead == 0 || ahead >= NUMBERS / 2)
            tally->restarts++;
        else
            tally->lost += (unsigned)ahead - 1;
    }
}

static void end_second(struct client *client, int64_t arrival_ns)
{
    if (client->second_begin_ns == 0)
        client->second_begin_ns = arrival_ns;
    if (arrival_ns - client->second_begin_ns < (int64_t)NS_PER_S)
        return;
    printf("second %u frames %u lost %u unreadable %u gap_ms %.1f\n", ++client->seconds,
           client->second.frames, client->second.lost, client->second.unreadable,
           (double)client->second.gap_ns / NS_PER_MS);
    client->second = (struct tally){0};
    client->second_begin_ns = arrival_ns;
}

static void dump(struct client *client, const GstVideoFrame *frame, int number)
{
    const uint8_t *luma = GST_VIDEO_FRAME_PLANE_DATA(frame, 0);
    int width = GST_VIDEO_FRAME_WIDTH(frame), height = GST_VIDEO_FRAME_HEIGHT(frame);

    if (!dump_directory || client->numbered++ % (unsigned)dump_every ||
        (int)client->dumped >= dump_count) {
        return;
    }
    client->dumped++;
    g_autofree char *path = g_strdup_printf("%s/%d.pgm", dump_directory, number);
    FILE *file = fopen(path, "wb");
    if (!file) {
        g_printerr("daemon_client: cannot write %s\n", path);
        return;
    }
    fprintf(file, "P5\n%d %d\n255\n", width, height);
    for (int y = 0; y < height; y++) {
        fwrite(luma + (size_t)y * (size_t)GST_VIDEO_FRAME_PLANE_STRIDE(frame, 0), 1, (size_t)width,
               file);
    }
    fclose(file);
}

static int read_number(const GstVideoFrame *frame)
{
    if (g_strcmp0(view_name, "none") == 0)
        return -1;
    return pattern_code_read(
        GST_VIDEO_FRAME_PLANE_DATA(frame, 0), (size_t)GST_VIDEO_FRAME_PLANE_STRIDE(frame, 0),
        (unsigned)GST_VIDEO_FRAME_WIDTH(frame), (unsigned)GST_VIDEO_FRAME_HEIGHT(frame),
        g_strcmp0(view_name, "camera") == 0 ? PATTERN_VIEW_CAMERA : PATTERN_VIEW_EDGES);
}

static void take_picture(struct client *client, const GstVideoFrame *frame, int64_t arrival_ns)
{
    int number = read_number(frame);

    end_second(client, arrival_ns);
    tally_picture(&client->total, number, client->last_number, client->last_ns, arrival_ns);
    tally_picture(&client->second, number, client->last_number, client->last_ns, arrival_ns);
    client->last_ns = arrival_ns;
    if (number < 0) {
        printf("frame - %.4f\n", (double)arrival_ns / NS_PER_S);
    } else {
        printf("frame %d %.4f\n", number, (double)arrival_ns / NS_PER_S);
        client->last_number = number;
        dump(client, frame, number);
    }
    fflush(stdout);
}

static GstFlowReturn on_sample(GstAppSink *sink, gpointer data)
{
    int64_t arrival_ns = now_ns();
    GstSample *sample = gst_app_sink_pull_sample(sink);
    GstVideoFrame frame;
    GstVideoInfo info;

    if (!sample)
        return GST_FLOW_EOS;
    if (gst_video_info_from_caps(&info, gst_sample_get_caps(sample)) &&
        gst_video_frame_map(&frame, &info, gst_sample_get_buffer(sample), GST_MAP_READ)) {
        take_picture(data, &frame, arrival_ns);
        gst_video_frame_unmap(&frame);
    }
    gst_sample_unref(sample);
    return GST_FLOW_OK;
}

static gboolean on_message(GstBus *bus, GstMessage *message, gpointer data)
{
    struct client *client = data;
    g_autoptr(GError) error = NULL;

    (void)bus;
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR)
        gst_message_parse_error(message, &error, NULL);
    else if (GST_MESSAGE_TYPE(message) != GST_MESSAGE_EOS)
        return G_SOURCE_CONTINUE;
    client->disconnects++;
    printf("disconnected %.4f %s\n", (double)now_ns() / NS_PER_S,
           error ? error->message : "end of stream");
    g_main_loop_quit(client->loop);
    return G_SOURCE_CONTINUE;
}

static gboolean on_stdin(gint fd, GIOCondition condition, gpointer data)
{
    char ignored[256];

    (void)condition;
    if (read(fd, ignored, sizeof ignored) > 0)
        return G_SOURCE_CONTINUE;
    g_main_loop_quit(data);
    return G_SOURCE_REMOVE;
}

static gboolean on_time_is_up(gpointer loop)
{
    g_main_loop_quit(loop);
    return G_SOURCE_REMOVE;
}

static GstElement *make_pipeline(const char *url, struct client *client)
{
    GstAppSinkCallbacks callbacks = {.new_sample = on_sample};
    GstElementFactory *libav = gst_element_factory_find("avdec_h264");
    g_autofree char *text = g_strdup_printf(
        "rtspsrc name=source latency=0 protocols=tcp ! rtph264depay ! h264parse ! %s "
        "! appsink name=sink sync=false max-buffers=4",
        libav ? "avdec_h264 max-threads=1" : "openh264dec");
    g_autoptr(GError) error = NULL;

    g_clear_pointer(&libav, gst_object_unref);
    GstElement *pipeline = gst_parse_launch(text, &error);
    if (error) {
        g_printerr("daemon_client: %s\n", error->message);
        g_clear_pointer(&pipeline, gst_object_unref);
        return NULL;
    }
    GstElement *source = gst_bin_get_by_name(GST_BIN(pipeline), "source");
    GstElement *sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
    GstBus *bus = gst_element_get_bus(pipeline);
    g_object_set(source, "location", url, NULL);
    gst_app_sink_set_callbacks(GST_APP_SINK(sink), &callbacks, client, NULL);
    gst_bus_add_watch(bus, on_message, client);
    gst_object_unref(bus);
    gst_object_unref(sink);
    gst_object_unref(source);
    return pipeline;
}

static void print_total(const struct client *client)
{
    const struct tally *total = &client->total;

    printf("total frames %u lost %u unreadable %u restarts %u gap_ms %.1f gap_begin %.4f "
           "gap_end %.4f disconnects %u\n",
           total->frames, total->lost, total->unreadable, total->restarts,
           (double)total->gap_ns / NS_PER_MS, (double)total->gap_begin_ns / NS_PER_S,
           (double)total->gap_end_ns / NS_PER_S, client->disconnects);
}

static int watch(const char *url)
{
    struct client client = {.loop = g_main_loop_new(NULL, FALSE), .last_number = -1};
    GstElement *pipeline = make_pipeline(url, &client);

    if (!pipeline)
        return 2;
    if (run_seconds > 0)
        g_timeout_add((guint)(run_seconds * 1000), on_time_is_up, client.loop);
    else
        g_unix_fd_add(0, G_IO_IN | G_IO_HUP, on_stdin, client.loop);
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    g_main_loop_run(client.loop);
    gst_element_set_state(pipeline, GST_STATE_NULL);
    print_total(&client);
    gst_object_unref(pipeline);
    g_main_loop_unref(client.loop);
    return client.disconnects ? 1 : 0;
}

int main(int argc, char **argv)
{
    const GOptionEntry entries[] = {
        {"view", 0, 0, G_OPTION_ARG_STRING, &view_name, "edges, camera or none", "VIEW"},
        {"seconds", 0, 0, G_OPTION_ARG_DOUBLE, &run_seconds, "how long", "S"},
        {"dump", 0, 0, G_OPTION_ARG_FILENAME, &dump_directory, "where frames are kept", "DIR"},
        {"dump-count", 0, 0, G_OPTION_ARG_INT, &dump_count, "how many", "N"},
        {"dump-every", 0, 0, G_OPTION_ARG_INT, &dump_every, "one in so many", "N"},
        {NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
    };
    GOptionContext *context = g_option_context_new("URL");
    g_autoptr(GError) error = NULL;

    g_option_context_add_main_entries(context, entries, NULL);
    gboolean parsed = g_option_context_parse(context, &argc, &argv, &error);
    g_option_context_free(context);
    if (!parsed || argc != 2 || dump_every < 1) {
        g_printerr("daemon_client: %s\n", error ? error->message : "one URL, please");
        return 2;
    }
    gst_init(NULL, NULL);
    return watch(argv[1]);
}
