#include "kernels/graph/split_gpu.h"

#include "kernels/convert/convert_gpu.h"
#include "kernels/graph/gpu_pipeline.h"
#include "kernels/graph/view_gpu.h"

#include <errno.h>
#include <string.h>

struct half {
    struct view *view; // not owned
    uint32_t x;
    struct gpu_plane plane;         // what the view makes for the conversion; none where there is
                                    // no conversion, or it reads the camera's picture
    struct gpu_pipeline conversion; // of one stage; zeroed: the view writes its half
};

struct split_gpu {
    struct gpu *gpu; // not owned
    const struct pixel_format *format;
    struct half halves[2];
};

bool split_gpu_supports(const struct view_setup *setup, const struct split_gpu_half halves[2])
{
    bool supported = setup->gpu && setup->allocator->to_gpu;

    for (unsigned i = 0; i < 2; i++) {
        const struct view *view = halves[i].view;

        supported = supported && (view_is_on_gpu(view) || view_passes_through(view));
    }
    return supported;
}

static bool is(const struct pixel_format *format, const char *name)
{
    return strcmp(format->name, name) == 0;
}

// Gray is NV12's luma.
static bool writes_its_half(const struct view *view, const struct pixel_format *output)
{
    const struct pixel_format *format = view_output_layout(view)->format;

    return !view_passes_through(view) &&
           (format == output || (is(format, "GREY") && is(output, "NV12")));
}

// The plane and the kernel behind a view that does not write its half itself.
static int make_conversion(struct half *half, struct split_gpu *split, struct error *error)
{
    const struct frame_layout *made = view_output_layout(half->view);
    struct gpu_pipeline *conversion = &half->conversion;
    int r = 0;

    conversion->gpu = split->gpu;
    conversion->count = 1;
    conversion->stages[0] = (struct gpu_stage){.ops = &convert_gpu_ops, .gpu = split->gpu};
    if (!view_passes_through(half->view)) {
        r = gpu_plane_init(&half->plane, split->gpu, (uint32_t)made->planes[0].width_bytes,
                           made->height, error);
    }
    if (r == 0) {
        r = gpu_chain_new(split->gpu, false, error, &conversion->chain);
    }
    return r < 0 ? r
                 : convert_gpu_add_side(&conversion->stages[0], made->format, split->format, error);
}

static void cleanup_split_gpu(struct split_gpu **split)
{
    split_gpu_free(*split);
}

int split_gpu_new(const struct view_setup *setup, const struct split_gpu_half halves[2],
                  const struct pixel_format *output, struct error *error,
                  struct split_gpu **ret_split)
{
    _cleanup_(cleanup_split_gpu) struct split_gpu *split = calloc(1, sizeof *split);
    int r;

    if (!split) {
        return error_set(error, -ENOMEM, "no memory for a split view on the GPU");
    }
    split->gpu = setup->gpu;
    split->format = output;
    r = gpu_enter(split->gpu, error);
    for (unsigned i = 0; i < 2 && r == 0; i++) {
        split->halves[i].view = halves[i].view;
        split->halves[i].x = halves[i].x;
        if (!writes_its_half(halves[i].view, output)) {
            r = make_conversion(&split->halves[i], split, error);
        }
    }
    if (r == 0 && setup->blocks) {
        r = split_gpu_set_blocks(split, setup->blocks, error);
    }
    if (r < 0) {
        return r;
    }
    view_drop_frames(halves[0].view);
    view_drop_frames(halves[1].view);
    *ret_split = TAKE(split);
    return 0;
}

void split_gpu_free(struct split_gpu *split)
{
    for (unsigned i = 0; split && i < 2; i++) {
        struct half *half = &split->halves[i];

        gpu_pipeline_finish(&half->conversion);
        gpu_plane_finish(&half->plane, split->gpu);
    }
    free(split);
}

static struct gpu_picture place_of(const struct split_gpu *split, const struct half *half,
                                   const struct gpu_picture *whole)
{
    struct gpu_picture picture = *whole;

    picture.width = view_output_layout(half->view)->width;
    for (unsigned i = 0; i < split->format->plane_count; i++) {
        // Chroma of NV12 is two bytes for two columns.
        picture.planes[i].address += (i == 0 ? split->format->planes[0].bytes : 1) * half->x;
    }
    return picture;
}

static int launch_half(struct split_gpu *split, struct half *half,
                       const struct gpu_pictures *pictures, struct error *error)
{
    struct gpu_pictures own = *pictures;
    struct gpu_picture made = pictures->camera;
    const struct gpu_picture place = place_of(split, half, &pictures->output);
    int r = 0;

    own.output = place;
    if (half->plane.address) {
        made = own.output = (struct gpu_picture){
            {{half->plane.address, half->plane.stride}}, place.width, place.height};
    }
    if (!view_passes_through(half->view)) {
        r = view_launch(half->view, &own, error);
    }
    if (r == 0 && half->conversion.count > 0) {
        r = gpu_pipeline_launch(&half->conversion, &made, &place, error);
    }
    return r;
}

int split_gpu_launch(struct split_gpu *split, const struct gpu_pictures *pictures,
                     struct error *error)
{
    int r = 0;

    for (unsigned i = 0; i < 2 && r == 0; i++) {
        r = launch_half(split, &split->halves[i], pictures, error);
    }
    return r;
}

int split_gpu_set_blocks(struct split_gpu *split, const struct config_block *blocks,
                         struct error *error)
{
    int r = gpu_enter(split->gpu, error);

    for (unsigned i = 0; i < 2 && r == 0; i++) {
        r = gpu_pipeline_set_blocks(&split->halves[i].conversion, blocks, error);
    }
    return r;
}

bool split_gpu_take_refusal(struct split_gpu *split, struct error *ret_why)
{
    return gpu_pipeline_take_refusal(&split->halves[0].conversion, ret_why) ||
           gpu_pipeline_take_refusal(&split->halves[1].conversion, ret_why);
}

static bool take_warning(struct half *half, struct error *ret_text)
{
    return half->conversion.count > 0 && gpu_pipeline_take_warning(&half->conversion, ret_text);
}

bool split_gpu_take_warning(struct split_gpu *split, struct error *ret_text)
{
    return take_warning(&split->halves[0], ret_text) || take_warning(&split->halves[1], ret_text);
}
