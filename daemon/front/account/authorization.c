#include "daemon/front/account/authorization.h"

#include "config/base.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#define BLANKS " \t"
#define TOKEN_ENDS BLANKS ",=\"\\"
#define COUNT_DIGITS 8

// A field that may stand once in a Digest header, and where its value goes.
struct field {
    const char *name;
    const char **target;
};

// Takes a quoted string at `*at`, behind its first quote, in place: escapes are resolved. NULL: it
// has no end.
static char *take_quoted(char **at)
{
    char *begin = *at, *to = *at, *from = *at;

    for (; *from && *from != '"'; from++) {
        from += *from == '\\' && from[1];
        *to++ = *from;
    }
    if (*from != '"')
        return NULL;
    *at = from + 1;
    *to = '\0';
    return begin;
}

// Takes "name=value" or "name="value"" and the comma behind it, if there is one.
static int take_pair(char **at, char **ret_name, char **ret_value)
{
    char *name = *at, *value, *end = name + strcspn(name, TOKEN_ENDS);
    char *equals = end + strspn(end, BLANKS);

    if (end == name || *equals != '=')
        return -EINVAL;
    *end = '\0';
    value = equals + 1;
    value += strspn(value, BLANKS);
    if (*value == '"') {
        end = value + 1;
        value = take_quoted(&end);
    } else {
        end = value + strcspn(value, TOKEN_ENDS);
    }
    if (!value || end == value)
        return -EINVAL;
    *at = end + strspn(end, BLANKS);
    if (**at != ',' && **at != '\0')
        return -EINVAL;
    *at += **at == ',';
    *end = '\0';
    *ret_name = name;
    *ret_value = value;
    return 0;
}

static int assign(const struct field *fields, size_t count, const char *name, const char *value)
{
    for (size_t i = 0; i < count; i++) {
        if (g_ascii_strcasecmp(fields[i].name, name) == 0) {
            if (*fields[i].target) {
                return -EINVAL; // twice
            }
            *fields[i].target = value;
        }
    }
    return 0;
}

static bool is_hex(const char *text, size_t length)
{
    return strlen(text) == length && strspn(text, "0123456789abcdefABCDEF") == length;
}

// MD5 where none is named (RFC 7616, section 3.4), but for aiortsp, which names none in its answer
// to SHA-256 either: the digits tell.
static int take_algorithm(const char *name, struct authorization *authorization)
{
    bool is_sha256 = name ? g_ascii_strcasecmp(name, "SHA-256") == 0
                          : strlen(authorization->response) == digest_hex_length(DIGEST_SHA256);

    authorization->algorithm = is_sha256 ? DIGEST_SHA256 : DIGEST_MD5;
    return !name || authorization->algorithm == DIGEST_SHA256 ||
                   g_ascii_strcasecmp(name, "MD5") == 0
               ? 0
               : -EINVAL;
}

// All three fields of qop, or none.
static int take_qop(struct authorization *authorization)
{
    const char *nc = authorization->nc;

    if (!authorization->qop)
        return nc || authorization->cnonce ? -EINVAL : 0;
    if (g_ascii_strcasecmp(authorization->qop, "auth") != 0 || !authorization->cnonce || !nc ||
        !is_hex(nc, COUNT_DIGITS)) {
        return -EINVAL;
    }
    authorization->count = (uint32_t)strtoul(nc, NULL, 16);
    return authorization->count > 0 ? 0 : -EINVAL;
}

static int parse_digest(char *at, struct authorization *authorization)
{
    const char *algorithm = NULL, *userhash = NULL;
    const struct field fields[] = {
        {"username", &authorization->username},
        {"realm", &authorization->realm},
        {"nonce", &authorization->nonce},
        {"uri", &authorization->uri},
        {"response", &authorization->response},
        {"qop", &authorization->qop},
        {"cnonce", &authorization->cnonce},
        {"nc", &authorization->nc},
        {"algorithm", &algorithm},
        {"userhash", &userhash},
    };
    char *name, *value;

    for (at += strspn(at, BLANKS ","); *at; at += strspn(at, BLANKS ",")) {
        if (take_pair(&at, &name, &value) < 0 ||
            assign(fields, ARRAY_LENGTH(fields), name, value) < 0) {
            return -EINVAL;
        }
    }
    if (!authorization->username || !authorization->realm || !authorization->nonce ||
        !authorization->uri || !authorization->response ||
        (userhash && g_ascii_strcasecmp(userhash, "false") != 0) ||
        take_algorithm(algorithm, authorization) < 0 || take_qop(authorization) < 0) {
        return -EINVAL;
    }
    return is_hex(authorization->response, digest_hex_length(authorization->algorithm)) ? 0
                                                                                        : -EINVAL;
}

static int parse_basic(char *at, struct authorization *authorization)
{
    gsize length;
    char *colon;

    at += strspn(at, BLANKS);
    at[strcspn(at, BLANKS)] = '\0';
    if (strlen(at) < 2) // GLib asserts that it is not shorter
        return -EINVAL;
    g_base64_decode_inplace(at, &length);
    at[length] = '\0';
    colon = strchr(at, ':');
    if (!colon || strlen(at) != length)
        return -EINVAL;
    *colon = '\0';
    authorization->username = at;
    authorization->password = colon + 1;
    return 0;
}

static int parse_bearer(char *at, struct authorization *authorization)
{
    at += strspn(at, BLANKS);
    at[strcspn(at, BLANKS)] = '\0';
    authorization->token = at;
    return *at ? 0 : -EINVAL;
}

int authorization_parse(const char *header, struct authorization *ret_authorization)
{
    struct authorization *authorization = ret_authorization;
    size_t length = strlen(header), scheme;

    memset(authorization, 0, offsetof(struct authorization, text));
    authorization->text[0] = '\0';
    if (length >= sizeof authorization->text)
        return -EINVAL;
    memcpy(authorization->text, header, length + 1);
    char *at = authorization->text + strspn(authorization->text, BLANKS);
    scheme = strcspn(at, BLANKS);
    if (at[scheme] == '\0')
        return -EINVAL;
    at[scheme] = '\0';
    if (g_ascii_strcasecmp(at, "Digest") == 0) {
        authorization->scheme = AUTHORIZATION_DIGEST;
        return parse_digest(at + scheme + 1, authorization);
    }
    if (g_ascii_strcasecmp(at, "Bearer") == 0) {
        authorization->scheme = AUTHORIZATION_BEARER;
        return parse_bearer(at + scheme + 1, authorization);
    }
    authorization->scheme = AUTHORIZATION_BASIC;
    return g_ascii_strcasecmp(at, "Basic") == 0 ? parse_basic(at + scheme + 1, authorization)
                                                : -EINVAL;
}

void authorization_finish(struct authorization *authorization)
{
    explicit_bzero(authorization, sizeof *authorization);
}

void authorization_response(const struct authorization *authorization, const char *method,
                            const char *ha1, char ret_hex[DIGEST_HEX_SIZE])
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
    while (length > 0 && path[length - 1] == '/')
        length--;
    *ret_length = length;
    return path;
}

bool authorization_uri_matches(const char *uri, const char *request_uri)
{
    size_t length, wanted_length;
    const char *path, *wanted;

    if (strcmp(uri, request_uri) == 0)
        return true;
    if (!is_rtsp(request_uri) || (!is_rtsp(uri) && *uri != '/'))
        return false;
    path = path_of(uri, &length);
    wanted = path_of(request_uri, &wanted_length);
    if (wanted_length < length || memcmp(path, wanted, length) != 0)
        return false;
    return wanted_length == length ||
           (length > 0 && wanted[length] == '/' &&
            !memchr(wanted + length + 1, '/', wanted_length - length - 1));
}
