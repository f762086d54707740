#include "config/live/live.h"

#include <errno.h>
#include <string.h>

// Whether `path` is `outer` or lies inside it.
static bool is_inside(const char *path, const char *outer)
{
    size_t length = strlen(outer);

    return strncmp(path, outer, length) == 0 && (path[length] == '\0' || path[length] == '.');
}

static void clear(struct config_override *override)
{
    free(override->path);
    free(override->value);
    free(override->in_file);
}

bool config_overrides_unset(struct config_overrides *overrides, const char *path)
{
    size_t kept = 0, before = overrides->count;

    for (size_t i = 0; i < before; i++) {
        if (is_inside(overrides->list[i].path, path))
            clear(&overrides->list[i]);
        else
            overrides->list[kept++] = overrides->list[i];
    }
    overrides->count = kept;
    return kept < before;
}

void config_overrides_bring_back(struct config_overrides *overrides, const char *path)
{
    size_t kept = 0, before = overrides->count;

    for (size_t i = 0; i < before; i++) {
        const struct config_override *one = &overrides->list[i];

        if (!one->value && strcmp(one->path, path) != 0 && is_inside(path, one->path))
            clear(&overrides->list[i]);
        else
            overrides->list[kept++] = *one;
    }
    overrides->count = kept;
}

static char *copy(const char *text, bool *failed)
{
    char *copied = text ? strdup(text) : NULL;

    *failed |= text && !copied;
    return copied;
}

int config_overrides_set(struct config_overrides *overrides, const char *path, const char *value,
                         const char *in_file)
{
    bool failed = false;
    struct config_override override = {.path = copy(path, &failed),
                                       .value = copy(value, &failed),
                                       .in_file = copy(in_file, &failed)};
    struct config_override *list =
        reallocarray(overrides->list, overrides->count + 1, sizeof *list);

    overrides->list = list ? list : overrides->list;
    if (failed || !list) {
        clear(&override);
        return -ENOMEM;
    }
    config_overrides_unset(overrides, path);
    overrides->list[overrides->count++] = override;
    return 0;
}

const struct config_override *config_overrides_find(const struct config_overrides *overrides,
                                                    const char *path)
{
    for (size_t i = 0; i < overrides->count; i++) {
        if (strcmp(overrides->list[i].path, path) == 0)
            return &overrides->list[i];
    }
    return NULL;
}

bool config_overrides_has(const struct config_overrides *overrides, const char *path)
{
    for (size_t i = 0; i < overrides->count; i++) {
        if (is_inside(overrides->list[i].path, path))
            return true;
    }
    return false;
}

int config_overrides_add(struct config_overrides *target, const struct config_overrides *from)
{
    int r = 0;

    for (size_t i = 0; i < from->count && r == 0; i++) {
        r = config_overrides_set(target, from->list[i].path, from->list[i].value,
                                 from->list[i].in_file);
        if (r == 0)
            target->list[target->count - 1].by_admin = from->list[i].by_admin;
    }
    return r;
}

void config_overrides_finish(struct config_overrides *overrides)
{
    for (size_t i = 0; i < overrides->count; i++)
        clear(&overrides->list[i]);
    free(overrides->list);
    *overrides = (struct config_overrides){0};
}
