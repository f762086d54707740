#include "daemon/camera/channels.h"

#include "daemon/common/log.h"
#include "kernels/gpu/gpu_kernel.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define ROOM_TIMEOUT_NS (100 * NS_PER_MS)

void channels_init(struct channels *channels, const char *camera, struct graph *graph,
                   struct settings *settings, int wake_fd)
{
    const struct config_view *views = settings_camera(settings)->views;

    channels->camera = camera;
    channels->graph = graph;
    channels->settings = settings;
    channels->wake_fd = wake_fd;
    for (size_t i = 0; i < settings->count; i++)
        channel_begin_settings(settings->channels[i], &views[i]);
}

static int name_view(const struct settings *settings, size_t index, int code, struct error *error)
{
    return error_prefix(error, code, "view \"%s\"", settings_camera(settings)->views[index].name);
}

static void tell_complaints(const struct channels *channels)
{
    struct error text;

    while (channels->gpu && gpu_take_complaint(channels->gpu, &text))
        log_write(LOG_WARNING, LOG_EVENT_NONE, channels->camera, NULL, "%s", text.text);
}

// The kernels of a GPU that is new are made with these blocks.
static void use_gpu(struct channels *channels, struct gpu *gpu)
{
    if (gpu && gpu != channels->gpu) {
        channels->gpu = gpu;
        gpu_set_blocks(gpu, channels->settings->config->blocks);
    }
}

static void tell_refusals(const struct channels *channels)
{
    struct error why;

    for (size_t i = 0; i < channels->settings->count; i++) {
        if (channel_take_refusal(channels->settings->channels[i], &why)) {
            name_view(channels->settings, i, -ENOSYS, &why);
            log_write(LOG_ERR, LOG_EVENT_NONE, channels->camera, NULL,
                      "%s, going on without this view", why.text);
        }
    }
}

int channels_prepare(struct channels *channels, const struct channel_setup *setup,
                     struct error *error)
{
    size_t refused = 0;

    use_gpu(channels, setup->gpu);
    for (size_t i = 0; i < channels->settings->count; i++) {
        struct error why = {0};
        int r = channel_prepare(channels->settings->channels[i], setup, &why);

        if (r == 0)
            continue;
        *error = why;
        name_view(channels->settings, i, r, error);
        if (r != -ENOSYS || ++refused == channels->settings->count)
            return r;
    }
    tell_refusals(channels);
    tell_complaints(channels);
    return 0;
}

// The first channel from number `index` on whose pictures are made by `maker`; the count: none.
static size_t next_made_by(const struct channels *channels, enum channel_maker maker, size_t index)
{
    const struct settings *settings = channels->settings;

    while (index < settings->count && channel_maker(settings->channels[index]) != maker)
        index++;
    return index;
}

static int end_picture(struct channels *channels, size_t index, struct error *error)
{
    struct channel *channel = channels->settings->channels[index];
    int r = channel_end_picture(channel, error);

    return r ? name_view(channels->settings, index, r, error) : 0;
}

// Begins and ends the pictures of one channel after the other.
static int run_made_by(struct channels *channels, enum channel_maker maker, struct frame *frame,
                       struct error *error)
{
    struct channel *const *list = channels->settings->channels;
    int r = 0;

    for (size_t i = next_made_by(channels, maker, 0); i < channels->settings->count && r == 0;
         i = next_made_by(channels, maker, i + 1)) {
        r = channel_begin_picture(list[i], frame, error);
        r = r ? name_view(channels->settings, i, r, error) : end_picture(channels, i, error);
    }
    return r;
}

static int begin_on_gpu(struct channels *channels, struct frame *frame, struct error *error)
{
    struct channel *const *list = channels->settings->channels;

    for (size_t i = next_made_by(channels, CHANNEL_MAKER_GPU, 0); i < channels->settings->count;
         i = next_made_by(channels, CHANNEL_MAKER_GPU, i + 1)) {
        int r = channel_begin_picture(list[i], frame, error);

        if (r)
            return name_view(channels->settings, i, r, error);
    }
    return 0;
}

// Begins the pictures of all channels on the GPU, then ends one after the other. After a failure of
// the GPU it waits for none.
static int run_on_gpu(struct channels *channels, struct frame *frame, struct error *error)
{
    int r = begin_on_gpu(channels, frame, error);

    for (size_t i = next_made_by(channels, CHANNEL_MAKER_GPU, 0); i < channels->settings->count;
         i = next_made_by(channels, CHANNEL_MAKER_GPU, i + 1)) {
        struct error why;

        if (r == -ENOTRECOVERABLE) {
            channel_drop_picture(channels->settings->channels[i]);
            continue;
        }
        int ended = end_picture(channels, i, &why);
        if (ended && (!r || ended == -ENOTRECOVERABLE)) {
            *error = why;
            r = ended;
        }
    }
    if (!r && frame_to_cpu(frame, error))
        r = -ENOTRECOVERABLE;
    return r;
}

void channels_forget(struct channels *channels)
{
    for (size_t i = 0; i < channels->settings->count; i++)
        channel_forget(channels->settings->channels[i]);
}

bool channels_begin(struct channels *channels)
{
    bool watched = false;

    for (size_t i = 0; i < channels->settings->count; i++)
        watched = channel_begin(channels->settings->channels[i]) || watched;
    graph_begin(channels->graph);
    return watched;
}

int channels_run(struct channels *channels, struct frame *frame, struct error *error)
{
    int r = run_on_gpu(channels, frame, error);

    if (!r)
        r = run_made_by(channels, CHANNEL_MAKER_CPU, frame, error);
    if (!r)
        r = run_made_by(channels, CHANNEL_MAKER_NONE, frame, error);
    tell_complaints(channels);
    return r;
}

void channels_wait_for_room(struct channels *channels, int64_t deadline_ns)
{
    int64_t latest_ns = clock_now_ns() + ROOM_TIMEOUT_NS;

    if (latest_ns < deadline_ns)
        deadline_ns = latest_ns;
    for (size_t i = 0; i < channels->settings->count; i++)
        channel_wait_for_room(channels->settings->channels[i], deadline_ns);
}

void channels_run_slate(struct channels *channels, int64_t seconds)
{
    for (size_t i = 0; i < channels->settings->count; i++)
        channel_run_slate(channels->settings->channels[i], seconds);
}

// Going over to other settings
// ---------------------------------------------------------------------

static bool is_without_encoder(const struct channel *channel)
{
    return strcmp(channel_encoder_name(channel), LINK_WITHOUT_ENCODER) == 0;
}

// A view that had no encoder before, or whose encoder failed, costs the others no change of
// settings.
static void make_encoders(struct channels *channels)
{
    const struct settings *next = channels->next;
    bool repairs = next == channels->settings;

    for (size_t i = 0; i < next->count && !channels->next_result; i++) {
        struct channel *channel = next->channels[i];
        struct error *error = &channels->next_error;
        int r = channel_wants_encoder(channel) ? channel_stage_encoder(channel, error) : 0;

        if (r && !repairs && !is_without_encoder(channel))
            channels->next_result = name_view(next, i, r, error);
    }
}

static void do_work(struct channels *channels)
{
    for (size_t i = 0; channels->left && i < channels->left->count; i++)
        channel_end_old_encoder(channels->left->channels[i]);
    if (channels->next)
        make_encoders(channels);
}

static void *run_work(void *context)
{
    struct channels *channels = context;
    uint64_t one = 1;

    pthread_setname_np(pthread_self(), "encoders");
    do_work(channels);
    channels->working = false;
    if (write(channels->wake_fd, &one, sizeof one) < 0) {
        log_debug("channels: the lane is awake already"); // the counter is full
    }
    return NULL;
}

// Makes the encoders of `next` and ends those of `left`, in the lane itself if no thread can be
// started.
static void begin_work(struct channels *channels)
{
    channels->working = true;
    channels->worker_started = !pthread_create(&channels->worker, NULL, run_work, channels);
    if (!channels->worker_started) {
        do_work(channels);
        channels->working = false;
    }
}

static void wait_for_work(struct channels *channels)
{
    if (channels->worker_started) {
        pthread_join(channels->worker, NULL);
        channels->worker_started = false;
    }
    settings_unref(TAKE(channels->left));
}

bool channels_are_idle(struct channels *channels)
{
    if (channels->working)
        return false;
    wait_for_work(channels);
    return true;
}

// Gives up `left`, settings that were in force or never came to be; takes over the reference.
static void let_go(struct channels *channels, struct settings *left)
{
    bool leaves_encoders = false;

    for (size_t i = 0; i < left->count; i++)
        leaves_encoders |= channel_has_old_encoder(left->channels[i]);
    channels->left = left;
    if (leaves_encoders)
        begin_work(channels);
}

static void abort_all(const struct settings *next)
{
    for (size_t i = 0; i < next->count; i++)
        channel_abort(next->channels[i]);
}

int channels_begin_settings(struct channels *channels, struct settings *next,
                            const struct channel_setup *setup, struct error *error)
{
    bool wants_encoders = false;

    for (size_t i = 0; i < next->count; i++) {
        struct channel *channel = next->channels[i];
        int r = channel_stage(channel, &settings_camera(next)->views[i], setup, error);

        if (r) {
            abort_all(next);
            return name_view(next, i, r, error);
        }
        wants_encoders |= channel_wants_encoder(channel);
    }
    channels->next = next;
    channels->next_result = 0;
    if (wants_encoders)
        begin_work(channels);
    return 0;
}

bool channels_have_lost_encoder(const struct channels *channels)
{
    for (size_t i = 0; i < channels->settings->count; i++) {
        if (channel_has_lost_encoder(channels->settings->channels[i]))
            return true;
    }
    return false;
}

static void commit(struct channels *channels, struct settings *next)
{
    const struct settings *before = channels->settings;

    for (size_t i = 0; i < next->count; i++)
        channel_commit(next->channels[i]);
    channels->settings = next;
    for (size_t i = 0; i < before->count; i++) {
        struct channel *channel = before->channels[i];

        if (settings_find(next, channel_number(channel)) != channel)
            channel_close(channel);
    }
    if (channels->gpu &&
        memcmp(before->config->blocks, next->config->blocks, sizeof next->config->blocks) != 0) {
        gpu_set_blocks(channels->gpu, next->config->blocks);
    }
    tell_complaints(channels);
}

int channels_end_settings(struct channels *channels, struct error *error)
{
    struct settings *next = TAKE(channels->next), *before = channels->settings;

    if (channels->next_result) {
        *error = channels->next_error;
        abort_all(next);
        let_go(channels, next);
        return channels->next_result;
    }
    commit(channels, next);
    let_go(channels, before);
    return 0;
}

void channels_finish(struct channels *channels)
{
    wait_for_work(channels);
    settings_unref(TAKE(channels->next));
    settings_unref(TAKE(channels->settings));
}

bool channels_are_watched(const struct channels *channels)
{
    for (size_t i = 0; i < channels->settings->count; i++) {
        if (channel_is_watched(channels->settings->channels[i]))
            return true;
    }
    return false;
}
