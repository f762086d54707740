#include "config/schema/stages.h"

#include <errno.h>
#include <string.h>

// What lies between stages. A camera's picture is turned gray, and a mask is gray, too, where gray
// is wanted.
enum stage_picture { CAMERA = 1, GRAY = 2, MASK = 4, COLOUR = 8, SAME = 16 };
enum { ANY_GRAY = CAMERA | GRAY | MASK };

#define WORD(name, word, takes, makes) [CONFIG_STAGE_##name] = (word),
const char *const stages_words[] = {CONFIG_STAGES(WORD) NULL};

#define TYPE(name, word, takes, makes) [CONFIG_STAGE_##name] = {takes, makes},
static const struct {
    unsigned takes; // a set
    enum stage_picture makes;
} types[] = {CONFIG_STAGES(TYPE)};

static enum stage_picture made_of(unsigned stage, enum stage_picture input)
{
    enum stage_picture makes = types[stage].makes;

    return makes != SAME ? makes : input == MASK ? MASK : GRAY;
}

static const char *name_picture(enum stage_picture picture)
{
    return picture == CAMERA ? "the camera's picture"
           : picture == GRAY ? "gray"
           : picture == MASK ? "a mask"
                             : "a colour picture";
}

static int refuse(const struct config_words *stages, size_t index, enum stage_picture input,
                  struct error *error)
{
    const char *word = stages_words[stages->list[index]], *separator = "";
    char allowed[256] = "";

    for (unsigned stage = 0; stage < CONFIG_STAGE_COUNT; stage++) {
        size_t length = strlen(allowed);

        if (types[stage].takes & input) {
            snprintf(allowed + length, sizeof allowed - length, "%s\"%s\"", separator,
                     stages_words[stage]);
            separator = ", ";
        }
    }
    if (index == 0) {
        return error_set(error, -EINVAL, "got \"%s\" first, on %s, allowed there: %s", word,
                         name_picture(input), allowed);
    }
    return error_set(error, -EINVAL, "got \"%s\" after \"%s\", which makes %s, allowed there: %s",
                     word, stages_words[stages->list[index - 1]], name_picture(input),
                     *allowed ? allowed : "nothing");
}

int stages_check(const struct config_words *stages, struct error *error)
{
    enum stage_picture picture = CAMERA;

    for (size_t i = 0; i < stages->count; i++) {
        if (!(types[stages->list[i]].takes & picture)) {
            return refuse(stages, i, picture, error);
        }
        picture = made_of(stages->list[i], picture);
    }
    return 0;
}

bool config_view_is_masked(const struct config_view *view)
{
    return view->polygon_count > 0 || (view->mask && *view->mask);
}

static bool has_mask_stage(const struct config_view *view)
{
    for (size_t i = 0; i < view->stages.count; i++) {
        if (view->stages.list[i] == CONFIG_STAGE_MASK) {
            return true;
        }
    }
    return false;
}

int config_view_check_mask(const struct config_view *view, struct error *error,
                           const char **ret_key)
{
    bool masked = config_view_is_masked(view);

    if (view->polygon_count > 0 && *view->mask) {
        *ret_key = "mask";
        return error_set(error, -EINVAL, "got a mask beside a polygon, allowed: one of the two");
    }
    if (view->view != CONFIG_VIEW_CUSTOM || masked == has_mask_stage(view)) {
        return 0;
    }
    if (masked) {
        *ret_key = *view->mask ? "mask" : "polygon";
        return error_set(error, -EINVAL,
                         "got a %s, but no \"mask\" among the stages, allowed: with that stage "
                         "where it is to be applied, or without a %s",
                         *ret_key, *ret_key);
    }
    *ret_key = "stages";
    return error_set(error, -EINVAL,
                     "got \"mask\", but the view has none, allowed: with mask = \"FILE\", a .pgm "
                     "or .png, or with a polygon");
}

bool config_view_remembers(const struct config_view *view)
{
    bool remembers = view->view == CONFIG_VIEW_MOTION;

    for (size_t i = 0; view->view == CONFIG_VIEW_CUSTOM && i < view->stages.count; i++) {
        remembers = remembers || view->stages.list[i] == CONFIG_STAGE_DIFFERENCE;
    }
    return remembers;
}

// What a custom view ends in, CAMERA of others.
static enum stage_picture made_by(const struct config_view *view)
{
    enum stage_picture picture = CAMERA;

    for (size_t i = 0; view->view == CONFIG_VIEW_CUSTOM && i < view->stages.count; i++) {
        picture = made_of(view->stages.list[i], picture);
    }
    return picture;
}

bool config_view_is_colour(const struct config_view *view)
{
    return view->view == CONFIG_VIEW_DIRECTION || config_view_reads_colour(view) ||
           made_by(view) == COLOUR;
}

bool config_view_reads_colour(const struct config_view *view)
{
    size_t count = view->view == CONFIG_VIEW_CUSTOM ? view->stages.count : 0;

    switch (view->view) {
    case CONFIG_VIEW_CAMERA:
    case CONFIG_VIEW_MOTION:
    case CONFIG_VIEW_OVERLAY:
    case CONFIG_VIEW_SPLIT:
        return true;
    default:
        return made_by(view) == COLOUR && view->stages.list[count - 1] != CONFIG_STAGE_DIRECTION;
    }
}
