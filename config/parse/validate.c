#include "config/parse/validate.h"

#include "config/schema/schema_value.h"

#include <errno.h>
#include <string.h>

static int add_view(struct config_camera *camera)
{
    camera->views = calloc(1, sizeof *camera->views);
    if (!camera->views)
        return -ENOMEM;
    camera->view_count = 1;
    return schema_set_defaults(&schema_view, camera->views);
}

static int add_camera(struct config *config)
{
    config->cameras = calloc(1, sizeof *config->cameras);
    if (!config->cameras)
        return -ENOMEM;
    config->camera_count = 1;
    config->cameras[0].name = strdup("front");
    return config->cameras[0].name ? schema_set_defaults(&schema_camera, config->cameras) : -ENOMEM;
}

static const struct config_view *find_view(const struct config_camera *camera, const char *name)
{
    for (size_t i = 0; i < camera->view_count; i++) {
        if (strcmp(camera->views[i].name, name) == 0)
            return &camera->views[i];
    }
    return NULL;
}

// A name comes before the word of a kind.
static void find_sides(struct config_camera *camera)
{
    for (size_t i = 0; i < camera->view_count; i++) {
        struct config_view *view = &camera->views[i];

        if (view->view == CONFIG_VIEW_SPLIT) {
            view->left_view = find_view(camera, view->left);
            view->right_view = find_view(camera, view->right);
        }
    }
}

static int name_camera(struct config_camera *camera, size_t index)
{
    int r;

    if (!camera->name && asprintf(&camera->name, "camera%zu", index) < 0) {
        camera->name = NULL;
        return -ENOMEM;
    }
    if (camera->view_count == 0) {
        r = add_view(camera);
        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < camera->view_count; i++) {
        struct config_view *view = &camera->views[i];

        if (!view->name)
            view->name = strdup(config_view_kind_name(view->view));
        if (!view->name)
            return -ENOMEM;
    }
    return validate_name_regions(camera);
}

int validate_name(struct config *config)
{
    int r = config->camera_count == 0 ? add_camera(config) : 0;

    for (size_t i = 0; i < config->camera_count && r == 0; i++)
        r = name_camera(&config->cameras[i], i);
    return r;
}

void validate_complete(struct config *config)
{
    for (size_t i = 0; i < config->camera_count; i++) {
        struct config_camera *camera = &config->cameras[i];

        for (size_t k = 0; k < camera->view_count; k++)
            config_view_complete(&camera->views[k]);
        find_sides(camera);
        for (size_t k = 0; k < camera->region_count; k++) {
            if (camera->regions[k].end == 0)
                camera->regions[k].end = camera->regions[k].start / 2;
        }
    }
}

static void tell_unused(struct validation *validation, const char *path,
                        const struct schema_group *group, const struct schema_key *key,
                        unsigned selected)
{
    _cleanup_(cleanup_free) char *users = NULL;
    size_t size;
    FILE *file = open_memstream(&users, &size);

    if (file) {
        schema_print_selected(file, group, key->used_by);
        fclose(file);
    }
    if (!users)
        validation->problems->is_incomplete = true;
    validation_tell(validation, key->strict, path, NULL, "no effect with %s = \"%s\", only with %s",
                    group->selector->name, group->selector->words[selected], users ? users : "");
}

// A key that would have selected something else if nothing had been.
static void refuse_contradiction(struct validation *validation, const char *path,
                                 const struct schema_group *group, const struct schema_key *key,
                                 unsigned selected)
{
    const struct schema_key *selector = group->selector;

    validation_refuse(validation, path, "got %s with %s = \"%s\",",
                      "with %s = \"%s\", or without %s", key->name, selector->name,
                      selector->words[selected], selector->name, selector->words[key->implies],
                      selector->name);
}

static void refuse_missing(struct validation *validation, const char *path,
                           const struct schema_group *group, const struct schema_key *key,
                           unsigned selected)
{
    validation_refuse(validation, path, "got %s,", "%s that is not empty, needed with %s = \"%s\"",
                      validation_has(validation, path) ? "\"\"" : "nothing",
                      key->type == SCHEMA_WORDS ? "an array" : "a string", group->selector->name,
                      group->selector->words[selected]);
}

// Whether there is no value; one that was refused is told of already.
static bool is_empty(const struct validation *validation, const char *path,
                     const struct schema_key *key, const void *object)
{
    if (key->type == SCHEMA_WORDS)
        return !validation_has(validation, path);
    return !validation_has_refused(validation, path) &&
           **(char *const *)((const char *)object + key->offset) == '\0';
}

// Keys that the selected source or view needs, and those it does not use.
static void check_selected(struct validation *validation, const char *base,
                           const struct schema_group *group, const void *object)
{
    unsigned selected = schema_selected(group, object);

    for (size_t i = 0; i < group->key_count; i++) {
        const struct schema_key *key = &group->keys[i];
        bool is_needed = key->needed_by & 1U << selected;
        bool has_effect = schema_has_effect(group, key, object);
        struct validation_path path;

        if (has_effect && !is_needed)
            continue;
        path = validation_key(base, key->name);
        if (!has_effect && validation_has(validation, path.text)) {
            if (key->implies)
                refuse_contradiction(validation, path.text, group, key, selected);
            else
                tell_unused(validation, path.text, group, key, selected);
        }
        if (is_needed && is_empty(validation, path.text, key, object))
            refuse_missing(validation, path.text, group, key, selected);
    }
}

static void check_split(struct validation *validation, const char *base,
                        const struct config_camera *camera, const struct config_view *view)
{
    struct config_view shown;
    struct error error;

    for (unsigned side = 0; side < 2; side++) {
        struct validation_path path = validation_key(base, side ? "right" : "left");

        if (config_split_side(view, side, &shown, &error) < 0)
            validation_error(validation, path.text, &error);
    }
    if (2 * camera->width > CONFIG_SPLIT_WIDTH_MAX) {
        validation_refuse(validation, validation_key(base, "view").text,
                          "got \"split\" of a camera %d pixels wide,",
                          "of at most %d, for encoders take no picture wider than %d",
                          camera->width, CONFIG_SPLIT_WIDTH_MAX / 2, CONFIG_SPLIT_WIDTH_MAX);
    }
}

// Not where a value was refused: that is told of already.
static void check_mask(struct validation *validation, const char *base,
                       const struct config_view *view)
{
    struct validation_path polygon = validation_key(base, "polygon");
    struct validation_path mask = validation_key(base, "mask");
    const char *key = NULL;
    struct error error;

    if ((view->view == CONFIG_VIEW_CUSTOM && view->stages.count == 0) ||
        (view->polygon_count == 0 && validation_has(validation, polygon.text)) ||
        validation_has_refused(validation, mask.text) ||
        config_view_check_mask(view, &error, &key) == 0) {
        return;
    }
    validation_error(validation, validation_key(base, key).text, &error);
}

static void check_encoder(struct validation *validation, const char *base,
                          const struct config_view *view)
{
    struct validation_path path = validation_key(base, "encoder");

    if (view->encoder != CONFIG_ENCODER_AUTO &&
        config_encoder_codec(view->encoder) != view->codec) {
        validation_refuse(validation, path.text, "got \"%s\", which makes %s;",
                          "\"auto\" or one that makes this view's codec",
                          config_encoder_name(view->encoder),
                          config_codec_title(config_encoder_codec(view->encoder)));
    }
}

static void check_mjpeg(struct validation *validation, const char *base,
                        const struct config_camera *camera, const struct config_view *view)
{
    bool quarter = config_flip_is_quarter(camera->flip);
    int width = quarter ? camera->height : camera->width;
    int height = quarter ? camera->width : camera->height;

    width *= view->view == CONFIG_VIEW_SPLIT ? 2 : 1;
    if (view->codec == CONFIG_CODEC_MJPEG &&
        (width > CONFIG_MJPEG_SIDE_MAX || height > CONFIG_MJPEG_SIDE_MAX)) {
        validation_refuse(validation, validation_key(base, "codec").text,
                          "got \"mjpeg\" of a view of %dx%d pixels,",
                          "of at most %dx%d, for RTP carries no larger JPEG", width, height,
                          CONFIG_MJPEG_SIDE_MAX, CONFIG_MJPEG_SIDE_MAX);
    }
}

static void check_views(struct validation *validation, const char *base,
                        const struct config_camera *camera)
{
    struct validation_path list = validation_key(base, "views");

    for (size_t i = 0; i < camera->view_count; i++) {
        const struct config_view *view = &camera->views[i];
        struct validation_path path = validation_element(validation, list.text, i);

        check_selected(validation, path.text, &schema_view, view);
        check_mask(validation, path.text, view);
        check_encoder(validation, path.text, view);
        check_mjpeg(validation, path.text, camera, view);
        if (view->view == CONFIG_VIEW_SPLIT)
            check_split(validation, path.text, camera, view);
    }
    validation_check_names(validation, base, "views", camera->views, camera->view_count,
                           sizeof *camera->views);
}

void validate_check(struct validation *validation, const struct config *config)
{
    validate_check_network(validation, config);
    for (size_t i = 0; i < config->camera_count; i++) {
        const struct config_camera *camera = &config->cameras[i];
        struct validation_path path = validation_element(validation, "cameras", i);

        check_selected(validation, path.text, &schema_camera, camera);
        check_views(validation, path.text, camera);
        validate_check_regions(validation, path.text, camera);
    }
    validation_check_names(validation, "", "cameras", config->cameras, config->camera_count,
                           sizeof *config->cameras);
}
