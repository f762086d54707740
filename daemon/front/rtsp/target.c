#include "daemon/front/rtsp/target.h"

#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>

// Where the path begins; NULL: it is no URL of RTSP.
static const char *find_path(const char *url)
{
    static const char *const schemes[] = {"rtsp://", "rtsps://"};

    for (size_t i = 0; i < G_N_ELEMENTS(schemes); i++) {
        size_t length = strlen(schemes[i]);

        if (g_ascii_strncasecmp(url, schemes[i], length) == 0) {
            const char *host = url + length;
            size_t host_length = strcspn(host, "/?");

            return host_length > 0 ? host + host_length : NULL;
        }
    }
    return NULL;
}

static size_t cut_slashes(const char *text, size_t length)
{
    while (length > 0 && text[length - 1] == '/') {
        length--;
    }
    return length;
}

int rtsp_target_read(const char *url, struct rtsp_target *ret_target)
{
    const char control[] = "/" RTSP_MEDIA_CONTROL;
    const size_t control_length = sizeof control - 1;
    struct rtsp_target target = {.path = ""};

    if (strcmp(url, "*") == 0) {
        *ret_target = target;
        return 0;
    }
    const char *path = find_path(url);
    if (!path || strchr(url, '#')) { // no request has a fragment
        return -EINVAL;
    }
    size_t length = cut_slashes(path, strcspn(path, "?"));
    while (length >= control_length &&
           strncmp(path + length - control_length, control, control_length) == 0) {
        length = cut_slashes(path, length - control_length);
    }
    if (length >= sizeof target.path || (size_t)(path - url) + length >= sizeof target.base) {
        return -ENAMETOOLONG;
    }
    snprintf(target.path, sizeof target.path, length ? "%.*s" : "/", (int)length, path);
    snprintf(target.base, sizeof target.base, "%.*s", (int)((size_t)(path - url) + length), url);
    *ret_target = target;
    return 0;
}
