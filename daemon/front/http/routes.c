#include "daemon/front/http/routes.h"

#include "daemon/front/http/handlers.h"
#include "daemon/front/http/http_check.h"
#include "daemon/front/model/status.h"
#include "daemon/front/model/summary.h"
#include "daemon/front/socket/listener.h"

#include <glib.h>
#include <string.h>

#define LAST_RUNS 8u // enough for an event and the end of a reply

// How long a generated text is cached.
#define FRESH_NS (200 * NS_PER_MS)

#define TEXT_URLS (STATUS_TEXT_MOUNTS + 1) // the URLs of the mounts, in one line
#define TEXT_COUNT (TEXT_URLS + 1)

struct http_routes {
    const struct http_page_address *page; // borrowed
    struct model *model;                  // borrowed
    struct pull_points *pull_points;      // borrowed
    struct http_access access;
    struct http_server *server; // owned
    bool is_stopping;           // new requests are refused
    GPtrArray *waiting;         // requests that wait for the front; owned
    struct kept_text {
        char *text; // owned; NULL: none yet
        int64_t made_ns;
    } texts[TEXT_COUNT][CONFIG_ROLE_COUNT];
};

static void forget_texts(struct http_routes *routes)
{
    for (unsigned kind = 0; kind < TEXT_COUNT; kind++) {
        for (unsigned role = 0; role < CONFIG_ROLE_COUNT; role++)
            g_clear_pointer(&routes->texts[kind][role].text, g_free);
    }
}

static char *make_text(const struct model *model, unsigned kind, enum config_role role)
{
    return kind == TEXT_URLS ? summary_list_mounts(model, role)
                             : status_text(model, (enum status_text)kind, role);
}

// The text as `role` is shown it; borrowed. On the control socket it is always made anew.
static const char *find_text(struct http_routes *routes, unsigned kind, enum config_role role)
{
    struct kept_text *kept = &routes->texts[kind][role];
    int64_t now_ns = clock_now_ns();

    if (routes->access.is_local || !kept->text || now_ns - kept->made_ns >= FRESH_NS) {
        g_free(kept->text);
        *kept = (struct kept_text){make_text(routes->model, kind, role), now_ns};
    }
    return kept->text;
}

static HTTP_RESULT reply_index(struct http_call *call);

static HTTP_RESULT reply_json(struct http_call *call, enum status_text kind)
{
    const char *text = find_text(call->routes, kind, call->role);

    return http_reply(call->connection, MHD_HTTP_OK, "application/json", g_strdup(text));
}

static HTTP_RESULT reply_status(struct http_call *call)
{
    return reply_json(call, STATUS_TEXT_JSON);
}

static HTTP_RESULT reply_cameras(struct http_call *call)
{
    return reply_json(call, STATUS_TEXT_CAMERAS);
}

static HTTP_RESULT reply_views(struct http_call *call)
{
    return reply_json(call, STATUS_TEXT_MOUNTS);
}

static HTTP_RESULT reply_metrics(struct http_call *call)
{
    const char *text = find_text(call->routes, STATUS_TEXT_METRICS, call->role);

    return http_reply(call->connection, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8",
                      g_strdup(text));
}

// A reload that looks at the file once more is waited for.
static HTTP_RESULT reply_reload(struct http_call *call)
{
    void *nothing = NULL;
    bool is_new = !http_take_from(call->request, &nothing);
    struct model *model = call->model;

    if (is_new && !http_server_has_room(call->server, call->connection)) {
        return http_refuse_text(call->connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                                "the limit of streaming clients (http.limits.streams) is reached; "
                                "try again later");
    }
    if (is_new)
        model->events.reload_asked(model->events.context);
    if (!model->is_reloading) {
        return http_reply(call->connection, MHD_HTTP_OK, "application/json",
                          status_verdict(&model->verdict));
    }
    return call->is_stopping ? http_refuse_text(call->connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                                                "edged is stopping")
                             : http_wait_in(call->waiting, call->server, call->request, 0, NULL);
}

static HTTP_RESULT reply_health(struct http_call *call)
{
    return http_reply(call->connection, MHD_HTTP_OK, "text/plain; charset=utf-8", g_strdup("ok\n"));
}

static HTTP_RESULT reply_readiness(struct http_call *call)
{
    return call->model->is_ready ? reply_health(call)
                                 : http_refuse_text(call->connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                                                    "edged has just been started and is not ready");
}

static HTTP_RESULT reply_time(struct http_call *call)
{
    char *text = g_strdup_printf("{\"now_us\": %" G_GINT64_FORMAT "}\n", g_get_real_time());

    return http_reply(call->connection, MHD_HTTP_OK, "application/json", text);
}

// The table
// ---------------------------------------------------------------------

// HEAD is allowed where GET is.
static const struct http_route {
    const char *method, *path;
    enum config_role role; // the least that may ask, or ACCESS_EVERYBODY
    HTTP_RESULT (*reply)(struct http_call *call);
    const char *help; // a line of the index
} routes_table[] = {
    {"GET", "/", ACCESS_EVERYBODY, reply_index, "in a browser the page, else this list"},
    {"GET", "/page/{file}", ACCESS_EVERYBODY, http_page_reply, "what the page is made of"},
    {"GET", "/openapi.yaml", CONFIG_ROLE_VIEWER, http_page_openapi, "all of this as OpenAPI 3.1"},
    {"GET", "/healthz", ACCESS_EVERYBODY, reply_health, "\"ok\" as long as edged runs"},
    {"GET", "/login", ACCESS_EVERYBODY, login_by_address, "logs a browser in, and goes on to /"},
    {"POST", "/v1/login", ACCESS_EVERYBODY, login_by_form, "user and password for a cookie"},
    {"POST", "/v1/logout", ACCESS_EVERYBODY, login_end, "ends the cookie"},
    {"GET", "/v1/session", ACCESS_EVERYBODY, login_session, "JSON: who asks, and what they may do"},
    {"GET", "/v1/page-link", CONFIG_ROLE_VIEWER, login_link,
     "JSON: the address of the page, for the control socket alone"},
    {"GET", "/v1/readyz", CONFIG_ROLE_VIEWER, reply_readiness,
     "503 until all cameras have been tried"},
    {"GET", "/v1/cameras", CONFIG_ROLE_VIEWER, reply_cameras, "JSON: the cameras of the status"},
    {"GET", "/v1/views", CONFIG_ROLE_VIEWER, reply_views, "JSON: the views, with their URLs"},
    {"GET", "/v1/status", CONFIG_ROLE_VIEWER, reply_status, "JSON: cameras, mounts, latency"},
    {"GET", "/v1/events", CONFIG_ROLE_VIEWER, events_route_follow,
     "motion, states of cameras, clips that end, settings (server-sent events)"},
    {"GET", "/snapshot.jpg", CONFIG_ROLE_VIEWER, pictures_reply_snapshot,
     "a JPEG of a view: ?camera=&view=&scale=1/2, or &width=320"},
    {"GET", "/stream.mjpg", CONFIG_ROLE_VIEWER, pictures_reply_stream,
     "JPEGs of a view, one after the other: ?camera=&view=&scale=1/2&fps=5, or &width=320"},
    {"GET", "/v1/video", CONFIG_ROLE_VIEWER, video_reply_many,
     "live video of views with status and events: ?view=CAMERA/VIEW&view=…"},
    {"GET", "/v1/cameras/{camera}/views/{view}/video", CONFIG_ROLE_VIEWER, video_reply_one,
     "live video of a view: ?format=records for WebCodecs, mp4 for MSE and players"},
    {"GET", "/metrics", CONFIG_ROLE_VIEWER, reply_metrics, "the same as status, for Prometheus"},
    {"GET", "/v1/config", CONFIG_ROLE_OPERATOR, config_route_values,
     "JSON: the configuration in force; cameras, views and regions by their names"},
    {"PATCH", "/v1/config", CONFIG_ROLE_OPERATOR, config_route_change,
     "changes it while edged runs (JSON merge patch): ?dry_run=1, ?keep=1"},
    {"GET", "/v1/config/schema", CONFIG_ROLE_VIEWER, config_route_schema,
     "JSON Schema of it: each key's type, range, default, and what a change costs"},
    {"GET", "/v1/config/settings", CONFIG_ROLE_OPERATOR, config_route_settings,
     "JSON: what was changed over the file, and what of it is kept; ?all=1: every key"},
    {"POST", "/v1/cameras/{camera}/armed", CONFIG_ROLE_OPERATOR, config_route_arm,
     "motion events of a camera on or off: {\"armed\": true}, ?keep=1"},
    {"POST", "/v1/cameras/{camera}/record", CONFIG_ROLE_OPERATOR, clips_route_record,
     "starts, prolongs or stops a clip: {\"record\": true, \"duration_s\": 30}"},
    {"POST", "/v1/cameras/{camera}/views/{view}/keyframe", CONFIG_ROLE_OPERATOR,
     config_route_keyframe, "asks the encoder of a view that is watched for a key frame"},
    {"GET", "/v1/clips", CONFIG_ROLE_VIEWER, clips_route_list,
     "JSON: clips, the newest first: ?from=&to=&camera=&view=&region=&limit=&before=&after="},
    {"GET", "/v1/timeline", CONFIG_ROLE_VIEWER, timeline_route_show,
     "JSON: which steps of a span of time each camera has clips of: ?from=&to=&steps="},
    {"GET", "/v1/clips/excess", CONFIG_ROLE_OPERATOR, clips_route_excess,
     "JSON: what other limits would delete now: ?max_size=&min_free=&max_age_days="},
    {"GET", "/v1/clips/{id}.mp4", CONFIG_ROLE_VIEWER, clip_file_video,
     "the clip, or a Range of it"},
    {"GET", "/v1/clips/{id}.jpg", CONFIG_ROLE_VIEWER, clip_file_picture,
     "a JPEG of the moment with the most motion"},
    {"GET", "/v1/clips/{id}", CONFIG_ROLE_VIEWER, clips_route_show, "JSON: what is known of it"},
    {"PATCH", "/v1/clips/{id}", CONFIG_ROLE_OPERATOR, clips_route_change,
     "keeps it for ever, or no longer: {\"keep\": true}"},
    {"DELETE", "/v1/clips/{id}", CONFIG_ROLE_OPERATOR, clips_route_delete, "deletes it"},
    {"GET", "/v1/time", ACCESS_EVERYBODY, reply_time,
     "JSON: this machine's clock, in microseconds since 1970"},
    {"POST", "/v1/reload", CONFIG_ROLE_OPERATOR, reply_reload,
     "loads the configuration again; the verdict is JSON"},
    {"POST", "/v1/tune", CONFIG_ROLE_OPERATOR, tune_route_reply,
     "finds faster block sizes for a camera's kernels while it streams (a line of JSON each)"},
    {"POST", "/onvif/{service}", ACCESS_EVERYBODY, onvif_route_service,
     "ONVIF, as SOAP: device_service, media_service, events_service"},
    {"POST", "/onvif/{camera}/{service}", ACCESS_EVERYBODY, onvif_route_part,
     "the same of one camera as a device of its own; and pull points, as /onvif/subscription/{id}"},
};

static HTTP_RESULT reply_index(struct http_call *call)
{
    const char *accept = http_header_of(call->request, MHD_HTTP_HEADER_ACCEPT);

    if (accept && strstr(accept, "text/html"))
        return http_page_reply(call);
    GString *text = g_string_new("edged " EDGED_VERSION "\n");

    for (size_t i = 0; i < ARRAY_LENGTH(routes_table); i++) {
        g_string_append_printf(text, "%-5s %-19s %s\n", routes_table[i].method,
                               routes_table[i].path, routes_table[i].help);
    }
    return http_reply(call->connection, MHD_HTTP_OK, "text/plain; charset=utf-8",
                      g_string_free(text, FALSE));
}

// Whether the path is that of the route; then its parameters are written to `call`, if that is not
// NULL. A parameter ends at a slash, or where the next character of the route stands.
static bool fits(const struct http_route *route, const char *path, struct http_call *call)
{
    const char *pattern = route->path;
    size_t count = 0;

    while (*pattern && *path) {
        if (*pattern == '{') {
            const char *rest = strchr(pattern, '}') + 1;
            const char end[] = {'/', *rest, 0};
            size_t length = strcspn(path, end);

            if (length == 0 || length >= HTTP_PARAMETER_SIZE)
                return false;
            if (call)
                g_strlcpy(call->parameters[count], path, length + 1);
            count++;
            path += length;
            pattern = rest;
        } else if (*pattern++ != *path++) {
            return false;
        }
    }
    return !*pattern && !*path;
}

static bool takes(const struct http_route *route, const char *method)
{
    return strcmp(route->method, method) == 0 || (strcmp(method, MHD_HTTP_METHOD_HEAD) == 0 &&
                                                  strcmp(route->method, MHD_HTTP_METHOD_GET) == 0);
}

// The route of a request, with its parameters in `call`, if that is not NULL. NULL: there is none;
// then *ret_allowed has the methods that the path takes, "" where nothing is there, which the
// caller frees.
static const struct http_route *find_route(const struct http_request *request,
                                           struct http_call *call, GString *ret_allowed)
{
    for (size_t i = 0; i < ARRAY_LENGTH(routes_table); i++) {
        const struct http_route *route = &routes_table[i];

        if (!fits(route, request->path, call))
            continue;
        if (takes(route, request->method))
            return route;
        g_string_append_printf(ret_allowed, "%s%s%s", ret_allowed->len ? ", " : "", route->method,
                               strcmp(route->method, MHD_HTTP_METHOD_GET) == 0 ? ", HEAD" : "");
    }
    return NULL;
}

static HTTP_RESULT reply_unknown(struct http_routes *routes, const struct http_request *request,
                                 enum config_role role)
{
    g_autofree char *text = NULL;
    GString *list = g_string_new(NULL);

    // The methods of a path stand one after the other.
    for (size_t i = 0; i < ARRAY_LENGTH(routes_table); i++) {
        if (i == 0 || strcmp(routes_table[i].path, routes_table[i - 1].path) != 0)
            g_string_append_printf(list, "%s%s", i ? ", " : "", routes_table[i].path);
    }
    text = g_strconcat("no such page; allowed are ", list->str,
                       "; streams are served by RTSP: ", find_text(routes, TEXT_URLS, role), NULL);
    g_string_free(list, TRUE);
    return http_refuse_text(request->connection, MHD_HTTP_NOT_FOUND, text);
}

// 301 is known to all clients, but they may then send GET in place of another method, which 308
// (RFC 9110, section 15.4.9) forbids. Neither is kept by a browser: replies have no-store.
static HTTP_RESULT send_to_https(const struct http_request *request)
{
    g_autofree char *url = http_check_https(request);
    const struct http_header headers[] = {
        {MHD_HTTP_HEADER_LOCATION, url},
        {MHD_HTTP_HEADER_CONNECTION, "close"},
    };
    char *text;

    if (!url) {
        return http_refuse_with(request->connection, MHD_HTTP_BAD_REQUEST,
                                MHD_HTTP_HEADER_CONNECTION, (const char *const[]){"close"}, 1,
                                "this port takes https alone (http.tls)", NULL);
    }
    text = g_strdup_printf("this port takes https alone (http.tls): %s\n", url);
    return http_reply_bytes(
        request->connection,
        http_is_read(request) ? MHD_HTTP_MOVED_PERMANENTLY : MHD_HTTP_PERMANENT_REDIRECT,
        "text/plain; charset=utf-8", headers, ARRAY_LENGTH(headers), text, strlen(text));
}

// All that edged-mqtt needs.
static bool is_for_broker(const struct http_route *route)
{
    static const char *const paths[] = {
        "/v1/status",
        "/v1/events",
        "/v1/config",
        "/v1/config/schema",
        "/v1/cameras/{camera}/record",
        "/snapshot.jpg",
        NULL,
    };

    return g_strv_contains(paths, route->path);
}

// ONVIF's clients may know no TLS.
static bool is_plain(const struct http_routes *routes, const struct http_route *route)
{
    return (route->reply == onvif_route_service || route->reply == onvif_route_part) &&
           onvif_route_is_plain(routes->model);
}

static HTTP_RESULT refuse(void *context, const struct http_request *request, bool *ret_refused)
{
    const struct http_routes *routes = context;
    const struct http_check_fault *fault = http_check_fault(request);

    if (fault) {
        *ret_refused = true;
        return http_refuse_with(request->connection, MHD_HTTP_BAD_REQUEST,
                                MHD_HTTP_HEADER_CONNECTION, (const char *const[]){"close"}, 1,
                                fault->got, fault->allowed);
    }
    GString *allowed = g_string_new(NULL);
    const struct http_route *route = find_route(request, NULL, allowed);
    HTTP_RESULT result;

    if (request->lacks_tls && !(route && is_plain(routes, route))) {
        g_string_free(allowed, TRUE);
        *ret_refused = true;
        return send_to_https(request);
    }

    result = access_check(&routes->access, route ? route->role : CONFIG_ROLE_VIEWER,
                          route && !http_is_read(request), request, ret_refused);
    if (!*ret_refused && route && !is_for_broker(route) &&
        access_is_broker(&routes->access, request)) {
        *ret_refused = true;
        result = http_refuse_text(request->connection, MHD_HTTP_FORBIDDEN,
                                  "edged-mqtt may not ask for that");
    }
    if (!*ret_refused && !route && (allowed->len || !http_is_read(request))) {
        *ret_refused = true;
        result = http_refuse_method(request->connection, allowed->len ? allowed->str : "GET, HEAD");
    }
    g_string_free(allowed, TRUE);
    return result;
}

static HTTP_RESULT reply(void *context, const struct http_request *request)
{
    struct http_routes *routes = context;
    GString *allowed = g_string_new(NULL);
    struct http_call call = {
        .routes = routes,
        .model = routes->model,
        .server = routes->server,
        .request = request,
        .connection = request->connection,
        .page = routes->page,
        .access = &routes->access,
        .pull_points = routes->pull_points,
        .waiting = routes->waiting,
        .is_stopping = routes->is_stopping,
        .role = access_role(&routes->access, request),
    };
    const struct http_route *route = find_route(request, &call, allowed);

    g_string_free(allowed, TRUE);
    if (routes->is_stopping && !request->waiting->drop) {
        return http_refuse_text(request->connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                                "edged is stopping");
    }
    if (request->body_size > HTTP_BODY_MAX_BYTES) {
        return http_refuse(request->connection, 413, NULL, "the body is too large,",
                           "up to 64 KiB");
    }
    return route ? route->reply(&call) : reply_unknown(routes, request, call.role);
}

// A session ends at its logout, after its time, and with its user.
static bool may_go_on(void *context, const struct account_login *login)
{
    const struct http_access *access = &((struct http_routes *)context)->access;

    return !login->session ||
           sessions_go_on(access->sessions, access->account, login->session, clock_now_ns());
}

int http_routes_new(const struct http_routes_base *base,
                    const struct http_server_settings *settings, struct error *error,
                    struct http_routes **ret_routes)
{
    struct http_routes *routes = g_new0(struct http_routes, 1);
    struct http_server_settings all = *settings;
    int r;

    routes->page = base->page;
    routes->model = base->model;
    routes->pull_points = base->pull_points;
    routes->access = base->access;
    routes->waiting = g_ptr_array_new();
    routes->access.encrypted = settings->certificate;
    if (!routes->access.is_local)
        access_name_cookie(&routes->access, listener_port(settings->fd));
    all.handler = (struct http_handler){refuse, reply, may_go_on, routes};
    r = http_server_new(&all, error, &routes->server);
    if (r < 0) {
        http_routes_free(routes);
        return r;
    }
    *ret_routes = routes;
    return 0;
}

void http_routes_recheck(struct http_routes *routes)
{
    forget_texts(routes);
    http_server_hang_up_strangers(routes->server, routes->access.account, CONFIG_ROLE_VIEWER);
}

void http_routes_limit(struct http_routes *routes, const struct http_limits *limits)
{
    http_server_limit(routes->server, limits);
}

void http_routes_show(struct http_routes *routes, struct certificate *certificate)
{
    http_server_show(routes->server, certificate);
}

void http_routes_stop_listening(struct http_routes *routes)
{
    http_server_stop_listening(routes->server);
}

void http_routes_stop(struct http_routes *routes)
{
    routes->is_stopping = true;
    http_streams_stop(routes->server);
}

void http_routes_wake(struct http_routes *routes)
{
    http_wake_all(routes->waiting);
}

void http_routes_free(struct http_routes *routes)
{
    if (!routes)
        return;
    routes->is_stopping = true;
    if (routes->server) {
        http_streams_end(routes->server);
        for (unsigned run = 0; run < LAST_RUNS; run++)
            http_server_run(routes->server);
        http_server_free(routes->server);
    }
    forget_texts(routes);
    g_ptr_array_unref(routes->waiting);
    g_free(routes);
}
