#include "daemon/camera/channels.h"

#include "daemon/common/log.h"
#include "kernels/gpu/gpu_kernel.h"

#include <errno.h>
#include <string.h>

void channels_init(struct channels *channels, const char *camera, struct graph *graph,
                   struct settings *settings)
{
    const struct config_view *views = settings_camera(settings)->views;

    *channels = (struct channels){.camera = camera, .graph = graph, .settings = settings};
    for (size_t i = 0; i < settings->count; i++) {
        channel_begin_settings(settings->channels[i], &views[i]);
    }
}

void channels_finish(struct channels *channels)
{
    settings_unref(TAKE(channels->settings));
}

static int name_view(const struct settings *settings, size_t index, int code, struct error *error)
{
    return error_prefix(error, code, "view \"%s\"", settings_camera(settings)->views[index].name);
}

static void tell_complaints(const struct channels *channels)
{
    struct error text;

    while (channels->gpu && gpu_take_complaint(channels->gpu, &text)) {
        log_write(LOG_WARNING, LOG_EVENT_NONE, channels->camera, NULL, "%s", text.text);
    }
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

        if (r == 0) {
            continue;
        }
        *error = why;
        name_view(channels->settings, i, r, error);
        if (r != -ENOSYS || ++refused == channels->settings->count) {
            return r;
        }
    }
    tell_refusals(channels);
    tell_complaints(channels);
    return 0;
}

// The first channel from number `index` on whose pictures are made by `maker`; the count: none.
static size_t next_made_by(const struct channels *channels, enum channel_maker maker, size_t index)
{
    const struct settings *settings = channels->settings;

    while (index < settings->count && channel_maker(settings->channels[index]) != maker) {
        index++;
    }
    return index;
}

static int end_picture(struct channels *channels, size_t index, struct error *error)
{
    struct channel *channel = channels->settings->channels[index];
    int r = channel_end_picture(channel, error);

    if (r == -EPIPE) {
        channel_reset(channel);
    }
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

        if (r) {
            return name_view(channels->settings, i, r, error);
        }
    }
    return 0;
}

// Begins the pictures of all channels on the GPU, then ends one after the other. After a failure of
// the GPU it waits for none; the failure of an encoder concerns no other channel.
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
    if (!r && frame_to_cpu(frame, error)) {
        r = -ENOTRECOVERABLE;
    }
    return r;
}

void channels_forget(struct channels *channels)
{
    for (size_t i = 0; i < channels->settings->count; i++) {
        channel_forget(channels->settings->channels[i]);
    }
}

bool channels_begin(struct channels *channels)
{
    bool watched = false;

    for (size_t i = 0; i < channels->settings->count; i++) {
        watched = channel_begin(channels->settings->channels[i]) || watched;
    }
    graph_begin(channels->graph);
    return watched;
}

int channels_run(struct channels *channels, struct frame *frame, struct error *error)
{
    int r = run_on_gpu(channels, frame, error);

    if (!r) {
        r = run_made_by(channels, CHANNEL_MAKER_CPU, frame, error);
    }
    if (!r) {
        r = run_made_by(channels, CHANNEL_MAKER_NONE, frame, error);
    }
    tell_complaints(channels);
    return r;
}

void channels_run_slate(struct channels *channels, int64_t seconds)
{
    for (size_t i = 0; i < channels->settings->count; i++) {
        if (channel_run_slate(channels->settings->channels[i], seconds) < 0) {
            channel_reset(channels->settings->channels[i]);
        }
    }
}

static bool is_known(const struct channels *channels, const struct channel *channel)
{
    return settings_find(channels->settings, channel_number(channel)) == channel;
}

void channels_abort(const struct settings *next)
{
    for (size_t i = 0; i < next->count; i++) {
        channel_abort(next->channels[i]);
    }
}

int channels_stage(const struct settings *next, const struct channel_setup *setup,
                   struct error *error)
{
    for (size_t i = 0; i < next->count; i++) {
        int r = channel_stage(next->channels[i], &settings_camera(next)->views[i], setup, error);

        if (r) {
            channels_abort(next);
            return name_view(next, i, r, error);
        }
    }
    return 0;
}

bool channels_want_encoders(const struct settings *next)
{
    for (size_t i = 0; i < next->count; i++) {
        if (channel_wants_encoder(next->channels[i])) {
            return true;
        }
    }
    return false;
}

// The view had no encoder before, and costs the others no change of settings.
static bool is_without_encoder(const struct channel *channel)
{
    return strcmp(channel_encoder_name(channel), CHANNEL_WITHOUT_ENCODER) == 0;
}

int channels_stage_encoders(const struct settings *next, struct error *error)
{
    for (size_t i = 0; i < next->count; i++) {
        struct channel *channel = next->channels[i];
        int r = channel_wants_encoder(channel) ? channel_stage_encoder(channel, error) : 0;

        if (r && !is_without_encoder(channel)) {
            return name_view(next, i, r, error);
        }
    }
    return 0;
}

struct settings *channels_commit(struct channels *channels, struct settings *next)
{
    struct settings *before = channels->settings;

    for (size_t i = 0; i < next->count; i++) {
        channel_commit(next->channels[i]);
    }
    channels->settings = next;
    for (size_t i = 0; i < before->count; i++) {
        if (!is_known(channels, before->channels[i])) {
            channel_close(before->channels[i]);
        }
    }
    if (channels->gpu &&
        memcmp(before->config->blocks, next->config->blocks, sizeof next->config->blocks) != 0) {
        gpu_set_blocks(channels->gpu, next->config->blocks);
    }
    tell_complaints(channels);
    return before;
}

bool channels_are_watched(const struct channels *channels)
{
    for (size_t i = 0; i < channels->settings->count; i++) {
        if (channel_is_watched(channels->settings->channels[i])) {
            return true;
        }
    }
    return false;
}
