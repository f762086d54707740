#include "daemon/ctl/bench/tune.h"

#include "daemon/common/mask_file.h"
#include "daemon/ctl/progress.h"
#include "kernels/gpu/gpu_kernel.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#define CLEARLY 0.95 // of the time in use
#define PATH_RUNS 123
#define PATH_RUNS_QUICK 33

// Whole frames in blocks of their own.
struct whole_frame {
    struct rig *rig;
    struct gpu *gpu;
    struct config_block blocks[CONFIG_KERNEL_COUNT];
};

static int run_whole_frame(void *context, struct error *error, double *ret_us)
{
    const struct whole_frame *frame = context;

    gpu_set_blocks(frame->gpu, frame->blocks);
    return rig_time(frame->rig, error, ret_us);
}

// Measures one kernel, with a bar for each of its phases. An interrupt ends it early.
static int measure_kernel(const struct tune *tune, struct rig *rig, struct sweep *sweep,
                          struct error *error)
{
    const char *what = "";
    struct sweep_run *run;
    char title[128];
    int r = sweep_begin(rig, tune->quick, sweep, &run);

    if (r < 0)
        return error_set(error, r, "no memory for the times");
    do {
        snprintf(title, sizeof title, "%s, %s memory, %s%s", sweep->view->name,
                 config_memory_name(sweep->memory), config_kernel_name(sweep->kernel), what);
        r = progress_run(title, sweep_turns(run), sweep_turn, run, error);
        what = ", rows a thread";
    } while (r == 0 && !interrupt_seen() && sweep_go_on(run));
    sweep_end(run);
    return r;
}

// Measures the view's kernels in one kind of memory.
static int measure_memory(struct tune *tune, const struct config_view *view,
                          const struct gpu_memory *memory, struct error *error)
{
    const struct view_setup setup = {.settings = view,
                                     .input = &tune->target.input,
                                     .allocator = gpu_memory_allocator(memory),
                                     .gpu = tune->session.gpu,
                                     .read_mask = mask_file_read};
    enum config_kernel kernels[CONFIG_KERNEL_COUNT];
    struct rig rig;
    int r;

    gpu_set_blocks(tune->session.gpu, tune->target.config->blocks);
    r = rig_init_kernels(&rig, &setup, error);
    size_t count = r == 0 ? runner_groups(&rig.runner, kernels) : 0;

    r = r < 0 ? r : rig_fill(&rig, error);
    for (size_t i = 0; i < count && r == 0 && !interrupt_seen(); i++) {
        struct sweep *sweep = &tune->sweeps[tune->sweep_count];

        *sweep = (struct sweep){
            .view = view,
            .kernel = kernels[i],
            .further = i > 0,
            .memory = gpu_memory_kind(memory),
        };
        r = measure_kernel(tune, &rig, sweep, error);
        tune->sweep_count += r == 0 && sweep->count > 0;
        if (r < 0 && r != -ENOMEM)
            gpu_lose(rig.gpu);
    }
    rig_finish(&rig);
    return r;
}

// Times whole frames of the view, CPU to CPU, with the best shapes of all kernels, in all kinds of
// memory in turns. `sweeps` are those of the view.
static int measure_paths(const struct tune *tune, const struct config_view *view,
                         struct sweep *sweeps, size_t count, struct error *error)
{
    struct whole_frame paths[ARRAY_LENGTH(tune->memories)] = {0};
    g_autofree struct rig *rigs = g_new0(struct rig, ARRAY_LENGTH(paths));
    g_autofree struct timed *timed = g_new0(struct timed, ARRAY_LENGTH(paths));
    struct timing_rounds rounds = {timed, tune->memory_count,
                                   tune->quick ? PATH_RUNS_QUICK : PATH_RUNS, 0};
    int r = 0;

    for (size_t i = 0; i < tune->memory_count && r == 0; i++) {
        const struct view_setup setup = {.settings = view,
                                         .input = &tune->target.input,
                                         .allocator = gpu_memory_allocator(tune->memories[i]),
                                         .gpu = tune->session.gpu,
                                         .read_mask = mask_file_read};

        paths[i] = (struct whole_frame){.rig = &rigs[i], .gpu = tune->session.gpu};
        timed[i] = (struct timed){.run = run_whole_frame, .context = &paths[i]};
        for (size_t j = 0; j < count; j++) {
            if (sweeps[j].memory == gpu_memory_kind(tune->memories[i]))
                paths[i].blocks[sweeps[j].kernel] = sweeps[j].shapes[0].block;
        }
        r = rig_init_view(&rigs[i], &setup, error);
    }
    if (r == 0) {
        r = progress_run("whole frames", timing_turns(&rounds), timing_turn, &rounds, error);
        timing_sum_up(&rounds);
        if (r < 0)
            gpu_lose(tune->session.gpu);
    }
    for (size_t i = 0; i < tune->memory_count && r == 0; i++) {
        for (size_t j = 0; j < count; j++) {
            if (sweeps[j].memory == gpu_memory_kind(tune->memories[i]))
                sweeps[j].path = timed[i].result;
        }
    }
    for (size_t i = 0; i < ARRAY_LENGTH(paths); i++)
        rig_finish(&rigs[i]);
    return r;
}

int sweep_view(struct tune *tune, const struct config_view *view, struct error *error)
{
    size_t first = tune->sweep_count;
    int r = 0;

    for (size_t i = 0; i < tune->memory_count && r == 0 && !interrupt_seen(); i++)
        r = measure_memory(tune, view, tune->memories[i], error);
    return r < 0 || interrupt_seen()
               ? r
               : measure_paths(tune, view, &tune->sweeps[first], tune->sweep_count - first, error);
}

// Choices worth keeping
// ---------------------------------------------------------------------

static void add(struct timing *sum, struct timing part)
{
    sum->median += part.median;
    sum->spread += part.spread;
}

// Adds up the times of whole frames of all views in one kind of memory; false if a view has none.
static bool sum_paths(const struct sweep *sweeps, size_t count, enum config_memory memory,
                      struct timing *ret_sum)
{
    *ret_sum = (struct timing){0};
    for (size_t i = 0; i < count; i++) {
        if (sweeps[i].memory == memory && !sweeps[i].further) {
            if (sweeps[i].path.median <= 0)
                return false;
            add(ret_sum, sweeps[i].path);
        }
    }
    return ret_sum->median > 0;
}

enum config_memory tune_choose_memory(const struct sweep *sweeps, size_t count,
                                      enum config_memory in_use)
{
    enum config_memory best = in_use;
    struct timing used, least, sum;

    if (!sum_paths(sweeps, count, in_use, &used))
        return in_use;
    least = used;
    for (enum config_memory i = CONFIG_MEMORY_REGISTERED; i < CONFIG_MEMORY_HOST; i++) {
        if (sum_paths(sweeps, count, i, &sum) && sum.median < least.median &&
            sum.median < CLEARLY * used.median && timing_is_faster(sum, used)) {
            least = sum;
            best = i;
        }
    }
    return best;
}

bool tune_choose(const struct sweep *sweeps, size_t count, enum config_memory in_use,
                 struct config_block blocks[CONFIG_KERNEL_COUNT])
{
    bool changed = false;

    for (enum config_kernel kernel = 0; kernel < CONFIG_KERNEL_COUNT; kernel++) {
        struct sweep_choice choice = {.count = 0};

        for (size_t i = 0; i < count && choice.count < ARRAY_LENGTH(choice.sweeps); i++) {
            if (sweeps[i].kernel == kernel && sweeps[i].memory == in_use)
                choice.sweeps[choice.count++] = &sweeps[i];
        }
        changed |= sweep_choose(&choice, &blocks[kernel]);
    }
    return changed;
}
