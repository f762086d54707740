#include "daemon/camera/sentry.h"

#include "daemon/camera/trigger.h"
#include "daemon/log.h"
#include "daemon/mask_file.h"

#include <errno.h>
#include <string.h>

struct sentry {
    const struct config_camera *camera;
    sentry_event *event;
    void *context;
    size_t count;
    struct trigger triggers[LINK_REGIONS_MAX];
    struct frame_layout layout; // of the meter, or of frames there is no memory for; {0}: none yet
    struct meter *meter;        // owned
};

int sentry_new(const struct config_camera *camera, sentry_event *event, void *context,
               struct sentry **ret_sentry)
{
    struct sentry *sentry = calloc(1, sizeof *sentry);

    if (!sentry) {
        return -ENOMEM;
    }
    sentry->camera = camera;
    sentry->event = event;
    sentry->context = context;
    while (sentry->count < camera->region_count && sentry->count < LINK_REGIONS_MAX) {
        trigger_init(&sentry->triggers[sentry->count], &camera->regions[sentry->count]);
        sentry->count++;
    }
    *ret_sentry = sentry;
    return 0;
}

void sentry_free(struct sentry *sentry)
{
    if (sentry) {
        meter_free(sentry->meter);
        free(sentry);
    }
}

// The mask of a region that has one; `ret_picture->gray` is to be freed.
static void read_mask(const struct sentry *sentry, struct meter_region *region,
                      struct region_picture *ret_picture)
{
    struct error error = {0};

    if (!*region->settings->mask) {
        return;
    }
    if (mask_file_read(NULL, region->settings->mask, &error, ret_picture) == 0) {
        region->picture = ret_picture;
        return;
    }
    region->empty = true;
    log_write(LOG_WARNING, LOG_EVENT_NONE, sentry->camera->name, NULL,
              "region \"%s\": cannot read its mask: %s, no events of it until the camera is opened "
              "again",
              region->settings->name, error.text);
}

static void warn_of_empty(const struct sentry *sentry, const struct meter_region *setups)
{
    for (size_t i = 0; i < sentry->count; i++) {
        if (!setups[i].empty && meter_pixels(sentry->meter, i) == 0) {
            log_write(LOG_WARNING, LOG_EVENT_NONE, sentry->camera->name, NULL,
                      "region \"%s\" holds no pixel of pictures of %ux%u, no events of it",
                      sentry->camera->regions[i].name, sentry->layout.width, sentry->layout.height);
        }
    }
}

static void make_meter(struct sentry *sentry, const struct frame_layout *layout)
{
    struct meter_region setups[LINK_REGIONS_MAX] = {{0}};
    struct region_picture pictures[LINK_REGIONS_MAX] = {{0}};

    meter_free(TAKE(sentry->meter));
    sentry->layout = *layout;
    for (size_t i = 0; i < sentry->count; i++) {
        setups[i].settings = &sentry->camera->regions[i];
        read_mask(sentry, &setups[i], &pictures[i]);
    }
    if (meter_new(layout, setups, sentry->count, &sentry->meter)) {
        log_write(LOG_WARNING, LOG_EVENT_NONE, sentry->camera->name, NULL,
                  "no memory to measure motion, no events until the camera is opened again");
    } else {
        warn_of_empty(sentry, setups);
    }
    for (size_t i = 0; i < sentry->count; i++) {
        free((uint8_t *)pictures[i].gray);
    }
}

void sentry_see(struct sentry *sentry, const struct frame *frame)
{
    struct meter_reading readings[LINK_REGIONS_MAX];
    struct link_event event;

    if (sentry->count == 0) {
        return;
    }
    if (!sentry->layout.format || !frame_layout_equal(&sentry->layout, &frame->layout)) {
        make_meter(sentry, &frame->layout);
    }
    if (!sentry->meter) {
        return;
    }
    meter_run(sentry->meter, frame, readings);
    for (size_t i = 0; i < sentry->count; i++) {
        if (trigger_step(&sentry->triggers[i], frame->pts_ns, &readings[i], &event)) {
            sentry->event(sentry->context, &event);
        }
    }
}

void sentry_reset(struct sentry *sentry, bool lost)
{
    meter_free(TAKE(sentry->meter));
    sentry->layout = (struct frame_layout){0};
    for (size_t i = 0; i < sentry->count && lost; i++) {
        trigger_reset(&sentry->triggers[i]);
    }
}

const struct link_region *sentry_region(const struct sentry *sentry, size_t index)
{
    return index < sentry->count ? &sentry->triggers[index].region : NULL;
}
