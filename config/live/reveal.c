// Access to hidden parts of the picture. The table of keys says of each what a change of it may
// reveal (enum schema_reveals); here the values before and after a change are compared by that.
#include "config/live/live.h"
#include "config/schema/schema_value.h"

#include <errno.h>
#include <string.h>

#define CAMERAS "cameras."

// How much of the camera's own picture a view shows.
enum shown { SHOWN_NOTHING, SHOWN_PART, SHOWN_ALL };

// The camera that a path lies in; NULL: there is none.
static const struct config_camera *find_camera(const struct config *config, const char *path)
{
    const char *name = path + strlen(CAMERAS);
    size_t length;

    if (strncmp(path, CAMERAS, strlen(CAMERAS)) != 0)
        return NULL;
    length = strcspn(name, ".");
    for (size_t i = 0; i < config->camera_count; i++) {
        const char *known = config->cameras[i].name;

        if (strlen(known) == length && strncmp(known, name, length) == 0)
            return &config->cameras[i];
    }
    return NULL;
}

static bool is_same_text(const struct config *a, const struct config *b, const char *path)
{
    _cleanup_(cleanup_free) char *left = config_value_text(a, path);
    _cleanup_(cleanup_free) char *right = config_value_text(b, path);

    return left && right ? strcmp(left, right) == 0 : left == right;
}

// Whether a value at `path` may show what a private part of the file hides. `value`: NULL, an
// element that is taken away.
static bool uncovers(const struct config *file, const char *path, const char *value)
{
    const struct config_camera *camera = find_camera(file, path);
    _cleanup_(cleanup_free) char *in_file = NULL;
    struct config_place place;

    if (!camera || camera->privacy_count == 0 || config_find(file, path, NULL, &place) < 0 ||
        !place.object || place.key->reveals != SCHEMA_REVEALS_PRIVATE) {
        return false;
    }
    in_file = config_value_text(file, path);
    return !value || !in_file || strcmp(value, in_file) != 0;
}

bool config_override_uncovers(const struct config *file, const struct config_override *kept)
{
    return uncovers(file, kept->path, kept->value);
}

// Whether something changes at a path, be it a value or that an element is there.
static bool is_changed(const struct config *before, const struct config *after, const char *path)
{
    struct config_place a, b;

    if (config_find(before, path, NULL, &a) < 0 || config_find(after, path, NULL, &b) < 0)
        return true;
    return !a.object != !b.object || !is_same_text(before, after, path);
}

// Gray of one's own stages is the camera's until a stage measures differences; black and white of
// that gray shows it, threshold by threshold.
static enum shown shown_by_stages(const struct config_words *stages)
{
    bool own = true, masked = false;

    for (size_t i = 0; i < stages->count; i++) {
        switch (stages->list[i]) {
        case CONFIG_STAGE_MARK:
        case CONFIG_STAGE_OVERLAY:
            return SHOWN_ALL;
        case CONFIG_STAGE_MASK:
            masked = true;
            break;
        case CONFIG_STAGE_SOBEL:
        case CONFIG_STAGE_SOBEL5:
        case CONFIG_STAGE_SCHARR:
        case CONFIG_STAGE_PREWITT:
        case CONFIG_STAGE_CANNY:
        case CONFIG_STAGE_DIFFERENCE:
        case CONFIG_STAGE_DIRECTION:
            own = false;
            break;
        default:
            break;
        }
    }
    return !own ? SHOWN_NOTHING : masked ? SHOWN_PART : SHOWN_ALL;
}

static enum shown shown_by(const struct config_view *view)
{
    enum shown most = SHOWN_NOTHING;
    struct config_view side;
    struct error error;

    switch (view->view) {
    case CONFIG_VIEW_CAMERA:
    case CONFIG_VIEW_MOTION:
    case CONFIG_VIEW_OVERLAY:
        return SHOWN_ALL;
    case CONFIG_VIEW_GRAY:
        return config_view_is_masked(view) ? SHOWN_PART : SHOWN_ALL;
    case CONFIG_VIEW_CUSTOM:
        return shown_by_stages(&view->stages);
    case CONFIG_VIEW_SPLIT:
        for (unsigned i = 0; i < 2; i++) {
            if (config_split_side(view, i, &side, &error) == 0 && side.view != CONFIG_VIEW_SPLIT) {
                enum shown one = shown_by(&side);

                most = one > most ? one : most;
            }
        }
        return most;
    default:
        return SHOWN_NOTHING;
    }
}

// The least role that may watch a view with all of the camera's picture.
static enum config_role picture_role(const struct config *config, const char *path)
{
    const struct config_camera *camera = find_camera(config, path);
    enum config_role least = CONFIG_ROLE_ADMIN;

    for (size_t i = 0; camera && i < camera->view_count; i++) {
        enum config_role role = config_view_role(&camera->views[i]);

        if (shown_by(&camera->views[i]) == SHOWN_ALL && role < least)
            least = role;
    }
    return least;
}

// The view that the key at `path` is of; NULL: it is not there.
static const struct config_view *find_view(const struct config *config, const char *path)
{
    struct config_place place;

    return config_find(config, path, NULL, &place) == 0 && place.group == &schema_view
               ? place.object
               : NULL;
}

// Whether the view shows what the file has it show.
static bool is_as_in_file(const struct config *file, const struct config *next, const char *path)
{
    const char *key = strrchr(path, '.');
    bool same = find_view(file, path) != NULL;

    for (size_t i = 0; i < schema_view.key_count && same; i++) {
        char other[256];

        if (schema_view.keys[i].reveals) {
            snprintf(other, sizeof other, "%.*s.%.40s", (int)(key - path), path,
                     schema_view.keys[i].name);
            same = is_same_text(file, next, other);
        }
    }
    return same;
}

// A part that is shown may become another one.
static bool shows_more(const struct config_view *before, const struct config_view *after,
                       bool changed)
{
    enum shown shown = shown_by(after);

    return shown > (before ? shown_by(before) : SHOWN_NOTHING) || (shown == SHOWN_PART && changed);
}

// The view of its camera that a split shows and `role` may not watch; NULL: there is none.
static const struct config_view *find_foreign_side(const struct config_view *split,
                                                   enum config_role role)
{
    const struct config_view *const sides[] = {split->left_view, split->right_view};

    for (unsigned i = 0; split->view == CONFIG_VIEW_SPLIT && i < 2; i++) {
        if (sides[i] && config_view_role(sides[i]) > role)
            return sides[i];
    }
    return NULL;
}

static int check_picture(const struct config *file, const struct config *running,
                         const struct config *next, const char *path, enum config_role role,
                         struct error *error)
{
    const struct config_view *before = find_view(running, path), *after = find_view(next, path);
    enum config_role in_file = picture_role(file, path), now = picture_role(running, path);
    enum config_role least = in_file < now ? in_file : now;
    bool changed = is_changed(running, next, path);

    if (!after || !changed || is_as_in_file(file, next, path))
        return 0;
    if (find_foreign_side(after, role)) {
        return error_set(error, -EPERM,
                         "a side of the split is a view that is not there for this user");
    }
    if (role < least && shows_more(before, after, changed)) {
        return error_refuse(error, -EPERM,
                            "got a view that shows the camera's own picture, which this camera "
                            "shows to the role %s alone,",
                            "views that show edges or motion", config_role_name(least));
    }
    return 0;
}

// Whether a change at a path touches a private part that the file has, or moves the picture under
// one. To go back to what the file says is no exception, because an administrator may have moved
// the picture and its parts together.
static bool touches_private(const struct config *file, const struct config *running,
                            const struct config *next, const char *path)
{
    const struct config_camera *camera = find_camera(file, path);
    bool is_touched = false;
    struct config_place place;
    char part[256];

    if (!camera || camera->privacy_count == 0 || config_find(file, path, NULL, &place) < 0 ||
        !place.object || place.key->reveals != SCHEMA_REVEALS_PRIVATE) {
        return false;
    }
    if (place.key->type != SCHEMA_LIST || place.element)
        return is_changed(running, next, path);
    for (size_t i = 0; i < camera->privacy_count && !is_touched; i++) { // all of them go back
        snprintf(part, sizeof part, "%s.%s", path, camera->privacy[i].name);
        is_touched = is_changed(running, next, part);
        snprintf(part, sizeof part, "%s.%s.polygon", path, camera->privacy[i].name);
        is_touched = is_touched || is_changed(running, next, part);
    }
    return is_touched;
}

static int check_paths(const struct config *file, const struct config *running,
                       const struct config *next, const struct config_overrides *paths,
                       enum config_role role, struct fault *fault)
{
    int r = 0;

    for (size_t i = 0; i < paths->count && r == 0; i++) {
        const char *path = paths->list[i].path;
        struct config_place place;

        if (config_find(next, path, NULL, &place) == 0 &&
            place.key->reveals == SCHEMA_REVEALS_PICTURE) {
            r = check_picture(file, running, next, path, role, &fault->error);
        } else if (touches_private(file, running, next, path)) {
            r = error_refuse(&fault->error, -EPERM,
                             "only an administrator may change it while the file has private parts "
                             "of this camera,",
                             "to add parts to cameras.%s.privacy", find_camera(file, path)->name);
        }
        if (r < 0)
            snprintf(fault->key, sizeof fault->key, "%s", path);
    }
    return r;
}

int config_check_reveals(const struct config *file, const struct config *running,
                         const struct config *next, const struct config_overrides *asked,
                         const struct config_overrides *resets, enum config_role role,
                         struct fault *fault)
{
    if (role == CONFIG_ROLE_ADMIN)
        return 0;
    int r = check_paths(file, running, next, asked, role, fault);
    return r < 0 ? r : check_paths(file, running, next, resets, role, fault);
}
