#include "kernels/graph/part.h"

#include "kernels/convert/convert_gpu.h"
#include "kernels/graph/split.h"

#include <string.h>

static struct frame_layout layout_of(const struct plan *plan, const struct frame_layout *input)
{
    const struct pixel_format *format = pixel_format_by_name(plan->format);
    struct frame_layout layout;

    if (plan->count == 0) {
        return *input;
    }
    frame_layout_init(&layout, format, input->width, input->height, FRAME_STRIDE_ALIGN);
    if (format->luma_step != 0 && !plan->computed && input->format->luma_step != 0) {
        layout.range = input->range;
    }
    if (format->luma_step != 0) {
        layout.colour = frame_colour_yuv(input->colour);
    }
    return layout;
}

int part_plan(struct part *part, const struct view_setup *setup, const struct config_view *settings,
              enum view_output output, struct error *error)
{
    struct view_setup own = *setup;

    own.settings = settings;
    *part = (struct part){.plan = plan_make(settings, setup->input->format, output)};
    part->layout = layout_of(&part->plan, setup->input);
    return plan_load_mask(&part->plan, &own, error, &part->mask);
}

// Whether it is made where it lies, which the camera's own picture never is.
static bool is_in_place(const struct part *part, const struct pixel_format *output)
{
    return part->plan.count > 0 && split_is_made_in_place(part->layout.format, output);
}

bool part_can_be_on_gpu(const struct part *part, const struct view_setup *setup)
{
    return gpu_runner_supports(&part->plan, setup->input);
}

// The kernel that puts the part in place, and the plane that the path makes for it.
static int make_conversion(struct part *part, struct gpu *gpu, const struct frame_layout *whole,
                           struct error *error)
{
    const struct frame_layout *made = &part->layout;
    struct gpu_runner *conversion = &part->conversion;
    int r = gpu_enter(gpu, error);

    conversion->gpu = gpu;
    conversion->count = 1;
    if (r == 0 && part->path) {
        r = gpu_plane_init(&part->plane, gpu, (uint32_t)made->planes[0].width_bytes, made->height,
                           error);
    }
    if (r == 0) {
        r = gpu_chain_new(gpu, false, error, &conversion->chain);
    }
    return r < 0 ? r
                 : convert_gpu_init_side(&conversion->stages[0], gpu, made->format, whole, error);
}

static int make_path(struct part *part, const struct view_setup *setup, struct graph *graph,
                     struct gpu *gpu, struct error *error)
{
    const struct path_setup path = {
        .plan = &part->plan,
        .camera = setup->input,
        .pool = setup->pool,
        .gpu = gpu,
        .mapped = strcmp(setup->allocator->kind, "managed") != 0,
    };

    return path_new(graph, &path, error, &part->path);
}

int part_make(struct part *part, const struct view_setup *setup, struct graph *graph,
              struct gpu *gpu, const struct frame_layout *whole, uint32_t x, struct error *error)
{
    int r = part->plan.count > 0 ? make_path(part, setup, graph, gpu, error) : 0;

    part->gpu = gpu;
    part->format = whole->format;
    part->x = x;
    if (r < 0 || is_in_place(part, whole->format)) {
        return r;
    }
    if (gpu) {
        return make_conversion(part, gpu, whole, error);
    }
    if (part->path) {
        r = frame_pool_new(&part->layout, 1, frame_allocator_host(), &part->own);
    }
    return r < 0 ? error_set(error, r, "no memory for a side of a split view") : 0;
}

void part_finish(struct part *part)
{
    path_free(part->path);
    frame_pool_unref(part->own);
    gpu_runner_finish(&part->conversion);
    gpu_plane_finish(&part->plane, part->gpu);
    mask_plane_unref(part->mask);
}

void part_set_active(struct part *part, bool active)
{
    if (part->path) {
        path_set_active(part->path, active);
    }
}

void part_forget(struct part *part)
{
    if (part->path) {
        path_forget(part->path);
    }
}

// The part of the output where it lies, as a frame of its own layout.
static struct frame place_in(const struct part *part, const struct frame *output)
{
    struct frame place = {.layout = part->layout, .data = output->data, .surface = output->surface};

    for (unsigned i = 0; i < part->layout.format->plane_count; i++) {
        place.layout.planes[i].offset =
            output->layout.planes[i].offset + split_offset(part->format, i, part->x);
        place.layout.planes[i].stride = output->layout.planes[i].stride;
    }
    return place;
}

void part_compute(struct part *part, const struct frame *camera, struct frame *output)
{
    if (!part->path) {
        split_place(camera, part->x, output);
    } else if (part->own) {
        _cleanup_(cleanup_frame) struct frame *own = frame_pool_take(part->own);

        path_compute(part->path, camera, own);
        split_place(own, part->x, output);
    } else {
        struct frame place = place_in(part, output);

        path_compute(part->path, camera, &place);
    }
}

static struct gpu_picture place_on_gpu(const struct part *part, const struct gpu_picture *output)
{
    const struct pixel_format *format = part->format;
    struct gpu_picture place = *output;

    place.width = part->layout.width;
    for (unsigned i = 0; i < format->plane_count; i++) {
        place.planes[i].address += split_offset(format, i, part->x);
    }
    return place;
}

int part_launch_shared(struct part *part, const struct gpu_pictures *pictures, struct error *error)
{
    return part->path ? path_launch_shared(part->path, pictures, error) : 0;
}

int part_launch(struct part *part, const struct gpu_pictures *pictures, struct error *error)
{
    const struct gpu_picture place = place_on_gpu(part, &pictures->output);
    const struct gpu_plane *plane = &part->plane;
    struct gpu_picture made = pictures->camera;
    struct gpu_pictures own = {.camera = pictures->camera, .output = place};
    int r = 0;

    if (plane->address) {
        made = own.output =
            (struct gpu_picture){{{plane->address, plane->stride}}, place.width, place.height};
    }
    if (part->path) {
        r = path_launch(part->path, &own, error);
    }
    if (r == 0 && part->conversion.count > 0) {
        r = gpu_runner_launch(&part->conversion, &made, &place, error);
    }
    return r;
}
