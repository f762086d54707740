// A view is a plan made once (which stages, in which output) and a run that only computes.
//
// Gray pictures are row stages over plane 0: the camera's luma in place, or gray rows made from it,
// then the view's own stages, then the mapping to limited range if the picture is computed. Colour
// pictures are one frame stage, or nothing at all where the camera delivers what the viewer wants.
// On a GPU the same plan is one launch (view_gpu.c).
#include "kernels/view.h"

#include "kernels/otsu.h"
#include "kernels/plan.h"
#include "kernels/rows.h"
#include "kernels/split.h"
#include "kernels/view_gpu.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FRAMES_DEFAULT 4
#define STRIDE_ALIGN 64

struct view {
    struct frame_layout output;
    bool passes_through;                 // the output is the input, and nothing below is there
    struct stage stages[PLAN_STEPS_MAX]; // row stages, or one frame stage
    unsigned stage_count;
    unsigned automatic;        // the stage with an automatic threshold; 0: there is none
    struct otsu *otsu;         // owned; the stages before that one; else NULL
    struct rows *rows;         // owned; the stages from there on; NULL with a frame stage
    struct view_gpu *gpu;      // owned; computes instead of stages and rows
    struct split *split;       // owned; two views that compute instead
    struct frame_pool *frames; // owned reference
    char backend[16];
};

// Frames of a gray stream never hold anything but gray: their chroma is written here, once.
static void write_neutral_chroma(struct frame_pool *pool, unsigned count)
{
    struct frame *frames[64];
    const struct frame_layout *layout = frame_pool_layout(pool);

    for (unsigned i = 0; i < count; i++) {
        frames[i] = frame_pool_take(pool);
        memset(frame_plane(frames[i], 1), 128, layout->planes[1].stride * layout->planes[1].rows);
    }
    for (unsigned i = 0; i < count; i++) {
        frame_unref(frames[i]);
    }
}

// The stage whose threshold each frame decides, behind those of the first pass; 0: there is none.
static unsigned automatic_stage(const struct plan *plan)
{
    int i = plan_find(plan, STAGE_THRESHOLD);

    return i > 0 && plan->steps[i].options.threshold == CONFIG_THRESHOLD_OTSU ? (unsigned)i : 0;
}

static int make_rows(struct view *view, struct error *error)
{
    uint32_t width = view->output.width, height = view->output.height;
    unsigned first = view->automatic;
    int r = first > 0 ? otsu_new(view->stages, first, width, height, &view->otsu) : 0;

    if (r == 0) {
        r = rows_new(view->stages + first, view->stage_count - first, width, height, &view->rows);
    }
    return r < 0 ? error_set(error, r, "no memory for the rows between stages") : 0;
}

static int make_stage(struct view *view, const struct plan_step *step, struct stage_setup *setup,
                      struct error *error)
{
    setup->options = &step->options;
    return stage_init(&view->stages[view->stage_count++], step->kind, setup, error);
}

// The row stages, and the rows between them; or the one frame stage: Canny's makes its own gray and
// range.
static int make_stages(struct view *view, const struct plan *plan, struct stage_setup *setup,
                       struct error *error)
{
    int canny = plan_find(plan, STAGE_CANNY), r = 0;

    if (canny >= 0) {
        return make_stage(view, &plan->steps[canny], setup, error);
    }
    for (unsigned i = 0; i < plan->count && r == 0; i++) {
        r = make_stage(view, &plan->steps[i], setup, error);
    }
    if (r < 0 || view->stages[0].ops->run_frame) {
        return r;
    }
    view->automatic = automatic_stage(plan);
    return make_rows(view, error);
}

static int set_pool(struct view *view, struct pool *pool, struct error *error)
{
    const struct stage_ops *ops = view->stages[0].ops;
    int r = ops->set_pool ? ops->set_pool(&view->stages[0], pool) : 0;

    if (r == 0 && view->otsu) {
        r = otsu_set_pool(view->otsu, pool);
    }
    if (r == 0 && view->rows) {
        r = rows_set_pool(view->rows, pool);
    }
    return r < 0 ? error_set(error, r, "no memory for %u threads", pool_threads(pool)) : 0;
}

static int make_frames(struct view *view, const struct plan *plan, const struct view_setup *setup,
                       struct error *error)
{
    unsigned count = setup->frames ? setup->frames : FRAMES_DEFAULT;
    int r = frame_pool_new(&view->output, count, setup->allocator, &view->frames);

    if (r < 0) {
        return error_set(error, r, "no memory for %u output frames of %ux%u", count,
                         view->output.width, view->output.height);
    }
    if (plan->count > 0 && plan->steps[0].kind != STAGE_CONVERT &&
        view->output.format->plane_count > 1) {
        write_neutral_chroma(view->frames, count);
    }
    return 0;
}

static void cleanup_view(struct view **view)
{
    view_free(*view);
}

static int make_split(struct view *view, const struct plan *plan, const struct view_setup *setup,
                      struct error *error)
{
    int r = split_new(setup, error, &view->split, &view->output);

    if (r == 0) {
        const struct view *left = split_side(view->split, 0), *right = split_side(view->split, 1);

        snprintf(view->backend, sizeof view->backend, "%s",
                 view_backend(left->passes_through ? right : left));
        r = make_frames(view, plan, setup, error);
    }
    return r;
}

int view_new(const struct view_setup *setup, struct error *error, struct view **ret_view)
{
    const struct frame_layout *input = setup->input;
    struct plan plan = plan_make(setup->settings, input->format, setup->output);
    struct stage_setup stages = {.input = input, .output = pixel_format_by_name(plan.format)};
    struct gpu *gpu = gpu_pipeline_supports(&plan, input) ? setup->gpu : NULL;
    _cleanup_(cleanup_view) struct view *view = calloc(1, sizeof *view);
    int r;

    if (!view) {
        return error_set(error, -ENOMEM, "no memory for a view");
    }
    snprintf(view->backend, sizeof view->backend, gpu ? "CUDA sm_%d" : "CPU",
             gpu ? gpu_info(gpu)->sm : 0);
    if (setup->settings->view == CONFIG_VIEW_SPLIT) {
        r = make_split(view, &plan, setup, error);
        if (r == 0) {
            *ret_view = TAKE(view);
        }
        return r;
    }
    if (plan.count == 0) {
        view->passes_through = true;
        view->output = *input;
        *ret_view = TAKE(view);
        return 0;
    }
    frame_layout_init(&view->output, stages.output, input->width, input->height, STRIDE_ALIGN);
    if (stages.output->luma_step != 0 && !plan.computed && input->format->luma_step != 0) {
        view->output.range = input->range;
    }
    r = gpu ? view_gpu_new(setup, &plan, error, &view->gpu)
            : make_stages(view, &plan, &stages, error);
    if (r == 0 && !gpu) {
        r = set_pool(view, setup->pool, error);
    }
    if (r == 0) {
        r = make_frames(view, &plan, setup, error);
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
    split_free(view->split);
    view_gpu_free(view->gpu);
    otsu_free(view->otsu);
    rows_free(view->rows);
    frame_pool_unref(view->frames);
    while (view->stage_count > 0) {
        stage_finish(&view->stages[--view->stage_count]);
    }
    free(view);
}

static void compute_rows(struct view *view, const struct frame *input, struct frame *output)
{
    const uint8_t *plane = frame_plane(input, 0);
    size_t stride = input->layout.planes[0].stride;

    if (view->otsu) {
        view->stages[view->automatic].threshold.level =
            otsu_run(view->otsu, plane, stride, &plane, &stride);
    }
    rows_run(view->rows, plane, stride, frame_plane(output, 0), output->layout.planes[0].stride, 0,
             output->layout.height);
}

static int compute(struct view *view, struct frame *input, struct frame *output,
                   struct error *error)
{
    if (view->split) {
        return split_run(view->split, input, output, error);
    }
    if (view->gpu) {
        return view_gpu_run(view->gpu, input, output, error);
    }
    for (unsigned i = 0; i < view->stage_count; i++) {
        if (view->stages[i].ops->begin) {
            view->stages[i].ops->begin(&view->stages[i], input, output);
        }
    }
    if (view->rows) {
        compute_rows(view, input, output);
    } else {
        view->stages[0].ops->run_frame(&view->stages[0], input, output, 0, output->layout.height);
    }
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
        *ret_output = TAKE(output);
    }
    return r;
}

bool view_passes_through(const struct view *view)
{
    return view->passes_through;
}

int view_set_blocks(struct view *view, const struct config_block *blocks, struct error *error)
{
    int r = view->gpu ? view_gpu_set_blocks(view->gpu, blocks, error) : 0;

    for (unsigned i = 0; i < 2 && view->split && r == 0; i++) {
        r = view_set_blocks(split_side(view->split, i), blocks, error);
    }
    return r;
}

bool view_take_refusal(struct view *view, struct error *ret_why)
{
    if (view->split) {
        return view_take_refusal(split_side(view->split, 0), ret_why) ||
               view_take_refusal(split_side(view->split, 1), ret_why);
    }
    return view->gpu && view_gpu_take_refusal(view->gpu, ret_why);
}

bool view_take_warning(struct view *view, struct error *ret_text)
{
    if (view->split) {
        return view_take_warning(split_side(view->split, 0), ret_text) ||
               view_take_warning(split_side(view->split, 1), ret_text);
    }
    return view->gpu && view_gpu_take_warning(view->gpu, ret_text);
}

const struct frame_layout *view_output_layout(const struct view *view)
{
    return &view->output;
}

const char *view_backend(const struct view *view)
{
    return view->backend;
}
