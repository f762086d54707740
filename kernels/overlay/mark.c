#include "kernels/overlay/mark.h"

#include "kernels/convert/colour.h"
#include "kernels/convert/convert.h"
#include "kernels/gpu/point_cuda.h"
#include "kernels/stage/simd.h"
#include "kernels/stage/stage.h"

#include <string.h>

#define SCRATCH_BYTES_A_PIXEL 4 // of an RGB row, or of one of chroma
#define BLOCK 64                // pixels that are marked together

static size_t scratch_bytes(uint32_t width)
{
    return SCRATCH_BYTES_A_PIXEL * ((size_t)width + 64);
}

SIMD_INLINE uint8_t choose(uint8_t mask, int32_t marked, uint8_t unmarked)
{
    return (uint8_t)((marked & mask) | (unmarked & ~mask));
}

// `step` bytes a pixel, of which the first three are colours.
SIMD_INLINE void mark_bytes(const uint8_t *restrict mask, size_t count, size_t step,
                            const uint8_t *red, unsigned shift, uint8_t *restrict pixels)
{
    for (size_t x = 0; x < count; x++) {
        for (size_t i = 0; i < step; i++) {
            uint8_t *byte = &pixels[step * x + i];

            *byte = choose(mask[x], *byte >> shift | red[i], *byte);
        }
    }
}

SIMD_CLONES
static void mark_rgb_pixels(const uint8_t *restrict mask, size_t count, size_t step, size_t red,
                            unsigned shift, uint8_t *restrict pixels)
{
    const uint8_t reds[4] = {red == 0 ? 255 : 0, 0, red == 2 ? 255 : 0, 0};

    if (step == 4)
        mark_bytes(mask, count, 4, reds, shift, pixels);
    else
        mark_bytes(mask, count, 3, reds, shift, pixels);
}

// The first pixel of the first block from `first` on that the mask is set in; or at least `width`.
// Most rows hold little that has moved: only the blocks it is in are looked at.
static size_t find_block(const uint8_t *mask, size_t first, size_t width)
{
    const uint8_t *set = NULL;

    if (mask != stage_black_row && first < width)
        set = memchr(mask + first, 255, width - first);
    return set ? (size_t)(set - mask) / BLOCK * BLOCK : width;
}

static void mark_rgb_row(const struct mark *mark, const uint8_t *mask, size_t step, size_t red,
                         uint8_t *row)
{
    size_t width = mark->line.width;

    for (size_t at = find_block(mask, 0, width); at < width;
         at = find_block(mask, at + BLOCK, width)) {
        mark_rgb_pixels(mask + at, width - at < BLOCK ? width - at : BLOCK, step, red,
                        mark->space.shift, row + step * at);
    }
}

static void mark_rgb3(const struct mark *mark, const uint8_t *mask, uint32_t y, void *scratch)
{
    (void)scratch;
    mark_rgb_row(mark, mask, 3, 0, paint_row(&mark->paint, y));
}

static void mark_rgb(const struct mark *mark, const uint8_t *mask, uint32_t y, void *scratch)
{
    const struct frame line = {.layout = mark->line, .data = scratch};
    const struct pixel_format *format = line.layout.format;
    const struct convert *convert = &mark->paint.convert;
    const struct frame *output = mark->paint.output;
    uint32_t width = line.layout.width;

    memcpy(scratch, paint_row_at(mark->paint.input, 0, y), line.layout.planes[0].width_bytes);
    mark_rgb_row(mark, mask, format->planes[0].bytes, strcmp(format->name, "RGB3") == 0 ? 0 : 2,
                 scratch);
    convert->row(scratch, width, paint_row_at(output, 0, y));
    if (y % 2 == 0) {
        convert->chroma(&line, 0, output->layout.planes[1].width_bytes / 2,
                        paint_row_at(output, 1, y / 2));
    }
}

#define HALF (1 << 19)

struct mark_space mark_space_of(const struct frame_layout *camera, enum config_mark mark)
{
    const struct colour_space of = colour_space_of_camera(camera);

    return (struct mark_space){
        .black = of.black,
        .luma = of.luma,
        .u_green = of.u_green,
        .v_green = of.v_green,
        .u_blue = of.u_blue,
        .y_constant = of.y[0] * 255 + (of.black << 20) + HALF,
        .y_green = of.y[1],
        .y_blue = of.y[2],
        .u_constant = of.u[0] * 255 + (128 << 20) + HALF,
        .u_green_out = of.u[1],
        .u_blue_out = of.u[2],
        .v_constant = of.v[0] * 255 + (128 << 20) + HALF,
        .v_green_out = of.v[1],
        .v_blue_out = of.v[2],
        .shift = mark == CONFIG_MARK_TINT ? 1 : 0,
    };
}

SIMD_INLINE int32_t limit(int32_t value, int32_t most)
{
    return value < 0 ? 0 : value < most ? value : most;
}

// A block of a row, whole or up to the row's end, and of the chroma that belongs to it.
struct block {
    uint8_t mask[BLOCK], luma[BLOCK], chroma[BLOCK];
};

// Green and blue of each pixel of a block, marked.
SIMD_INLINE void to_rgb(const struct mark_space *space, const struct block *block,
                        int32_t *restrict green, int32_t *restrict blue)
{
    for (size_t i = 0; i < BLOCK / 2; i++) {
        int32_t u = block->chroma[2 * i] - 128, v = block->chroma[2 * i + 1] - 128;

        green[2 * i] = green[2 * i + 1] = space->u_green * u + space->v_green * v + HALF;
        blue[2 * i] = blue[2 * i + 1] = space->u_blue * u + HALF;
    }
    for (size_t x = 0; x < BLOCK; x++) {
        int32_t luma = block->luma[x] - space->black, term = space->luma * (luma > 0 ? luma : 0);

        green[x] = limit((term + green[x]) >> (20 + space->shift), 255 >> space->shift);
        blue[x] = limit((term + blue[x]) >> (20 + space->shift), 255 >> space->shift);
    }
}

SIMD_INLINE void mark_block(const struct mark_space *space, bool marks_chroma, struct block *block)
{
    int32_t green[BLOCK], blue[BLOCK];

    to_rgb(space, block, green, blue);
    for (size_t x = 0; x < BLOCK; x++) {
        int32_t y = space->y_constant + space->y_green * green[x] + space->y_blue * blue[x];

        block->luma[x] = choose(block->mask[x], y >> 20, block->luma[x]);
    }
    for (size_t x = 0; x < BLOCK && marks_chroma; x += 2) {
        int32_t u = space->u_constant + space->u_green_out * green[x] + space->u_blue_out * blue[x];
        int32_t v = space->v_constant + space->v_green_out * green[x] + space->v_blue_out * blue[x];

        block->chroma[x] = choose(block->mask[x], limit(u >> 20, 255), block->chroma[x]);
        block->chroma[x + 1] = choose(block->mask[x], limit(v >> 20, 255), block->chroma[x + 1]);
    }
}

// `count` pixels at the start of a block. The chroma of odd rows is read alone.
SIMD_INLINE void mark_pixels(const struct mark *mark, bool marks_chroma, const uint8_t *mask,
                             size_t count, uint8_t *luma, uint8_t *chroma)
{
    size_t chroma_bytes = (count + 1) & ~(size_t)1;
    struct block block;

    if (count < BLOCK)
        memset(&block, 0, sizeof block);
    memcpy(block.mask, mask, count);
    memcpy(block.luma, luma, count);
    memcpy(block.chroma, chroma, chroma_bytes);
    mark_block(&mark->space, marks_chroma, &block);
    memcpy(luma, block.luma, count);
    if (marks_chroma)
        memcpy(chroma, block.chroma, chroma_bytes);
}

SIMD_CLONES
static void mark_whole_block(const struct mark *mark, bool marks_chroma, const uint8_t *mask,
                             uint8_t *luma, uint8_t *chroma)
{
    mark_pixels(mark, marks_chroma, mask, BLOCK, luma, chroma);
}

static void mark_yuv(const struct mark *mark, const uint8_t *mask, uint32_t y, void *scratch)
{
    size_t width = mark->line.width, at = find_block(mask, 0, width);
    uint8_t *luma = paint_row(&mark->paint, y), *chroma = scratch;

    if (at < width || y % 2 == 0)
        chroma = paint_chroma(&mark->paint, y, chroma);
    for (; at < width; at = find_block(mask, at + BLOCK, width)) {
        if (width - at >= BLOCK)
            mark_whole_block(mark, y % 2 == 0, mask + at, luma + at, chroma + at);
        else
            mark_pixels(mark, y % 2 == 0, mask + at, width - at, luma + at, chroma + at);
    }
}

static void begin(struct stage *stage, const struct frame *input, struct frame *output)
{
    struct mark *mark = stage->state;

    mark->paint.input = input;
    mark->paint.output = output;
}

static enum stage_result run_row(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                                 uint32_t width, void *scratch, uint8_t *output)
{
    const struct mark *mark = stage->state;

    (void)width;
    (void)output; // a row of the frame that begin() was given
    mark->rows(mark, rows[0], y, scratch);
    return STAGE_WRITTEN;
}

static int init(struct stage *stage, const struct stage_setup *setup, struct error *error)
{
    struct mark *mark = stage->state;
    const struct frame_layout *input = setup->input;

    mark->space = mark_space_of(input, setup->options->mark);
    mark->rows = setup->output->luma_step == 0   ? mark_rgb3
                 : input->format->luma_step == 0 ? mark_rgb
                                                 : mark_yuv;
    frame_layout_init(&mark->line, input->format, input->width, 1, 1);
    stage->scratch_bytes = scratch_bytes(input->width);
    stage->run_row = run_row;
    return convert_init(&mark->paint.convert, setup, error);
}

const struct stage_ops mark_ops = {
    .state_bytes = sizeof(struct mark),
    .init = init,
    .begin = begin,
};

// A mask of bytes marked on the GPU: the camera's picture by convert.cu, or copied by
// point.cu where it has the output's format already, then mark.cu.

int mark_gpu_init(struct mark_gpu *mark, struct gpu_stage *stage,
                  const struct gpu_stage_setup *setup, bool bits, struct error *error)
{
    const struct pixel_format *input = setup->camera->format;
    bool rgb = input->luma_step == 0;

    mark->parameters.space =
        mark_space_of(setup->camera, setup->steps[setup->count - 1].options.mark);
    mark->parameters.input_step = input->planes[0].bytes;
    mark->parameters.blue_first = strcmp(input->name, "RGB3") != 0;
    mark->kernel = stage->kernel_count;
    return gpu_stage_add_kernel(stage, CONFIG_KERNEL_MARK,
                                (struct gpu_tile){JOB_PIXELS, JOB_ROWS_CHROMA}, error, "mark_%s_%s",
                                setup->output->luma_step == 0 ? "rgb3" : (rgb ? "rgb" : "yuv"),
                                bits ? "bits" : "bytes");
}

int mark_gpu_launch(struct mark_gpu *mark, struct gpu_stage *stage,
                    const struct gpu_pictures *pictures, const struct mark_gpu_mask *mask,
                    struct gpu_chain *chain, struct error *error)
{
    struct mark_cuda *parameters = &mark->parameters;

    gpu_job_set(&parameters->job, &pictures->camera, &pictures->output);
    parameters->mask = mask->address;
    parameters->mask_stride = mask->stride;
    parameters->erode = mask->erode;
    return gpu_chain_add(chain, &stage->kernels[mark->kernel], &parameters->job, sizeof *parameters,
                         error);
}

// The stage: kernel 0 makes the picture.
struct mark_stage {
    bool copies; // the picture is the camera's as it is
    struct mark_gpu mark;
};

static unsigned fuses(const struct gpu_stage_setup *setup)
{
    return !setup->first && setup->count == 1 && setup->steps[0].kind == STAGE_MARK;
}

static int init_gpu(struct gpu_stage *stage, const struct gpu_stage_setup *setup,
                    struct error *error)
{
    const struct pixel_format *input = setup->camera->format;
    const struct stage_setup conversion = {.input = setup->camera, .output = setup->output};
    struct mark_stage *state = stage->state;
    int r = convert_check(&conversion, error);

    state->copies = strcmp(input->name, setup->output->name) == 0;
    if (r == 0) {
        r = state->copies ? gpu_stage_add_kernel(stage, CONFIG_KERNEL_GRAY,
                                                 (struct gpu_tile){JOB_PIXELS, JOB_ROWS_CHROMA},
                                                 error, "point_gray_planar_full")
                          : convert_gpu_add_kernel(stage, input, setup->output, error);
    }
    return r < 0 ? r : mark_gpu_init(&state->mark, stage, setup, false, error);
}

// Plane `plane` of the camera's picture, its bytes taken for pixels.
static int copy_plane(struct gpu_stage *stage, const struct gpu_pictures *pictures, unsigned plane,
                      struct gpu_chain *chain, struct error *error)
{
    const struct gpu_picture *camera = &pictures->camera;
    bool nv12 = pictures->output.planes[1].address != 0;
    const struct gpu_picture input = {
        .planes[0] = camera->planes[plane],
        .width = plane == 1 ? (camera->width + 1) / 2 * 2 : (nv12 ? 1 : 3) * camera->width,
        .height = plane == 1 ? (camera->height + 1) / 2 : camera->height};
    const struct gpu_picture output = {.planes[0] = pictures->output.planes[plane]};
    struct point_cuda parameters = {0};

    gpu_job_set(&parameters.job, &input, &output);
    return gpu_chain_add(chain, &stage->kernels[0], &parameters.job, sizeof parameters, error);
}

static int make_picture(struct gpu_stage *stage, const struct gpu_pictures *pictures,
                        struct gpu_chain *chain, struct error *error)
{
    const struct mark_stage *state = stage->state;
    struct convert_cuda parameters = {0};
    int r;

    if (!state->copies) {
        gpu_job_set(&parameters.job, &pictures->camera, &pictures->output);
        return gpu_chain_add(chain, &stage->kernels[0], &parameters.job, sizeof parameters, error);
    }
    r = copy_plane(stage, pictures, 0, chain, error);
    return r < 0 || !pictures->output.planes[1].address
               ? r
               : copy_plane(stage, pictures, 1, chain, error);
}

static int launch_gpu(struct gpu_stage *stage, const struct gpu_pictures *pictures,
                      struct gpu_chain *chain, struct error *error)
{
    struct mark_stage *state = stage->state;
    const struct mark_gpu_mask mask = {.address = pictures->input.planes[0].address,
                                       .stride = pictures->input.planes[0].stride};
    int r = make_picture(stage, pictures, chain, error);

    return r < 0 ? r : mark_gpu_launch(&state->mark, stage, pictures, &mask, chain, error);
}

const struct gpu_stage_ops mark_gpu_ops = {.name = "mark",
                                           .state_size = sizeof(struct mark_stage),
                                           .fuses = fuses,
                                           .init = init_gpu,
                                           .launch = launch_gpu};
