#include "daemon/front/http/access.h"

#include "config/config.h"
#include "daemon/common/peer.h"
#include "daemon/front/http/control_socket.h"
#include "daemon/front/http/http_check.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>

#define MISDIRECTED_REQUEST 421 // RFC 9110, section 15.5.20

const char *http_header_of(const struct http_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

void access_name_cookie(struct http_access *access, int port)
{
    snprintf(access->cookie, sizeof access->cookie, "%sedged-%d",
             access->encrypted ? "__Host-" : "", port);
}

bool access_is_loopback(const struct http_request *request)
{
    struct peer peer;

    if (!request->peer)
        return true;
    peer = peer_of(request->peer);
    return peer_is_loopback(&peer);
}

// Whether the request comes through one of http.proxies.
static bool is_forwarded(const struct http_access *access, const struct http_request *request)
{
    struct peer peer;

    if (!request->peer)
        return false;
    peer = peer_of(request->peer);
    for (size_t i = 0; i < access->clients->proxies.count; i++) {
        struct peer proxy = peer_parse(access->clients->proxies.list[i]);

        if (memcmp(&proxy, &peer, sizeof peer) == 0)
            return true;
    }
    return false;
}

bool access_is_encrypted(const struct http_access *access, const struct http_request *request)
{
    const char *scheme = http_header_of(request, "X-Forwarded-Proto");

    return access->encrypted ||
           (scheme && g_ascii_strcasecmp(scheme, "https") == 0 && is_forwarded(access, request));
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
    const char *scheme = access_is_encrypted(access, request) ? "https://" : "http://";

    if (!origin || !host || !g_str_has_prefix(origin, scheme))
        return false;
    return g_ascii_strcasecmp(origin + strlen(scheme), host) == 0 &&
           (!site || strcmp(site, "same-origin") == 0);
}

// Why the request is refused although its client has the role; NULL: it is not.
static const char *find_objection(const struct http_access *access, enum config_role role,
                                  bool changes, const struct http_request *request, bool by_session)
{
    bool everybody = role == ACCESS_EVERYBODY;

    if (!account_has_users(access->account) && !account_is_open(access->account) &&
        !http_check_is_loopback(request, &access->clients->names)) {
        return "without users this machine answers to 127.0.0.1 and localhost alone; see "
               "rtsp.users and http.names";
    }
    if (!everybody && request->login->way == ACCOUNT_UNASKED &&
        (role > CONFIG_ROLE_VIEWER || changes)) {
        return "without users this takes the link that `edgectl page` prints, a token (`edgectl "
               "token`), or the control socket";
    }
    if (changes && (comes_from_page(request) || by_session) &&
        !comes_from_own_page(access, request)) {
        return "changes that pages of others ask for are refused: Origin has to be this server's; "
               "a "
               "proxy has to pass on Host, and X-Forwarded-Proto if it ends TLS (HTTP in edged(8))";
    }
    return NULL;
}

bool access_may_embed(const struct http_access *access)
{
    return !access->is_local && (!account_has_users(access->account) || access->clients->embed);
}

static HTTP_RESULT challenge(const struct http_request *request,
                             const struct account_answer *answer, bool by_form)
{
    // No browser asks for a password by itself because of this one.
    const char *values[ACCOUNT_CHALLENGES_MAX] = {"Cookie realm=\"" USERS_REALM "\""};
    size_t count = by_form ? 1 : answer->challenge_count;

    for (size_t i = 0; !by_form && i < count; i++)
        values[i] = answer->challenges[i];
    return http_refuse_with(
        request->connection, MHD_HTTP_UNAUTHORIZED, MHD_HTTP_HEADER_WWW_AUTHENTICATE, values, count,
        http_header_of(request, MHD_HTTP_HEADER_AUTHORIZATION) ? "wrong user, password or token"
                                                               : "a user and a password are needed",
        NULL);
}

HTTP_RESULT access_refuse(const struct http_request *request, const struct account_answer *answer,
                          bool by_form)
{
    g_autofree char *seconds = NULL;

    switch (answer->verdict) {
    case ACCOUNT_CHALLENGE:
        return challenge(request, answer, by_form);
    case ACCOUNT_THROTTLED:
        seconds = g_strdup_printf("%d", answer->retry_after_s);
        return http_refuse_with(request->connection, MHD_HTTP_TOO_MANY_REQUESTS,
                                MHD_HTTP_HEADER_RETRY_AFTER, (const char *const[]){seconds}, 1,
                                "too many wrong passwords came from there; try again later", NULL);
    default:
        return http_refuse_text(request->connection, MHD_HTTP_FORBIDDEN,
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

// -1: it came by no connection.
static int descriptor_of(const struct http_request *request)
{
    const union MHD_ConnectionInfo *at =
        request->connection
            ? MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CONNECTION_FD)
            : NULL;

    return at ? at->connect_fd : -1;
}

bool access_is_broker(const struct http_access *access, const struct http_request *request)
{
    return access->is_local && control_socket_is_broker(descriptor_of(request));
}

HTTP_RESULT access_check(const struct http_access *access, enum config_role role, bool changes,
                         const struct http_request *request, bool *ret_refused)
{
    const struct account_login *session;
    struct account_answer answer;
    const char *objection;

    *ret_refused = access->is_local && !control_socket_admits(descriptor_of(request));
    if (*ret_refused) {
        return http_refuse_text(request->connection, MHD_HTTP_FORBIDDEN,
                                "the control socket is not for edged's own processes");
    }
    if (access->is_local)
        return MHD_YES;
    *ret_refused = true;
    if (account_is_open(access->account) && !http_check_is_own(request, &access->clients->names)) {
        return http_refuse(request->connection, MISDIRECTED_REQUEST, NULL,
                           "the header Host names another machine,",
                           "an address, localhost, this machine's name, and http.names");
    }
    session = access_session(access, request);
    identify(access, role, request, session, &answer);
    if (answer.verdict != ACCOUNT_ALLOWED) {
        return access_refuse(request, &answer,
                             is_fetch(request) && access_is_private(access, request));
    }
    objection = find_objection(access, role, changes, request, session);
    if (objection)
        return http_refuse_text(request->connection, MHD_HTTP_FORBIDDEN, objection);
    *ret_refused = false;
    return MHD_YES;
}

enum config_role access_role(const struct http_access *access, const struct http_request *request)
{
    if (access->is_local)
        return access_is_broker(access, request) ? CONFIG_ROLE_OPERATOR : CONFIG_ROLE_ADMIN;
    return account_role(access->account, request->login);
}

enum config_role access_rank(const struct http_access *access, const struct http_request *request)
{
    return access->is_local ? access_role(access, request) : request->login->role;
}

bool access_can_change(const struct http_access *access, const struct http_request *request)
{
    const struct account_login *login = request->login;

    return access->is_local || (login->way != ACCOUNT_UNKNOWN && login->way != ACCOUNT_UNASKED &&
                                login->role >= CONFIG_ROLE_OPERATOR);
}
