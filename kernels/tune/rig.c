#include "kernels/tune/rig.h"

#include <errno.h>
#include <string.h>

#define PICTURES_MIN 2
#define ROOM_BYTES ((size_t)512 << 20)
#define WAIT_NS (5 * NS_PER_S)
#define SCENE_ROWS 64

// The first rows again and again, because a live camera waits for it.
static void draw_scene(uint8_t *data, const struct frame_layout *layout)
{
    size_t stride = layout->planes[0].stride, drawn = SCENE_ROWS * stride;
    uint32_t noise = 1;

    drawn = drawn < layout->size ? drawn : layout->size;
    for (size_t i = 0; i < drawn; i++) {
        noise = noise * 1664525 + 1013904223;
        data[i] = (uint8_t)((i / 7 ^ i / stride) + (noise >> 28));
    }
    for (size_t at = drawn; at < layout->size; at += drawn)
        memcpy(data + at, data, drawn < layout->size - at ? drawn : layout->size - at);
}

// A frame by itself.
static int frame_new(const struct frame_layout *layout, const struct frame_allocator *allocator,
                     struct error *error, struct frame **ret_frame)
{
    struct frame_pool *pool;
    int r = frame_pool_new(layout, 1, allocator, &pool);

    if (r < 0) {
        return error_set(error, r, "no %s memory for a picture of %ux%u", allocator->kind,
                         layout->width, layout->height);
    }
    *ret_frame = frame_pool_take(pool);
    frame_pool_unref(pool);
    return 0;
}

int scene_frame_new(const struct frame_layout *layout, const struct frame_allocator *allocator,
                    struct error *error, struct frame **ret_frame)
{
    int r = frame_new(layout, allocator, error, ret_frame);

    if (r == 0)
        draw_scene((*ret_frame)->data, layout);
    return r;
}

static size_t plane_bytes(const struct frame_layout *layout, bool all)
{
    size_t bytes = 0;

    for (unsigned i = 0; i < (all ? layout->format->plane_count : 1); i++)
        bytes += (size_t)layout->planes[i].width_bytes * layout->planes[i].rows;
    return bytes;
}

static void count_view_bytes(struct rig *rig, const struct config_view *settings)
{
    rig->bytes = plane_bytes(&rig->input, config_view_reads_colour(settings)) +
                 plane_bytes(&rig->output, config_view_is_colour(settings));
}

static int check(const struct rig *rig, int result, const char *doing, struct error *error)
{
    return cuda_driver_check(gpu_driver(rig->gpu), result, doing, error);
}

// Hands a frame to the GPU with the scene in it.
static int lend_to_gpu(const struct rig *rig, struct frame *frame, struct error *error,
                       uint64_t *ret_address)
{
    bool device = strcmp(frame->allocator->kind, "device") == 0;
    size_t size = frame->layout.size;
    _cleanup_(cleanup_free) uint8_t *scene = device ? malloc(size) : NULL;
    int r = frame_to_gpu(frame, error, ret_address);

    if (r < 0 || !device)
        return r;
    if (!scene)
        return error_set(error, -ENOMEM, "no memory for a picture");
    draw_scene(scene, &frame->layout);
    r = check(rig,
              gpu_driver(rig->gpu)->copy_to_device(*ret_address, scene, size, gpu_stream(rig->gpu)),
              "copying a picture", error);
    return r < 0 ? r : gpu_wait(rig->gpu, clock_now_ns() + WAIT_NS, error); // it reads `scene`
}

// A picture of one side. A copy of half of the bytes fits in it.
static int make_picture(struct rig *rig, int side, struct error *error)
{
    struct frame_layout layout = side == 0 ? rig->input : rig->output;
    struct frame *frame = NULL;
    int r;

    layout.size = layout.size > rig->bytes / 2 ? layout.size : rig->bytes / 2;
    r = frame_new(&layout, rig->allocator, error, &frame);
    if (r < 0)
        return r;
    rig->frames[side][rig->count] = frame;
    if (strcmp(rig->allocator->kind, "device") != 0)
        draw_scene(frame->data, &frame->layout);
    return rig->gpu ? lend_to_gpu(rig, frame, error, &rig->addresses[side][rig->count]) : 0;
}

int rig_add_pictures(struct rig *rig, struct error *error)
{
    int r = 0;

    for (int side = 0; side < 2 && r == 0; side++)
        r = make_picture(rig, side, error);
    if (r < 0)
        return r;
    return ++rig->count < rig->wanted;
}

int rig_fill(struct rig *rig, struct error *error)
{
    int r;

    do {
        r = rig_add_pictures(rig, error);
    } while (r > 0);
    return r;
}

int rig_init_stage(struct rig *rig, const struct plan_step *step, const struct frame_layout *input,
                   struct pool *pool, struct error *error)
{
    const struct pixel_format *gray = pixel_format_by_name("GREY"),
                              *nv12 = pixel_format_by_name("NV12");
    bool converts = step->kind == STAGE_CONVERT;
    const struct runner_setup setup = {.steps = step,
                                       .count = 1,
                                       .camera = &rig->input,
                                       .output = nv12,
                                       .first = true,
                                       .last = true,
                                       .pool = pool};
    int r;

    *rig = (struct rig){.input = *input, .allocator = frame_allocator_host(), .wanted = 1};
    if (!converts && step->kind != STAGE_GRAY)
        frame_layout_init(&rig->input, gray, input->width, input->height, FRAME_STRIDE_ALIGN);
    frame_layout_init(&rig->output, converts ? nv12 : gray, input->width, input->height,
                      FRAME_STRIDE_ALIGN);
    rig->bytes = plane_bytes(&rig->input, converts) + plane_bytes(&rig->output, converts);
    r = runner_init(&rig->runner, &setup, error);
    return r < 0 ? r : rig_fill(rig, error);
}

int rig_init_view(struct rig *rig, const struct view_setup *setup, struct error *error)
{
    struct view_setup mine = *setup;
    int r;

    *rig = (struct rig){.input = *setup->input, .allocator = setup->allocator, .wanted = 1};
    mine.frames = 2;
    r = view_new(&mine, error, &rig->view);
    if (r < 0)
        return r;
    if (view_passes_through(rig->view))
        return -EAGAIN;
    rig->output = *view_output_layout(rig->view);
    count_view_bytes(rig, setup->settings);
    return rig_fill(rig, error);
}

// How many pictures fill twice the GPU's cache, within what memory allows.
static unsigned count_pictures(const struct rig *rig)
{
    size_t each = rig->input.size | 4095; // frames take whole pages
    size_t count = 2 * (size_t)gpu_info(rig->gpu)->l2_bytes / each + PICTURES_MIN;
    size_t most = ROOM_BYTES / each;

    count = count < RIG_PICTURES_MAX ? count : RIG_PICTURES_MAX;
    count = count < most ? count : most;
    return count > PICTURES_MIN ? (unsigned)count : PICTURES_MIN;
}

// The runner of all kernels, and the events around them.
static int make_kernels(struct rig *rig, const struct view_setup *setup, struct plan *plan,
                        struct error *error)
{
    const char *kind = setup->allocator->kind;
    bool mapped = strcmp(kind, "managed") != 0 && strcmp(kind, "device") != 0;
    struct mask_plane *mask = NULL;
    int r = gpu_enter(rig->gpu, error);

    if (r == 0)
        r = plan_load_mask(plan, setup, error, &mask);
    if (r == 0)
        r = runner_init_plan(&rig->runner, rig->gpu, plan, &rig->input, mapped, error);
    mask_plane_unref(mask); // the GPU has a copy
    if (r == 0) {
        r = check(rig, gpu_driver(rig->gpu)->event_create(&rig->start, 0), "making an event",
                  error);
    }
    if (r == 0)
        r = check(rig, gpu_driver(rig->gpu)->event_create(&rig->end, 0), "making an event", error);
    return r;
}

int rig_init_kernels(struct rig *rig, const struct view_setup *setup, struct error *error)
{
    struct plan plan = plan_make(setup->settings, setup->input->format, VIEW_OUTPUT_STREAM);
    int r;

    *rig = (struct rig){.gpu = setup->gpu, .input = *setup->input, .allocator = setup->allocator};
    if (plan.count == 0 || !runner_supports(&plan, setup->input))
        return -EAGAIN;
    frame_layout_init(&rig->output, pixel_format_by_name("NV12"), rig->input.width,
                      rig->input.height, FRAME_STRIDE_ALIGN);
    count_view_bytes(rig, setup->settings);
    r = make_kernels(rig, setup, &plan, error);
    rig->wanted = count_pictures(rig);
    return r;
}

void rig_finish(struct rig *rig)
{
    bool works = rig->gpu && !gpu_is_lost(rig->gpu);

    view_free(rig->view);
    for (int side = 0; side < 2; side++) {
        for (unsigned i = 0; i < RIG_PICTURES_MAX && rig->frames[side][i]; i++) {
            if (works)
                frame_to_cpu(rig->frames[side][i], NULL);
            frame_unref(rig->frames[side][i]);
        }
    }
    if (works && rig->end)
        gpu_driver(rig->gpu)->event_destroy(rig->end);
    if (works && rig->start)
        gpu_driver(rig->gpu)->event_destroy(rig->start);
    runner_finish(&rig->runner);
    *rig = (struct rig){0};
}

static int run_on_cpu(struct rig *rig, bool copy, struct error *error, double *ret_us)
{
    struct frame *input = rig->frames[0][0], *output = rig->frames[1][0];
    _cleanup_(cleanup_frame) struct frame *picture = NULL;
    int64_t start_ns = clock_now_ns();
    int r = 0;

    if (copy) {
        memcpy(output->data, input->data, rig->bytes / 2);
        // As if the copy was read, so that the compiler does not leave it out.
        __asm__ volatile("" : : "r"(output->data) : "memory");
    } else if (rig->view) {
        r = view_run(rig->view, input, error, &picture);
    } else {
        runner_compute(&rig->runner, NULL, input, output);
    }
    *ret_us = (double)(clock_now_ns() - start_ns) / NS_PER_US;
    return r;
}

// Queues the kernels, or a copy, for the next pictures.
static int queue(struct rig *rig, bool copy, struct error *error)
{
    uint64_t from = rig->addresses[0][rig->next], to = rig->addresses[1][rig->next];
    const struct gpu_picture input = gpu_picture_at(&rig->input, from),
                             output = gpu_picture_at(&rig->output, to);

    return copy ? check(rig,
                        gpu_driver(rig->gpu)->copy_async(to, from, rig->bytes / 2,
                                                         gpu_stream(rig->gpu)),
                        "copying", error)
                : runner_launch(&rig->runner, (struct gpu_pictures){input, input, output}, error);
}

static int run_on_gpu(struct rig *rig, bool copy, struct error *error, double *ret_us)
{
    const struct cuda_driver *driver = gpu_driver(rig->gpu);
    struct CUstream_st *stream = gpu_stream(rig->gpu);
    float ms = 0;
    int r = check(rig, driver->event_record(rig->start, stream), "recording an event", error);

    rig->next = (rig->next + 1) % rig->count;
    if (r == 0)
        r = queue(rig, copy, error);
    if (r == 0)
        r = check(rig, driver->event_record(rig->end, stream), "recording an event", error);
    if (r == 0)
        r = gpu_wait(rig->gpu, clock_now_ns() + (rig->wait_ns ? rig->wait_ns : WAIT_NS), error);
    if (r == 0)
        r = check(rig, driver->event_elapsed(&ms, rig->start, rig->end), "reading the time", error);
    *ret_us = 1e3 * (double)ms;
    return r;
}

int rig_time(void *context, struct error *error, double *ret_us)
{
    struct rig *rig = context;

    return rig->gpu ? run_on_gpu(rig, false, error, ret_us) : run_on_cpu(rig, false, error, ret_us);
}

int rig_time_copy(void *context, struct error *error, double *ret_us)
{
    struct rig *rig = context;

    return rig->gpu ? run_on_gpu(rig, true, error, ret_us) : run_on_cpu(rig, true, error, ret_us);
}
