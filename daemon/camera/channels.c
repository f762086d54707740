#include "daemon/camera/channels.h"

#include "daemon/log.h"

#include <errno.h>
#include <string.h>

int channels_init(struct channels *channels, const struct config_camera *settings,
                  const struct channel_environment *environment)
{
    int r;

    *channels = (struct channels){.camera = settings->name, .settings = settings->views};
    r = shared_new(&channels->shared);
    while (!r && channels->count < settings->view_count) {
        size_t i = channels->count;

        r = channel_new((uint32_t)i, &settings->views[i], environment, channels->shared,
                        &channels->list[i]);
        channels->count += !r;
    }
    return r;
}

void channels_finish(struct channels *channels)
{
    while (channels->count > 0) {
        channels->count--;
        channel_free(TAKE(channels->list[channels->count]));
    }
    shared_free(TAKE(channels->shared));
}

static int name_view(const struct channels *channels, size_t index, int code, struct error *error)
{
    return error_prefix(error, code, "view \"%s\"", channels->settings[index].name);
}

static bool is_told(const struct channels *channels, const struct error *text)
{
    for (size_t i = 0; i < channels->told_count; i++) {
        if (strcmp(channels->told[i].text, text->text) == 0) {
            return true;
        }
    }
    return false;
}

static void tell_complaints(struct channels *channels)
{
    struct error text;

    for (size_t i = 0; i < channels->count; i++) {
        while (channel_take_complaint(channels->list[i], &text)) {
            if (channels->told_count < CHANNELS_TOLD_MAX && !is_told(channels, &text)) {
                log_write(LOG_WARNING, LOG_EVENT_NONE, channels->camera, NULL, "%s", text.text);
                channels->told[channels->told_count++] = text;
            }
        }
    }
}

int channels_prepare(struct channels *channels, const struct channel_setup *setup,
                     struct error *error)
{
    for (size_t i = 0; i < channels->count; i++) {
        int r = channel_prepare(channels->list[i], setup, error);

        if (r) {
            return name_view(channels, i, r, error);
        }
    }
    tell_complaints(channels);
    return 0;
}

static int run_those(struct channels *channels, bool passing_through, struct frame *frame,
                     struct error *error)
{
    for (size_t i = 0; i < channels->count; i++) {
        struct channel *channel = channels->list[i];

        if (channel_passes_through(channel) == passing_through) {
            int r = channel_run(channel, frame, error);

            if (r == -EPIPE) {
                channel_reset(channel);
            }
            if (r) {
                return name_view(channels, i, r, error);
            }
        }
    }
    return 0;
}

void channels_forget(struct channels *channels)
{
    for (size_t i = 0; i < channels->count; i++) {
        channel_forget(channels->list[i]);
    }
}

int channels_run(struct channels *channels, struct frame *frame, struct error *error)
{
    int r;

    for (size_t i = 0; i < channels->count; i++) {
        channel_begin(channels->list[i]);
    }
    shared_begin(channels->shared);
    r = run_those(channels, false, frame, error);
    if (!r) {
        r = run_those(channels, true, frame, error);
    }
    tell_complaints(channels);
    return r;
}

void channels_run_slate(struct channels *channels, int64_t seconds)
{
    for (size_t i = 0; i < channels->count; i++) {
        if (channel_run_slate(channels->list[i], seconds) < 0) {
            channel_reset(channels->list[i]);
        }
    }
}

void channels_set_blocks(struct channels *channels, const struct config_block *blocks)
{
    channels->told_count = 0;
    for (size_t i = 0; i < channels->count; i++) {
        channel_set_blocks(channels->list[i], blocks);
    }
    tell_complaints(channels);
}

bool channels_are_watched(const struct channels *channels)
{
    for (size_t i = 0; i < channels->count; i++) {
        if (channel_is_watched(channels->list[i])) {
            return true;
        }
    }
    return false;
}

void channels_report(const struct channels *channels, struct report *report)
{
    for (size_t i = 0; i < channels->count; i++) {
        report_set_encoder(report, i, channel_encoder_name(channels->list[i]));
    }
}

void channels_count_stages(const struct channels *channels, struct link_telemetry *telemetry)
{
    _Static_assert(STAGE_KIND_COUNT <= LINK_STAGES_MAX, "every kind of stage has its counters");

    for (unsigned kind = 0; kind < STAGE_KIND_COUNT; kind++) {
        const struct shared_count count = shared_count(channels->shared, kind);

        telemetry->stages[kind].runs = count.runs;
        telemetry->stages[kind].shared = count.shared;
    }
}
