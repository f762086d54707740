#include "config/parse/validate.h"

#include "config/schema/schema_value.h"

#include <errno.h>
#include <string.h>

static int add_view(struct config_camera *camera)
{
    camera->views = calloc(1, sizeof *camera->views);
    if (!camera->views) {
        return -ENOMEM;
    }
    camera->view_count = 1;
    return schema_set_defaults(&schema_view, camera->views);
}

static int add_camera(struct config *config)
{
    config->cameras = calloc(1, sizeof *config->cameras);
    if (!config->cameras) {
        return -ENOMEM;
    }
    config->camera_count = 1;
    config->cameras[0].name = strdup("front");
    return config->cameras[0].name ? schema_set_defaults(&schema_camera, config->cameras) : -ENOMEM;
}

void validate_complete_view(struct config_view *view)
{
    if (view->threshold == 0 && view->view != CONFIG_VIEW_SPLIT) { // a split's sides differ
        view->threshold = config_view_remembers(view) ? 25 : 80;
    }
}

static const struct config_view *find_view(const struct config_camera *camera, const char *name)
{
    for (size_t i = 0; i < camera->view_count; i++) {
        if (strcmp(camera->views[i].name, name) == 0) {
            return &camera->views[i];
        }
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

static int complete_camera(struct config_camera *camera, size_t index)
{
    int r;

    if (!camera->name && asprintf(&camera->name, "camera%zu", index) < 0) {
        camera->name = NULL;
        return -ENOMEM;
    }
    if (camera->view_count == 0) {
        r = add_view(camera);
        if (r < 0) {
            return r;
        }
    }
    for (size_t i = 0; i < camera->view_count; i++) {
        struct config_view *view = &camera->views[i];

        validate_complete_view(view);
        if (!view->name) {
            view->name = strdup(config_view_kind_name(view->view));
        }
        if (!view->name) {
            return -ENOMEM;
        }
    }
    find_sides(camera);
    return validate_complete_regions(camera);
}

int validate_complete(struct config *config)
{
    int r = config->camera_count == 0 ? add_camera(config) : 0;

    for (size_t i = 0; i < config->camera_count && r == 0; i++) {
        r = complete_camera(&config->cameras[i], i);
    }
    return r;
}

static void tell_unused(struct problems *problems, const config_setting_t *setting,
                        const struct schema_group *group, const struct schema_key *key,
                        unsigned selected)
{
    FILE *file = key->strict ? problems_begin(problems, setting, NULL)
                             : problems_begin_warning(problems, setting);

    if (file) {
        fprintf(file, "no effect with %s = \"%s\", only with ", group->selector->name,
                group->selector->words[selected]);
        schema_print_selected(file, group, key->used_by);
    }
    problems_end(problems);
}

// A key that would have selected something else if nothing had been.
static void refuse_contradiction(struct problems *problems, const config_setting_t *setting,
                                 const struct schema_group *group, const struct schema_key *key,
                                 unsigned selected)
{
    const struct schema_key *selector = group->selector;

    problems_error(problems, setting, NULL,
                   "got %s with %s = \"%s\", allowed: with %s = \"%s\", or without %s", key->name,
                   selector->name, selector->words[selected], selector->name,
                   selector->words[key->implies], selector->name);
}

static void refuse_missing(struct problems *problems, const config_setting_t *setting,
                           const struct schema_group *group, const struct schema_key *key,
                           unsigned selected)
{
    const config_setting_t *member = config_setting_get_member(setting, key->name);

    problems_error(problems, member ? member : setting, member ? NULL : key->name,
                   "got %s, allowed: %s that is not empty, needed with %s = \"%s\"",
                   member ? "\"\"" : "nothing", key->type == SCHEMA_WORDS ? "an array" : "a string",
                   group->selector->name, group->selector->words[selected]);
}

// Whether there is no value; one that was refused is told of already.
static bool is_empty(const config_setting_t *member, const struct schema_key *key,
                     const void *object)
{
    if (key->type == SCHEMA_WORDS) {
        return !member;
    }
    return (!member || config_setting_type(member) == CONFIG_TYPE_STRING) &&
           **(char *const *)((const char *)object + key->offset) == '\0';
}

// Keys that the selected source or view needs, and those it does not use.
static void check_selected(struct problems *problems, const config_setting_t *setting,
                           const struct schema_group *group, const void *object)
{
    unsigned selected = schema_selected(group, object);

    for (size_t i = 0; i < group->key_count; i++) {
        const struct schema_key *key = &group->keys[i];
        const config_setting_t *member = config_setting_get_member(setting, key->name);
        bool idle = member && !schema_has_effect(group, key, object);

        if (idle && key->implies) {
            refuse_contradiction(problems, member, group, key, selected);
        } else if (idle) {
            tell_unused(problems, member, group, key, selected);
        }
        if ((key->needed_by & 1U << selected) && is_empty(member, key, object)) {
            refuse_missing(problems, setting, group, key, selected);
        }
    }
}

// Whether the element of a list is what `name` came from; not so when its own name, or the kind of
// view it would be named after, was refused.
static bool is_named(const config_setting_t *list, size_t index, const char *name)
{
    const config_setting_t *setting = config_setting_get_elem(list, (unsigned)index);
    const char *given;

    if (!setting || !config_setting_is_group(setting)) {
        return false;
    }
    if (config_setting_get_member(setting, "name")) {
        return config_setting_lookup_string(setting, "name", &given) && strcmp(given, name) == 0;
    }
    return !config_setting_lookup_string(setting, "view", &given) || strcmp(given, name) == 0;
}

static void refuse_duplicate(struct problems *problems, const config_setting_t *setting,
                             const char *name, const char *what, size_t other)
{
    const config_setting_t *member = config_setting_get_member(setting, "name");

    problems_error(problems, member ? member : setting, member ? NULL : "name",
                   "got \"%s\", which is the name of %s[%zu], too; allowed: a name of its own",
                   name, what, other);
}

static void check_split(struct problems *problems, const config_setting_t *setting,
                        const struct config_camera *camera, const struct config_view *view)
{
    const config_setting_t *kind = config_setting_get_member(setting, "view");
    struct config_view shown;
    struct error error;

    for (unsigned side = 0; side < 2; side++) {
        const char *key = side ? "right" : "left";
        const config_setting_t *member = config_setting_get_member(setting, key);

        if (config_split_side(view, side, &shown, &error) < 0) {
            problems_error(problems, member ? member : setting, member ? NULL : key, "%s",
                           error.text + strlen(key) + strlen(": "));
        }
    }
    if (2 * camera->width > CONFIG_SPLIT_WIDTH_MAX) {
        problems_error(problems, kind, NULL,
                       "got \"split\" of a camera %d pixels wide, allowed: of at most %d, for "
                       "encoders take no picture wider than %d",
                       camera->width, CONFIG_SPLIT_WIDTH_MAX / 2, CONFIG_SPLIT_WIDTH_MAX);
    }
}

// Not where a value was refused: that is told of already.
static void check_mask(struct problems *problems, const config_setting_t *setting,
                       const struct config_view *view)
{
    const config_setting_t *polygon = config_setting_get_member(setting, "polygon");
    const config_setting_t *mask = config_setting_get_member(setting, "mask");
    const config_setting_t *member;
    const char *key = NULL;
    struct error error;

    if ((view->view == CONFIG_VIEW_CUSTOM && view->stages.count == 0) ||
        (polygon && view->polygon_count == 0) ||
        (mask && config_setting_type(mask) != CONFIG_TYPE_STRING) ||
        config_view_check_mask(view, &error, &key) == 0) {
        return;
    }
    member = config_setting_get_member(setting, key);
    problems_error(problems, member ? member : setting, member ? NULL : key, "%s", error.text);
}

static void check_encoder(struct problems *problems, const config_setting_t *setting,
                          const struct config_view *view)
{
    const config_setting_t *member = config_setting_get_member(setting, "encoder");

    if (member && view->encoder != CONFIG_ENCODER_AUTO &&
        config_encoder_codec(view->encoder) != view->codec) {
        problems_error(problems, member, NULL,
                       "got \"%s\", which makes %s; allowed: \"auto\" or one that makes this "
                       "view's codec",
                       config_encoder_name(view->encoder),
                       config_codec_title(config_encoder_codec(view->encoder)));
    }
}

static void check_mjpeg(struct problems *problems, const config_setting_t *setting,
                        const struct config_camera *camera, const struct config_view *view)
{
    bool quarter = config_flip_is_quarter(camera->flip);
    int width = quarter ? camera->height : camera->width;
    int height = quarter ? camera->width : camera->height;

    width *= view->view == CONFIG_VIEW_SPLIT ? 2 : 1;
    if (view->codec == CONFIG_CODEC_MJPEG &&
        (width > CONFIG_MJPEG_SIDE_MAX || height > CONFIG_MJPEG_SIDE_MAX)) {
        problems_error(problems, config_setting_get_member(setting, "codec"), NULL,
                       "got \"mjpeg\" of a view of %dx%d pixels, allowed: of at most %dx%d, for "
                       "RTP carries no larger JPEG",
                       width, height, CONFIG_MJPEG_SIDE_MAX, CONFIG_MJPEG_SIDE_MAX);
    }
}

void validate_check_names(struct problems *problems, const config_setting_t *list, const char *what,
                          const void *elements, size_t count, size_t size)
{
    for (size_t i = 0; i < count; i++) {
        const char *name = *(char *const *)((const char *)elements + i * size);

        for (size_t j = 0; j < i; j++) {
            const char *other = *(char *const *)((const char *)elements + j * size);

            if (strcmp(name, other) == 0 && is_named(list, i, name) && is_named(list, j, other)) {
                refuse_duplicate(problems, config_setting_get_elem(list, (unsigned)i), name, what,
                                 j);
                break;
            }
        }
    }
}

static void check_views(struct problems *problems, const config_setting_t *camera_setting,
                        const struct config_camera *camera)
{
    const config_setting_t *list = config_setting_get_member(camera_setting, "views");

    for (size_t i = 0; list && i < camera->view_count; i++) {
        const config_setting_t *setting = config_setting_get_elem(list, (unsigned)i);

        if (setting && config_setting_is_group(setting)) {
            check_selected(problems, setting, &schema_view, &camera->views[i]);
            check_mask(problems, setting, &camera->views[i]);
            check_encoder(problems, setting, &camera->views[i]);
            check_mjpeg(problems, setting, camera, &camera->views[i]);
            if (camera->views[i].view == CONFIG_VIEW_SPLIT) {
                check_split(problems, setting, camera, &camera->views[i]);
            }
        }
    }
    if (list) {
        validate_check_names(problems, list, "views", camera->views, camera->view_count,
                             sizeof *camera->views);
    }
}

void validate_check(struct problems *problems, const config_setting_t *root,
                    const struct config *config)
{
    const config_setting_t *list = config_setting_get_member(root, "cameras");

    validate_check_network(problems, root, config);
    for (size_t i = 0; list && i < config->camera_count; i++) {
        const config_setting_t *setting = config_setting_get_elem(list, (unsigned)i);

        if (setting && config_setting_is_group(setting)) {
            check_selected(problems, setting, &schema_camera, &config->cameras[i]);
            check_views(problems, setting, &config->cameras[i]);
            validate_check_regions(problems, setting, &config->cameras[i]);
        }
    }
    if (list) {
        validate_check_names(problems, list, "cameras", config->cameras, config->camera_count,
                             sizeof *config->cameras);
    }
}
