#include "daemon/ctl/events/events.h"

#include "daemon/ctl/events/events_clip.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>

#define DEFAULT_CONFIG EDGED_SYSCONFDIR "/edged/edged.conf"

static const char usage[] =
    "Usage: edgectl events [OPTION]... CLIP\n"
    "The motion events that a camera's regions raise on a recording, a line of JSON each.\n"
    "\n"
    "  --config FILE      the configuration with the regions; without it\n"
    "                     " DEFAULT_CONFIG "\n"
    "  --camera NAME      the camera; the first that has regions without it\n"
    "  --frames           also a line for each frame and region: how much moves\n";

struct options {
    const char *config, *camera;
    bool frames;
};

// 0, or the exit status to leave with; `option` as getopt_long() gave it.
static int take_option(struct options *options, int option)
{
    switch (option) {
    case 'c':
        options->config = optarg;
        return 0;
    case 'n':
        options->camera = optarg;
        return 0;
    case 'f':
        options->frames = true;
        return 0;
    default:
        fputs(usage, stderr);
        return 2;
    }
}

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

static int run(const struct options *options, const char *clip)
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
    static const struct option long_options[] = {
        {"config", required_argument, NULL, 'c'},
        {"camera", required_argument, NULL, 'n'},
        {"frames", no_argument, NULL, 'f'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct options options = {.config = DEFAULT_CONFIG};
    int option;

    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        int status = 0;

        if (option == 'h') {
            fputs(usage, stdout);
            return 0;
        }
        status = take_option(&options, option);
        if (status != 0) {
            return status;
        }
    }
    if (argc - optind != 1) {
        fputs(usage, stderr);
        return 2;
    }
    return run(&options, argv[optind]);
}
