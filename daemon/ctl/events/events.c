// `edgectl events`: the motion events that a camera's regions raise on a recording.
#include "daemon/ctl/commands.h"

#include "capture/clip/clip_reader.h"
#include "daemon/camera/motion_watch.h"
#include "daemon/common/json.h"
#include "daemon/ctl/arguments.h"
#include "daemon/front/events/motion.h"
#include "kernels/mask/privacy.h"

#include <errno.h>
#include <string.h>

static const char usage[] =
    "Usage: edgectl events [OPTION]... CLIP\n"
    "The motion events that a camera's regions raise on a recording, a line of JSON each.\n"
    "\n"
    "  --config FILE      the configuration with the regions; without it\n"
    "                     " CONFIG_DEFAULT_PATH "\n"
    "  --camera NAME      the camera; the first that has regions without it\n"
    "  --frames           also a line for each frame and region: how much moves\n";

struct events_options {
    const char *config, *camera;
    bool frames;
};

struct clip {
    const struct config_camera *camera;
    bool frames;
    struct privacy *privacy;            // owned; NULL: none yet, or all may be seen
    struct motion_watch *motion_watch;  // owned
    uint64_t numbers[LINK_REGIONS_MAX]; // of the events so far, by region
};

static void print_line(JsonBuilder *builder)
{
    g_autofree char *line = NULL;

    json_builder_end_object(builder);
    line = json_built_text(builder, false);
    puts(line);
}

static double seconds(int64_t time_ns)
{
    return (double)time_ns / (double)NS_PER_S;
}

// The number of the event in its region. An end follows its beginning.
static uint64_t number_event(struct clip *clip, const struct link_event *event)
{
    size_t i = 0;

    while (strcmp(motion_watch_region(clip->motion_watch, i)->name, event->region.name) != 0)
        i++;
    clip->numbers[i] += event->kind == LINK_EVENT_MOTION_STARTED;
    return clip->numbers[i];
}

// Prints the event as edged sends it, with times counted from the beginning of the clip.
static void print_event(void *context, const struct link_event *event)
{
    g_autoptr(JsonBuilder) builder = json_builder_new();
    struct clip *clip = context;
    struct motion_event motion = {
        .kind = event->kind == LINK_EVENT_MOTION_ENDED ? MOTION_ENDED : MOTION_STARTED,
        .reason = MOTION_STILL,
        .number = number_event(clip, event),
        .started_ns = event->started_ns,
        .at_ns = event->at_ns,
        .wall_ns = event->at_ns,
        .share = event->region.share,
        .peak = event->peak_share,
        .box = event->region.box,
    };

    snprintf(motion.camera, sizeof motion.camera, "%s", clip->camera->name);
    snprintf(motion.region, sizeof motion.region, "%s", event->region.name);
    json_builder_begin_object(builder);
    motion_add_members(builder, &motion);
    json_add_number(builder, "time_s", seconds(event->at_ns));
    json_add_number(builder, "started_s", seconds(event->started_ns));
    print_line(builder);
}

static void print_frame(struct clip *clip, int64_t time_ns)
{
    const struct link_region *region;

    for (size_t i = 0; (region = motion_watch_region(clip->motion_watch, i)); i++) {
        g_autoptr(JsonBuilder) builder = json_builder_new();

        json_builder_begin_object(builder);
        json_add_string(builder, "event", "frame");
        json_add_string(builder, "camera", clip->camera->name);
        json_add_string(builder, "region", region->name);
        json_add_flag(builder, "moving", region->moving);
        json_add_number(builder, "share", region->share);
        motion_add_box(builder, &region->box);
        json_add_number(builder, "time_s", seconds(time_ns));
        print_line(builder);
    }
}

// The recording is the right way up. 1, or a negative errno.
static int hide(struct clip *clip, struct frame *frame, struct error *error)
{
    const struct privacy_setup wanted = {.polygons = clip->camera->privacy,
                                         .count = clip->camera->privacy_count,
                                         .layout = &frame->layout};
    int r = 0;

    if (clip->privacy && !privacy_fits(clip->privacy, &wanted))
        privacy_free(TAKE(clip->privacy));
    if (!clip->privacy && wanted.count > 0)
        r = privacy_new(&wanted, error, &clip->privacy);
    if (r == 0 && clip->privacy)
        r = privacy_apply(clip->privacy, frame, error);
    return r < 0 ? r : 1;
}

// 1, or a negative errno.
static int look(struct clip *clip, struct frame *frame, struct error *error)
{
    int r = motion_watch_begin(clip->motion_watch, NULL, NULL, frame, error);

    if (r == 0)
        r = motion_watch_measure(clip->motion_watch, frame, error);
    return r < 0 ? r : 1;
}

static int see_frames(struct clip *clip, struct clip_reader *reader, struct error *error)
{
    int r;

    do {
        _cleanup_(cleanup_frame) struct frame *frame = NULL;

        r = clip_reader_next(reader, error, &frame);
        if (r > 0)
            r = hide(clip, frame, error);
        if (r > 0 && motion_watch_wants(clip->motion_watch, frame->pts_ns))
            r = look(clip, frame, error);
        if (r > 0 && clip->frames)
            print_frame(clip, frame->pts_ns);
    } while (r > 0);
    return r;
}

// Prints each event that the camera's regions raise on the clip; with `frames` also a line for each
// frame and region. -ENOMEM, errors of clip_reader_new() and clip_reader_next().
static int read_clip(const struct config_camera *camera, const char *path, bool frames,
                     struct error *error)
{
    struct clip clip = {.camera = camera, .frames = frames};
    struct clip_reader *reader = NULL;
    int r = motion_watch_new(camera, print_event, &clip, &clip.motion_watch);

    r = r < 0 ? error_set(error, r, "out of memory")
              : clip_reader_new(path, path, false, frame_allocator_host(), error, &reader);
    if (r == 0)
        r = see_frames(&clip, reader, error);
    clip_reader_free(reader);
    privacy_free(clip.privacy);
    motion_watch_free(clip.motion_watch);
    return r;
}

static struct config_camera *find_camera(const struct config *config, const char *name)
{
    for (size_t i = 0; i < config->camera_count; i++) {
        struct config_camera *camera = &config->cameras[i];

        if (name ? strcmp(camera->name, name) == 0 : camera->region_count > 0)
            return camera;
    }
    return NULL;
}

static int run(const struct events_options *options, const char *clip)
{
    _cleanup_(cleanup_config) struct config *config = NULL;
    struct error error = {0};
    struct config_camera *camera;

    if (config_load(options->config, stderr, &config) < 0)
        return 1;
    camera = find_camera(config, options->camera);
    if (!camera || camera->region_count == 0) {
        fprintf(stderr, "edgectl: %s: %s%s with regions\n", options->config,
                options->camera ? "no camera " : "no camera",
                options->camera ? options->camera : "");
        return 1;
    }
    camera->armed = true; // what it would give
    if (read_clip(camera, clip, options->frames, &error) < 0) {
        fprintf(stderr, "edgectl: %s\n", error.text);
        return 1;
    }
    return 0;
}

int ctl_events(int argc, char **argv)
{
    struct events_options options = {.config = CONFIG_DEFAULT_PATH};
    const struct command_option table[] = {{"config", .text = &options.config},
                                           {"camera", .text = &options.camera},
                                           {"frames", .flag = &options.frames},
                                           {0}};
    const struct command_line line = {
        .command = "events", .usage = usage, .options = table, .argument_count = 1};
    int status;

    return command_line_parse(&line, argc, argv, &status) ? run(&options, argv[optind]) : status;
}
