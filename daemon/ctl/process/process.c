// `edgectl process`: a view of the daemon on one picture or clip, from a file into a file, or on a
// frame of a clip into a picture, by the GPU or the CPU. The output appears whole or not at all.
#include "config/config.h"
#include "daemon/common/mask_file.h"
#include "daemon/common/media.h"
#include "daemon/common/pnm.h"
#include "daemon/common/standard_output.h"
#include "daemon/ctl/arguments.h"
#include "daemon/ctl/commands.h"
#include "daemon/ctl/gpu_session.h"
#include "daemon/ctl/process/process_clip.h"
#include "daemon/ctl/process/whole_file.h"
#include "kernels/stage/pool.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

struct process_request {
    const struct config_view *settings;
    enum config_backend backend; // auto: the GPU where CUDA works, else the CPU
    enum config_flip flip;       // of the input, before the view
    int threads;                 // that the CPU computes with, 1..POOL_THREADS_MAX
    // Paths, whose extensions tell the kinds of files; "-": standard input (what GStreamer reads,
    // or a .pgm or .ppm), standard output (a .pgm of what is gray, a .ppm of what has colours).
    const char *input, *output;
    const char *previous; // the picture before `input`, for the motion view; else NULL
    int frame; // of a clip that makes a picture, from 0 on; -1: the first with something to see
};

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

// Other files, which GStreamer may be able to read, to become a picture or a clip.
static const struct file_kind other_picture = {"", MEDIUM_PICTURE, NULL};
static const struct file_kind other_clip = {"", MEDIUM_CLIP, NULL};
// Standard output, and standard input that begins so: a .pgm or .ppm.
static const struct file_kind standard_pnm = {"-", MEDIUM_PNM, NULL};

struct file_job {
    const struct process_request *request;
    const char *input, *input_name; // its path, and what errors call it
    const char *output_name;
    struct whole_file held_input, output; // owned; the first of standard input
    const struct file_kind *input_kind, *output_kind;
    struct gpu_session session;
};

static const struct file_kind *kind_of(const char *path)
{
    const char *name = strrchr(path, '/'), *dot = strrchr(name ? name : path, '.');

    if (whole_file_is_standard(path))
        return &standard_pnm;
    for (size_t i = 0; dot && i < ARRAY_LENGTH(kinds); i++) {
        if (strcasecmp(dot, kinds[i].extension) == 0)
            return &kinds[i];
    }
    return NULL;
}

// Only a picture may have a picture before it; in a clip that is the frame before.
static int check_previous(const struct file_job *job, struct error *error)
{
    const struct process_request *request = job->request;
    const struct file_kind *kind = request->previous ? kind_of(request->previous) : NULL;
    bool clip = job->input_kind->medium == MEDIUM_CLIP;

    if (!config_view_remembers(request->settings) || (clip && !request->previous))
        return 0;
    if (!request->previous) {
        return error_set(error, -EINVAL,
                         "%s: the %s view compares two pictures, name the one before with "
                         "--previous",
                         job->input_name, config_view_kind_name(request->settings->view));
    }
    if (clip)
        return error_set(error, -EINVAL, "--previous: each frame of a clip has one before it");
    if (kind && (kind->medium == MEDIUM_CLIP || kind == &standard_pnm)) {
        return error_set(error, -EINVAL, "--previous %s: allowed is a picture in a file",
                         request->previous);
    }
    return 0;
}

// An input of a kind that its name does not tell is taken for the kind of the output. If a frame is
// asked for by number, it is a clip.
static const struct file_kind *other_kind(const struct file_job *job)
{
    return job->output_kind->medium == MEDIUM_CLIP || job->request->frame >= 0 ? &other_clip
                                                                               : &other_picture;
}

// Finds out the kinds of both files, and whether one can become the other.
static int check_kinds(struct file_job *job, struct error *error)
{
    const struct process_request *request = job->request;
    char magic[2] = "";

    job->output_kind = kind_of(request->output);
    if (!job->output_kind ||
        (job->output_kind->medium == MEDIUM_CLIP && !job->output_kind->element)) {
        return error_set(error, -EINVAL,
                         "%s: cannot write this kind of file, allowed are .pgm .ppm .png .jpg "
                         ".jpeg and the clips .mp4 .mkv",
                         request->output);
    }
    job->input_kind = kind_of(request->input);
    if (job->input_kind == &standard_pnm &&
        (pread(fileno(job->held_input.stream), magic, 2, 0) < 2 || magic[0] != 'P')) {
        job->input_kind = NULL;
    }
    if (!job->input_kind)
        job->input_kind = other_kind(job);
    if (job->input_kind->medium != MEDIUM_CLIP && job->output_kind->medium == MEDIUM_CLIP) {
        return error_set(error, -EINVAL,
                         "%s to %s: a picture makes no clip, allowed outputs are .pgm .ppm .png "
                         ".jpg .jpeg",
                         job->input_name, request->output);
    }
    if (request->frame >= 0 &&
        (job->input_kind->medium != MEDIUM_CLIP || job->output_kind->medium == MEDIUM_CLIP)) {
        return error_set(error, -EINVAL,
                         "--frame %d: for a clip that makes a picture, as in edgectl process "
                         "--frame %d CLIP.mp4 OUT.png",
                         request->frame, request->frame);
    }
    return 0;
}

// Checks that the input exists, and that the output is another file.
static int check_paths(const struct file_job *job, struct error *error)
{
    struct stat input, output;

    if (stat(job->input, &input) < 0)
        return error_set(error, -errno, "%s: %s", job->input_name, strerror(errno));
    if (!S_ISREG(input.st_mode) || input.st_size == 0) {
        return error_set(error, -EINVAL, "%s: %s", job->input_name,
                         S_ISREG(input.st_mode) ? "the file is empty" : "no regular file");
    }
    if (!whole_file_is_standard(job->request->output) && stat(job->request->output, &output) == 0) {
        if (input.st_dev == output.st_dev && input.st_ino == output.st_ino) {
            return error_set(error, -EINVAL, "%s: input and output are the same file",
                             job->input_name);
        }
        if (!S_ISREG(output.st_mode))
            return error_set(error, -EINVAL, "%s: no regular file", job->request->output);
    }
    return 0;
}

static int write_picture(const struct file_job *job, const struct frame *frame, const char *path,
                         struct error *error)
{
    const char *name = job->output_name;
    bool gray = frame->layout.format->luma_step != 0;
    bool colour = strcasecmp(job->output_kind->extension, ".ppm") == 0 ||
                  (job->output_kind == &standard_pnm && !gray);

    if (job->output_kind->medium == MEDIUM_PICTURE)
        return media_write_picture(frame, job->output_kind->element, path, name, error);
    if (!gray && !colour) {
        return error_set(error, -EINVAL,
                         "%s: a colour picture does not fit a .pgm, allowed are .ppm .png .jpg",
                         name);
    }
    return pnm_write(frame, colour, path, name, error);
}

// The picture in a file, the right way up.
static int read_picture(struct file_job *job, const char *path, const char *name,
                        const struct file_kind *kind, struct error *error, struct frame **ret_frame)
{
    const struct frame_allocator *allocator = gpu_session_allocator(&job->session);
    _cleanup_(cleanup_frame) struct frame *frame = NULL;
    struct flip *flip = NULL;
    int r = kind && kind->medium == MEDIUM_PNM
                ? pnm_read(path, name, allocator, error, &frame)
                : media_read_picture(path, name, allocator, error, &frame);

    if (r < 0)
        return r;
    r = gpu_session_flip_new(&job->session, job->request->flip, &frame->layout, error, &flip);
    r = r < 0 ? r : gpu_session_flip_run(&job->session, flip, error, &frame);
    flip_free(flip);
    if (r < 0)
        return r;
    *ret_frame = TAKE(frame);
    return 0;
}

// Runs the view on the picture before `input`, so that it has something to compare with.
static int process_previous(struct file_job *job, struct view *view, const struct frame *input,
                            struct error *error)
{
    _cleanup_(cleanup_frame) struct frame *previous = NULL, *output = NULL;
    const char *path = job->request->previous;
    int r = read_picture(job, path, path, kind_of(path), error, &previous);

    if (r < 0)
        return r;
    if (!frame_layout_equal(&previous->layout, &input->layout)) {
        return error_set(error, -EINVAL, "%s is %ux%u %s, %s is %ux%u %s: both must be alike",
                         job->request->previous, previous->layout.width, previous->layout.height,
                         previous->layout.format->name, job->input_name, input->layout.width,
                         input->layout.height, input->layout.format->name);
    }
    return gpu_session_view_run(&job->session, view, previous, error, &output);
}

static int process_picture(struct file_job *job, struct error *error, struct frame **ret_output)
{
    _cleanup_(cleanup_frame) struct frame *input = NULL;
    struct view *view;
    struct view_setup setup = {
        .settings = job->request->settings, .output = VIEW_OUTPUT_EXACT, .frames = 1};
    int r = read_picture(job, job->input, job->input_name, job->input_kind, error, &input);

    if (r < 0)
        return r;
    setup.input = &input->layout;
    r = gpu_session_view_new(&job->session, &setup, error, &view);
    if (r < 0)
        return r;
    r = job->request->previous ? process_previous(job, view, input, error) : 0;
    if (r == 0) {
        r = gpu_session_view_run(&job->session, view, input, error, ret_output);
        r = r < 0 ? error_prefix(error, r, "the view failed") : 0;
    }
    view_free(view);
    return r;
}

// The frame that was asked for, else the first one; for views that compare two, the second one.
static unsigned frame_number(const struct file_job *job)
{
    const struct process_request *request = job->request;

    return request->frame >= 0 ? (unsigned)request->frame
                               : config_view_remembers(request->settings);
}

// Whether a GPU that should work does not, which is more than that there is none, or none for
// edged.
static bool is_surprise(int refused)
{
    return refused != 0 && refused != -ENODEV && refused != -ENOSYS && refused != -ENOTSUP;
}

// Into the file `path`, with what the session has opened.
static int process_file(struct file_job *job, const char *path, struct error *error)
{
    const struct process_clip clip = {.session = &job->session,
                                      .settings = job->request->settings,
                                      .flip = job->request->flip,
                                      .input = job->input,
                                      .input_name = job->input_name};
    _cleanup_(cleanup_frame) struct frame *picture = NULL;
    int r;

    if (job->output_kind->medium == MEDIUM_CLIP) {
        return process_clip_to_clip(&clip, job->output_kind->element, path, job->output_name,
                                    error);
    }
    r = job->input_kind->medium == MEDIUM_CLIP
            ? process_clip_to_picture(&clip, frame_number(job), error, &picture)
            : process_picture(job, error, &picture);
    return picture ? write_picture(job, picture, path, error) : r;
}

static int process_with(struct file_job *job, enum config_backend backend, const char *path,
                        struct error *error)
{
    int r = gpu_session_open(&job->session, backend, CONFIG_MEMORY_AUTO, error);

    if (r < 0)
        return error_prefix(error, r, "--backend %s", config_backend_name(backend));
    if (is_surprise(job->session.refused))
        fprintf(stderr, "edgectl: %s, using the CPU\n", error->text);
    r = gpu_session_start_threads(&job->session, (unsigned)job->request->threads, error);
    r = r < 0 ? r : process_file(job, path, error);
    job->session.failed |= r == -ENOMEM && job->session.gpu;
    return r;
}

// After a GPU fails in the middle the CPU does it again, unless the GPU was asked for by name.
static int process(struct file_job *job, const char *path, struct error *error)
{
    enum config_backend backend = job->request->backend;
    int r = process_with(job, backend, path, error);
    bool again = r < 0 && job->session.failed && backend == CONFIG_BACKEND_AUTO;

    gpu_session_close(&job->session);
    if (again) {
        fprintf(stderr, "edgectl: %s, using the CPU\n", error->text);
        r = process_with(job, CONFIG_BACKEND_CPU, path, error);
        gpu_session_close(&job->session);
    }
    return r;
}

// The output appears whole or not at all. With auto, a GPU that fails is named on stderr, and the
// CPU does it again. -ENOENT and kin, -EINVAL (a kind of file), -ENODATA (ends early), -ENODEV and
// what else gpu_session_open() says, -EIO; with a sentence in `error`.
static int process_files(const struct process_request *request, struct error *error)
{
    struct file_job job = {.request = request,
                           .input = request->input,
                           .input_name = request->input,
                           .output_name = request->output};
    int r = 0;

    if (whole_file_is_standard(request->output)) {
        job.output_name = "standard output";
        standard_output_keep();
    }
    if (whole_file_is_standard(request->input)) {
        r = whole_file_read_input(error, &job.held_input);
        job.input = job.held_input.path;
        job.input_name = "standard input";
    }
    r = r < 0 ? r : check_kinds(&job, error);
    r = r < 0 ? r : check_previous(&job, error);
    r = r < 0 ? r : check_paths(&job, error);
    r = r < 0 ? r : whole_file_new(request->output, error, &job.output);
    r = r < 0 ? r : process(&job, job.output.path, error);
    r = r < 0 ? r : whole_file_publish(&job.output, request->output, error);
    whole_file_finish(&job.held_input);
    whole_file_finish(&job.output);
    return r;
}

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

    if (options->setting_count == ARRAY_LENGTH(options->settings))
        return -E2BIG;
    options->settings[options->setting_count++] = text;
    return 0;
}

static int apply_setting(struct config_view *view, const char *setting, struct error *error)
{
    const char *equals = strchr(setting, '=');
    _cleanup_(cleanup_free) char *key =
        equals ? strndup(setting, (size_t)(equals - setting)) : NULL;

    if (!key)
        return error_set(error, -EINVAL, "--set %s: expected KEY=VALUE", setting);
    if (strcmp(key, "view") == 0)
        return error_set(error, -EINVAL, "--set %s: --view %s says it", setting, equals + 1);
    return config_view_set(view, key, equals + 1, error);
}

// The kind of view; with stages it is "custom", as in the configuration.
static const char *view_word(const struct process_options *options)
{
    bool custom = false;

    for (size_t i = 0; i < options->setting_count; i++)
        custom = custom || strncmp(options->settings[i], "stages=", strlen("stages=")) == 0;
    return options->view ? options->view : custom ? "custom" : "edges";
}

static int make_settings(const struct process_options *options, struct error *error,
                         struct config_view **ret_settings)
{
    int r = config_view_new(view_word(options), error, ret_settings);

    for (size_t i = 0; i < options->setting_count && r == 0; i++)
        r = apply_setting(*ret_settings, options->settings[i], error);
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

    if (r < 0)
        return error_prefix(error, r, "%s", key);
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
    if (status != 0)
        fprintf(stderr, "edgectl: %s\n", error.text);
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
