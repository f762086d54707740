#include "kernels/graph/split.h"

#include "kernels/convert/colour.h"
#include "kernels/graph/split_gpu.h"

#include <errno.h>
#include <string.h>

// Rows of one of the two pictures at column `x` of the output.
typedef void place_rows(const struct frame *side, uint32_t x, struct frame *output);

struct split {
    struct view *views[2]; // owned
    place_rows *place[2];
    uint32_t at[2];        // columns
    struct split_gpu *gpu; // owned; composes instead of the CPU
};

static uint8_t *row_of(const struct frame *frame, unsigned plane, uint32_t y)
{
    return frame_plane(frame, plane) + y * frame->layout.planes[plane].stride;
}

// NV12 to NV12, RGB3 to RGB3.
static void place_same(const struct frame *side, uint32_t x, struct frame *output)
{
    const struct frame_layout *layout = &side->layout;

    for (unsigned i = 0; i < layout->format->plane_count; i++) {
        size_t at = (i == 0 ? layout->format->planes[0].bytes : 1) * (size_t)x;

        for (uint32_t y = 0; y < layout->planes[i].rows; y++) {
            memcpy(row_of(output, i, y) + at, row_of(side, i, y), layout->planes[i].width_bytes);
        }
    }
}

static void place_gray_in_nv12(const struct frame *side, uint32_t x, struct frame *output)
{
    uint32_t width = side->layout.width;

    for (uint32_t y = 0; y < side->layout.height; y++) {
        memcpy(row_of(output, 0, y) + x, row_of(side, 0, y), width);
        if (y % 2 == 0) {
            memset(row_of(output, 1, y / 2) + x, 128, (size_t)(width + 1) / 2 * 2);
        }
    }
}

static void place_rgb3_in_nv12(const struct frame *side, uint32_t x, struct frame *output)
{
    const struct colour_space space =
        colour_space_of(colour_matrix_number(output->layout.colour.matrix), FRAME_RANGE_FULL);

    for (uint32_t y = 0; y < side->layout.height; y++) {
        const uint8_t *rgb = row_of(side, 0, y);
        uint8_t *luma = row_of(output, 0, y) + x, *chroma = row_of(output, 1, y / 2) + x;

        for (uint32_t i = 0; i < side->layout.width; i++) {
            struct colour_yuv yuv = colour_to_yuv(&space, rgb + 3 * (size_t)i);

            luma[i] = yuv.y;
            if (i % 2 == 0 && y % 2 == 0) {
                chroma[i] = yuv.u;
                chroma[i + 1] = yuv.v;
            }
        }
    }
}

static void place_gray_in_rgb3(const struct frame *side, uint32_t x, struct frame *output)
{
    for (uint32_t y = 0; y < side->layout.height; y++) {
        const uint8_t *gray = row_of(side, 0, y);
        uint8_t *rgb = row_of(output, 0, y) + 3 * (size_t)x;

        for (size_t i = 0; i < side->layout.width; i++) {
            memset(rgb + 3 * i, gray[i], 3);
        }
    }
}

static place_rows *choose_place(const struct pixel_format *side, bool nv12)
{
    if (strcmp(side->name, "GREY") == 0) {
        return nv12 ? place_gray_in_nv12 : place_gray_in_rgb3;
    }
    return nv12 && strcmp(side->name, "RGB3") == 0 ? place_rgb3_in_nv12 : place_same;
}

static int make_view(struct split *split, unsigned side, const struct view_setup *setup,
                     enum view_output output, struct error *error)
{
    struct view_setup own = *setup;
    struct config_view settings;
    int r = config_split_side(setup->settings, side, &settings, error);

    if (r < 0) {
        return r;
    }
    own.settings = &settings;
    own.output = output;
    own.frames = 1;
    own.before = NULL;
    view_free(TAKE(split->views[side]));
    r = view_new(&own, error, &split->views[side]);
    return r < 0 ? error_prefix(error, r, "%s", side ? "right" : "left") : 0;
}

static const struct frame_layout *layout_of(const struct split *split, unsigned side)
{
    return view_output_layout(split->views[side]);
}

// Of a full range picture beside one of limited range, the other is made anew, without a range.
static int make_views(struct split *split, const struct view_setup *setup, struct error *error)
{
    int r = 0;

    for (unsigned i = 0; i < 2 && r == 0; i++) {
        r = make_view(split, i, setup, setup->output, error);
    }
    if (r < 0 || setup->output == VIEW_OUTPUT_EXACT ||
        layout_of(split, 0)->range == layout_of(split, 1)->range) {
        return r;
    }
    return make_view(split, layout_of(split, 0)->range == FRAME_RANGE_FULL, setup,
                     VIEW_OUTPUT_EXACT, error);
}

static int use_gpu(struct split *split, const struct view_setup *setup,
                   const struct pixel_format *output, struct error *error)
{
    const struct split_gpu_half halves[2] = {{split->views[0], split->at[0]},
                                             {split->views[1], split->at[1]}};

    // The kernel knows BT.601 alone, and only a side beside full range is converted: few cameras
    // have another matrix there.
    for (unsigned i = 0; i < 2; i++) {
        if (choose_place(layout_of(split, i)->format, strcmp(output->name, "NV12") == 0) ==
                place_rgb3_in_nv12 &&
            colour_matrix_number(setup->input->colour.matrix) != COLOUR_MATRIX_BT601) {
            return 0;
        }
    }
    return split_gpu_supports(setup, halves)
               ? split_gpu_new(setup, halves, output, error, &split->gpu)
               : 0;
}

static void cleanup_split(struct split **split)
{
    split_free(*split);
}

int split_new(const struct view_setup *setup, struct error *error, struct split **ret_split,
              struct frame_layout *ret_output)
{
    _cleanup_(cleanup_split) struct split *split = calloc(1, sizeof *split);
    bool nv12 = setup->output == VIEW_OUTPUT_STREAM;
    uint32_t width = setup->input->width;
    const struct pixel_format *format;
    int r;

    if (!split) {
        return error_set(error, -ENOMEM, "no memory for a split view");
    }
    split->at[1] = width + (nv12 && width % 2 == 1);
    if (nv12 && split->at[1] + width > SPLIT_STREAM_WIDTH_MAX) {
        return error_set(error, -ENOTSUP,
                         "two pictures %u pixels wide are too wide beside each other, encoders "
                         "take %d",
                         width, SPLIT_STREAM_WIDTH_MAX);
    }
    format = pixel_format_by_name(nv12 ? "NV12" : "RGB3");
    r = make_views(split, setup, error);
    if (r == 0) {
        r = use_gpu(split, setup, format, error);
    }
    if (r < 0) {
        return r;
    }
    frame_layout_init(ret_output, format, split->at[1] + width, setup->input->height,
                      FRAME_STRIDE_ALIGN);
    if (nv12) {
        ret_output->colour = frame_colour_yuv(setup->input->colour);
    }
    for (unsigned i = 0; i < 2; i++) {
        split->place[i] = choose_place(layout_of(split, i)->format, nv12);
        if (layout_of(split, i)->range == FRAME_RANGE_FULL) {
            ret_output->range = FRAME_RANGE_FULL;
        }
    }
    *ret_split = TAKE(split);
    return 0;
}

void split_free(struct split *split)
{
    if (split) {
        split_gpu_free(split->gpu);
        view_free(split->views[0]);
        view_free(split->views[1]);
        free(split);
    }
}

static int run_side(struct split *split, unsigned side, struct frame *input, struct frame *output,
                    struct error *error)
{
    _cleanup_(cleanup_frame) struct frame *picture = NULL;
    int r = view_run(split->views[side], input, error, &picture);

    if (r == 0) {
        split->place[side](picture, split->at[side], output);
    }
    return r;
}

void split_write_gap(const struct split *split, struct frame *output)
{
    uint8_t black = output->layout.range == FRAME_RANGE_FULL ? 0 : 16;
    uint32_t width = output->layout.width - split->at[1];

    for (uint32_t y = 0; split->at[1] > width && y < output->layout.height; y++) {
        row_of(output, 0, y)[width] = black;
    }
}

bool split_is_on_gpu(const struct split *split)
{
    return split->gpu;
}

int split_launch(struct split *split, const struct gpu_pictures *pictures, struct error *error)
{
    return split_gpu_launch(split->gpu, pictures, error);
}

int split_run(struct split *split, struct frame *input, struct frame *output, struct error *error)
{
    // A view that shows its input as it is looks at it last: the other may have it on the GPU.
    unsigned first = view_passes_through(split->views[0]);
    int r;

    r = run_side(split, first, input, output, error);
    return r < 0 ? r : run_side(split, !first, input, output, error);
}

struct view *split_side(struct split *split, unsigned side)
{
    return split->views[side];
}

int split_set_blocks(struct split *split, const struct config_block *blocks, struct error *error)
{
    return split->gpu ? split_gpu_set_blocks(split->gpu, blocks, error) : 0;
}

bool split_take_refusal(struct split *split, struct error *ret_why)
{
    return split->gpu && split_gpu_take_refusal(split->gpu, ret_why);
}

bool split_take_warning(struct split *split, struct error *ret_text)
{
    return split->gpu && split_gpu_take_warning(split->gpu, ret_text);
}
