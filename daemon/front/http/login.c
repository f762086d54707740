#include "daemon/front/http/handlers.h"

#include "daemon/common/host_address.h"
#include "daemon/common/json.h"

#include <string.h>

#define FORM "application/x-www-form-urlencoded"

char *login_field(const char *text, size_t size, const char *name)
{
    g_autofree char *copy = g_strndup(text, size);
    size_t length = strlen(name);

    for (char *rest = copy, *pair; (pair = strsep(&rest, "&"));) {
        if (strncmp(pair, name, length) == 0 && pair[length] == '=') {
            char *value = g_uri_unescape_string(g_strdelimit(pair + length + 1, "+", ' '), NULL);

            if (value && g_utf8_validate(value, -1, NULL))
                return value;
            g_free(value);
            return NULL;
        }
    }
    return NULL;
}

// As of login_session().
static const char *name_way(const struct http_call *call)
{
    static const char *const ways[] = {
        [ACCOUNT_UNASKED] = "open", [ACCOUNT_PASSWORD] = "password", [ACCOUNT_TOKEN] = "token"};
    enum account_way way = call->request->login->way;

    if (call->access->is_local)
        return "socket";
    if (access_session(call->access, call->request))
        return "cookie";
    if (way != ACCOUNT_UNKNOWN)
        return ways[way];
    return access_is_private(call->access, call->request) ? "form" : "prompt";
}

HTTP_RESULT login_session(struct http_call *call)
{
    const struct http_request *request = call->request;
    const struct account_login *login = request->login;
    bool says_who = http_header_of(request, MHD_HTTP_HEADER_AUTHORIZATION);
    bool refused = false;
    g_autoptr(JsonBuilder) builder = json_builder_new();

    // Where users are asked for, a browser that is not logged in is told so, and not challenged.
    if (!call->access->is_local && login->way == ACCOUNT_UNKNOWN &&
        (says_who || !account_has_users(call->access->account))) {
        HTTP_RESULT result =
            access_check(call->access, CONFIG_ROLE_VIEWER, false, request, &refused);

        if (refused)
            return result;
    }
    bool is_known = call->access->is_local || login->way != ACCOUNT_UNKNOWN;
    enum config_role role = call->access->is_local ? CONFIG_ROLE_ADMIN : login->role;
    json_builder_begin_object(builder);
    json_add_optional(builder, "user", *login->name ? login->name : NULL);
    json_add_optional(builder, "role", is_known ? config_role_name(role) : NULL);
    json_add_flag(builder, "can_change", access_can_change(call->access, request));
    json_add_flag(builder, "secure", access_is_private(call->access, request));
    json_add_optional(builder, "way", name_way(call));
    return http_reply(call->connection, MHD_HTTP_OK, "application/json", json_end_line(builder));
}

// Replies with a cookie, "" to take it away, and sends the client to `location`; NULL: nowhere.
static HTTP_RESULT reply_cookie(const struct http_call *call, const char *secret,
                                const char *location)
{
    g_autofree char *cookie =
        g_strdup_printf("%s=%s; Path=/; Max-Age=%d; HttpOnly; SameSite=Strict%s",
                        call->access->cookie, secret, *secret ? SESSION_S : 0,
                        access_is_encrypted(call->access, call->request) ? "; Secure" : "");
    const struct http_header headers[] = {
        {MHD_HTTP_HEADER_SET_COOKIE, cookie},
        {MHD_HTTP_HEADER_LOCATION, location},
    };

    return http_reply_bytes(call->connection, location ? MHD_HTTP_SEE_OTHER : MHD_HTTP_OK,
                            "application/json", headers, location ? 2 : 1, g_strdup("{}\n"), 3);
}

static HTTP_RESULT begin(const struct http_call *call, const struct account_login *login,
                         const char *location)
{
    char secret[SESSION_SECRET_SIZE];

    if (sessions_begin(call->access->sessions, login, clock_now_ns(), secret) < 0) {
        return http_refuse_text(call->connection, MHD_HTTP_INTERNAL_SERVER_ERROR,
                                "the kernel gives no random bytes");
    }
    return reply_cookie(call, secret, location);
}

// User and password in a body; both NULL if it does not have them. The caller wipes and frees them.
struct said {
    char *user, *password;
};

static void said_finish(struct said *said)
{
    if (said->password)
        explicit_bzero(said->password, strlen(said->password));
    g_free(said->password);
    g_free(said->user);
}

static int read_body(const struct http_request *request, bool is_form, struct error *error,
                     struct said *said)
{
    g_autoptr(JsonObject) object = NULL;
    int r;

    if (is_form) {
        said->user = login_field(request->body, request->body_size, "user");
        said->password = login_field(request->body, request->body_size, "password");
    } else {
        r = json_parse_object(request->body, request->body_size, error, &object);
        if (r < 0)
            return r;
        said->user = g_strdup(json_find_string(object, "user"));
        said->password = g_strdup(json_find_string(object, "password"));
    }
    return said->user && said->password ? 0 : error_set(error, -EINVAL, "got no user and password");
}

static HTTP_RESULT check_body(const struct http_call *call, bool is_form)
{
    const struct http_request *request = call->request;
    const struct account_request asked = {.method = request->method,
                                          .uri = request->uri,
                                          .peer = request->peer,
                                          .encrypted = call->access->encrypted,
                                          .role = CONFIG_ROLE_VIEWER};
    _cleanup_(said_finish) struct said said = {0};
    struct account_login login = {0};
    struct account_answer answer;
    struct error error = {0};

    if (read_body(request, is_form, &error, &said) < 0) {
        return http_refuse(call->connection, MHD_HTTP_BAD_REQUEST, NULL,
                           "got no user and password,",
                           "{\"user\": NAME, \"password\": PASSWORD}, or a form with both");
    }
    account_check_password(call->access->account, &asked, said.user, said.password, clock_now_ns(),
                           &login, &answer);
    return answer.verdict == ACCOUNT_ALLOWED ? begin(call, &login, is_form ? "../" : NULL)
                                             : access_refuse(request, &answer, true);
}

HTTP_RESULT login_by_form(struct http_call *call)
{
    const char *type = http_header_of(call->request, MHD_HTTP_HEADER_CONTENT_TYPE);

    if (call->access->is_local || !account_has_users(call->access->account)) {
        return http_refuse_text(call->connection, MHD_HTTP_NOT_FOUND,
                                "nobody is asked for a password here");
    }
    if (!access_is_private(call->access, call->request)) {
        return http_refuse_text(call->connection, MHD_HTTP_FORBIDDEN,
                                "a password is taken inside TLS and from this machine alone; open "
                                "/login, where the browser proves it without sending it");
    }
    return check_body(call, type && g_ascii_strncasecmp(type, FORM, strlen(FORM)) == 0);
}

static HTTP_RESULT login_by_link(struct http_call *call)
{
    const struct account_login login = {
        .way = ACCOUNT_LINK, .role = CONFIG_ROLE_OPERATOR, .allowed = true, .is_local = true};
    const char *link = http_query(call, "link");
    bool is_right =
        sessions_is_link(call->access->sessions, link) && access_is_loopback(call->request);
    struct account_answer answer = {.verdict = ACCOUNT_FORBIDDEN};

    if (link) {
        account_check_secret(call->access->account, call->request->peer, is_right, clock_now_ns(),
                             &answer);
    }
    if (answer.verdict == ACCOUNT_FORBIDDEN) {
        return http_refuse_text(call->connection, MHD_HTTP_FORBIDDEN,
                                "this link is not that of the running edged; `edgectl page` prints "
                                "it, for a browser on this machine");
    }
    return answer.verdict == ACCOUNT_ALLOWED ? begin(call, &login, "./")
                                             : access_refuse(call->request, &answer, true);
}

HTTP_RESULT login_by_address(struct http_call *call)
{
    const struct http_access *access = call->access;
    bool refused = false;
    HTTP_RESULT result;

    if (access->is_local)
        return http_refuse_text(call->connection, MHD_HTTP_NOT_FOUND, "there is no login here");
    if (!account_has_users(access->account))
        return login_by_link(call);
    result = access_check(access, CONFIG_ROLE_VIEWER, false, call->request, &refused);
    if (refused)
        return result;
    if (call->request->login->way != ACCOUNT_PASSWORD) {
        return http_refuse_text(call->connection, MHD_HTTP_FORBIDDEN,
                                "a token is sent with each request, and gets no cookie");
    }
    return begin(call, call->request->login, "./");
}

HTTP_RESULT login_end(struct http_call *call)
{
    const char *cookie =
        MHD_lookup_connection_value(call->connection, MHD_COOKIE_KIND, call->access->cookie);

    if (cookie)
        sessions_end(call->access->sessions, cookie);
    return reply_cookie(call, "", NULL);
}

// The page's address for a browser anywhere.
static char *write_address(const struct http_page_address *page)
{
    char url[256];

    host_address_show_url(page->shown, url, sizeof url);
    return g_strconcat(url, "/", NULL);
}

HTTP_RESULT login_link(struct http_call *call)
{
    g_autoptr(JsonBuilder) builder = json_builder_new();
    g_autofree char *link = NULL;
    const struct account *account = call->access->account;

    if (!call->access->is_local) {
        return http_refuse_text(call->connection, MHD_HTTP_FORBIDDEN,
                                "only the control socket tells the link");
    }
    if (!call->page->url) {
        return http_refuse_text(call->connection, MHD_HTTP_NOT_FOUND,
                                "edged does not serve HTTP over TCP; see http.port and the log");
    }
    link = call->page->is_loopback && !(account && account_has_users(account))
               ? g_strconcat(call->page->url, "/login?link=", sessions_link(call->access->sessions),
                             NULL)
               : write_address(call->page);
    json_builder_begin_object(builder);
    json_add_optional(builder, "url", link);
    return http_reply(call->connection, MHD_HTTP_OK, "application/json", json_end_line(builder));
}
