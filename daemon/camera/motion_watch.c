#include "daemon/camera/motion_watch.h"

#include "config/base.h"
#include "config/diff.h"
#include "daemon/common/log.h"
#include "daemon/common/mask_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void trigger_init(struct trigger *trigger, const struct config_region *settings)
{
    *trigger = (struct trigger){.last_ns = INT64_MIN};
    snprintf(trigger->region.name, sizeof trigger->region.name, "%s", settings->name);
    trigger_set(trigger, settings);
}

void trigger_set(struct trigger *trigger, const struct config_region *settings)
{
    trigger->start = settings->start / 100;
    trigger->end = settings->end / 100;
    trigger->duration_ns = (int64_t)(settings->duration_s * (double)NS_PER_S);
    trigger->cooldown_ns = (int64_t)(settings->cooldown_s * (double)NS_PER_S);
}

static void fill_event(const struct trigger *trigger, struct link_event *ret_event)
{
    *ret_event = (struct link_event){
        .kind = trigger->region.moving ? LINK_EVENT_MOTION_STARTED : LINK_EVENT_MOTION_ENDED,
        .started_ns = trigger->started_ns,
        .at_ns = trigger->last_ns,
        .peak_share = trigger->peak_share,
        .region = trigger->region,
    };
}

// Whether `holds` has been true in every frame for `length_ns`, up to this one.
static bool has_held(struct trigger *trigger, bool holds, int64_t length_ns)
{
    if (holds && !trigger->waiting) {
        trigger->waiting_ns = trigger->last_ns;
    }
    trigger->waiting = holds;
    return holds && trigger->last_ns - trigger->waiting_ns >= length_ns;
}

static bool begins(struct trigger *trigger, double share)
{
    bool first = !trigger->waiting;
    bool holds = has_held(trigger, share >= trigger->start, trigger->duration_ns);

    if (trigger->waiting) {
        trigger->peak_share = first || trigger->region.share > trigger->peak_share
                                  ? trigger->region.share
                                  : trigger->peak_share;
        trigger->started_ns = trigger->waiting_ns;
    }
    return holds;
}

static bool ends(struct trigger *trigger, double share)
{
    if (trigger->region.share > trigger->peak_share) {
        trigger->peak_share = trigger->region.share;
    }
    return has_held(trigger, share < trigger->end, trigger->cooldown_ns);
}

static void set_reading(struct link_region *region, const struct region_reading *reading,
                        double share)
{
    region->box = (struct link_box){reading->x, reading->y, reading->width, reading->height};
    region->share = (float)share;
}

bool trigger_step(struct trigger *trigger, int64_t pts_ns, const struct region_reading *reading,
                  struct link_event *ret_event)
{
    struct link_region *region = &trigger->region;
    double share = reading->pixels ? (double)reading->moving / reading->pixels : 0;

    if (pts_ns < trigger->last_ns) {
        trigger->waiting = false;
    }
    trigger->last_ns = pts_ns;
    set_reading(region, reading, share);
    if (!(region->moving ? ends(trigger, share) : begins(trigger, share))) {
        return false;
    }
    trigger->waiting = false;
    region->moving = !region->moving;
    fill_event(trigger, ret_event);
    return true;
}

void trigger_reset(struct trigger *trigger)
{
    set_reading(&trigger->region, &(struct region_reading){0}, 0);
    trigger->region.moving = false;
    trigger->waiting = false;
}

struct motion_watch {
    const struct config_camera *camera;
    struct graph *graph; // not owned
    motion_watch_event *event;
    void *context;
    size_t count;
    struct trigger triggers[LINK_REGIONS_MAX];
    struct frame_layout
        layout;          // of the meter, or of frames whose meter found no memory; {0}: none yet
    struct meter *meter; // owned
    struct mask_stamp masks[LINK_REGIONS_MAX]; // of the pictures it was made with
};

int motion_watch_new(const struct config_camera *camera, struct graph *graph,
                     motion_watch_event *event, void *context, struct motion_watch **ret_watch)
{
    struct motion_watch *watch = calloc(1, sizeof *watch);

    if (!watch) {
        return -ENOMEM;
    }
    watch->camera = camera;
    watch->graph = graph;
    watch->event = event;
    watch->context = context;
    motion_watch_set_camera(watch, camera);
    *ret_watch = watch;
    return 0;
}

void motion_watch_free(struct motion_watch *watch)
{
    if (watch) {
        meter_free(watch->meter);
        free(watch);
    }
}

// The mask of a region that has one; `ret_picture->gray` is to be freed.
static void read_mask(const struct motion_watch *watch, struct watched_region *region,
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
    log_write(LOG_WARNING, LOG_EVENT_NONE, watch->camera->name, NULL,
              "region \"%s\": cannot read its mask: %s, no events of it until it is mended and "
              "edged reloaded",
              region->settings->name, error.text);
}

static void warn_of_empty(const struct motion_watch *watch, const struct watched_region *setups)
{
    for (size_t i = 0; i < watch->count; i++) {
        if (!setups[i].empty && meter_pixels(watch->meter, i) == 0) {
            log_write(LOG_WARNING, LOG_EVENT_NONE, watch->camera->name, NULL,
                      "region \"%s\" holds no pixel of pictures of %ux%u, no events of it",
                      watch->camera->regions[i].name, watch->layout.width, watch->layout.height);
        }
    }
}

// Makes a meter in place of the one there is, which goes on from that one's frame.
static void make_meter(struct motion_watch *watch, const struct frame_layout *layout)
{
    struct watched_region setups[LINK_REGIONS_MAX] = {{0}};
    struct region_picture pictures[LINK_REGIONS_MAX] = {{0}};
    struct meter *before = TAKE(watch->meter);

    watch->layout = *layout;
    for (size_t i = 0; i < watch->count; i++) {
        setups[i].settings = &watch->camera->regions[i];
        mask_file_stamp(setups[i].settings->mask, &watch->masks[i]);
        read_mask(watch, &setups[i], &pictures[i]);
    }
    if (meter_new(watch->graph, layout, setups, watch->count, &watch->meter)) {
        log_write(LOG_WARNING, LOG_EVENT_NONE, watch->camera->name, NULL,
                  "no memory to measure motion, no events until the camera is opened again");
    } else {
        warn_of_empty(watch, setups);
    }
    meter_free(before);
    for (size_t i = 0; i < watch->count; i++) {
        free((uint8_t *)pictures[i].gray);
    }
}

// The index of the region called `name` among those of the settings before; -1: there was none.
static int find_region(const struct motion_watch *watch, const char *name)
{
    for (size_t i = 0; i < watch->count; i++) {
        if (strcmp(watch->triggers[i].region.name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

// Whether region `index` of the new settings is measured as the meter measures it already.
static bool is_measured(const struct motion_watch *watch, const struct config_camera *camera,
                        size_t index)
{
    const struct config_region *region = &camera->regions[index];
    struct mask_stamp mask;

    mask_file_stamp(region->mask, &mask);
    return index < watch->count &&
           config_regions_look_equal(&watch->camera->regions[index], region) &&
           memcmp(&watch->masks[index], &mask, sizeof mask) == 0;
}

void motion_watch_set_camera(struct motion_watch *watch, const struct config_camera *camera)
{
    size_t wanted = camera->armed ? camera->region_count : 0;
    size_t count = wanted < LINK_REGIONS_MAX ? wanted : LINK_REGIONS_MAX;
    struct trigger triggers[LINK_REGIONS_MAX] = {0};
    bool measured = watch->meter && count == watch->count;

    for (size_t i = 0; i < count; i++) {
        const struct config_region *region = &camera->regions[i];
        int before = find_region(watch, region->name);

        if (before >= 0) {
            triggers[i] = watch->triggers[before];
            trigger_set(&triggers[i], region);
        } else {
            trigger_init(&triggers[i], region);
        }
        measured = measured && is_measured(watch, camera, i);
    }
    memcpy(watch->triggers, triggers, count * sizeof triggers[0]);
    watch->count = count;
    watch->camera = camera;
    if (count == 0) {
        motion_watch_reset(watch, false);
    } else if (!measured && watch->layout.format) {
        const struct frame_layout layout = watch->layout;

        make_meter(watch, &layout);
    }
}

void motion_watch_begin(struct motion_watch *watch, const struct frame *frame)
{
    if (watch->count > 0 &&
        (!watch->layout.format || !frame_layout_equal(&watch->layout, &frame->layout))) {
        make_meter(watch, &frame->layout);
    }
    if (watch->meter) {
        meter_begin(watch->meter, frame);
    }
}

void motion_watch_measure(struct motion_watch *watch, const struct frame *frame)
{
    struct region_reading readings[LINK_REGIONS_MAX];
    struct link_event event;

    if (!watch->meter) {
        return;
    }
    meter_run(watch->meter, frame, readings);
    for (size_t i = 0; i < watch->count; i++) {
        if (trigger_step(&watch->triggers[i], frame->pts_ns, &readings[i], &event)) {
            watch->event(watch->context, &event);
        }
    }
}

void motion_watch_reset(struct motion_watch *watch, bool lost)
{
    meter_free(TAKE(watch->meter));
    watch->layout = (struct frame_layout){0};
    for (size_t i = 0; i < watch->count && lost; i++) {
        trigger_reset(&watch->triggers[i]);
    }
}

const struct link_region *motion_watch_region(const struct motion_watch *watch, size_t index)
{
    return index < watch->count ? &watch->triggers[index].region : NULL;
}
