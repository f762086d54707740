#include "daemon/front/account/digest.h"

#include "config/base.h"

#include <glib.h>
#include <string.h>

void digest_response(const struct authorization *authorization, const char *method, const char *ha1,
                     char ret_hex[DIGEST_HEX_SIZE])
{
    const char *const request[] = {method, authorization->uri};
    char ha2[DIGEST_HEX_SIZE];

    digest_hash(authorization->algorithm, request, ARRAY_LENGTH(request), ha2);
    if (authorization->qop) {
        const char *const fields[] = {
            ha1, authorization->nonce, authorization->nc, authorization->cnonce, authorization->qop,
            ha2};

        digest_hash(authorization->algorithm, fields, ARRAY_LENGTH(fields), ret_hex);
    } else {
        const char *const fields[] = {ha1, authorization->nonce, ha2};

        digest_hash(authorization->algorithm, fields, ARRAY_LENGTH(fields), ret_hex);
    }
}

static bool is_rtsp(const char *uri)
{
    return g_ascii_strncasecmp(uri, "rtsp://", strlen("rtsp://")) == 0 ||
           g_ascii_strncasecmp(uri, "rtsps://", strlen("rtsps://")) == 0;
}

// The path of a URL, from its first slash to before the slashes at its end.
static const char *path_of(const char *uri, size_t *ret_length)
{
    const char *path = is_rtsp(uri) ? strchr(uri, ':') + strlen("://") : uri;
    size_t length;

    path += is_rtsp(uri) ? strcspn(path, "/?#") : 0;
    length = strcspn(path, "?#");
    while (length > 0 && path[length - 1] == '/') {
        length--;
    }
    *ret_length = length;
    return path;
}

bool digest_uri_matches(const char *uri, const char *request_uri)
{
    size_t length, wanted_length;
    const char *path, *wanted;

    if (strcmp(uri, request_uri) == 0) {
        return true;
    }
    if (!is_rtsp(request_uri) || (!is_rtsp(uri) && *uri != '/')) {
        return false;
    }
    path = path_of(uri, &length);
    wanted = path_of(request_uri, &wanted_length);
    if (wanted_length < length || memcmp(path, wanted, length) != 0) {
        return false;
    }
    return wanted_length == length ||
           (length > 0 && wanted[length] == '/' &&
            !memchr(wanted + length + 1, '/', wanted_length - length - 1));
}
