// A GPU, its memory and the views on it, played for one test program: the functions of
// kernels/gpu/gpu.h, kernels/gpu/gpu_memory.h, kernels/graph/view.h and kernels/graph/graph.h;
// those that can fail do when the test says so. Cameras stand upright and deliver pictures: there
// is no flip and no demosaic.
#pragma once

#include "kernels/demosaic/demosaic.h"
#include "kernels/events/meter.h"
#include "kernels/flip/flip.h"
#include "kernels/gpu/gpu_memory.h"
#include "kernels/graph/graph.h"
#include "kernels/graph/view.h"
#include "kernels/selftest/gpu_selftest.h"
#include "tests/unit/daemon/no_surfaces.h"
#include "tests/unit/daemon/no_tuner.h"

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

#define FAULT "CUDA: an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS)"

struct gpu {
    struct gpu_info info;
    atomic_bool lost;
};

struct gpu_memory {
    enum config_memory kind;
    struct frame_allocator allocator;
};

struct view {
    struct gpu *gpu; // NULL: the CPU's
    struct frame_layout output;
    struct frame_pool *frames; // NULL: passes through
    struct frame *begun;       // the picture being made
};

// What the machine is like, and what it has seen.
static struct {
    atomic_bool hangs, view_is_slow, view_has_no_memory;
    atomic_uint views_begun; // on the GPU
    atomic_uint views_forgotten;
    atomic_bool broken; // so that even gpu_wait() says so
    sem_t answer;
    atomic_int allocation_result; // unless 0: all allocations in the GPU's memory end so
    atomic_int allocation_failed; // as gpu_memory_take_failure() will say
    atomic_int open_result, frames_out, called_when_lost, sides_mixed;
} machine;

static void play_machine(void)
{
    memset(&machine, 0, sizeof machine);
    sem_init(&machine.answer, 0, 0);
}

int gpu_new(struct error *error, struct gpu **ret_gpu)
{
    if (machine.hangs) {
        sem_wait(&machine.answer);
    }
    if (machine.open_result) {
        return error_set(error, machine.open_result, "no GPU today");
    }
    *ret_gpu = calloc(1, sizeof **ret_gpu);
    (*ret_gpu)->info = (struct gpu_info){.name = "Board", .sm = 87};
    return 0;
}

int gpu_selftest_start(struct gpu *gpu, struct error *error)
{
    (void)gpu;
    (void)error;
    return 0;
}

void gpu_free(struct gpu *gpu)
{
    free(gpu);
}

int gpu_enter(const struct gpu *gpu, struct error *error)
{
    (void)error;
    machine.called_when_lost += gpu->lost;
    return 0;
}

void gpu_lose(struct gpu *gpu)
{
    gpu->lost = true;
}

bool gpu_is_lost(const struct gpu *gpu)
{
    return gpu->lost;
}

const struct gpu_info *gpu_info(const struct gpu *gpu)
{
    return &gpu->info;
}

int gpu_wait(struct gpu *gpu, int64_t deadline_ns, struct error *error)
{
    (void)deadline_ns;
    machine.called_when_lost += gpu->lost;
    return machine.broken ? error_set(error, -EIO, FAULT) : 0;
}

static int allocate(void *context, size_t size, void **ret_memory)
{
    (void)context;
    if (machine.allocation_result) {
        machine.allocation_failed = machine.allocation_result;
        return machine.allocation_result;
    }
    machine.frames_out++;
    return frame_allocator_host()->allocate(NULL, size, ret_memory);
}

static void release(void *context, void *memory, size_t size)
{
    (void)context;
    machine.frames_out--;
    frame_allocator_host()->release(NULL, memory, size);
}

int gpu_memory_new(struct gpu *gpu, enum config_memory wanted, struct error *why,
                   struct gpu_memory **ret_memory)
{
    (void)gpu;
    (void)wanted;
    (void)why;
    *ret_memory = calloc(1, sizeof **ret_memory);
    (*ret_memory)->kind = CONFIG_MEMORY_REGISTERED;
    (*ret_memory)->allocator =
        (struct frame_allocator){.kind = "registered", .allocate = allocate, .release = release};
    return 0;
}

void gpu_memory_free(struct gpu_memory *memory)
{
    free(memory);
}

enum config_memory gpu_memory_kind(const struct gpu_memory *memory)
{
    return memory->kind;
}

const struct frame_allocator *gpu_memory_allocator(const struct gpu_memory *memory)
{
    return &memory->allocator;
}

const struct frame_allocator *gpu_memory_device_allocator(const struct gpu_memory *memory)
{
    return &memory->allocator;
}

int gpu_memory_take_failure(struct gpu_memory *memory, struct error *ret_why)
{
    int code = atomic_exchange(&machine.allocation_failed, 0);

    (void)memory;
    return code ? error_set(ret_why, code, "the driver said no") : 0;
}

void gpu_set_blocks(struct gpu *gpu, const struct config_block *blocks)
{
    (void)gpu;
    (void)blocks;
}

bool gpu_take_complaint(struct gpu *gpu, struct error *ret_text)
{
    (void)gpu;
    (void)ret_text;
    return false;
}

// As an allocation takes when the memory is nearly full.
static void take_time(void)
{
    struct timespec end;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec++;
    while (sem_timedwait(&machine.answer, &end) && errno == EINTR) {
    }
}

int view_new(const struct view_setup *setup, struct error *error, struct view **ret_view)
{
    struct view *view;

    machine.views_begun += setup->gpu != NULL;
    if (setup->gpu && machine.view_is_slow) {
        take_time();
    }
    if (setup->gpu && machine.view_has_no_memory) {
        return error_set(error, -ENOMEM, "no GPU memory for a view");
    }
    view = calloc(1, sizeof *view);
    view->gpu = setup->gpu;
    view->output = *setup->input;
    if (setup->settings->view != CONFIG_VIEW_CAMERA) {
        frame_layout_init(&view->output, setup->input->format, setup->input->width,
                          setup->input->height, 64);
        int r = frame_pool_new(&view->output, setup->frames, setup->allocator, &view->frames);
        if (r) {
            free(view);
            return error_set(error, r, "no memory for frames");
        }
    }
    *ret_view = view;
    return 0;
}

void view_free(struct view *view)
{
    if (view) {
        frame_pool_unref(view->frames);
        free(view);
    }
}

bool view_reads_on_gpu(const struct config_view *settings, const struct frame_layout *input)
{
    (void)settings, (void)input;
    return true;
}

bool view_is_on_gpu(const struct view *view)
{
    return view->gpu && view->frames;
}

int view_begin(struct view *view, struct frame *input, struct error *error)
{
    (void)error;
    if (!view->frames) {
        view->begun = frame_ref(input);
        return 0;
    }
    // The source holds none of a new frame: more than one reference is an encoder's.
    machine.sides_mixed += atomic_load(&input->references) > 1;
    view->begun = frame_pool_take(view->frames);
    if (!view->begun) {
        return -ENOBUFS;
    }
    view->begun->pts_ns = input->pts_ns;
    view->begun->grabbed_ns = input->grabbed_ns;
    view->begun->sequence = input->sequence;
    return 0;
}

int view_end(struct view *view, struct error *error, struct frame **ret_output)
{
    (void)error;
    *ret_output = TAKE(view->begun);
    return 0;
}

void view_drop_picture(struct view *view)
{
    frame_unref(TAKE(view->begun));
}

bool view_passes_through(const struct view *view)
{
    return !view->frames;
}

const struct frame_layout *view_output_layout(const struct view *view)
{
    return &view->output;
}

const char *view_backend(const struct view *view)
{
    return view->gpu ? "CUDA sm_87" : "CPU";
}

void view_set_active(struct view *view, bool active)
{
    (void)view;
    (void)active;
}

void view_forget(struct view *view)
{
    (void)view;
    machine.views_forgotten++;
}

// Views share nothing here.
int graph_new(struct graph **ret_graph)
{
    *ret_graph = (struct graph *)&machine;
    return 0;
}

void graph_free(struct graph *graph)
{
    (void)graph;
}

void graph_begin(struct graph *graph)
{
    (void)graph;
}

struct graph_count graph_count(const struct graph *graph, enum stage_kind kind)
{
    (void)graph;
    (void)kind;
    return (struct graph_count){0};
}

// No region is measured here.
int meter_new(struct graph *graph, const struct frame_layout *layout,
              const struct watched_region *regions, size_t count, struct meter **ret_meter)
{
    (void)graph;
    (void)layout;
    (void)regions;
    (void)count;
    (void)ret_meter;
    return -ENOMEM;
}

void meter_free(struct meter *meter)
{
    (void)meter;
}

void meter_begin(struct meter *meter, const struct frame *frame)
{
    (void)meter;
    (void)frame;
}

void meter_run(struct meter *meter, const struct frame *frame, struct region_reading *ret_readings)
{
    (void)meter;
    (void)frame;
    (void)ret_readings;
}

uint32_t meter_pixels(const struct meter *meter, size_t region)
{
    (void)meter;
    (void)region;
    return 0;
}

void flip_layout_init(struct frame_layout *layout, enum config_flip flip,
                      const struct frame_layout *input)
{
    (void)flip;
    *layout = *input;
}

int flip_new(const struct flip_setup *setup, struct error *error, struct flip **ret_flip)
{
    (void)setup, (void)ret_flip;
    return error_set(error, -ENOTSUP, "no flip is played");
}

void flip_free(struct flip *flip)
{
    (void)flip;
}

bool flip_fits(const struct flip *flip, const struct flip_setup *setup)
{
    (void)flip, (void)setup;
    return false;
}

const struct frame_layout *flip_layout(const struct flip *flip)
{
    (void)flip;
    return NULL;
}

int flip_run(struct flip *flip, struct frame *input, struct error *error, struct frame **ret_output)
{
    (void)flip, (void)input, (void)ret_output;
    return error_set(error, -ENOTSUP, "no flip is played");
}

int demosaic_new(const struct demosaic_setup *setup, struct error *error,
                 struct demosaic **ret_demosaic)
{
    (void)setup, (void)ret_demosaic;
    return error_set(error, -ENOTSUP, "no demosaic is played");
}

void demosaic_free(struct demosaic *demosaic)
{
    (void)demosaic;
}

bool demosaic_fits(const struct demosaic *demosaic, const struct demosaic_setup *setup)
{
    (void)demosaic, (void)setup;
    return false;
}

const struct frame_layout *demosaic_layout(const struct demosaic *demosaic)
{
    (void)demosaic;
    return NULL;
}

int demosaic_run(struct demosaic *demosaic, struct frame *input, struct error *error,
                 struct frame **ret_output)
{
    (void)demosaic, (void)input, (void)ret_output;
    return error_set(error, -ENOTSUP, "no demosaic is played");
}
