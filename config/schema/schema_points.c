// Corners as a command line has them: "0.1:0.2,0.9:0.2,0.5:0.8".
#include "config/schema/schema_value.h"

#include "config/config.h"

#include <errno.h>
#include <glib.h>
#include <math.h>
#include <string.h>

// Of the parallelogram of two sides, in shares of the picture: less is rounding.
#define LEAST_AREA 1e-9

static bool read_corner(const char *text, struct config_point *ret_point)
{
    char *colon, *end;
    double x = g_ascii_strtod(text, &colon), y;

    if (colon == text || *colon != ':') {
        return false;
    }
    y = g_ascii_strtod(colon + 1, &end);
    if (end == colon + 1 || *end != '\0' || !(x >= 0 && x <= 1 && y >= 0 && y <= 1)) {
        return false;
    }
    *ret_point = (struct config_point){x, y};
    return true;
}

bool schema_points_have_area(const struct config_point *points, size_t count)
{
    struct config_point first = points[0], along = {0, 0};

    for (size_t i = 1; i < count; i++) {
        struct config_point side = {points[i].x - first.x, points[i].y - first.y};

        if (fabs(along.x * side.y - along.y * side.x) > LEAST_AREA) {
            return true;
        }
        if (along.x == 0 && along.y == 0) {
            along = side;
        }
    }
    return false;
}

int schema_assign_points(const struct schema_key *key, void *object, const char *text,
                         struct error *error)
{
    g_auto(GStrv) corners = g_strsplit(text, ",", -1);
    size_t count = g_strv_length(corners), read = 0, before;
    _cleanup_(cleanup_free) struct config_point *points = calloc(count + 1, sizeof *points);

    if (!points) {
        return -ENOMEM;
    }
    while (read < count && read_corner(corners[read], &points[read])) {
        read++;
    }
    if (read < count || (double)count < key->minimum || (double)count > key->maximum) {
        return error_set(error, -EINVAL,
                         "got \"%.80s\", allowed: %.0f to %.0f corners X:Y with commas between "
                         "them, each number from 0.0 to 1.0",
                         text, key->minimum, key->maximum);
    }
    if (!schema_points_have_area(points, count)) {
        return error_set(error, -EINVAL, SCHEMA_POINTS_REFUSAL);
    }
    free(schema_get_list(key, object, &before));
    schema_set_list(key, object, TAKE(points), count);
    return 0;
}
