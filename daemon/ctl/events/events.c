// `edgectl events`: the motion events that a camera's regions raise on a recording.
#include "daemon/ctl/commands.h"

#include "daemon/ctl/arguments.h"
#include "daemon/ctl/events/events_clip.h"

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

static const struct config_camera *find_camera(const struct config *config, const char *name)
{
    for (size_t i = 0; i < config->camera_count; i++) {
        const struct config_camera *camera = &config->cameras[i];

        if (name ? strcmp(camera->name, name) == 0 : camera->region_count > 0) {
            return camera;
        }
    }
    return NULL;
}

static int run(const struct events_options *options, const char *clip)
{
    _cleanup_(cleanup_config) struct config *config = NULL;
    struct error error = {0};
    const struct config_camera *camera;

    if (config_load(options->config, stderr, &config) < 0) {
        return 1;
    }
    camera = find_camera(config, options->camera);
    if (!camera || camera->region_count == 0) {
        fprintf(stderr, "edgectl: %s: %s%s with regions\n", options->config,
                options->camera ? "no camera " : "no camera",
                options->camera ? options->camera : "");
        return 1;
    }
    if (events_read_clip(camera, clip, options->frames, stdout, &error) < 0) {
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
