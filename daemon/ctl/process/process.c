// `edgectl process`: the views of the daemon on pictures and clips.
#include "daemon/ctl/commands.h"

#include "config/config.h"
#include "daemon/common/mask_file.h"
#include "daemon/ctl/arguments.h"
#include "daemon/ctl/process/process_files.h"
#include "kernels/stage/pool.h"

#include <errno.h>
#include <string.h>

static const char usage[] =
    "Usage: edgectl process [OPTION]... INPUT OUTPUT\n"
    "One of the daemon's views of a picture or a clip.\n"
    "\n"
    "  --view VIEW        camera, gray, edges (the default), binary, canny, motion,\n"
    "                     overlay, direction, split or custom\n"
    "  --set KEY=VALUE    a key of the view as in edged.conf, say gain=1.5; repeatable:\n"
    "                     edges, direction: operator, blur, norm, gain; binary: these,\n"
    "                     threshold, morphology, times; canny: blur, thresholds, low, high;\n"
    "                     motion: threshold, erode; overlay: those of edges, threshold,\n"
    "                     colour; split: left, right (kinds of views), and theirs;\n"
    "                     custom: stages=blur5,scharr,threshold and their keys; all but\n"
    "                     camera, direction and split: mask=FILE, a .pgm or .png, white\n"
    "                     where the view looks, or polygon=X:Y,X:Y,X:Y in 0.0 to 1.0\n"
    "  --flip FLIP        which way up INPUT is first, as a camera's flip in edged.conf:\n"
    "                     none (the default), rotate-90, rotate-180, rotate-270,\n"
    "                     horizontal or vertical\n"
    "  --backend BACKEND  auto (the default: the GPU where CUDA works), cpu or cuda\n"
    "  --threads N        threads that the CPU computes with, 1 (the default) to 16\n"
    "  --previous FILE    the picture before INPUT, for motion and difference\n"
    "  --frame N          of a clip that makes a picture, the frame, from 0 on; else the\n"
    "                     first, for motion and difference the second\n"
    "\n"
    "Pictures: .pgm .ppm (exact), .png .jpg .jpeg. Clips: .mp4 .mkv, and to read also any other\n"
    "kind that GStreamer reads. A picture makes a picture, a clip a clip or the picture of a\n"
    "frame. \"-\" is standard input, or standard output, which gets a .pgm or .ppm.\n";

#define FRAME_MAX 10000000
#define SETTINGS_MAX 32

// The options, as the command line has them.
struct process_options {
    struct process_request request;
    const char *view;
    const char *settings[SETTINGS_MAX];
    size_t setting_count;
};

static int add_setting(const char *text, void *result)
{
    struct process_options *options = result;

    if (options->setting_count == ARRAY_LENGTH(options->settings)) {
        return -E2BIG;
    }
    options->settings[options->setting_count++] = text;
    return 0;
}

static int apply_setting(struct config_view *view, const char *setting, struct error *error)
{
    const char *equals = strchr(setting, '=');
    _cleanup_(cleanup_free) char *key =
        equals ? strndup(setting, (size_t)(equals - setting)) : NULL;

    if (!key) {
        return error_set(error, -EINVAL, "--set %s: expected KEY=VALUE", setting);
    }
    if (strcmp(key, "view") == 0) {
        return error_set(error, -EINVAL, "--set %s: --view %s says it", setting, equals + 1);
    }
    return config_view_set(view, key, equals + 1, error);
}

// The kind of view; with stages it is "custom", as in the configuration.
static const char *view_word(const struct process_options *options)
{
    bool custom = false;

    for (size_t i = 0; i < options->setting_count; i++) {
        custom = custom || strncmp(options->settings[i], "stages=", strlen("stages=")) == 0;
    }
    return options->view ? options->view : custom ? "custom" : "edges";
}

static int make_settings(const struct process_options *options, struct error *error,
                         struct config_view **ret_settings)
{
    int r = config_view_new(view_word(options), error, ret_settings);

    for (size_t i = 0; i < options->setting_count && r == 0; i++) {
        r = apply_setting(*ret_settings, options->settings[i], error);
    }
    if (r == 0 && (*ret_settings)->view == CONFIG_VIEW_CUSTOM &&
        (*ret_settings)->stages.count == 0) {
        r = error_set(error, -EINVAL,
                      "--view custom: name its stages, as in --set stages=blur5,"
                      "scharr,threshold");
    }
    return r;
}

// Checks that the keys fit together, and that the mask is a picture.
static int check_mask(const struct config_view *settings, struct error *error)
{
    struct region_picture picture = {.gray = NULL};
    const char *key = NULL;
    int r = config_view_check_mask(settings, error, &key);

    if (r < 0) {
        return error_prefix(error, r, "%s", key);
    }
    if (*settings->mask) {
        r = mask_file_read(NULL, settings->mask, error, &picture);
        r = r < 0 ? error_prefix(error, r, "mask") : 0;
    }
    free((uint8_t *)picture.gray);
    return r;
}

static int check_settings(const struct process_options *options, const struct config_view *settings,
                          struct error *error)
{
    int r = check_mask(settings, error);

    if (r == 0 && options->request.previous && !config_view_remembers(settings)) {
        return error_set(error, -EINVAL, "--previous: the %s view looks at one picture only",
                         config_view_kind_name(settings->view));
    }
    return r;
}

static int run(struct process_options *options, const char *input, const char *output)
{
    struct config_view *settings = NULL;
    struct error error = {0};
    int status = 0;

    options->request.input = input;
    options->request.output = output;
    if (make_settings(options, &error, &settings) < 0 ||
        check_settings(options, settings, &error) < 0) {
        status = 2;
    } else {
        options->request.settings = settings;
        status = process_files(&options->request, &error) < 0;
    }
    if (status != 0) {
        fprintf(stderr, "edgectl: %s\n", error.text);
    }
    config_view_free(settings);
    return status;
}

int ctl_process(int argc, char **argv)
{
    struct process_options options = {.request = {.threads = 1, .frame = -1}};
    const struct command_option table[] = {
        {"view", .text = &options.view},
        {"set", .parse = add_setting, .result = &options, .allowed = "32 of them"},
        {"backend", .parse = backend_parse, .result = &options.request.backend,
         .allowed = BACKENDS_ALLOWED},
        {"flip", .parse = flip_parse, .result = &options.request.flip, .allowed = FLIPS_ALLOWED},
        {"threads", .number = &options.request.threads, .minimum = 1, .maximum = POOL_THREADS_MAX},
        {"previous", .text = &options.request.previous},
        {"frame", .number = &options.request.frame, .maximum = FRAME_MAX},
        {0},
    };
    const struct command_line line = {
        .command = "process", .usage = usage, .options = table, .argument_count = 2};
    int status;

    return command_line_parse(&line, argc, argv, &status)
               ? run(&options, argv[optind], argv[optind + 1])
               : status;
}
