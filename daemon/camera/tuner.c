#include "daemon/camera/tuner.h"

#include "daemon/common/mask_file.h"
#include "kernels/tune/sweep.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WAIT_NS NS_PER_S // as a live view waits
#define CHECK_NS (100 * NS_PER_MS)
#define TELL_NS (100 * NS_PER_MS)
#define SHARE_OF_FRAME 10 // turns go on for so small a part of the time between frames

struct tuner {
    void (*tell)(void *context, const struct link_tune_progress *progress);
    void *context;
    pthread_mutex_t lock;
    struct link_tune asked; // guarded; number 0: nothing new

    struct link_tune request;  // under way; number 0: none is
    struct settings *settings; // a reference; whose views are tuned
    struct frame_layout input; // of the pictures
    struct compute_means means;

    size_t view;     // its index in the settings
    bool rigged;     // there is a rig of it
    bool has_scenes; // the rig has all its pictures
    struct rig rig;
    enum config_kernel kernels[CONFIG_KERNEL_COUNT]; // of the view, those that are tuned
    size_t kernel_count, kernel;
    struct sweep_run *run; // owned; of that kernel
    struct sweep *sweeps;  // owned; of all kernels of all views so far
    size_t sweep_count;
    int64_t told_ns;
};

int tuner_new(void (*tell)(void *context, const struct link_tune_progress *progress), void *context,
              struct tuner **ret_tuner)
{
    struct tuner *tuner = calloc(1, sizeof *tuner);

    if (!tuner)
        return -ENOMEM;
    tuner->tell = tell;
    tuner->context = context;
    pthread_mutex_init(&tuner->lock, NULL);
    *ret_tuner = tuner;
    return 0;
}

// Ends what the view has.
static void leave_view(struct tuner *tuner)
{
    if (tuner->run)
        sweep_end(TAKE(tuner->run));
    if (tuner->rigged)
        rig_finish(&tuner->rig);
    tuner->rigged = tuner->has_scenes = false;
    tuner->kernel = tuner->kernel_count = 0;
}

// Ends the tune; nobody is told.
static void end(struct tuner *tuner)
{
    leave_view(tuner);
    settings_unref(TAKE(tuner->settings));
    free(TAKE(tuner->sweeps));
    tuner->sweep_count = tuner->view = 0;
    tuner->request.number = 0;
}

void tuner_free(struct tuner *tuner)
{
    if (!tuner)
        return;
    end(tuner);
    pthread_mutex_destroy(&tuner->lock);
    free(tuner);
}

void tuner_ask(struct tuner *tuner, const struct link_tune *request)
{
    pthread_mutex_lock(&tuner->lock);
    tuner->asked = *request;
    pthread_mutex_unlock(&tuner->lock);
}

static void fail(struct tuner *tuner, const char *sentence)
{
    struct link_tune_progress progress = {.number = tuner->request.number,
                                          .kind = LINK_TUNE_FAILED};

    snprintf(progress.sentence, sizeof progress.sentence, "%s", sentence);
    end(tuner);
    tuner->tell(tuner->context, &progress);
}

// Begins or stops as the control thread was told to.
static void follow_request(struct tuner *tuner, const struct tuner_place *place)
{
    pthread_mutex_lock(&tuner->lock);
    struct link_tune asked = tuner->asked;
    tuner->asked.number = 0;
    pthread_mutex_unlock(&tuner->lock);
    if (asked.number == 0 || (asked.stop && asked.number != tuner->request.number))
        return;
    end(tuner);
    if (asked.stop)
        return;
    tuner->request = asked;
    tuner->settings = settings_ref(place->settings);
    tuner->input = *place->input;
    tuner->means = *place->means;
    tuner->sweeps = calloc(place->settings->count * CONFIG_KERNEL_COUNT, sizeof *tuner->sweeps);
    tuner->told_ns = 0;
}

// Why the tune cannot go on; NULL: it can.
static const char *find_objection(const struct tuner *tuner, const struct tuner_place *place)
{
    if (!tuner->sweeps)
        return "out of memory";
    if (!place->means->gpu)
        return "this camera does not compute on a GPU";
    if (place->means->gpu != tuner->means.gpu ||
        place->means->allocator != tuner->means.allocator) {
        return "what computes the views has changed";
    }
    if (place->settings != tuner->settings)
        return "other settings have come";
    if (place->input->format != tuner->input.format || place->input->width != tuner->input.width ||
        place->input->height != tuner->input.height) {
        return "the camera's pictures have changed";
    }
    return NULL;
}

static bool is_wanted(const struct tuner *tuner, enum config_kernel kernel)
{
    return !tuner->request.kernels || tuner->request.kernels >> kernel & 1;
}

// Makes a rig of the view, with the kernels that are to be tuned. 1: it has none.
static int begin_view(struct tuner *tuner, struct error *error)
{
    const struct config_view *view = &settings_camera(tuner->settings)->views[tuner->view];
    struct mask_reader reader = {.camera = settings_camera(tuner->settings)->name,
                                 .view = view->name};
    const struct view_setup setup = {.settings = view,
                                     .input = &tuner->input,
                                     .allocator = tuner->means.allocator,
                                     .gpu = tuner->means.gpu,
                                     .read_mask = mask_reader_read,
                                     .read_context = &reader};
    enum config_kernel all[CONFIG_KERNEL_COUNT];
    uint32_t number = channel_number(tuner->settings->channels[tuner->view]);

    if (tuner->request.view && tuner->request.view != number)
        return 1;
    int r = rig_init_kernels(&tuner->rig, &setup, error);
    tuner->rigged = true;
    tuner->rig.wait_ns = WAIT_NS;
    size_t count = r == 0 ? runner_groups(&tuner->rig.runner, all) : 0;
    for (size_t i = 0; i < count; i++) {
        if (is_wanted(tuner, all[i]))
            tuner->kernels[tuner->kernel_count++] = all[i];
    }
    return r == -EAGAIN || (r == 0 && !tuner->kernel_count) ? 1 : r;
}

static int begin_kernel(struct tuner *tuner, struct error *error)
{
    struct sweep *sweep = &tuner->sweeps[tuner->sweep_count];

    *sweep = (struct sweep){.view = &settings_camera(tuner->settings)->views[tuner->view],
                            .kernel = tuner->kernels[tuner->kernel],
                            .further = tuner->kernel > 0};
    int r = sweep_begin(&tuner->rig, true, sweep, &tuner->run);
    return r ? error_set(error, r, "out of memory") : 0;
}

static void end_kernel(struct tuner *tuner)
{
    sweep_end(TAKE(tuner->run));
    tuner->sweep_count += tuner->sweeps[tuner->sweep_count].count > 0;
    tuner->kernel++;
}

// Does the next small thing: a rig, its next picture, a block. 1: there is more to do, 0: the tune
// is over.
static int step(struct tuner *tuner, struct error *error)
{
    int r;

    if (!tuner->rigged || (tuner->has_scenes && tuner->kernel == tuner->kernel_count)) {
        bool is_next = tuner->rigged;

        leave_view(tuner);
        tuner->view += is_next;
        if (tuner->view == tuner->settings->count)
            return 0;
        r = begin_view(tuner, error);
        tuner->has_scenes = r > 0; // of none
        tuner->rigged |= r > 0;
        return r < 0 ? r : 1;
    }
    if (!tuner->has_scenes) {
        r = rig_add_pictures(&tuner->rig, error);
        tuner->has_scenes = r == 0;
        return r < 0 ? r : 1;
    }
    r = tuner->run ? sweep_turn(tuner->run, error) : begin_kernel(tuner, error);
    if (r == 0 && sweep_turns_taken(tuner->run) > 0 && !sweep_go_on(tuner->run))
        end_kernel(tuner);
    return r < 0 ? r : 1;
}

static struct link_block link_block(struct config_block block)
{
    return (struct link_block){block.x, block.y, block.rows};
}

// Tells the block that was tried last, if it is time.
static void tell_tried(struct tuner *tuner)
{
    struct config_block last, best;
    double us, best_us;
    int64_t now_ns = clock_now_ns();

    if (now_ns - tuner->told_ns < TELL_NS || !tuner->run || !sweep_last(tuner->run, &last, &us) ||
        !sweep_best(tuner->run, &best, &best_us)) {
        return;
    }
    double of_view = ((double)tuner->kernel + sweep_share(tuner->run)) / tuner->kernel_count;
    const struct link_tune_progress progress = {
        .number = tuner->request.number,
        .kind = LINK_TUNE_TRIED,
        .kernel = tuner->kernels[tuner->kernel],
        .view = channel_number(tuner->settings->channels[tuner->view]),
        .block = link_block(last),
        .us = us,
        .best = link_block(best),
        .best_us = best_us,
        .share = tuner->request.view
                     ? of_view
                     : ((double)tuner->view + of_view) / (double)tuner->settings->count,
        .turn = (uint32_t)sweep_turns_taken(tuner->run),
        .turns = (uint32_t)sweep_turns(tuner->run)};

    tuner->told_ns = now_ns;
    tuner->tell(tuner->context, &progress);
}

// The kernel's times in that block over all its views.
static double sum(const struct sweep_choice *choice, struct config_block block)
{
    double us = 0;

    for (size_t i = 0; i < choice->count; i++) {
        const struct sweep_shape *shape = sweep_find(choice->sweeps[i], block);

        us += shape ? shape->time.median : 0;
    }
    return us;
}

static void tell_choice(struct tuner *tuner, enum config_kernel kernel)
{
    struct sweep_choice choice = {.count = 0};
    struct config_block set = {0}, best;

    for (size_t i = 0; i < tuner->sweep_count; i++) {
        if (tuner->sweeps[i].kernel == kernel)
            choice.sweeps[choice.count++] = &tuner->sweeps[i];
    }
    if (choice.count == 0)
        return;
    best = choice.sweeps[0]->in_use;
    sweep_choose(&choice, &set);
    if (set.x) {
        best.x = set.x;
        best.y = set.y;
    }
    best.rows = set.rows ? set.rows : best.rows;
    const struct link_tune_progress progress = {.number = tuner->request.number,
                                                .kind = LINK_TUNE_CHOSEN,
                                                .kernel = kernel,
                                                .block = link_block(choice.sweeps[0]->in_use),
                                                .us = sum(&choice, choice.sweeps[0]->in_use),
                                                .best = link_block(best),
                                                .best_us = sum(&choice, best),
                                                .set = link_block(set),
                                                .share = 1};
    tuner->tell(tuner->context, &progress);
}

static void finish(struct tuner *tuner)
{
    const struct link_tune_progress done = {
        .number = tuner->request.number, .kind = LINK_TUNE_DONE, .share = 1};

    if (tuner->sweep_count == 0) {
        fail(tuner, "there is nothing to tune: no view has such a kernel, or each passes the "
                    "camera's pictures on");
        return;
    }
    for (enum config_kernel kernel = 0; kernel < CONFIG_KERNEL_COUNT; kernel++)
        tell_choice(tuner, kernel);
    end(tuner);
    tuner->tell(tuner->context, &done);
}

// The tune ends after an error. Whether the GPU is lost shows when it is waited for.
static int handle_error(struct tuner *tuner, int code, struct error *error)
{
    struct error why, ignored;
    struct gpu *gpu = tuner->means.gpu;

    gpu_memory_take_failure(tuner->means.memory, NULL); // it is the tune's, and told below
    if (gpu_wait(gpu, clock_now_ns() + CHECK_NS, &ignored) == 0) {
        error_set(&why, code, "%s", error->text);
        fail(tuner, why.text);
        return 0;
    }
    error_prefix(error, code, "while tuning");
    gpu_lose(gpu); // so that the rig does not wait for it
    fail(tuner, error->text);
    return code;
}

int tuner_turn(struct tuner *tuner, const struct tuner_place *place, struct error *error)
{
    int64_t until_ns = clock_now_ns();
    int r = 1;

    follow_request(tuner, place);
    if (tuner->request.number == 0)
        return 0;
    const char *objection = find_objection(tuner, place);
    if (objection) {
        fail(tuner, objection);
        return 0;
    }
    if (place->fps_numerator > 0)
        until_ns += NS_PER_S * place->fps_denominator / place->fps_numerator / SHARE_OF_FRAME;
    r = gpu_use_stream(tuner->means.gpu, 0, error);
    do {
        r = r < 0 ? r : step(tuner, error);
    } while (r > 0 && clock_now_ns() < until_ns);
    if (r < 0)
        return handle_error(tuner, r, error);
    tell_tried(tuner);
    if (r == 0)
        finish(tuner);
    return 0;
}

void tuner_abandon(struct tuner *tuner)
{
    if (tuner->request.number)
        fail(tuner, "the camera delivers no pictures");
}
