// What a supervisor's process is started with.
#include "daemon/front/supervisor_private.h"

#include <errno.h>
#include <string.h>

static void on_demand(void *context, struct stream *stream, bool key_frame)
{
    const struct supervisor *supervisor = context;

    if (supervisor->link) {
        camera_link_update(supervisor->link, stream, key_frame);
    }
}

void supervisor_drop_settings(struct supervisor *supervisor)
{
    for (size_t i = 0; i < supervisor->stream_count; i++) {
        stream_set_demand(supervisor->streams[i], NULL, NULL);
        stream_unref(supervisor->streams[i]);
    }
    supervisor->stream_count = 0;
    free(TAKE(supervisor->program));
    free(TAKE(supervisor->name));
    free(TAKE(supervisor->configuration));
    free(TAKE(supervisor->configuration_cpu));
}

static int take_texts(struct supervisor *supervisor, const struct supervisor_settings *settings)
{
    char *configuration = strdup(settings->configuration);
    char *cpu = settings->configuration_cpu ? strdup(settings->configuration_cpu) : NULL;

    if (!configuration || (settings->configuration_cpu && !cpu)) {
        free(configuration);
        free(cpu);
        return -ENOMEM;
    }
    free(supervisor->configuration);
    free(supervisor->configuration_cpu);
    supervisor->configuration = configuration;
    supervisor->configuration_cpu = cpu;
    supervisor->backend = settings->backend;
    return 0;
}

int supervisor_take_settings(struct supervisor *supervisor,
                             const struct supervisor_settings *settings)
{
    supervisor->program = strdup(settings->program);
    supervisor->name = strdup(settings->name);
    for (size_t i = 0; i < settings->stream_count; i++) {
        supervisor->streams[i] = stream_ref(settings->streams[i]);
        stream_set_demand(supervisor->streams[i], on_demand, supervisor);
    }
    supervisor->stream_count = settings->stream_count;
    supervisor->changed = settings->changed;
    supervisor->changed_context = settings->context;
    return supervisor->program && supervisor->name ? take_texts(supervisor, settings) : -ENOMEM;
}

int supervisor_set_blocks(struct supervisor *supervisor, const struct supervisor_settings *settings,
                          const struct config_block *blocks)
{
    int r = take_texts(supervisor, settings);

    if (r == 0 && supervisor->link) {
        camera_link_set_blocks(supervisor->link, blocks);
    }
    return r;
}
