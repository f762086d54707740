// Corners as a command line has them: "0.1:0.2,0.9:0.2,0.5:0.8".
#include "config/schema_value.h"

#include "config/config.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

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
    free(schema_get_list(key, object, &before));
    schema_set_list(key, object, TAKE(points), count);
    return 0;
}
