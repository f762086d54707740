#include "daemon/ctl/bench/gpu_rig.h"

#include "daemon/common/mask_file.h"
#include "daemon/ctl/bench/view_rig.h"

#include <errno.h>
#include <string.h>

#define PICTURES_MIN 2
#define ROOM_BYTES ((size_t)512 << 20)
#define WAIT_NS (5 * NS_PER_S)

static size_t plane_bytes(const struct frame_layout *layout, unsigned planes)
{
    size_t bytes = 0;

    for (unsigned i = 0; i < planes; i++) {
        bytes += (size_t)layout->planes[i].width_bytes * layout->planes[i].rows;
    }
    return bytes;
}

size_t view_bytes(bool reads_all, bool writes_all, const struct frame_layout *input,
                  const struct frame_layout *output)
{
    return plane_bytes(input, reads_all ? input->format->plane_count : 1) +
           plane_bytes(output, writes_all ? output->format->plane_count : 1);
}

static int check(const struct gpu_rig *rig, int result, const char *doing, struct error *error)
{
    return cuda_driver_check(gpu_driver(rig->gpu), result, doing, error);
}

// How many pictures fill twice the GPU's cache, within what memory allows.
static unsigned count_pictures(const struct gpu *gpu, size_t size)
{
    size_t each = size | 4095; // frames take whole pages
    size_t count = 2 * (size_t)gpu_info(gpu)->l2_bytes / each + PICTURES_MIN;
    size_t most = ROOM_BYTES / each;

    count = count < GPU_RIG_PICTURES_MAX ? count : GPU_RIG_PICTURES_MAX;
    count = count < most ? count : most;
    return count > PICTURES_MIN ? (unsigned)count : PICTURES_MIN;
}

static int make_frames(struct gpu_rig *rig, const struct gpu_memory *memory, bool output,
                       const struct frame_layout *layout, struct error *error)
{
    struct gpu_rig_pictures *pictures = output ? &rig->outputs : &rig->inputs;
    int r = frame_pool_new(layout, rig->count, gpu_memory_allocator(memory), &pictures->pool);

    if (r < 0) {
        return error_set(error, r, "no %s memory for %u pictures of %zu bytes",
                         config_memory_name(gpu_memory_kind(memory)), rig->count, layout->size);
    }
    for (unsigned i = 0; i < rig->count && r == 0; i++) {
        pictures->frames[i] = frame_pool_take(pictures->pool);
        draw_scene(pictures->frames[i]->data, layout->size, layout->planes[0].stride);
        r = frame_to_gpu(pictures->frames[i], error, &pictures->addresses[i]);
    }
    return r;
}

static int make_device(struct gpu_rig *rig, bool output, const struct frame_layout *layout,
                       struct error *error)
{
    const struct cuda_driver *driver = gpu_driver(rig->gpu);
    struct gpu_rig_pictures *pictures = output ? &rig->outputs : &rig->inputs;
    size_t size = (layout->size + 255) / 256 * 256;
    _cleanup_(cleanup_free) uint8_t *scene = malloc(size);
    int r = check(rig, driver->mem_alloc(&pictures->device, size * rig->count),
                  "allocating device memory", error);

    if (r < 0 || !scene) {
        return r < 0 ? r : error_set(error, -ENOMEM, "no memory for a picture");
    }
    draw_scene(scene, size, layout->planes[0].stride);
    for (unsigned i = 0; i < rig->count && r == 0; i++) {
        pictures->addresses[i] = pictures->device + i * size;
        r = check(rig,
                  driver->copy_to_device(pictures->addresses[i], scene, size, gpu_stream(rig->gpu)),
                  "copying a picture", error);
    }
    // The copies read `scene`.
    return r < 0 ? r : gpu_wait(rig->gpu, clock_now_ns() + WAIT_NS, error);
}

static int make_pictures(struct gpu_rig *rig, const struct gpu_memory *memory, struct error *error)
{
    struct frame_layout layouts[] = {rig->input, rig->output};
    size_t copied = rig->bytes / 2;
    int r = 0;

    // Blocks that a copy fits in, too.
    layouts[0].size = layouts[0].size > copied ? layouts[0].size : copied;
    layouts[1].size = layouts[1].size > copied ? layouts[1].size : copied;
    rig->count = count_pictures(rig->gpu, layouts[0].size);
    for (int output = 0; output < 2 && r == 0; output++) {
        r = memory ? make_frames(rig, memory, output, &layouts[output], error)
                   : make_device(rig, output, &layouts[output], error);
    }
    return r;
}

int gpu_rig_init(struct gpu_rig *rig, struct gpu *gpu, const struct gpu_memory *memory,
                 const struct config_view *settings, const struct frame_layout *input,
                 struct error *error)
{
    const struct pixel_format *nv12 = pixel_format_by_name("NV12");
    const struct view_setup setup = {
        .settings = settings, .input = input, .read_mask = mask_file_read};
    struct plan plan = plan_make(settings, input->format, VIEW_OUTPUT_STREAM);
    struct mask_plane *mask = NULL;
    bool mapped = memory && gpu_memory_kind(memory) != CONFIG_MEMORY_MANAGED;
    int r;

    *rig = (struct gpu_rig){.gpu = gpu, .input = *input};
    if (plan.count == 0 || !gpu_runner_supports(&plan, input)) {
        return -EAGAIN;
    }
    frame_layout_init(&rig->output, nv12, input->width, input->height, FRAME_STRIDE_ALIGN);
    rig->bytes = view_bytes(config_view_reads_colour(settings), config_view_is_colour(settings),
                            input, &rig->output);
    r = gpu_enter(gpu, error);
    if (r == 0) {
        r = plan_load_mask(&plan, &setup, error, &mask);
    }
    if (r == 0) {
        r = gpu_runner_init(&rig->runner, gpu, &plan, input, mapped, error);
    }
    mask_plane_unref(mask); // the GPU has a copy
    if (r == 0) {
        r = check(rig, gpu_driver(gpu)->event_create(&rig->start, 0), "making an event", error);
    }
    if (r == 0) {
        r = check(rig, gpu_driver(gpu)->event_create(&rig->end, 0), "making an event", error);
    }
    return r == 0 ? make_pictures(rig, memory, error) : r;
}

static void release(struct gpu_rig *rig, bool output)
{
    struct gpu_rig_pictures *pictures = output ? &rig->outputs : &rig->inputs;

    for (unsigned i = 0; i < rig->count; i++) {
        if (pictures->frames[i] && !gpu_is_lost(rig->gpu)) {
            frame_to_cpu(pictures->frames[i], NULL);
        }
        frame_unref(pictures->frames[i]);
    }
    frame_pool_unref(pictures->pool);
    if (pictures->device && !gpu_is_lost(rig->gpu)) {
        gpu_driver(rig->gpu)->mem_free(pictures->device);
    }
}

void gpu_rig_finish(struct gpu_rig *rig)
{
    if (!rig->gpu) {
        return;
    }
    release(rig, false);
    release(rig, true);
    if (rig->end && !gpu_is_lost(rig->gpu)) {
        gpu_driver(rig->gpu)->event_destroy(rig->end);
    }
    if (rig->start && !gpu_is_lost(rig->gpu)) {
        gpu_driver(rig->gpu)->event_destroy(rig->start);
    }
    gpu_runner_finish(&rig->runner);
    *rig = (struct gpu_rig){0};
}

static int begin(struct gpu_rig *rig, struct error *error)
{
    rig->next = (rig->next + 1) % rig->count;
    return check(rig, gpu_driver(rig->gpu)->event_record(rig->start, gpu_stream(rig->gpu)),
                 "recording an event", error);
}

static int end(struct gpu_rig *rig, struct error *error, double *ret_us)
{
    float ms = 0;
    int r = check(rig, gpu_driver(rig->gpu)->event_record(rig->end, gpu_stream(rig->gpu)),
                  "recording an event", error);

    if (r == 0) {
        r = gpu_wait(rig->gpu, clock_now_ns() + WAIT_NS, error);
    }
    if (r == 0) {
        r = check(rig, gpu_driver(rig->gpu)->event_elapsed(&ms, rig->start, rig->end),
                  "reading the time", error);
    }
    *ret_us = 1e3 * (double)ms;
    return r;
}

int gpu_rig_time_kernel(struct gpu_rig *rig, struct error *error, double *ret_us)
{
    int r = begin(rig, error);

    if (r == 0) {
        const struct gpu_picture input =
                                     gpu_picture_at(&rig->input, rig->inputs.addresses[rig->next]),
                                 output = gpu_picture_at(&rig->output,
                                                         rig->outputs.addresses[rig->next]);

        r = gpu_runner_launch(&rig->runner, &input, &output, error);
    }
    return r < 0 ? r : end(rig, error, ret_us);
}

int gpu_rig_time_copy(struct gpu_rig *rig, struct error *error, double *ret_us)
{
    int r = begin(rig, error);

    if (r == 0) {
        r = check(rig,
                  gpu_driver(rig->gpu)->copy_async(rig->outputs.addresses[rig->next],
                                                   rig->inputs.addresses[rig->next], rig->bytes / 2,
                                                   gpu_stream(rig->gpu)),
                  "copying", error);
    }
    return r < 0 ? r : end(rig, error, ret_us);
}
