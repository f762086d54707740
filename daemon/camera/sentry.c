#include "daemon/camera/sentry.h"

#include "config/diff.h"
#include "daemon/camera/trigger.h"
#include "daemon/common/log.h"
#include "daemon/common/mask_file.h"

#include <errno.h>
#include <string.h>

struct sentry {
    const struct config_camera *camera;
    sentry_event *event;
    void *context;
    size_t count;
    struct trigger triggers[LINK_REGIONS_MAX];
    struct frame_layout
        layout;          // of the meter, or of frames whose meter found no memory; {0}: none yet
    struct meter *meter; // owned
    struct mask_stamp masks[LINK_REGIONS_MAX]; // of the pictures it was made with
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
    sentry_set_camera(sentry, camera);
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
              "region \"%s\": cannot read its mask: %s, no events of it until it is mended and "
              "edged reloaded",
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

// Makes a meter in place of the one there is. With the same layout it continues from that one's
// frame.
static void make_meter(struct sentry *sentry, const struct frame_layout *layout)
{
    struct meter_region setups[LINK_REGIONS_MAX] = {{0}};
    struct region_picture pictures[LINK_REGIONS_MAX] = {{0}};
    struct meter *before = TAKE(sentry->meter);
    bool goes_on = before && frame_layout_equal(&sentry->layout, layout);

    sentry->layout = *layout;
    for (size_t i = 0; i < sentry->count; i++) {
        setups[i].settings = &sentry->camera->regions[i];
        mask_file_stamp(setups[i].settings->mask, &sentry->masks[i]);
        read_mask(sentry, &setups[i], &pictures[i]);
    }
    if (meter_new(layout, setups, sentry->count, &sentry->meter)) {
        log_write(LOG_WARNING, LOG_EVENT_NONE, sentry->camera->name, NULL,
                  "no memory to measure motion, no events until the camera is opened again");
    } else {
        if (goes_on) {
            meter_take_over(sentry->meter, before);
        }
        warn_of_empty(sentry, setups);
    }
    meter_free(before);
    for (size_t i = 0; i < sentry->count; i++) {
        free((uint8_t *)pictures[i].gray);
    }
}

// The index of the region called `name` among those of the settings before; -1: there was none.
static int find_region(const struct sentry *sentry, const char *name)
{
    for (size_t i = 0; i < sentry->count; i++) {
        if (strcmp(sentry->triggers[i].region.name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

// Whether region `index` of the new settings is measured as the meter measures it already.
static bool is_measured(const struct sentry *sentry, const struct config_camera *camera,
                        size_t index)
{
    const struct config_region *region = &camera->regions[index];
    struct mask_stamp mask;

    mask_file_stamp(region->mask, &mask);
    return index < sentry->count &&
           config_regions_look_equal(&sentry->camera->regions[index], region) &&
           memcmp(&sentry->masks[index], &mask, sizeof mask) == 0;
}

void sentry_set_camera(struct sentry *sentry, const struct config_camera *camera)
{
    size_t count =
        camera->region_count < LINK_REGIONS_MAX ? camera->region_count : LINK_REGIONS_MAX;
    struct trigger triggers[LINK_REGIONS_MAX] = {0};
    bool measured = sentry->meter && count == sentry->count;

    for (size_t i = 0; i < count; i++) {
        const struct config_region *region = &camera->regions[i];
        int before = find_region(sentry, region->name);

        if (before >= 0) {
            triggers[i] = sentry->triggers[before];
            trigger_set(&triggers[i], region);
        } else {
            trigger_init(&triggers[i], region);
        }
        measured = measured && is_measured(sentry, camera, i);
    }
    memcpy(sentry->triggers, triggers, count * sizeof triggers[0]);
    sentry->count = count;
    sentry->camera = camera;
    if (count == 0) {
        sentry_reset(sentry, false);
    } else if (!measured && sentry->layout.format) {
        const struct frame_layout layout = sentry->layout;

        make_meter(sentry, &layout);
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
