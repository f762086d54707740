#include "daemon/ctl/process.h"

#include "config/config.h"
#include "daemon/ctl/media.h"
#include "daemon/ctl/output_file.h"
#include "daemon/ctl/pnm.h"
#include "kernels/view.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static const char usage[] =
    "Usage: edgectl process [OPTION]... INPUT OUTPUT\n"
    "One of the daemon's views of a picture or a clip.\n"
    "\n"
    "  --view VIEW        camera, gray, edges (the default) or binary\n"
    "  --set KEY=VALUE    a key of the view as in edged.conf, say gain=1.5; repeatable\n"
    "  --backend BACKEND  auto (the default), cpu or cuda\n"
    "  --previous FILE    the picture before INPUT, for views that compare two\n"
    "\n"
    "Pictures: .pgm .ppm (exact), .png .jpg .jpeg. Clips: .mp4 .mkv, and to read also .avi .mov\n"
    ".m4v .webm .ts. A picture makes a picture, a clip a clip.\n";

enum medium { MEDIUM_PNM, MEDIUM_PICTURE, MEDIUM_CLIP };

static const struct file_kind {
    const char *extension;
    enum medium medium;
    const char *element; // that writes it; NULL: only read, or no GStreamer needed
} kinds[] = {
    {".pgm", MEDIUM_PNM, NULL},           {".ppm", MEDIUM_PNM, NULL},
    {".png", MEDIUM_PICTURE, "pngenc"},   {".jpg", MEDIUM_PICTURE, "jpegenc"},
    {".jpeg", MEDIUM_PICTURE, "jpegenc"}, {".mp4", MEDIUM_CLIP, "mp4mux"},
    {".mkv", MEDIUM_CLIP, "matroskamux"}, {".avi", MEDIUM_CLIP, NULL},
    {".mov", MEDIUM_CLIP, NULL},          {".m4v", MEDIUM_CLIP, NULL},
    {".webm", MEDIUM_CLIP, NULL},         {".ts", MEDIUM_CLIP, NULL},
};

struct job {
    struct config_view *settings; // owned
    const char *input, *output;
    const struct file_kind *input_kind, *output_kind;
};

static const struct file_kind *kind_of(const char *path)
{
    const char *name = strrchr(path, '/'), *dot = strrchr(name ? name : path, '.');

    for (size_t i = 0; dot && i < ARRAY_LENGTH(kinds); i++) {
        if (strcasecmp(dot, kinds[i].extension) == 0) {
            return &kinds[i];
        }
    }
    return NULL;
}

// What can be known before any work: kinds of file that fit, an input that is there.
static int check_files(struct job *job, struct error *error)
{
    struct stat input, output;

    job->input_kind = kind_of(job->input);
    job->output_kind = kind_of(job->output);
    if (!job->input_kind) {
        return error_set(error, -EINVAL,
                         "%s: unknown kind of file, allowed are .pgm .ppm .png .jpg .jpeg and the "
                         "clips .mp4 .mkv .avi .mov .m4v .webm .ts",
                         job->input);
    }
    if (!job->output_kind ||
        (job->output_kind->medium == MEDIUM_CLIP && !job->output_kind->element)) {
        return error_set(error, -EINVAL,
                         "%s: cannot write this kind of file, allowed are .pgm .ppm .png .jpg "
                         ".jpeg and the clips .mp4 .mkv",
                         job->output);
    }
    if ((job->input_kind->medium == MEDIUM_CLIP) != (job->output_kind->medium == MEDIUM_CLIP)) {
        return error_set(error, -EINVAL,
                         "%s to %s: a picture makes a picture and a clip makes a clip", job->input,
                         job->output);
    }
    if (stat(job->input, &input) < 0) {
        return error_set(error, -errno, "%s: %s", job->input, strerror(errno));
    }
    if (!S_ISREG(input.st_mode) || input.st_size == 0) {
        return error_set(error, -EINVAL, "%s: %s", job->input,
                         S_ISREG(input.st_mode) ? "the file is empty" : "no regular file");
    }
    if (stat(job->output, &output) == 0) {
        if (input.st_dev == output.st_dev && input.st_ino == output.st_ino) {
            return error_set(error, -EINVAL, "%s: input and output are the same file", job->input);
        }
        if (!S_ISREG(output.st_mode)) {
            return error_set(error, -EINVAL, "%s: no regular file", job->output);
        }
    }
    return 0;
}

static int write_picture(const struct job *job, const struct frame *frame, const char *path,
                         struct error *error)
{
    bool gray = frame->layout.format->luma_step != 0;
    bool colour = strcasecmp(job->output_kind->extension, ".ppm") == 0;

    if (job->output_kind->medium == MEDIUM_PICTURE) {
        return media_write_picture(frame, job->output_kind->element, path, error);
    }
    if (!gray && !colour) {
        return error_set(error, -EINVAL,
                         "%s: a colour picture does not fit a .pgm, allowed are .ppm .png .jpg",
                         job->output);
    }
    return pnm_write(frame, colour, path, error);
}

static int process_picture(const struct job *job, const char *path, struct error *error)
{
    _cleanup_(cleanup_frame) struct frame *input = NULL, *output = NULL;
    struct view *view;
    struct view_setup setup = {.settings = job->settings,
                               .output = VIEW_OUTPUT_EXACT,
                               .frames = 1,
                               .allocator = frame_allocator_host()};
    int r = job->input_kind->medium == MEDIUM_PNM ? pnm_read(job->input, error, &input)
                                                  : media_read_picture(job->input, error, &input);

    if (r < 0) {
        return r;
    }
    setup.input = &input->layout;
    r = view_new(&setup, error, &view);
    if (r < 0) {
        return r;
    }
    r = view_run(view, input, error, &output);
    view_free(view);
    return r < 0 ? error_prefix(error, r, "the view failed")
                 : write_picture(job, output, path, error);
}

static int process_files(struct job *job, struct error *error)
{
    _cleanup_(cleanup_free) char *temporary = NULL;
    int r = check_files(job, error);

    if (r < 0) {
        return r;
    }
    r = output_file_new(job->output, error, &temporary);
    if (r < 0) {
        return r;
    }
    r = job->input_kind->medium == MEDIUM_CLIP
            ? media_process_clip(job->settings, job->input, job->output_kind->element, temporary,
                                 error)
            : process_picture(job, temporary, error);
    if (r == 0) {
        r = output_file_publish(temporary, job->output, error);
    }
    if (r < 0) {
        output_file_discard(temporary);
    }
    return r;
}

// Options of the command line, as they stand there.
struct options {
    const char *view, *backend, *previous;
    const char *settings[32];
    size_t setting_count;
};

// 0, or the exit status to leave with; `option` as getopt_long() gave it.
static int take_option(struct options *options, int option)
{
    switch (option) {
    case 'v':
        options->view = optarg;
        return 0;
    case 'b':
        options->backend = optarg;
        return 0;
    case 'p':
        options->previous = optarg;
        return 0;
    case 's':
        if (options->setting_count == ARRAY_LENGTH(options->settings)) {
            fputs("edgectl: --set: too many\n", stderr);
            return 2;
        }
        options->settings[options->setting_count++] = optarg;
        return 0;
    default:
        fputs(usage, stderr);
        return 2;
    }
}

static int apply_setting(struct config_view *view, const char *setting, struct error *error)
{
    const char *equals = strchr(setting, '=');
    _cleanup_(cleanup_free) char *key =
        equals ? strndup(setting, (size_t)(equals - setting)) : NULL;

    if (!key) {
        return error_set(error, -EINVAL, "--set %s: expected KEY=VALUE", setting);
    }
    return config_view_set(view, key, equals + 1, error);
}

static int make_settings(const struct options *options, struct error *error,
                         struct config_view **ret_settings)
{
    int r = config_view_new(options->view, error, ret_settings);

    for (size_t i = 0; i < options->setting_count && r == 0; i++) {
        r = apply_setting(*ret_settings, options->settings[i], error);
    }
    return r;
}

// 0, or the exit status to leave with.
static int check_backend(const struct options *options)
{
    if (strcmp(options->backend, "cuda") == 0) {
        fputs("edgectl: this build has no CUDA kernels, allowed are --backend auto and cpu\n",
              stderr);
        return 1;
    }
    if (strcmp(options->backend, "auto") != 0 && strcmp(options->backend, "cpu") != 0) {
        fprintf(stderr, "edgectl: --backend %s: allowed are auto, cpu, cuda\n", options->backend);
        return 2;
    }
    if (options->previous) {
        fprintf(stderr, "edgectl: --previous: the %s view looks at one picture only\n",
                options->view);
        return 2;
    }
    return 0;
}

static int run(const struct options *options, const char *input, const char *output)
{
    struct job job = {.input = input, .output = output};
    struct error error = {0};
    int status = check_backend(options);

    if (status != 0) {
        return status;
    }
    if (make_settings(options, &error, &job.settings) < 0) {
        status = 2;
    } else if (process_files(&job, &error) < 0) {
        status = 1;
    }
    if (status != 0) {
        fprintf(stderr, "edgectl: %s\n", error.text);
    }
    config_view_free(job.settings);
    return status;
}

int ctl_process(int argc, char **argv)
{
    static const struct option long_options[] = {
        {"view", required_argument, NULL, 'v'}, {"backend", required_argument, NULL, 'b'},
        {"set", required_argument, NULL, 's'},  {"previous", required_argument, NULL, 'p'},
        {"help", no_argument, NULL, 'h'},       {NULL, 0, NULL, 0},
    };
    struct options options = {.view = "edges", .backend = "auto"};
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
    if (argc - optind != 2) {
        fputs(usage, stderr);
        return 2;
    }
    return run(&options, argv[optind], argv[optind + 1]);
}
