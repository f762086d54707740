#include "daemon/front/http/access.h"

#include "config/config.h"
#include "daemon/front/account/peer.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>

const char *http_header_of(const struct http_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

void access_name_cookie(struct http_access *access, int port)
{
    snprintf(access->cookie, sizeof access->cookie, "%sedged-%d",
             access->encrypted ? "__Host-" : "", port);
}

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

// Whether the header Host is "127.0.0.1:9854", "[::1]:9854", "localhost" and so on, whole. A client
// older than HTTP/1.1 sends none.
static bool calls_loopback(const struct http_request *request)
{
    const char *host = http_header_of(request, MHD_HTTP_HEADER_HOST);
    char name[CONFIG_HOST_SIZE];

    return !host || (config_read_host(host, strlen(host), name) &&
                     (config_is_loopback(name) || g_ascii_strcasecmp(name, "localhost") == 0));
}

bool access_is_loopback(const struct http_request *request)
{
    struct peer peer;

    if (!request->peer) {
        return true;
    }
    peer = peer_of(request->peer);
    return peer_is_loopback(&peer);
}

bool access_is_private(const struct http_access *access, const struct http_request *request)
{
    return access->encrypted || access_is_loopback(request);
}

bool http_is_read(const struct http_request *request)
{
    return strcmp(request->method, MHD_HTTP_METHOD_GET) == 0 ||
           strcmp(request->method, MHD_HTTP_METHOD_HEAD) == 0;
}

const struct account_login *access_session(const struct http_access *access,
                                           const struct http_request *request)
{
    const char *cookie =
        MHD_lookup_connection_value(request->connection, MHD_COOKIE_KIND, access->cookie);

    return cookie && !access->is_local && access->account
               ? sessions_find(access->sessions, access->account, cookie, clock_now_ns())
               : NULL;
}

// Whether a page of this server, or of another one, sends the request: browsers say so with each
// change.
static bool comes_from_page(const struct http_request *request)
{
    return http_header_of(request, MHD_HTTP_HEADER_ORIGIN) ||
           http_header_of(request, "Sec-Fetch-Site");
}

static bool comes_from_own_page(const struct http_access *access,
                                const struct http_request *request)
{
    const char *origin = http_header_of(request, MHD_HTTP_HEADER_ORIGIN);
    const char *host = http_header_of(request, MHD_HTTP_HEADER_HOST);
    const char *site = http_header_of(request, "Sec-Fetch-Site");
    const char *scheme = access->encrypted ? "https://" : "http://";

    if (!origin || !host || !g_str_has_prefix(origin, scheme)) {
        return false;
    }
    return g_ascii_strcasecmp(origin + strlen(scheme), host) == 0 &&
           (!site || strcmp(site, "same-origin") == 0);
}

// Why the request is refused although its client has the role; NULL: it is not.
static const char *find_objection(const struct http_access *access, enum config_role role,
                                  bool changes, const struct http_request *request, bool by_session)
{
    bool everybody = role == ACCESS_EVERYBODY;

    if (!account_has_users(access->account) && !account_is_open(access->account) &&
        !calls_loopback(request)) {
        return "without users this machine answers to 127.0.0.1 and localhost alone; see "
               "rtsp.users";
    }
    if (!everybody && request->login->way == ACCOUNT_UNASKED &&
        (role > CONFIG_ROLE_VIEWER || changes)) {
        return "without users this takes the link that `edgectl page` prints, a token (`edgectl "
               "token`), or the control socket";
    }
    if (changes && (comes_from_page(request) || by_session) &&
        !comes_from_own_page(access, request)) {
        return "changes that pages of others ask for are refused: Origin has to be this server's";
    }
    return NULL;
}

static CONTROL_RESULT challenge(const struct http_request *request,
                                const struct account_answer *answer, bool by_form)
{
    // No browser asks for a password by itself because of this one.
    const char *values[ACCOUNT_CHALLENGES_MAX] = {"Cookie realm=\"" USERS_REALM "\""};
    size_t count = by_form ? 1 : answer->challenge_count;

    for (size_t i = 0; !by_form && i < count; i++) {
        values[i] = answer->challenges[i];
    }
    return control_refuse_with(request->connection, MHD_HTTP_UNAUTHORIZED,
                               MHD_HTTP_HEADER_WWW_AUTHENTICATE, values, count,
                               "a user and a password are needed");
}

CONTROL_RESULT access_refuse(const struct http_request *request,
                             const struct account_answer *answer, bool by_form)
{
    g_autofree char *seconds = NULL;

    switch (answer->verdict) {
    case ACCOUNT_CHALLENGE:
        return challenge(request, answer, by_form);
    case ACCOUNT_THROTTLED:
        seconds = g_strdup_printf("%d", answer->retry_after_s);
        return control_refuse_with(request->connection, MHD_HTTP_TOO_MANY_REQUESTS,
                                   MHD_HTTP_HEADER_RETRY_AFTER, (const char *const[]){seconds}, 1,
                                   "too many wrong passwords came from there; try again later");
    default:
        return control_refuse(request->connection, MHD_HTTP_FORBIDDEN,
                              "this user may not do that, or not from this address");
    }
}

// Whether a script of a page sends the request, and not a person who opens an address.
static bool is_fetch(const struct http_request *request)
{
    const char *mode = http_header_of(request, "Sec-Fetch-Mode");

    return mode && strcmp(mode, "navigate") != 0;
}

// By the cookie, or else by what the request proves itself.
static void identify(const struct http_access *access, enum config_role role,
                     const struct http_request *request, const struct account_login *session,
                     struct account_answer *answer)
{
    const struct account_request asked = {
        .method = request->method,
        .uri = request->uri,
        .authorization = http_header_of(request, MHD_HTTP_HEADER_AUTHORIZATION),
        .peer = request->peer,
        .encrypted = access->encrypted,
        .role = role,
    };
    struct nonce_use nonce = request->login->nonce;

    if (session) {
        *request->login = *session;
        request->login->nonce = nonce; // the connection's
    } else if (role != ACCESS_EVERYBODY) {
        request->login->session = 0;
        account_check(access->account, &asked, clock_now_ns(), request->login, answer);
        return;
    } else {
        *request->login = (struct account_login){.nonce = nonce, .failed = true};
    }
    answer->verdict =
        role != ACCESS_EVERYBODY && session->role < role ? ACCOUNT_FORBIDDEN : ACCOUNT_ALLOWED;
}

CONTROL_RESULT access_check(const struct http_access *access, enum config_role role, bool changes,
                            const struct http_request *request, bool *ret_refused)
{
    const struct account_login *session;
    struct account_answer answer;
    const char *objection;

    *ret_refused = false;
    if (access->is_local) {
        return MHD_YES;
    }
    *ret_refused = true;
    if (comes_twice(request, MHD_HTTP_HEADER_AUTHORIZATION) ||
        comes_twice(request, MHD_HTTP_HEADER_HOST) ||
        comes_twice(request, MHD_HTTP_HEADER_ORIGIN)) {
        return control_refuse(request->connection, MHD_HTTP_BAD_REQUEST,
                              "got more than one header Authorization, Host or Origin, allowed: "
                              "one of each");
    }
    session = access_session(access, request);
    identify(access, role, request, session, &answer);
    if (answer.verdict != ACCOUNT_ALLOWED) {
        return access_refuse(request, &answer,
                             is_fetch(request) && access_is_private(access, request));
    }
    objection = find_objection(access, role, changes, request, session);
    if (objection) {
        return control_refuse(request->connection, MHD_HTTP_FORBIDDEN, objection);
    }
    *ret_refused = false;
    return MHD_YES;
}

enum config_role access_role(const struct http_access *access, const struct http_request *request)
{
    return access->is_local ? CONFIG_ROLE_ADMIN : account_role(access->account, request->login);
}

bool access_can_change(const struct http_access *access, const struct http_request *request)
{
    const struct account_login *login = request->login;

    return access->is_local || (login->way != ACCOUNT_UNKNOWN && login->way != ACCOUNT_UNASKED &&
                                login->role >= CONFIG_ROLE_OPERATOR);
}
