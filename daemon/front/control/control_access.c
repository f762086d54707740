#include "daemon/front/control/control_access.h"

#include <glib.h>
#include <string.h>

struct header_count {
    const char *name;
    unsigned count;
};

static CONTROL_RESULT count_header(void *context, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    struct header_count *count = context;

    (void)kind, (void)value;
    count->count += g_ascii_strcasecmp(name, count->name) == 0;
    return MHD_YES;
}

// One that comes twice may be read in two ways by two readers.
static bool comes_twice(const struct http_request *request, const char *name)
{
    struct header_count count = {name, 0};

    MHD_get_connection_values(request->connection, MHD_HEADER_KIND, count_header, &count);
    return count.count > 1;
}

static const char *header(const struct http_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

// Whether the header Host is "127.0.0.1:9854", "[::1]:9854", "localhost" and so on, whole. A client
// older than HTTP/1.1 sends none.
static bool calls_loopback(const struct http_request *request)
{
    const char *host = header(request, MHD_HTTP_HEADER_HOST);
    char name[CONFIG_HOST_SIZE];

    return !host || (config_read_host(host, strlen(host), name) &&
                     (config_is_loopback(name) || g_ascii_strcasecmp(name, "localhost") == 0));
}

// Why the request is refused; NULL: it is not.
static const char *find_objection(const struct control_access *access,
                                  const struct http_request *request)
{
    bool has_users = account_has_users(access->account);

    if (!has_users && !account_is_open(access->account) && !calls_loopback(request)) {
        return "without users this machine answers to 127.0.0.1 and localhost alone; see "
               "rtsp.users";
    }
    if (access->role > CONFIG_ROLE_VIEWER && !has_users) {
        return "without users only the control socket takes this: use edgectl reload";
    }
    if (access->role > CONFIG_ROLE_VIEWER && header(request, MHD_HTTP_HEADER_ORIGIN)) {
        return "requests that web pages make are refused";
    }
    return NULL;
}

static CONTROL_RESULT challenge(const struct http_request *request,
                                const struct account_answer *answer)
{
    const char *values[ACCOUNT_CHALLENGES_MAX];

    for (size_t i = 0; i < answer->challenge_count; i++) {
        values[i] = answer->challenges[i];
    }
    return control_refuse_with(request->connection, MHD_HTTP_UNAUTHORIZED,
                               MHD_HTTP_HEADER_WWW_AUTHENTICATE, values, answer->challenge_count,
                               "a user and a password are needed");
}

static CONTROL_RESULT throttle(const struct http_request *request,
                               const struct account_answer *answer)
{
    g_autofree char *seconds = g_strdup_printf("%d", answer->retry_after_s);

    return control_refuse_with(request->connection, MHD_HTTP_TOO_MANY_REQUESTS,
                               MHD_HTTP_HEADER_RETRY_AFTER, (const char *[]){seconds}, 1,
                               "too many wrong passwords came from there; try again later");
}

CONTROL_RESULT control_access_refuse(const struct control_access *access,
                                     const struct http_request *request, bool *ret_refused)
{
    const char *objection = find_objection(access, request);
    const struct account_request asked = {
        .method = request->method,
        .uri = request->uri,
        .authorization = header(request, MHD_HTTP_HEADER_AUTHORIZATION),
        .peer = request->peer,
        .encrypted = access->encrypted,
        .role = access->role,
    };
    struct account_answer answer;

    *ret_refused = true;
    if (comes_twice(request, MHD_HTTP_HEADER_AUTHORIZATION) ||
        comes_twice(request, MHD_HTTP_HEADER_HOST)) {
        return control_refuse(request->connection, MHD_HTTP_BAD_REQUEST,
                              "got more than one header Authorization or Host, allowed: one of "
                              "each");
    }
    account_check(access->account, &asked, clock_now_ns(), request->login, &answer);
    switch (answer.verdict) {
    case ACCOUNT_ALLOWED:
        break;
    case ACCOUNT_CHALLENGE:
        return challenge(request, &answer);
    case ACCOUNT_FORBIDDEN:
        return control_refuse(request->connection, MHD_HTTP_FORBIDDEN,
                              "this user, or this address, may not");
    case ACCOUNT_THROTTLED:
        return throttle(request, &answer);
    }
    if (objection) {
        return control_refuse(request->connection, MHD_HTTP_FORBIDDEN, objection);
    }
    *ret_refused = false;
    return MHD_YES;
}
