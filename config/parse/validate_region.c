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

int validate_name_regions(struct config_camera *camera)
{
    for (size_t i = 0; i < camera->region_count; i++) {
        struct config_region *region = &camera->regions[i];

        if (!region->name && asprintf(&region->name, "region%zu", i) < 0) {
            region->name = NULL;
            return -ENOMEM;
        }
    }
    return name_privacy(camera);
}

static void check_region(struct validation *validation, const char *base,
                         const struct config_region *region)
{
    struct validation_path end = validation_key(base, "end");

    if (region->polygon_count > 0 && *region->mask) {
        validation_refuse(validation, validation_key(base, "mask").text,
                          "got a mask beside a polygon,", "one of the two");
    }
    if (region->end > region->start && validation_has(validation, end.text)) {
        validation_refuse(validation, end.text, "got %g,", "at most start, which is %g (percent)",
                          region->end, region->start);
    }
}

static void check_privacy(struct validation *validation, const char *base,
                          const struct config_camera *camera)
{
    struct validation_path list = validation_key(base, "privacy");

    for (size_t i = 0; i < camera->privacy_count; i++) {
        struct validation_path element = validation_element(validation, list.text, i);
        struct validation_path polygon = validation_key(element.text, "polygon");

        if (!validation_has(validation, polygon.text) &&
            !validation_has_refused(validation, element.text)) {
            validation_refuse(validation, polygon.text, "got nothing,",
                              "a list ( [x, y], … ) of 3 to 64 corners, x and y from 0.0 to 1.0");
        }
    }
    validation_check_names(validation, base, "privacy", camera->privacy, camera->privacy_count,
                           sizeof *camera->privacy);
}

static bool has_region(const struct config_camera *camera, const char *name)
{
    for (size_t i = 0; i < camera->region_count; i++) {
        if (strcmp(camera->regions[i].name, name) == 0)
            return true;
    }
    return false;
}

static void check_record_view(struct validation *validation, const char *path,
                              const struct config_camera *camera)
{
    const struct config_view *view = config_record_view(camera);

    if (!view) {
        validation_refuse(validation, path, "got \"%s\",",
                          "the name of a view of this camera, or \"\", which is \"%s\"",
                          camera->record.view, camera->views[0].name);
    } else if (view->codec == CONFIG_CODEC_MJPEG && camera->record.mode != CONFIG_RECORD_OFF) {
        validation_refuse(validation, path, "got \"%s\", whose codec is mjpeg;",
                          "a view of h264 or h265", view->name);
    }
}

static void check_record(struct validation *validation, const char *base,
                         const struct config_camera *camera)
{
    struct validation_path group = validation_key(base, "record");
    const struct config_record *record = &camera->record;

    check_record_view(validation, validation_key(group.text, "view").text, camera);
    for (size_t i = 0; i < record->regions.count; i++) {
        if (!has_region(camera, record->regions.list[i])) {
            validation_refuse(validation, validation_key(group.text, "regions").text, "got \"%s\",",
                              "names of this camera's regions", record->regions.list[i]);
        }
    }
    if (record->mode == CONFIG_RECORD_EVENTS && camera->region_count == 0) {
        validation_warn(validation, validation_key(group.text, "mode").text,
                        "the camera has no regions, so no motion begins a clip; only "
                        "POST /v1/cameras/CAMERA/record does");
    }
}

void validate_check_regions(struct validation *validation, const char *base,
                            const struct config_camera *camera)
{
    struct validation_path list = validation_key(base, "regions");

    for (size_t i = 0; i < camera->region_count; i++) {
        check_region(validation, validation_element(validation, list.text, i).text,
                     &camera->regions[i]);
    }
    validation_check_names(validation, base, "regions", camera->regions, camera->region_count,
                           sizeof *camera->regions);
    check_privacy(validation, base, camera);
    check_record(validation, base, camera);
}
