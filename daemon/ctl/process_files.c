// A file becomes a file: of one kind or another, on the GPU or the CPU, whole or not at all.
#include "daemon/ctl/process_files.h"

#include "daemon/ctl/gpu_session.h"
#include "daemon/ctl/media.h"
#include "daemon/ctl/output_file.h"
#include "daemon/ctl/threads.h"
#include "daemon/media_picture.h"
#include "daemon/pnm.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

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

// What else GStreamer may be able to read, to become a picture or a clip.
static const struct file_kind other_picture = {"", MEDIUM_PICTURE, NULL};
static const struct file_kind other_clip = {"", MEDIUM_CLIP, NULL};

struct job {
    const struct process_request *request;
    const struct file_kind *input_kind, *output_kind;
    struct gpu_session session;
    struct pool *pool; // owned
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

// Clips have their frames before each other, two pictures are named.
static int check_previous(const struct job *job, struct error *error)
{
    const struct process_request *request = job->request;
    const struct file_kind *kind = request->previous ? kind_of(request->previous) : NULL;
    bool clip = job->input_kind->medium == MEDIUM_CLIP;

    if (!config_view_remembers(request->settings) || (clip && !request->previous)) {
        return 0;
    }
    if (!request->previous) {
        return error_set(error, -EINVAL,
                         "%s: the %s view compares two pictures, name the one before with "
                         "--previous",
                         request->input, config_view_kind_name(request->settings->view));
    }
    if (clip) {
        return error_set(error, -EINVAL, "--previous: each frame of a clip has one before it");
    }
    if (kind && kind->medium == MEDIUM_CLIP) {
        return error_set(error, -EINVAL, "--previous %s: a clip, allowed is a picture",
                         request->previous);
    }
    return 0;
}

// What can be known before any work: kinds of file that fit, an input that is there.
static int check_files(struct job *job, struct error *error)
{
    struct stat input, output;

    job->input_kind = kind_of(job->request->input);
    job->output_kind = kind_of(job->request->output);
    if (!job->output_kind ||
        (job->output_kind->medium == MEDIUM_CLIP && !job->output_kind->element)) {
        return error_set(error, -EINVAL,
                         "%s: cannot write this kind of file, allowed are .pgm .ppm .png .jpg "
                         ".jpeg and the clips .mp4 .mkv",
                         job->request->output);
    }
    if (!job->input_kind) {
        job->input_kind = job->output_kind->medium == MEDIUM_CLIP ? &other_clip : &other_picture;
    }
    if ((job->input_kind->medium == MEDIUM_CLIP) != (job->output_kind->medium == MEDIUM_CLIP)) {
        return error_set(error, -EINVAL,
                         "%s to %s: a picture makes a picture and a clip makes a clip",
                         job->request->input, job->request->output);
    }
    if (stat(job->request->input, &input) < 0) {
        return error_set(error, -errno, "%s: %s", job->request->input, strerror(errno));
    }
    if (!S_ISREG(input.st_mode) || input.st_size == 0) {
        return error_set(error, -EINVAL, "%s: %s", job->request->input,
                         S_ISREG(input.st_mode) ? "the file is empty" : "no regular file");
    }
    if (stat(job->request->output, &output) == 0) {
        if (input.st_dev == output.st_dev && input.st_ino == output.st_ino) {
            return error_set(error, -EINVAL, "%s: input and output are the same file",
                             job->request->input);
        }
        if (!S_ISREG(output.st_mode)) {
            return error_set(error, -EINVAL, "%s: no regular file", job->request->output);
        }
    }
    return 0;
}

static int write_picture(const struct job *job, const struct frame *frame, const char *path,
                         struct error *error)
{
    const char *name = job->request->output;
    bool gray = frame->layout.format->luma_step != 0;
    bool colour = strcasecmp(job->output_kind->extension, ".ppm") == 0;

    if (job->output_kind->medium == MEDIUM_PICTURE) {
        return media_write_picture(frame, job->output_kind->element, path, name, error);
    }
    if (!gray && !colour) {
        return error_set(error, -EINVAL,
                         "%s: a colour picture does not fit a .pgm, allowed are .ppm .png .jpg",
                         name);
    }
    return pnm_write(frame, colour, path, name, error);
}

static int read_picture(const struct job *job, const char *path, struct error *error,
                        struct frame **ret_frame)
{
    const struct frame_allocator *allocator = gpu_session_allocator(&job->session);

    const struct file_kind *kind = kind_of(path);

    return kind && kind->medium == MEDIUM_PNM
               ? pnm_read(path, allocator, error, ret_frame)
               : media_read_picture(path, allocator, error, ret_frame);
}

// Shows the view the picture before `input`.
static int process_previous(struct job *job, struct view *view, const struct frame *input,
                            struct error *error)
{
    _cleanup_(cleanup_frame) struct frame *previous = NULL, *output = NULL;
    int r = read_picture(job, job->request->previous, error, &previous);

    if (r < 0) {
        return r;
    }
    if (!frame_layout_equal(&previous->layout, &input->layout)) {
        return error_set(error, -EINVAL, "%s is %ux%u %s, %s is %ux%u %s: both must be alike",
                         job->request->previous, previous->layout.width, previous->layout.height,
                         previous->layout.format->name, job->request->input, input->layout.width,
                         input->layout.height, input->layout.format->name);
    }
    return gpu_session_view_run(&job->session, view, previous, error, &output);
}

static int process_picture(struct job *job, const char *path, struct error *error)
{
    _cleanup_(cleanup_frame) struct frame *input = NULL, *output = NULL;
    struct view *view;
    struct view_setup setup = {
        .settings = job->request->settings, .output = VIEW_OUTPUT_EXACT, .frames = 1};
    int r = read_picture(job, job->request->input, error, &input);

    if (r < 0) {
        return r;
    }
    setup.input = &input->layout;
    r = gpu_session_view_new(&job->session, &setup, error, &view);
    if (r < 0) {
        return r;
    }
    r = job->request->previous ? process_previous(job, view, input, error) : 0;
    if (r == 0) {
        r = gpu_session_view_run(&job->session, view, input, error, &output);
        r = r < 0 ? error_prefix(error, r, "the view failed") : 0;
    }
    view_free(view);
    return output ? write_picture(job, output, path, error) : r;
}

// Whether a GPU that should work does not: more than that there is none, or none for edged.
static bool is_surprise(int refused)
{
    return refused != 0 && refused != -ENODEV && refused != -ENOSYS && refused != -ENOTSUP;
}

// Into the file `path`, by the GPU or the CPU.
static int process_with(struct job *job, enum config_backend backend, const char *path,
                        struct error *error)
{
    const struct process_request *request = job->request;
    const struct media_clip_files clip = {.input = request->input,
                                          .muxer = job->output_kind->element,
                                          .output = path,
                                          .name = request->output};
    int r = gpu_session_open(&job->session, backend, CONFIG_MEMORY_AUTO, error);

    if (r < 0) {
        return error_prefix(error, r, "--backend %s", config_backend_name(backend));
    }
    if (is_surprise(job->session.refused)) {
        fprintf(stderr, "edgectl: %s, using the CPU\n", error->text);
    }
    job->session.pool = job->pool;
    r = job->input_kind->medium == MEDIUM_CLIP
            ? media_process_clip(&job->session, request->settings, &clip, error)
            : process_picture(job, path, error);
    job->session.failed |= r == -ENOMEM && job->session.gpu;
    return r;
}

// A GPU that fails in the middle costs time, not the result, unless it was asked for by name.
static int process(struct job *job, const char *path, struct error *error)
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

int process_files(const struct process_request *request, struct error *error)
{
    _cleanup_(cleanup_free) char *temporary = NULL;
    struct job job = {.request = request};
    int r = check_files(&job, error);

    if (r < 0) {
        return r;
    }
    r = check_previous(&job, error);
    if (r < 0) {
        return r;
    }
    r = output_file_new(request->output, error, &temporary);
    if (r < 0) {
        return r;
    }
    r = threads_start(request->threads, error, &job.pool);
    if (r == 0) {
        r = process(&job, temporary, error);
    }
    pool_free(job.pool);
    if (r == 0) {
        r = output_file_publish(temporary, request->output, error);
    }
    if (r < 0) {
        output_file_discard(temporary);
    }
    return r;
}
