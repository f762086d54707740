// A view is a plan made once (which stages, in which output) and a run that only computes: on the
// CPU a chain of stages, on a GPU a pipeline of launches (view_gpu.c).
//
// Gray pictures are row stages over plane 0: the camera's luma in place, or gray rows made from it,
// then the view's own stages, then the mapping to limited range if the picture is computed. Colour
// pictures are one frame stage, or nothing at all where the camera delivers what the viewer wants.
#include "kernels/graph/view.h"

#include "kernels/graph/chain.h"
#include "kernels/graph/shared.h"
#include "kernels/graph/split.h"
#include "kernels/graph/view_gpu.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FRAMES_DEFAULT 4
#define STRIDE_ALIGN 64

struct view {
    struct plan plan;
    struct mask_plane *mask; // owned reference, of the plan; NULL: none
    struct frame_layout input, output;
    bool passes_through;       // the output is the input, and nothing below is there
    struct chain *chain;       // owned
    struct view_gpu *gpu;      // owned; computes instead of the chain
    struct split *split;       // owned; two views that compute instead
    struct frame_pool *frames; // owned reference
    char backend[16];
    struct shared *shared; // not owned, NULL: none
    struct sharer sharer;  // the view as others see it
};

// What no picture changes is written here, once: the chroma of gray, and what parts the pictures of
// a split.
static void write_constants(const struct view *view, unsigned count)
{
    struct frame *frames[64];
    const struct frame_layout *layout = &view->output;

    for (unsigned i = 0; i < count; i++) {
        frames[i] = frame_pool_take(view->frames);
        memset(frame_plane(frames[i], 1), 128, layout->planes[1].stride * layout->planes[1].rows);
        if (view->split) {
            split_write_gap(view->split, frames[i]);
        }
    }
    for (unsigned i = 0; i < count; i++) {
        frame_unref(frames[i]);
    }
}

// Whether the other's output frames hold all that no picture of this view changes.
static bool fits_frames(const struct view *view, const struct view *other)
{
    const struct plan *plan = &view->plan;

    return other && other->frames && !view->split && !other->split &&
           frame_layout_equal(&view->output, &other->output) &&
           plan->steps[plan->count - 1].kind == other->plan.steps[other->plan.count - 1].kind;
}

static int make_frames(struct view *view, const struct view_setup *setup, struct error *error)
{
    unsigned count = setup->frames ? setup->frames : FRAMES_DEFAULT;
    int r;

    if (fits_frames(view, setup->before)) {
        view->frames = frame_pool_ref(setup->before->frames);
        return 0;
    }
    r = frame_pool_new(&view->output, count, setup->allocator, &view->frames);

    if (r < 0) {
        return error_set(error, r, "no memory for %u output frames of %ux%u", count,
                         view->output.width, view->output.height);
    }
    if (view->output.format->plane_count > 1 &&
        (view->split || view->plan.steps[0].kind != STAGE_CONVERT)) {
        write_constants(view, count);
    }
    return 0;
}

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
        r = make_frames(view, setup, error);
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
    frame_layout_init(&view->output, stages.output, input->width, input->height, STRIDE_ALIGN);
    if (stages.output->luma_step != 0 && !view->plan.computed && input->format->luma_step != 0) {
        view->output.range = input->range;
    }
    if (stages.output->luma_step != 0) {
        view->output.colour = frame_colour_yuv(input->colour);
    }
    r = gpu ? view_gpu_new(setup, &view->plan, error, &view->gpu)
            : chain_new(view->plan.steps, view->plan.count, &stages, error, &view->chain);
    if (r == 0) {
        r = make_frames(view, setup, error);
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
    split_free(view->split);
    view_gpu_free(view->gpu);
    chain_free(view->chain);
    frame_pool_unref(view->frames);
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

static int compute(struct view *view, struct frame *input, struct frame *output,
                   struct error *error)
{
    struct segment *from = view->sharer.from;
    uint64_t number = from ? shared_frame(view->shared) : 0;
    const uint8_t *plane = frame_plane(input, 0);
    size_t stride = input->layout.planes[0].stride;

    if (view->split) {
        return split_run(view->split, input, output, error);
    }
    if (view->gpu) {
        return view_gpu_run(view->gpu, from, number, input, output, error);
    }
    if (from) {
        plane = segment_run(from, input, number, &stride);
    }
    chain_run(view->chain, plane, stride, frame_plane(output, 0), output->layout.planes[0].stride,
              input, output);
    return 0;
}

int view_run(struct view *view, struct frame *input, struct error *error, struct frame **ret_output)
{
    _cleanup_(cleanup_frame) struct frame *output = NULL;
    int r;

    if (view->passes_through) {
        *ret_output = frame_ref(input);
        return 0;
    }
    output = frame_pool_take(view->frames);
    if (!output) {
        return error_set(error, -ENOBUFS, "all output frames are in use");
    }
    output->pts_ns = input->pts_ns;
    output->grabbed_ns = input->grabbed_ns;
    output->sequence = input->sequence;
    r = compute(view, input, output, error);
    if (r == 0) {
        shared_note_run(view->shared, &view->sharer);
        *ret_output = TAKE(output);
    }
    return r;
}

bool view_is_on_gpu(const struct view *view)
{
    return view->gpu;
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
    frame_pool_unref(view->frames);
    view->frames = NULL;
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
