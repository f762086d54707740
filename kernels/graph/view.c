// A view is one part (part.h), or the two of a split, in frames of its own; and on a GPU a fence
// behind the picture.
//
// Gray pictures are row stages over plane 0: the camera's luma in place, or gray rows made from it,
// then the view's own stages, then the mapping to limited range if the picture is computed. Colour
// pictures are one frame stage, or nothing at all where the camera delivers what the viewer wants.
#include "kernels/graph/view.h"

#include "kernels/gpu/gpu_fence.h"
#include "kernels/graph/part.h"
#include "kernels/graph/split.h"
#include "kernels/graph/view_frames.h"
#include "kernels/label/label.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define GPU_WAIT_NS NS_PER_S

struct view {
    struct part parts[2];
    unsigned part_count;
    bool passes_through; // the output is the input: nothing is computed
    struct frame_layout output;
    struct view_frames frames; // of the output
    struct gpu *gpu;           // not owned; NULL: the CPU computes
    struct gpu_fence fence;    // of the GPU, behind a picture
    struct frame *begun;       // owned reference; the picture being made
    struct label *label;       // owned; NULL: none
    bool surfaces;             // the output lies in surfaces
    char backend[16];
    struct graph *own; // owned; of a view that shares nothing; NULL: the camera's graph has it
};

static void cleanup_view(struct view **view)
{
    view_free(*view);
}

// Says which side of a split an error is about.
static int name_side(const struct view *view, unsigned side, int code, struct error *error)
{
    return code == 0 || view->part_count == 1
               ? code
               : error_prefix(error, code, "%s", side ? "right" : "left");
}

static int plan_side(struct view *view, unsigned side, const struct view_setup *setup,
                     enum view_output output, struct error *error)
{
    struct part *part = &view->parts[side];
    struct config_view settings;
    int r = config_split_side(setup->settings, side, &settings, error);

    if (r < 0) {
        return r; // which names the side
    }
    part_finish(part);
    r = part_plan(part, setup, &settings, output, error);
    return name_side(view, side, r, error);
}

// Of a full range picture beside one of limited range, the other is made without a range.
static int plan_split(struct view *view, const struct view_setup *setup, struct error *error)
{
    const struct frame_layout *left = &view->parts[0].layout, *right = &view->parts[1].layout;
    int r = 0;

    view->part_count = 2;
    for (unsigned i = 0; i < 2 && r == 0; i++) {
        r = plan_side(view, i, setup, setup->output, error);
    }
    if (r < 0 || setup->output == VIEW_OUTPUT_EXACT || left->range == right->range) {
        return r;
    }
    return plan_side(view, left->range == FRAME_RANGE_FULL, setup, VIEW_OUTPUT_EXACT, error);
}

// Surfaces have a layout of their own.
static int lay_out(struct view *view, const struct view_setup *setup, struct error *error)
{
    const struct frame_allocator *allocator = setup->allocator;

    return allocator->surfaces && !view->passes_through
               ? allocator->surfaces->lay_out(allocator->context, &view->output, error)
               : 0;
}

// Plans the parts; fills in the output's layout and where the last of them begins.
static int plan_parts(struct view *view, const struct view_setup *setup, struct error *error,
                      uint32_t *ret_x)
{
    bool split = setup->settings->view == CONFIG_VIEW_SPLIT;
    int r = split ? plan_split(view, setup, error)
                  : part_plan(&view->parts[0], setup, setup->settings, setup->output, error);

    if (r == 0 && split) {
        const struct frame_layout sides[2] = {view->parts[0].layout, view->parts[1].layout};
        const char *format = setup->output == VIEW_OUTPUT_STREAM ? "NV12" : "RGB3";

        return split_layout(pixel_format_by_name(format), setup->input, sides, error, &view->output,
                            ret_x);
    }
    view->part_count = 1;
    view->passes_through = view->parts[0].plan.count == 0;
    view->output = view->parts[0].layout;
    *ret_x = 0;
    return r;
}

// The setup's GPU, if it has a kernel for all of the view.
static int choose_gpu(struct view *view, const struct view_setup *setup, struct error *error)
{
    struct gpu *gpu = setup->gpu;

    for (unsigned i = 0; i < view->part_count; i++) {
        if (!part_can_be_on_gpu(&view->parts[i], setup)) {
            gpu = NULL;
        }
    }
    snprintf(view->backend, sizeof view->backend, gpu ? "CUDA sm_%d" : "CPU",
             gpu ? gpu_info(gpu)->sm : 0);
    view->gpu = view->passes_through ? NULL : gpu;
    if (view->gpu && !setup->allocator->to_gpu && !setup->allocator->surfaces) {
        return error_set(error, -ENOTSUP,
                         "%s memory is not for a GPU: the view cannot compute on it",
                         setup->allocator->kind);
    }
    return 0;
}

static int make_parts(struct view *view, const struct view_setup *setup, uint32_t x,
                      struct error *error)
{
    struct graph *graph = setup->graph;
    int r = choose_gpu(view, setup, error);

    if (r < 0 || view->passes_through) {
        return r;
    }
    if (!graph) {
        r = graph_new(&view->own);
        graph = view->own;
    }
    for (unsigned i = 0; i < view->part_count && r == 0; i++) {
        r = part_make(&view->parts[i], setup, graph, view->gpu, &view->output, i * x, error);
        r = name_side(view, i, r, error);
    }
    if (r == 0 && view->own) {
        view_set_active(view, true);
    }
    if (r == 0 && view->gpu) {
        r = gpu_fence_init(&view->fence, gpu_driver(view->gpu), gpu_waiter(view->gpu), error);
    }
    return r;
}

static int make_frames(struct view *view, const struct view_setup *setup, struct error *error)
{
    const struct part *part = &view->parts[0];
    const struct view *before = setup->before;
    enum stage_kind last =
        view->part_count > 1 ? STAGE_KIND_COUNT : part->plan.steps[part->plan.count - 1].kind;

    view->surfaces = setup->allocator->surfaces;
    return view_frames_init(&view->frames, setup, &view->output, last,
                            before ? &before->frames : NULL, error);
}

static int make_label(struct view *view, const struct view_setup *setup, struct error *error)
{
    const struct label_setup label = {
        .settings = &setup->settings->label, .camera = setup->camera, .layout = &view->output};

    return setup->camera && config_view_has_label(setup->settings)
               ? label_new(&label, error, &view->label)
               : 0;
}

int view_new(const struct view_setup *setup, struct error *error, struct view **ret_view)
{
    _cleanup_(cleanup_view) struct view *view = calloc(1, sizeof *view);
    uint32_t x;
    int r;

    if (!view) {
        return error_set(error, -ENOMEM, "no memory for a view");
    }
    r = plan_parts(view, setup, error, &x);
    if (r == 0) {
        r = lay_out(view, setup, error);
    }
    if (r == 0) {
        r = make_parts(view, setup, x, error);
    }
    view->surfaces = setup->input_surfaces; // of what passes through
    if (r == 0 && !view->passes_through) {
        r = make_frames(view, setup, error);
    }
    if (r == 0) {
        r = make_label(view, setup, error);
    }
    if (r == 0) {
        *ret_view = TAKE(view);
    }
    return r;
}

void view_free(struct view *view)
{
    if (!view) {
        return;
    }
    view_drop_picture(view);
    if (view->gpu && !gpu_is_lost(view->gpu)) {
        gpu_enter(view->gpu, NULL); // if it cannot be, the context may be current already
        gpu_fence_finish(&view->fence);
    }
    part_finish(&view->parts[0]);
    part_finish(&view->parts[1]);
    graph_free(view->own);
    view_frames_finish(&view->frames);
    label_free(view->label);
    free(view);
}

void view_set_active(struct view *view, bool active)
{
    for (unsigned i = 0; i < view->part_count; i++) {
        part_set_active(&view->parts[i], active);
    }
}

void view_forget(struct view *view)
{
    for (unsigned i = 0; i < view->part_count; i++) {
        part_forget(&view->parts[i]);
    }
}

// In a stream of its own, as far as there are such, behind what views share.
static int launch_parts(struct view *view, const struct gpu_pictures *pictures, struct error *error)
{
    const struct path *path = view->parts[0].path ? view->parts[0].path : view->parts[1].path;
    int r = 0;

    for (unsigned i = 0; i < view->part_count && r == 0; i++) {
        r = part_launch_shared(&view->parts[i], pictures, error);
    }
    if (r == 0) {
        r = gpu_use_stream(view->gpu, path ? path_stream(path) : 0, error);
    }
    for (unsigned i = 0; i < view->part_count && r == 0; i++) {
        r = part_launch(&view->parts[i], pictures, error);
    }
    return r;
}

static int launch(struct view *view, struct frame *input, struct frame *output, struct error *error)
{
    struct gpu_pictures pictures;
    int r = gpu_pictures_lend(view->gpu, input, output, error, &pictures);

    if (r < 0) {
        return r;
    }
    r = launch_parts(view, &pictures, error);
    if (r == 0) {
        r = frame_queue_to_cpu(output, error);
    }
    if (r == 0) {
        r = gpu_fence_set(&view->fence, gpu_stream(view->gpu), error);
    }
    gpu_use_stream(view->gpu, 0, NULL);
    return r;
}

static int compute(struct view *view, struct frame *input, struct frame *output,
                   struct error *error)
{
    int r = frame_begin_cpu_access(input, error);

    if (r == 0) {
        r = frame_begin_cpu_access(output, error);
    }
    for (unsigned i = 0; i < view->part_count && r == 0; i++) {
        part_compute(&view->parts[i], input, output);
    }
    return r < 0 ? r : frame_end_cpu_access(output, error);
}

static int make_picture(struct view *view, struct frame *input, struct frame *output,
                        struct error *error)
{
    if (view->own) {
        graph_begin(view->own);
    }
    return view_is_on_gpu(view) ? launch(view, input, output, error)
                                : compute(view, input, output, error);
}

int view_begin(struct view *view, struct frame *input, struct error *error)
{
    _cleanup_(cleanup_frame) struct frame *output = NULL;
    int r;

    if (view->passes_through) {
        view->begun = frame_ref(input);
        return 0;
    }
    output = frame_pool_take_for(view->frames.pool, input);
    if (!output) {
        return error_set(error, -ENOBUFS, "all output frames are in use");
    }
    r = make_picture(view, input, output, error);
    if (r == 0) {
        view->begun = TAKE(output);
    }
    return r;
}

int view_end(struct view *view, struct error *error, struct frame **ret_output)
{
    _cleanup_(cleanup_frame) struct frame *output = TAKE(view->begun);
    int r = 0;

    if (view_is_on_gpu(view)) {
        r = gpu_fence_wait(&view->fence, clock_now_ns() + GPU_WAIT_NS, error);
    }
    if (r == 0 && view->label) {
        r = label_draw(view->label, output, error);
    }
    if (r == 0) {
        *ret_output = TAKE(output);
    }
    return r;
}

void view_drop_picture(struct view *view)
{
    frame_unref(TAKE(view->begun));
}

int view_run(struct view *view, struct frame *input, struct error *error, struct frame **ret_output)
{
    _cleanup_(cleanup_frame) struct frame *output = NULL;
    int r = view_begin(view, input, error);

    if (r == 0) {
        r = view_end(view, error, &output);
    }
    if (r == 0 && view_is_on_gpu(view)) {
        r = frame_to_cpu(input, error);
    }
    if (r == 0) {
        *ret_output = TAKE(output);
    }
    return r;
}

bool view_reads_on_gpu(const struct config_view *settings, const struct frame_layout *input)
{
    const struct plan plan = plan_make(settings, input->format, VIEW_OUTPUT_STREAM);

    return plan.count > 0 && gpu_runner_supports(&plan, input);
}

bool view_is_on_gpu(const struct view *view)
{
    return view->gpu;
}

bool view_passes_through(const struct view *view)
{
    return view->passes_through;
}

const struct frame_layout *view_output_layout(const struct view *view)
{
    return &view->output;
}

bool view_makes_surfaces(const struct view *view)
{
    return view->surfaces;
}

const char *view_backend(const struct view *view)
{
    return view->backend;
}
