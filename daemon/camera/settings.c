#include "daemon/camera/settings.h"

#include "config/diff.h"
#include "daemon/camera/encoder_watch.h"
#include "daemon/common/confine.h"
#include "daemon/common/service_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int add_channels(struct settings *settings, const struct link_configuration *head,
                        const struct settings *before,
                        const struct channel_environment *environment)
{
    const struct config_camera *camera = settings_camera(settings);

    for (size_t i = 0; i < camera->view_count; i++) {
        struct channel *known = before ? settings_find(before, head->views[i]) : NULL;
        int r = 0;

        if (settings_find(settings, head->views[i])) {
            return -EPROTO; // the same number twice
        }
        if (known)
            settings->channels[i] = channel_ref(known);
        else
            r = channel_new(head->views[i], environment, &settings->channels[i]);
        if (r)
            return r;
        settings->count++;
    }
    return 0;
}

int settings_new(const uint8_t *payload, size_t size, const struct settings *before,
                 const struct channel_environment *environment, struct error *error,
                 struct settings **ret_settings)
{
    struct link_configuration head;

    if (size < sizeof head)
        return error_set(error, -EPROTO, "the link brought no configuration");
    struct settings *settings = calloc(1, sizeof *settings);
    if (!settings)
        return error_set(error, -ENOMEM, "out of memory");
    memcpy(&head, payload, sizeof head);
    settings->references = 1;
    settings->number = head.number;
    environment->encoders->passed_over = head.passed_over;
    // The link puts a NUL behind every payload.
    int r = config_parse((const char *)payload + sizeof head, "link", stderr, &settings->config);
    if (r || settings->config->camera_count != 1) {
        r = error_set(error, -EINVAL, "the configuration on the link is no single camera");
    } else if (settings_camera(settings)->view_count > LINK_VIEWS_MAX) {
        r = error_set(error, -EINVAL, "the configuration on the link has too many views");
    } else {
        settings->config->backend =
            head.without_gpu ? CONFIG_BACKEND_CPU : settings->config->backend;
        board_fill_blocks(environment->board, settings->config->blocks);
        r = add_channels(settings, &head, before, environment);
        r = r ? error_set(error, r, "the channels of the views: %s", strerror(-r)) : 0;
    }
    if (!r && before) {
        // The process may have begun on the CPU, after a fault of the GPU.
        settings->config->backend = before->config->backend;
        r = config_diff_camera(before->config, settings->config, 0) < CONFIG_COST_CAMERA
                ? 0
                : error_set(error, -EPROTO, "the configuration on the link is for another process");
    }
    if (r) {
        settings_unref(settings);
        return r;
    }
    for (size_t i = 0; before && i < before->count; i++) {
        if (!settings_find(settings, channel_number(before->channels[i])))
            channel_set_watched(before->channels[i], false);
    }
    *ret_settings = settings;
    return 0;
}

struct settings *settings_ref(struct settings *settings)
{
    settings->references++;
    return settings;
}

void settings_unref(struct settings *settings)
{
    if (!settings || --settings->references > 0)
        return;
    for (size_t i = 0; i < settings->count; i++)
        channel_unref(settings->channels[i]);
    config_free(settings->config);
    free(settings);
}

const struct config_camera *settings_camera(const struct settings *settings)
{
    return &settings->config->cameras[0];
}

void settings_describe(const struct settings *settings, struct link_telemetry *telemetry)
{
    const struct config_block *blocks = settings->config->blocks;

    _Static_assert(CONFIG_KERNEL_COUNT <= LINK_KERNELS_MAX, "telemetry has room for all kernels");
    for (size_t i = 0; i < settings->count; i++)
        channel_describe(settings->channels[i], telemetry, i);
    for (size_t i = 0; i < CONFIG_KERNEL_COUNT; i++)
        telemetry->blocks[i] = (struct link_block){blocks[i].x, blocks[i].y, blocks[i].rows};
}

struct channel *settings_find(const struct settings *settings, uint32_t view)
{
    for (size_t i = 0; i < settings->count; i++) {
        if (channel_number(settings->channels[i]) == view)
            return settings->channels[i];
    }
    return NULL;
}

// Files that the C library reads to find a camera in the network.
static const char *const network_files[] = {"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf"};

const char *settings_find_shut(const struct settings *settings)
{
    const struct config_camera *camera = settings_camera(settings);
    const char *own[CAMERA_FILES_MAX];
    size_t count = camera_files_list(camera, own);

    for (size_t i = 0; i < count; i++) {
        if (confine_shuts(own[i]))
            return own[i];
    }
    bool network =
        camera->source == CONFIG_SOURCE_RTSP || camera->source == CONFIG_SOURCE_GSTREAMER;

    for (size_t i = 0; network && i < ARRAY_LENGTH(network_files); i++) {
        if (confine_shuts(network_files[i]))
            return network_files[i];
    }
    return NULL;
}
