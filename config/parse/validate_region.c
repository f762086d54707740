// Regions, privacy and recording: what their keys mean together.
#include "config/parse/validate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int name_privacy(struct config_camera *camera)
{
    for (size_t i = 0; i < camera->privacy_count; i++) {
        struct config_privacy *privacy = &camera->privacy[i];

        if (!privacy->name && asprintf(&privacy->name, "privacy%zu", i) < 0) {
            privacy->name = NULL;
            return -ENOMEM;
        }
    }
    return 0;
}

int validate_complete_regions(struct config_camera *camera)
{
    for (size_t i = 0; i < camera->region_count; i++) {
        struct config_region *region = &camera->regions[i];

        if (region->end == 0) {
            region->end = region->start / 2;
        }
        if (!region->name && asprintf(&region->name, "region%zu", i) < 0) {
            region->name = NULL;
            return -ENOMEM;
        }
    }
    return name_privacy(camera);
}

static void check_region(struct problems *problems, const config_setting_t *setting,
                         const struct config_region *region)
{
    const config_setting_t *end = config_setting_get_member(setting, "end");

    if (region->polygon_count > 0 && *region->mask) {
        problems_error(problems, config_setting_get_member(setting, "mask"), NULL,
                       "got a mask beside a polygon, allowed: one of the two");
    }
    if (end && region->end > region->start) {
        problems_error(problems, end, NULL, "got %g, allowed: at most start, which is %g (percent)",
                       region->end, region->start);
    }
}

static void check_privacy(struct problems *problems, const config_setting_t *camera_setting,
                          const struct config_camera *camera)
{
    const config_setting_t *list = config_setting_get_member(camera_setting, "privacy");

    for (size_t i = 0; list && i < camera->privacy_count; i++) {
        const config_setting_t *setting = config_setting_get_elem(list, (unsigned)i);

        if (setting && config_setting_is_group(setting) &&
            !config_setting_get_member(setting, "polygon")) {
            problems_error(problems, setting, "polygon",
                           "got nothing, allowed: a list ( [x, y], … ) of 3 to 64 corners, x and y "
                           "from 0.0 to 1.0");
        }
    }
    if (list) {
        validate_check_names(problems, list, "privacy", camera->privacy, camera->privacy_count,
                             sizeof *camera->privacy);
    }
}

static bool has_region(const struct config_camera *camera, const char *name)
{
    for (size_t i = 0; i < camera->region_count; i++) {
        if (strcmp(camera->regions[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static void check_record_view(struct problems *problems, const config_setting_t *setting,
                              const struct config_camera *camera)
{
    const config_setting_t *member = config_setting_get_member(setting, "view");
    const struct config_view *view = config_record_view(camera);

    if (!view) {
        problems_error(problems, member, NULL,
                       "got \"%s\", allowed: the name of a view of this camera, or \"\", which is "
                       "\"%s\"",
                       camera->record.view, camera->views[0].name);
    } else if (view->codec == CONFIG_CODEC_MJPEG && camera->record.mode != CONFIG_RECORD_OFF) {
        problems_error(problems, member ? member : setting, member ? NULL : "view",
                       "got \"%s\", whose codec is mjpeg; allowed: a view of h264 or h265",
                       view->name);
    }
}

static void check_record(struct problems *problems, const config_setting_t *camera_setting,
                         const struct config_camera *camera)
{
    const config_setting_t *setting = config_setting_get_member(camera_setting, "record");
    const struct config_record *record = &camera->record;

    if (!setting || !config_setting_is_group(setting)) {
        return;
    }
    check_record_view(problems, setting, camera);
    for (size_t i = 0; i < record->regions.count; i++) {
        if (!has_region(camera, record->regions.list[i])) {
            problems_error(problems, config_setting_get_member(setting, "regions"), NULL,
                           "got \"%s\", allowed: names of this camera's regions",
                           record->regions.list[i]);
        }
    }
    if (record->mode == CONFIG_RECORD_EVENTS && camera->region_count == 0) {
        FILE *file = problems_begin_warning(problems, config_setting_get_member(setting, "mode"));

        if (file) {
            fputs("the camera has no regions, so no motion begins a clip; only "
                  "POST /v1/cameras/CAMERA/record does",
                  file);
        }
        problems_end(problems);
    }
}

void validate_check_regions(struct problems *problems, const config_setting_t *camera_setting,
                            const struct config_camera *camera)
{
    const config_setting_t *list = config_setting_get_member(camera_setting, "regions");

    for (size_t i = 0; list && i < camera->region_count; i++) {
        const config_setting_t *setting = config_setting_get_elem(list, (unsigned)i);

        if (setting && config_setting_is_group(setting)) {
            check_region(problems, setting, &camera->regions[i]);
        }
    }
    if (list) {
        validate_check_names(problems, list, "regions", camera->regions, camera->region_count,
                             sizeof *camera->regions);
    }
    check_privacy(problems, camera_setting, camera);
    check_record(problems, camera_setting, camera);
}
