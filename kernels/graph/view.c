// A view is a plan made once (which stages, in which output) and a run that only computes: on the
// CPU a chain of stages, on a GPU a pipeline of launches (view_gpu.c).
//
// Gray pictures are row stages over plane 0: the camera's luma in place, or gray rows made from it,
// then the view's own stages, then the mapping to limited range if the picture is computed. Colour
// pictures are one frame stage, or nothing at all where the camera delivers what the viewer wants.
#include "kernels/graph/view.h"

#include "kernels/gpu/gpu_fence.h"
#include "kernels/graph/chain.h"
#include "kernels/graph/shared.h"
#include "kernels/graph/split.h"
#include "kernels/graph/view_frames.h"
#include "kernels/graph/view_gpu.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define GPU_WAIT_NS NS_PER_S

struct view {
    struct plan plan;
    struct mask_plane *mask; // owned reference, of the plan; NULL: none
    struct frame_layout input, output;
    bool passes_through;       // the output is the input, and nothing below is there
    struct chain *chain;       // owned
    struct view_gpu *gpu;      // owned; computes instead of the chain
    struct split *split;       // owned; two views that compute instead
    struct view_frames frames; // of the output
    struct gpu_fence fence;    // behind a picture; none where the CPU computes
    struct frame *begun;       // owned reference; the picture being made
    char backend[16];
    struct shared *shared; // not owned, NULL: none
    struct sharer sharer;  // the view as others see it
};

static int set_start(void *context, unsigned start)
{
    struct view *view = context;

    return view->gpu ? view_gpu_set_start(view->gpu, start) : chain_set_start(view->chain, start);
}

static int join(struct view *view, const struct view_setup *setup, struct error *error)
{
    view->sharer = (struct sharer){.plan = &view->plan,
                                   .mask = view->mask,
                                   .camera = &view->input,
                                   .pool = setup->pool,
                                   .set_start = set_start,
                                   .context = view};
    if (view->gpu) {
        view_gpu_describe(view->gpu, &view->sharer);
    }
    int r = shared_join(setup->shared, &view->sharer);

    if (r < 0) {
        return error_set(error, r, "no memory for one more view of a camera");
    }
    view->shared = setup->shared;
    return 0;
}

static void cleanup_view(struct view **view)
{
    view_free(*view);
}

static int make_split(struct view *view, const struct view_setup *setup, struct error *error)
{
    int r = split_new(setup, error, &view->split, &view->output);

    if (r == 0) {
        const struct view *left = split_side(view->split, 0), *right = split_side(view->split, 1);

        snprintf(view->backend, sizeof view->backend, "%s",
                 view_backend(left->passes_through ? right : left));
        r = view_frames_init(&view->frames, setup, &view->output, STAGE_KIND_COUNT, view->split,
                             NULL, error);
    }
    if (r == 0 && split_is_on_gpu(view->split)) {
        r = gpu_fence_init(&view->fence, setup->gpu, error);
    }
    return r;
}

static int make_plan(struct view *view, const struct view_setup *setup, struct error *error)
{
    int r;

    view->plan = plan_make(setup->settings, setup->input->format, setup->output);
    view->input = *setup->input;
    r = plan_load_mask(&view->plan, setup, error, &view->mask);
    if (r == 0 && view->mask) {
        view->mask = shared_merge_mask(setup->shared, view->mask);
        plan_set_mask(&view->plan, view->mask);
    }
    return r;
}

static int make_on_gpu(struct view *view, const struct view_setup *setup, struct error *error)
{
    int r = view_gpu_new(setup, &view->plan, error, &view->gpu);

    return r < 0 ? r : gpu_fence_init(&view->fence, setup->gpu, error);
}

int view_new(const struct view_setup *setup, struct error *error, struct view **ret_view)
{
    const struct frame_layout *input = setup->input;
    _cleanup_(cleanup_view) struct view *view = calloc(1, sizeof *view);
    struct stage_setup stages = {.input = input, .pool = setup->pool};
    struct gpu *gpu;
    int r;

    if (!view) {
        return error_set(error, -ENOMEM, "no memory for a view");
    }
    r = make_plan(view, setup, error);
    if (r < 0) {
        return r;
    }
    stages.output = pixel_format_by_name(view->plan.format);
    gpu = gpu_pipeline_supports(&view->plan, input) ? setup->gpu : NULL;
    snprintf(view->backend, sizeof view->backend, gpu ? "CUDA sm_%d" : "CPU",
             gpu ? gpu_info(gpu)->sm : 0);
    if (setup->settings->view == CONFIG_VIEW_SPLIT) {
        r = make_split(view, setup, error);
        if (r == 0) {
            *ret_view = TAKE(view);
        }
        return r;
    }
    if (view->plan.count == 0) {
        view->passes_through = true;
        view->output = *input;
        *ret_view = TAKE(view);
        return 0;
    }
    frame_layout_init(&view->output, stages.output, input->width, input->height,
                      FRAME_STRIDE_ALIGN);
    if (stages.output->luma_step != 0 && !view->plan.computed && input->format->luma_step != 0) {
        view->output.range = input->range;
    }
    if (stages.output->luma_step != 0) {
        view->output.colour = frame_colour_yuv(input->colour);
    }
    r = gpu ? make_on_gpu(view, setup, error)
            : chain_new(view->plan.steps, view->plan.count, &stages, error, &view->chain);
    if (r == 0) {
        r = view_frames_init(&view->frames, setup, &view->output,
                             view->plan.steps[view->plan.count - 1].kind, NULL,
                             setup->before ? &setup->before->frames : NULL, error);
    }
    if (r == 0) {
        r = join(view, setup, error);
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
    shared_leave(view->shared, &view->sharer);
    view_drop_picture(view);
    gpu_fence_finish(&view->fence);
    split_free(view->split);
    view_gpu_free(view->gpu);
    chain_free(view->chain);
    view_frames_finish(&view->frames);
    mask_plane_unref(view->mask);
    free(view);
}

void view_set_active(struct view *view, bool active)
{
    for (unsigned i = 0; i < 2 && view->split; i++) {
        view_set_active(split_side(view->split, i), active);
    }
    // What was kept when somebody watched last may be hours old.
    if (active && !view->sharer.active) {
        view_forget(view);
    }
    shared_set_active(view->shared, &view->sharer, active);
}

void view_forget(struct view *view)
{
    for (unsigned i = 0; i < 2 && view->split; i++) {
        view_forget(split_side(view->split, i));
    }
    if (view->gpu) {
        view_gpu_forget(view->gpu);
    } else if (view->chain) {
        chain_forget(view->chain);
    }
}

static void compute(struct view *view, struct frame *input, struct frame *output)
{
    struct segment *from = view->sharer.from;
    const uint8_t *plane = frame_plane(input, 0);
    size_t stride = input->layout.planes[0].stride;

    if (from) {
        plane = segment_run(from, input, shared_frame(view->shared), &stride);
    }
    chain_run(view->chain, plane, stride, frame_plane(output, 0), output->layout.planes[0].stride,
              input, output);
}

static int queue(struct view *view, struct frame *input, struct frame *output, struct error *error)
{
    struct gpu_pictures pictures;
    uint64_t from = 0, to = 0;
    int r = gpu_enter(view->fence.gpu, error);

    if (r == 0) {
        r = frame_to_gpu(input, error, &from);
    }
    if (r == 0) {
        r = frame_to_gpu(output, error, &to);
    }
    if (r < 0) {
        return r;
    }
    pictures.camera = pictures.input = gpu_picture_at(&input->layout, from);
    pictures.output = gpu_picture_at(&output->layout, to);
    r = view->split ? split_launch(view->split, &pictures, error)
                    : view_launch(view, &pictures, error);
    if (r == 0) {
        r = frame_queue_to_cpu(output, error);
    }
    return r < 0 ? r : gpu_fence_set(&view->fence, error);
}

static int make_picture(struct view *view, struct frame *input, struct frame *output,
                        struct error *error)
{
    if (view_is_on_gpu(view)) {
        return queue(view, input, output, error);
    }
    if (view->split) {
        return split_run(view->split, input, output, error);
    }
    compute(view, input, output);
    shared_note_run(view->shared, &view->sharer);
    return 0;
}

int view_begin(struct view *view, struct frame *input, struct error *error)
{
    _cleanup_(cleanup_frame) struct frame *output = NULL;
    int r;

    if (view->passes_through) {
        view->begun = frame_ref(input);
        return 0;
    }
    output = frame_pool_take(view->frames.pool);
    if (!output) {
        return error_set(error, -ENOBUFS, "all output frames are in use");
    }
    output->pts_ns = input->pts_ns;
    output->grabbed_ns = input->grabbed_ns;
    output->sequence = input->sequence;
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

bool view_is_on_gpu(const struct view *view)
{
    return view->fence.event;
}

int view_launch(struct view *view, const struct gpu_pictures *pictures, struct error *error)
{
    struct segment *from = view->sharer.from;
    int r =
        view_gpu_launch(view->gpu, from, from ? shared_frame(view->shared) : 0, *pictures, error);

    if (r == 0) {
        shared_note_run(view->shared, &view->sharer);
    }
    return r;
}

void view_drop_frames(struct view *view)
{
    view_frames_finish(&view->frames);
}

bool view_passes_through(const struct view *view)
{
    return view->passes_through;
}

int view_set_blocks(struct view *view, const struct config_block *blocks, struct error *error)
{
    int r = 0;

    for (unsigned i = 0; i < 2 && view->split && r == 0; i++) {
        r = view_set_blocks(split_side(view->split, i), blocks, error);
    }
    if (view->split && r == 0) {
        r = split_set_blocks(view->split, blocks, error);
    }
    if (!view->gpu) {
        return r;
    }
    shared_renew(view->shared);
    return view_gpu_set_blocks(view->gpu, blocks, error);
}

bool view_take_refusal(struct view *view, struct error *ret_why)
{
    if (view->split) {
        return view_take_refusal(split_side(view->split, 0), ret_why) ||
               view_take_refusal(split_side(view->split, 1), ret_why) ||
               split_take_refusal(view->split, ret_why);
    }
    return view->gpu && view_gpu_take_refusal(view->gpu, view->sharer.from, ret_why);
}

bool view_take_warning(struct view *view, struct error *ret_text)
{
    if (view->split) {
        return view_take_warning(split_side(view->split, 0), ret_text) ||
               view_take_warning(split_side(view->split, 1), ret_text) ||
               split_take_warning(view->split, ret_text);
    }
    return view->gpu && view_gpu_take_warning(view->gpu, view->sharer.from, ret_text);
}

const struct frame_layout *view_output_layout(const struct view *view)
{
    return &view->output;
}

const char *view_backend(const struct view *view)
{
    return view->backend;
}
