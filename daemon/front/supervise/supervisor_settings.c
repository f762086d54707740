// What a supervisor's process is started with.
#include "daemon/front/supervise/supervisor_private.h"

#include <errno.h>
#include <string.h>

static void on_demand(void *context, struct stream *stream, bool key_frame)
{
    const struct supervisor *supervisor = context;

    if (supervisor->link) {
        camera_link_update(supervisor->link, stream, key_frame);
    }
}

static void drop_streams(struct stream *const *streams, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        stream_unref(streams[i]);
    }
}

// A stream that stays keeps its demand handler, and so the call that it may be waiting for.
static void take_streams(struct supervisor *supervisor, struct stream *const *streams, size_t count)
{
    struct stream *before[LINK_VIEWS_MAX];
    size_t before_count = supervisor->stream_count;

    memcpy(before, supervisor->streams, sizeof before);
    for (size_t i = 0; i < before_count; i++) {
        bool stays = false;

        for (size_t k = 0; k < count; k++) {
            stays |= streams[k] == before[i];
        }
        if (!stays) {
            stream_set_demand(before[i], NULL, NULL);
        }
    }
    for (size_t i = 0; i < count; i++) {
        supervisor->streams[i] = stream_ref(streams[i]);
        stream_set_demand(streams[i], on_demand, supervisor);
    }
    supervisor->stream_count = count;
    drop_streams(before, before_count);
}

void supervisor_drop_settings(struct supervisor *supervisor)
{
    take_streams(supervisor, NULL, 0);
    free(TAKE(supervisor->program));
    free(TAKE(supervisor->name));
    free(TAKE(supervisor->configuration));
    free(TAKE(supervisor->configuration_cpu));
}

static char *copy(const char *text)
{
    return text ? strdup(text) : NULL;
}

int supervisor_take_settings(struct supervisor *supervisor,
                             const struct supervisor_settings *settings)
{
    char *const texts[] = {copy(settings->program), copy(settings->name),
                           copy(settings->configuration), copy(settings->configuration_cpu)};

    if (!texts[0] || !texts[1] || !texts[2] || (settings->configuration_cpu && !texts[3])) {
        for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
            free(texts[i]);
        }
        return -ENOMEM;
    }
    free(supervisor->program);
    free(supervisor->name);
    free(supervisor->configuration);
    free(supervisor->configuration_cpu);
    supervisor->program = texts[0];
    supervisor->name = texts[1];
    supervisor->configuration = texts[2];
    supervisor->configuration_cpu = texts[3];
    supervisor->backend = settings->backend;
    supervisor->changed = settings->changed;
    supervisor->changed_context = settings->context;
    supervisor->number++;
    take_streams(supervisor, settings->streams, settings->stream_count);
    return 0;
}

struct camera_link_configuration supervisor_configuration(const struct supervisor *supervisor,
                                                          const char *text)
{
    return (struct camera_link_configuration){.number = supervisor->number,
                                              .passed_over =
                                                  supervisor_encoders_passed_over(supervisor),
                                              .text = text,
                                              .streams = supervisor->streams,
                                              .stream_count = supervisor->stream_count};
}

int supervisor_update(struct supervisor *supervisor, const struct supervisor_settings *settings)
{
    if (settings->stream_count > LINK_VIEWS_MAX) {
        return -EINVAL;
    }
    if (!supervisor->link) {
        bool changed = strcmp(supervisor->configuration, settings->configuration) != 0;

        return changed ? supervisor_reconfigure(supervisor, settings) : 0;
    }
    int r = supervisor_take_settings(supervisor, settings);
    if (r == 0) {
        const struct camera_link_configuration configuration =
            supervisor_configuration(supervisor, supervisor->configuration);

        r = camera_link_configure(supervisor->link, &configuration);
    }
    return r == -ENOBUFS ? supervisor_reconfigure(supervisor, settings) : r;
}
