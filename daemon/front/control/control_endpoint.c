#include "daemon/front/control/control_endpoint.h"

#include <glib.h>
#include <string.h>

#define EVENTS_PATH "/v1/events"
#define RELOAD_PATH "/v1/reload"
#define LAST_RUNS 8u // enough for an event and the end of a reply

// For so long a text is shown again, so that clients that ask without pause cost little.
#define FRESH_NS (200 * NS_PER_MS)

enum page_kind { PAGE_STATUS, PAGE_METRICS, PAGE_INDEX, PAGE_UNKNOWN, PAGE_COUNT };

struct control_endpoint {
    const struct control_front *front; // borrowed
    struct account *account;           // borrowed; NULL: nobody is asked
    bool encrypted;
    struct event_stream *events; // owned
    struct http_server *server;  // owned
    struct page_text {
        char *text; // owned; NULL: none yet
        int64_t made_ns;
    } texts[PAGE_COUNT][CONFIG_ROLE_COUNT];
};

static const char index_text[] = "edged " EDGED_VERSION "\n"
                                 "/v1/status  JSON: cameras, mounts, latency\n" EVENTS_PATH
                                 "  motion in regions, as it begins and ends (server-sent events)\n"
                                 "/metrics    the same for Prometheus\n" RELOAD_PATH
                                 "  POST: loads the configuration again, the verdict is JSON\n";

static const struct page {
    const char *path, *content_type;
} pages[PAGE_COUNT] = {
    [PAGE_STATUS] = {"/v1/status", "application/json"},
    [PAGE_METRICS] = {"/metrics", "text/plain; version=0.0.4; charset=utf-8"},
    [PAGE_INDEX] = {"/", "text/plain; charset=utf-8"},
};

static void forget_texts(struct control_endpoint *endpoint)
{
    for (unsigned page = 0; page < PAGE_COUNT; page++) {
        for (unsigned role = 0; role < CONFIG_ROLE_COUNT; role++) {
            g_clear_pointer(&endpoint->texts[page][role].text, g_free);
        }
    }
}

// What the client of an allowed request may watch.
static enum config_role role_of(const struct control_endpoint *endpoint,
                                const struct http_request *request)
{
    return endpoint->account ? account_role(endpoint->account, request->login) : CONFIG_ROLE_ADMIN;
}

static char *make_text(const struct control_front *front, enum page_kind page,
                       enum config_role role)
{
    if (page == PAGE_UNKNOWN) {
        g_autofree char *mounts = front->list_mounts(front->context, role);

        return g_strconcat("no such page; allowed are /, /v1/status, /v1/events, /metrics and "
                           "/v1/reload; streams are served by RTSP: ",
                           mounts, NULL);
    }
    return front->status(front->context, page == PAGE_STATUS ? FACTS_JSON : FACTS_METRICS, role);
}

// The page as `role` is shown it; borrowed. Without an account it is always made anew.
static const char *page_text(struct control_endpoint *endpoint, enum page_kind page,
                             enum config_role role)
{
    struct page_text *kept = &endpoint->texts[page][role];
    int64_t now_ns = clock_now_ns();

    if (page == PAGE_INDEX) {
        return index_text;
    }
    if (!endpoint->account || !kept->text || now_ns - kept->made_ns >= FRESH_NS) {
        g_free(kept->text);
        *kept = (struct page_text){make_text(endpoint->front, page, role), now_ns};
    }
    return kept->text;
}

static CONTROL_RESULT reply_page(struct control_endpoint *endpoint,
                                 const struct http_request *request, enum page_kind page)
{
    const char *text = page_text(endpoint, page, role_of(endpoint, request));

    return page == PAGE_UNKNOWN ? control_refuse(request->connection, MHD_HTTP_NOT_FOUND, text)
                                : control_reply(request->connection, MHD_HTTP_OK,
                                                pages[page].content_type, g_strdup(text));
}

static CONTROL_RESULT reply_events(const struct control_endpoint *endpoint,
                                   const struct http_request *request)
{
    struct MHD_Connection *connection = request->connection;
    enum config_role role = role_of(endpoint, request);
    g_autofree char *refusal = endpoint->front->refuse(
        endpoint->front->context, role,
        MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "camera"),
        MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "region"));

    return refusal ? control_refuse(connection, MHD_HTTP_NOT_FOUND, refusal)
                   : event_stream_answer(endpoint->events, connection, role);
}

// Who may ask
// ---------------------------------------------------------------------

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
static const char *find_objection(const struct account *account, enum config_role role,
                                  const struct http_request *request)
{
    bool has_users = account_has_users(account);

    if (!has_users && !account_is_open(account) && !calls_loopback(request)) {
        return "without users this machine answers to 127.0.0.1 and localhost alone; see "
               "rtsp.users";
    }
    if (role > CONFIG_ROLE_VIEWER && !has_users) {
        return "without users only the control socket takes this: use edgectl reload";
    }
    if (role > CONFIG_ROLE_VIEWER && header(request, MHD_HTTP_HEADER_ORIGIN)) {
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

// Replies 401, 403, 429 or 400 to what needs another role than the client has, or is not allowed.
//
// A browser may send a request because a page of somebody else's tells it to. So without users only
// requests to a loopback address or "localhost" are answered, because any other name may be made to
// lead here; and what wants more than a viewer has to come from a user, and from no page.
static CONTROL_RESULT check_access(const struct control_endpoint *endpoint, enum config_role role,
                                   const struct http_request *request, bool *ret_refused)
{
    const char *objection = find_objection(endpoint->account, role, request);
    const struct account_request asked = {
        .method = request->method,
        .uri = request->uri,
        .authorization = header(request, MHD_HTTP_HEADER_AUTHORIZATION),
        .peer = request->peer,
        .encrypted = endpoint->encrypted,
        .role = role,
    };
    struct account_answer answer;

    *ret_refused = true;
    if (comes_twice(request, MHD_HTTP_HEADER_AUTHORIZATION) ||
        comes_twice(request, MHD_HTTP_HEADER_HOST)) {
        return control_refuse(request->connection, MHD_HTTP_BAD_REQUEST,
                              "got more than one header Authorization or Host, allowed: one of "
                              "each");
    }
    account_check(endpoint->account, &asked, clock_now_ns(), request->login, &answer);
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

static CONTROL_RESULT refuse(void *context, const struct http_request *request, bool *ret_refused)
{
    const struct control_endpoint *endpoint = context;
    bool reload = strcmp(request->path, RELOAD_PATH) == 0;
    bool reads = strcmp(request->method, MHD_HTTP_METHOD_GET) == 0 ||
                 strcmp(request->method, MHD_HTTP_METHOD_HEAD) == 0;

    if (endpoint->account) {
        CONTROL_RESULT result = check_access(
            endpoint, reload ? CONFIG_ROLE_OPERATOR : CONFIG_ROLE_VIEWER, request, ret_refused);

        if (*ret_refused) {
            return result;
        }
    }
    if (reload ? strcmp(request->method, MHD_HTTP_METHOD_POST) == 0 : reads) {
        return MHD_YES;
    }
    *ret_refused = true;
    return control_refuse_method(request->connection, reload ? "POST" : "GET, HEAD");
}

static CONTROL_RESULT reply(void *context, const struct http_request *request)
{
    struct control_endpoint *endpoint = context;
    enum page_kind page = PAGE_STATUS;

    if (strcmp(request->path, RELOAD_PATH) == 0) {
        return control_reply(request->connection, MHD_HTTP_OK, "application/json",
                             endpoint->front->reload(endpoint->front->context));
    }
    if (strcmp(request->path, EVENTS_PATH) == 0) {
        return reply_events(endpoint, request);
    }
    while (page < PAGE_UNKNOWN && strcmp(request->path, pages[page].path) != 0) {
        page++;
    }
    return reply_page(endpoint, request, page);
}

int control_endpoint_new(const struct control_front *front, struct event_feed *feed,
                         struct account *account, const struct http_server_settings *settings,
                         struct error *error, struct control_endpoint **ret_endpoint)
{
    struct control_endpoint *endpoint = g_new0(struct control_endpoint, 1);
    struct http_server_settings all = *settings;
    int r;

    endpoint->front = front;
    endpoint->account = account;
    endpoint->encrypted = settings->certificate;
    all.handler = (struct http_handler){refuse, reply, endpoint};
    r = http_server_new(&all, error, &endpoint->server);
    if (r < 0) {
        control_endpoint_free(endpoint);
        return r;
    }
    endpoint->events = event_stream_new(feed, endpoint->server);
    *ret_endpoint = endpoint;
    return 0;
}

void control_endpoint_recheck(struct control_endpoint *endpoint)
{
    forget_texts(endpoint);
    http_server_hang_up_strangers(endpoint->server, endpoint->account, CONFIG_ROLE_VIEWER);
}

void control_endpoint_stop_listening(struct control_endpoint *endpoint)
{
    http_server_stop_listening(endpoint->server);
}

void control_endpoint_free(struct control_endpoint *endpoint)
{
    if (!endpoint) {
        return;
    }
    if (endpoint->server) {
        event_stream_close(endpoint->events);
        for (unsigned run = 0; run < LAST_RUNS; run++) {
            http_server_run(endpoint->server);
        }
        http_server_free(endpoint->server);
    }
    event_stream_free(endpoint->events);
    forget_texts(endpoint);
    g_free(endpoint);
}
