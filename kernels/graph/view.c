// A view has one side, or the two of a split, in output frames of its own; and on a GPU a fence
// behind the picture.
//
// A side is made where it lies in the view's picture. Where its own format is another one, or it is
// the camera's picture, it is put there afterwards: by the CPU (split.h), or on a GPU by a
// conversion behind it (convert.h; RGB3 to NV12 in full range). Output frames hold already what no
// picture changes: the chroma of gray, and what parts the pictures of a split.
#include "kernels/graph/view.h"

#include "kernels/convert/convert.h"
#include "kernels/gpu/gpu_fence.h"
#include "kernels/graph/graph.h"
#include "kernels/graph/split.h"
#include "kernels/label/label.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define GPU_WAIT_NS NS_PER_S
#define FRAMES_DEFAULT 4
#define FRAMES_MAX 64

struct side {
    struct plan plan;           // no steps: the camera's picture
    struct mask_plane *mask;    // owned reference, of the plan; NULL: it has none
    struct frame_layout layout; // of its own picture
    uint32_t x;                 // the column where it lies in the view's picture, even for NV12
    struct branch branch;       // owned, if the plan has steps
    struct frame_pool *own; // owned reference; of the pictures that the CPU puts in place; NULL:
                            // there are none
    // Of the GPU: what the branch makes for the conversion, and that, of one stage.
    struct gpu_plane plane;
    struct runner conversion;
};

struct view {
    struct side sides[2];
    unsigned side_count;
    bool passes_through; // the output is the input: nothing is computed
    struct frame_layout output;
    struct frame_pool *pool; // owned reference; of the output frames
    enum stage_kind last;    // the stage that writes them; STAGE_KIND_COUNT: a split
    struct gpu *gpu;         // not owned; NULL: the CPU computes
    struct gpu_fence fence;  // of the GPU, behind a picture
    struct frame *begun;     // owned reference; the picture being made
    struct label *label;     // owned; NULL: none
    bool surfaces;           // the output lies in surfaces
    char backend[16];
    struct graph *own; // owned; of a view that shares nothing; NULL: the camera's graph has it
};

static void cleanup_view(struct view **view)
{
    view_free(*view);
}

// Sides
// ---------------------------------------------------------------------

static struct frame_layout layout_of(const struct plan *plan, const struct frame_layout *input)
{
    const struct pixel_format *format = pixel_format_by_name(plan->format);
    struct frame_layout layout;

    if (plan->count == 0)
        return *input;
    frame_layout_init(&layout, format, input->width, input->height, FRAME_STRIDE_ALIGN);
    if (format->luma_step != 0 && !plan->computed && input->format->luma_step != 0)
        layout.range = input->range;
    if (format->luma_step != 0)
        layout.colour = frame_colour_yuv(input->colour);
    return layout;
}

// Fills in plan, mask and layout for what `settings` show of the setup's camera.
static int plan_side(struct side *side, const struct view_setup *setup,
                     const struct config_view *settings, enum view_output output,
                     struct error *error)
{
    struct view_setup own = *setup;

    own.settings = settings;
    side->plan = plan_make(settings, setup->input->format, output);
    side->layout = layout_of(&side->plan, setup->input);
    return plan_load_mask(&side->plan, &own, error, &side->mask);
}

// The kernel that puts the side in place, and the plane that the branch makes for it.
static int make_conversion(struct side *side, struct gpu *gpu, const struct frame_layout *whole,
                           struct error *error)
{
    const struct frame_layout *made = &side->layout;
    struct runner *conversion = &side->conversion;
    int r = gpu_enter(gpu, error);

    conversion->gpu = gpu;
    conversion->count = 1;
    if (r == 0 && side->plan.count > 0) {
        r = gpu_plane_init(&side->plane, gpu, (uint32_t)made->planes[0].width_bytes, made->height,
                           error);
    }
    if (r == 0)
        r = gpu_chain_new(gpu, false, error, &conversion->chain);
    return r < 0
               ? r
               : convert_gpu_init_side(&conversion->gpu_stages[0], gpu, made->format, whole, error);
}

// Makes what computes the side into pictures of the view at column `x`.
static int make_side(struct view *view, struct side *side, const struct view_setup *setup,
                     uint32_t x, struct error *error)
{
    const struct branch_setup branch = {
        .plan = &side->plan,
        .camera = setup->input,
        .pool = setup->pool,
        .gpu = view->gpu,
        .mapped = strcmp(setup->allocator->kind, "managed") != 0,
    };
    bool computed = side->plan.count > 0;
    int r = 0;

    side->x = x;
    if (computed)
        r = branch_init(&side->branch, view->own ? view->own : setup->graph, &branch, error);
    if (r < 0 || (computed && split_is_made_in_place(side->layout.format, view->output.format)))
        return r;
    if (view->gpu)
        return make_conversion(side, view->gpu, &view->output, error);
    if (computed)
        r = frame_pool_new(&side->layout, 1, frame_allocator_host(), &side->own);
    return r < 0 ? error_set(error, r, "no memory for a side of a split view") : 0;
}

static void finish_side(struct side *side, struct gpu *gpu)
{
    branch_finish(&side->branch);
    frame_pool_unref(side->own);
    runner_finish(&side->conversion);
    gpu_plane_finish(&side->plane, gpu);
    mask_plane_unref(side->mask);
}

// The side of the output where it lies, as a frame of its own layout.
static struct frame place_in(const struct side *side, const struct frame *output)
{
    struct frame place = {.layout = side->layout, .data = output->data, .surface = output->surface};

    for (unsigned i = 0; i < side->layout.format->plane_count; i++) {
        place.layout.planes[i].offset =
            output->layout.planes[i].offset + split_offset(output->layout.format, i, side->x);
        place.layout.planes[i].stride = output->layout.planes[i].stride;
    }
    return place;
}

static void compute_side(struct side *side, const struct frame *camera, struct frame *output)
{
    _cleanup_(cleanup_frame) struct frame *own = side->own ? frame_pool_take(side->own) : NULL;
    struct frame place = place_in(side, output);
    bool computed = side->plan.count > 0;

    if (computed)
        branch_compute(&side->branch, camera, own ? own : &place);
    if (own || !computed)
        split_place(own ? own : camera, side->x, output);
}

// Of computed gray the luma alone.
static int launch_side(struct side *side, unsigned stream, const struct pixel_format *format,
                       const struct gpu_pictures *pictures, struct error *error)
{
    const struct gpu_plane *plane = &side->plane;
    struct gpu_picture made = pictures->camera, place = pictures->output;
    int r = 0;

    place.width = side->layout.width;
    for (unsigned i = 0; i < format->plane_count; i++)
        place.planes[i].address += split_offset(format, i, side->x);
    if (plane->address)
        made = (struct gpu_picture){{{plane->address, plane->stride}}, place.width, place.height};
    if (side->plan.count > 0) {
        const struct gpu_pictures own = {.camera = pictures->camera,
                                         .output = plane->address ? made : place};

        r = branch_launch(&side->branch, stream, &own, error);
    } else {
        r = gpu_use_stream(side->conversion.gpu, stream, error);
    }
    if (r == 0 && side->conversion.count > 0)
        r = runner_launch(&side->conversion, (struct gpu_pictures){made, made, place}, error);
    return r;
}

// Output frames
// ---------------------------------------------------------------------

static int write_constants(const struct view *view, struct frame *frame, uint32_t side_width,
                           struct error *error)
{
    const struct frame_layout *layout = &view->output;
    int r = frame_begin_cpu_access(frame, error);

    if (r == 0) {
        memset(frame_plane(frame, 1), 128, layout->planes[1].stride * layout->planes[1].rows);
        if (view->side_count > 1)
            split_write_gap(frame, side_width);
    }
    return r < 0 ? r : frame_end_cpu_access(frame, error);
}

static int write_all_constants(const struct view *view, unsigned count, uint32_t side_width,
                               struct error *error)
{
    struct frame *list[FRAMES_MAX];
    int r = 0;

    for (unsigned i = 0; i < count; i++) {
        list[i] = frame_pool_take(view->pool);
        r = r < 0 ? r : write_constants(view, list[i], side_width, error);
    }
    for (unsigned i = 0; i < count; i++)
        frame_unref(list[i]);
    return r;
}

// As many frames as the setup asks for, or those of the view before where they hold all that no
// picture changes of these.
static int make_frames(struct view *view, const struct view_setup *setup, struct error *error)
{
    const struct plan *plan = &view->sides[0].plan;
    const struct view *before = setup->before;
    const struct frame_layout *layout = &view->output;
    unsigned count = setup->frames ? setup->frames : FRAMES_DEFAULT;
    int r;

    view->surfaces = setup->allocator->surfaces;
    view->last = view->side_count > 1 ? STAGE_KIND_COUNT : plan->steps[plan->count - 1].kind;
    if (before && before->pool && view->side_count == 1 && view->last == before->last &&
        frame_layout_equal(layout, &before->output)) {
        view->pool = frame_pool_ref(before->pool);
        return 0;
    }
    r = frame_pool_new(layout, count, setup->allocator, &view->pool);
    if (r < 0) {
        return error_set(error, r, "no memory for %u output frames of %ux%u", count, layout->width,
                         layout->height);
    }
    return layout->format->plane_count > 1 && view->last != STAGE_CONVERT
               ? write_all_constants(view, count, setup->input->width, error)
               : 0;
}

// Making a view
// ---------------------------------------------------------------------

// Says which side of a split an error is about.
static int name_side(const struct view *view, unsigned side, int code, struct error *error)
{
    return code == 0 || view->side_count == 1
               ? code
               : error_prefix(error, code, "%s", side ? "right" : "left");
}

static int plan_split_side(struct view *view, unsigned side, const struct view_setup *setup,
                           enum view_output output, struct error *error)
{
    struct config_view settings;
    int r = config_split_side(setup->settings, side, &settings, error);

    if (r == 0) {
        mask_plane_unref(TAKE(view->sides[side].mask));
        r = plan_side(&view->sides[side], setup, &settings, output, error);
    }
    return name_side(view, side, r, error);
}

// Of a full range picture beside one of limited range, the other is made without a range.
static int plan_split(struct view *view, const struct view_setup *setup, struct error *error)
{
    const struct frame_layout *left = &view->sides[0].layout, *right = &view->sides[1].layout;
    int r = 0;

    view->side_count = 2;
    for (unsigned i = 0; i < 2 && r == 0; i++)
        r = plan_split_side(view, i, setup, setup->output, error);
    if (r < 0 || setup->output == VIEW_OUTPUT_EXACT || left->range == right->range)
        return r;
    return plan_split_side(view, left->range == FRAME_RANGE_FULL, setup, VIEW_OUTPUT_EXACT, error);
}

// Surfaces have a layout of their own.
static int lay_out(struct view *view, const struct view_setup *setup, struct error *error)
{
    const struct frame_allocator *allocator = setup->allocator;

    return allocator->surfaces && !view->passes_through
               ? allocator->surfaces->lay_out(allocator->context, &view->output, error)
               : 0;
}

// Plans the sides; fills in the output's layout and where the last of them begins.
static int plan_sides(struct view *view, const struct view_setup *setup, struct error *error,
                      uint32_t *ret_x)
{
    bool split = setup->settings->view == CONFIG_VIEW_SPLIT;
    int r = split ? plan_split(view, setup, error)
                  : plan_side(&view->sides[0], setup, setup->settings, setup->output, error);

    if (r == 0 && split) {
        const struct frame_layout sides[2] = {view->sides[0].layout, view->sides[1].layout};
        const char *format = setup->output == VIEW_OUTPUT_STREAM ? "NV12" : "RGB3";

        return split_layout(pixel_format_by_name(format), setup->input, sides, error, &view->output,
                            ret_x);
    }
    view->side_count = 1;
    view->passes_through = view->sides[0].plan.count == 0;
    view->output = view->sides[0].layout;
    *ret_x = 0;
    return r;
}

// The setup's GPU, if it has a kernel for all of the view.
static int choose_gpu(struct view *view, const struct view_setup *setup, struct error *error)
{
    struct gpu *gpu = setup->gpu;

    for (unsigned i = 0; i < view->side_count; i++) {
        if (!runner_supports(&view->sides[i].plan, setup->input))
            gpu = NULL;
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

static int make_sides(struct view *view, const struct view_setup *setup, uint32_t x,
                      struct error *error)
{
    int r = choose_gpu(view, setup, error);

    if (r < 0 || view->passes_through)
        return r;
    if (!setup->graph)
        r = graph_new(&view->own);
    for (unsigned i = 0; i < view->side_count && r == 0; i++) {
        r = make_side(view, &view->sides[i], setup, i * x, error);
        r = name_side(view, i, r, error);
    }
    if (r == 0 && view->own)
        view_set_active(view, true);
    if (r == 0 && view->gpu)
        r = gpu_fence_init(&view->fence, gpu_driver(view->gpu), gpu_waiter(view->gpu), error);
    return r;
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

    if (!view)
        return error_set(error, -ENOMEM, "no memory for a view");
    r = plan_sides(view, setup, error, &x);
    if (r == 0)
        r = lay_out(view, setup, error);
    if (r == 0)
        r = make_sides(view, setup, x, error);
    view->surfaces = setup->input_surfaces; // of what passes through
    if (r == 0 && !view->passes_through)
        r = make_frames(view, setup, error);
    if (r == 0)
        r = make_label(view, setup, error);
    if (r == 0)
        *ret_view = TAKE(view);
    return r;
}

void view_free(struct view *view)
{
    if (!view)
        return;
    view_drop_picture(view);
    if (view->gpu && !gpu_is_lost(view->gpu)) {
        gpu_enter(view->gpu, NULL); // if it cannot be, the context may be current already
        gpu_fence_finish(&view->fence);
    }
    finish_side(&view->sides[0], view->gpu);
    finish_side(&view->sides[1], view->gpu);
    graph_free(view->own);
    frame_pool_unref(view->pool);
    label_free(view->label);
    free(view);
}

// Using it
// ---------------------------------------------------------------------

void view_set_active(struct view *view, bool active)
{
    for (unsigned i = 0; i < view->side_count; i++) {
        if (view->sides[i].plan.count > 0)
            branch_set_active(&view->sides[i].branch, active);
    }
}

void view_forget(struct view *view)
{
    for (unsigned i = 0; i < view->side_count; i++) {
        if (view->sides[i].plan.count > 0)
            branch_forget(&view->sides[i].branch);
    }
}

// Both sides in one stream, that of the first which is computed.
static int launch(struct view *view, struct frame *input, struct frame *output, struct error *error)
{
    unsigned stream = view->sides[view->sides[0].plan.count == 0].branch.stream;
    struct gpu_pictures pictures;
    int r = gpu_pictures_lend(view->gpu, input, output, error, &pictures);

    if (r < 0)
        return r;
    for (unsigned i = 0; i < view->side_count && r == 0; i++)
        r = launch_side(&view->sides[i], stream, view->output.format, &pictures, error);
    if (r == 0)
        r = frame_queue_to_cpu(output, error);
    if (r == 0)
        r = gpu_fence_set(&view->fence, gpu_stream(view->gpu), error);
    gpu_use_stream(view->gpu, 0, NULL);
    return r;
}

static int compute(struct view *view, struct frame *input, struct frame *output,
                   struct error *error)
{
    int r = frame_begin_cpu_access(input, error);

    if (r == 0)
        r = frame_begin_cpu_access(output, error);
    for (unsigned i = 0; i < view->side_count && r == 0; i++)
        compute_side(&view->sides[i], input, output);
    return r < 0 ? r : frame_end_cpu_access(output, error);
}

static int make_picture(struct view *view, struct frame *input, struct frame *output,
                        struct error *error)
{
    if (view->own)
        graph_begin(view->own);
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
    output = frame_pool_take_for(view->pool, input);
    if (!output)
        return error_set(error, -ENOBUFS, "all output frames are in use");
    r = make_picture(view, input, output, error);
    if (r == 0)
        view->begun = TAKE(output);
    return r;
}

int view_end(struct view *view, struct error *error, struct frame **ret_output)
{
    _cleanup_(cleanup_frame) struct frame *output = TAKE(view->begun);
    int r = 0;

    if (view_is_on_gpu(view))
        r = gpu_fence_wait(&view->fence, clock_now_ns() + GPU_WAIT_NS, error);
    if (r == 0 && view->label)
        r = label_draw(view->label, output, error);
    if (r == 0)
        *ret_output = TAKE(output);
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

    if (r == 0)
        r = view_end(view, error, &output);
    if (r == 0 && view_is_on_gpu(view))
        r = frame_to_cpu(input, error);
    if (r == 0)
        *ret_output = TAKE(output);
    return r;
}

bool view_reads_on_gpu(const struct config_view *settings, const struct frame_layout *input)
{
    const struct plan plan = plan_make(settings, input->format, VIEW_OUTPUT_STREAM);

    return plan.count > 0 && runner_supports(&plan, input);
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
