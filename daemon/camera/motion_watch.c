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

// Whether `holds` has been true in every look for `length_ns`, up to this one.
static bool has_held(struct trigger *trigger, bool holds, int64_t length_ns)
{
    if (holds && !trigger->waiting)
        trigger->waiting_ns = trigger->last_ns;
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
    if (trigger->region.share > trigger->peak_share)
        trigger->peak_share = trigger->region.share;
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
    double share = reading->cells ? (double)reading->moving / reading->cells : 0;

    if (pts_ns < trigger->last_ns)
        trigger->waiting = false;
    trigger->last_ns = pts_ns;
    set_reading(region, reading, share);
    if (!(region->moving ? ends(trigger, share) : begins(trigger, share)))
        return false;
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

#define NO_MEMORY "no memory to measure motion"

struct motion_watch {
    const struct config_camera *camera;
    motion_watch_event *event;
    void *context;
    size_t count;
    struct trigger triggers[LINK_REGIONS_MAX];
    struct frame_layout layout; // of frames, whether there was memory or not; {0}: none yet
    struct cells *cells;        // owned; of such frames; NULL: none yet
    struct meter *meter;        // owned; has the regions; NULL: none yet, or there was no memory
    struct mask_stamp masks[LINK_REGIONS_MAX]; // of the pictures it was made with
};

int motion_watch_new(const struct config_camera *camera, motion_watch_event *event, void *context,
                     struct motion_watch **ret_watch)
{
    struct motion_watch *watch = calloc(1, sizeof *watch);

    if (!watch)
        return -ENOMEM;
    watch->camera = camera;
    watch->event = event;
    watch->context = context;
    motion_watch_set_camera(watch, camera);
    *ret_watch = watch;
    return 0;
}

void motion_watch_free(struct motion_watch *watch)
{
    if (watch) {
        cells_free(watch->cells);
        meter_free(watch->meter);
        free(watch);
    }
}

// The mask of a region that has one; `ret_picture->gray` is to be freed.
static void read_mask(const struct motion_watch *watch, struct watched_region *region,
                      struct region_picture *ret_picture)
{
    struct error error = {0};

    if (!*region->settings->mask)
        return;
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
        if (!setups[i].empty && meter_cells(watch->meter, i) == 0) {
            log_write(LOG_WARNING, LOG_EVENT_NONE, watch->camera->name, NULL,
                      "region \"%s\" holds no cell of pictures of %ux%u, no events of it",
                      watch->camera->regions[i].name, watch->layout.width, watch->layout.height);
        }
    }
}

// Without a meter there are no events, and nothing would end one that is under way.
static void lose_meter(struct motion_watch *watch, const char *why)
{
    log_write(LOG_WARNING, LOG_EVENT_NONE, watch->camera->name, NULL,
              "%s, no events until the camera is opened again", why);
    meter_free(TAKE(watch->meter));
    for (size_t i = 0; i < watch->count; i++) {
        struct trigger *trigger = &watch->triggers[i];
        bool was_moving = trigger->region.moving;
        struct link_event event;

        trigger_reset(trigger);
        if (was_moving) {
            fill_event(trigger, &event);
            watch->event(watch->context, &event);
        }
    }
}

// Gives the meter the regions of the settings.
static void set_regions(struct motion_watch *watch)
{
    struct watched_region setups[LINK_REGIONS_MAX] = {{0}};
    struct region_picture pictures[LINK_REGIONS_MAX] = {{0}};

    for (size_t i = 0; i < watch->count; i++) {
        setups[i].settings = &watch->camera->regions[i];
        mask_file_stamp(setups[i].settings->mask, &watch->masks[i]);
        read_mask(watch, &setups[i], &pictures[i]);
    }
    if (meter_set_regions(watch->meter, setups, watch->count))
        lose_meter(watch, NO_MEMORY);
    else
        warn_of_empty(watch, setups);
    for (size_t i = 0; i < watch->count; i++)
        free((uint8_t *)pictures[i].gray);
}

// The index of the region called `name` among those of the settings before; -1: there was none.
static int find_region(const struct motion_watch *watch, const char *name)
{
    for (size_t i = 0; i < watch->count; i++) {
        if (strcmp(watch->triggers[i].region.name, name) == 0)
            return (int)i;
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
    if (count == 0)
        motion_watch_reset(watch, false);
    else if (!measured && watch->meter)
        set_regions(watch);
}

bool motion_watch_wants(const struct motion_watch *watch, int64_t pts_ns)
{
    return watch->count > 0 &&
           (!watch->layout.format || (watch->meter && meter_is_due(watch->meter, pts_ns)));
}

// Makes cells and a meter for frames of another layout, or cells for another GPU.
static int prepare(struct motion_watch *watch, struct gpu *gpu,
                   const struct frame_allocator *allocator, const struct frame_layout *layout,
                   struct error *error)
{
    struct error why = {0};
    int r = 0;

    if (!frame_layout_equal(&watch->layout, layout)) {
        motion_watch_reset(watch, false);
        watch->layout = *layout;
        if (meter_new(layout->width, layout->height, &watch->meter))
            lose_meter(watch, NO_MEMORY);
        else
            set_regions(watch);
    }
    if (watch->meter && (!watch->cells || !cells_fit(watch->cells, layout, gpu))) {
        cells_free(TAKE(watch->cells));
        r = cells_new(layout, gpu, allocator, &why, &watch->cells);
    }
    if (r && gpu && r != -E2BIG)
        return error_set(error, r, "%s", why.text);
    if (r)
        lose_meter(watch, why.text);
    return 0;
}

int motion_watch_begin(struct motion_watch *watch, struct gpu *gpu,
                       const struct frame_allocator *allocator, struct frame *frame,
                       struct error *error)
{
    int r = prepare(watch, gpu, allocator, &frame->layout, error);

    return r == 0 && watch->meter ? cells_begin(watch->cells, frame, error) : r;
}

int motion_watch_measure(struct motion_watch *watch, struct frame *frame, struct error *error)
{
    struct region_reading readings[LINK_REGIONS_MAX] = {{0}};
    const uint8_t *means;
    struct link_event event;
    int r = watch->meter ? cells_end(watch->cells, frame, error, &means) : 0;

    if (r || !watch->meter)
        return r;
    bool told = meter_look(watch->meter, frame->pts_ns, means, readings);
    for (size_t i = 0; i < watch->count; i++) {
        struct trigger *trigger = &watch->triggers[i];

        // A look that tells nothing begins no event, and is stillness in one.
        if ((told || trigger->region.moving) &&
            trigger_step(trigger, frame->pts_ns, &readings[i], &event)) {
            watch->event(watch->context, &event);
        }
    }
    return 0;
}

void motion_watch_reset(struct motion_watch *watch, bool lost)
{
    cells_free(TAKE(watch->cells));
    meter_free(TAKE(watch->meter));
    watch->layout = (struct frame_layout){0};
    for (size_t i = 0; i < watch->count && lost; i++)
        trigger_reset(&watch->triggers[i]);
}

const struct link_region *motion_watch_region(const struct motion_watch *watch, size_t index)
{
    return index < watch->count ? &watch->triggers[index].region : NULL;
}
