// ONVIF over HTTP: who asks, and PullMessages, which waits. The answers are onvif/'s.
//
// The route is open to everybody, because some operations are; the others take a login that is read
// here, out of the header Authorization or out of the SOAP header. A 401 has both HTTP's challenges
// and a fault: clients look at either.
#include "config/schema/schema.h"
#include "daemon/front/http/handlers.h"
#include "daemon/front/onvif/onvif.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_MAX_NS (60 * NS_PER_S)
#define WAIT_NS (5 * NS_PER_S) // without a wish

// A PullMessages that waits for a message.
struct pull_request {
    struct pull_wait wait;
    struct http_stream *stream; // borrowed
};

static void free_pull(void *context)
{
    struct pull_request *pull = context;

    pull_wait_end(&pull->wait);
    g_free(pull);
}

static void wake_pull(void *context)
{
    const struct pull_request *pull = context;

    http_stream_wake(pull->stream);
}

static HTTP_RESULT send_envelope(const struct http_call *call, unsigned status,
                                 const struct http_header *headers, size_t count, char *text)
{
    return http_reply_bytes(call->connection, status, SOAP_CONTENT_TYPE, headers, count, text,
                            strlen(text));
}

static HTTP_RESULT send_fault(const struct http_call *call, const struct soap_request *request,
                              const struct soap_fault *fault)
{
    return send_envelope(call,
                         fault->is_server ? MHD_HTTP_INTERNAL_SERVER_ERROR : MHD_HTTP_BAD_REQUEST,
                         NULL, 0, soap_fault_envelope(request, fault));
}

bool onvif_route_is_plain(const struct model *model)
{
    return model->config->onvif.enabled && model->config->onvif.plain;
}

// Whether nobody between the client and this server can read the request.
static bool is_encrypted(const struct http_call *call)
{
    return call->access->encrypted && !call->request->lacks_tls;
}

// The login
// ---------------------------------------------------------------------

static void check_login(const struct http_call *call, const struct soap_request *soap,
                        struct account_answer *ret_answer)
{
    const struct http_request *request = call->request;
    const struct account_request asked = {
        .method = request->method,
        .uri = request->uri,
        .authorization = http_header_of(request, MHD_HTTP_HEADER_AUTHORIZATION),
        .peer = request->peer,
        .encrypted = is_encrypted(call),
        .role = CONFIG_ROLE_VIEWER,
    };

    if (soap->has_token && !asked.authorization) {
        account_check_username_token(call->access->account, &asked, &soap->token, clock_now_ns(),
                                     request->login, ret_answer);
    } else {
        account_check(call->access->account, &asked, clock_now_ns(), request->login, ret_answer);
    }
}

static HTTP_RESULT refuse_login(const struct http_call *call, const struct soap_request *request,
                                const struct account_answer *answer)
{
    struct http_header headers[ACCOUNT_CHALLENGES_MAX];
    g_autofree char *seconds = g_strdup_printf("%d", answer->retry_after_s);
    struct soap_fault fault;

    if (answer->verdict == ACCOUNT_THROTTLED) {
        headers[0] = (struct http_header){MHD_HTTP_HEADER_RETRY_AFTER, seconds};
        soap_fault_set(&fault, "ter:NotAuthorized", NULL,
                       "too many wrong passwords came from there, try again in %s s", seconds);
        return send_envelope(call, MHD_HTTP_TOO_MANY_REQUESTS, headers, 1,
                             soap_fault_envelope(request, &fault));
    }
    if (answer->verdict == ACCOUNT_FORBIDDEN) {
        soap_fault_set(&fault, "ter:NotAuthorized", NULL,
                       "without users edged answers to clients on this machine alone");
        return send_envelope(call, MHD_HTTP_FORBIDDEN, NULL, 0,
                             soap_fault_envelope(request, &fault));
    }
    if (answer->clock_ahead_s) {
        soap_fault_set(&fault, "ter:NotAuthorized", NULL,
                       "the clocks differ: the client's is %" G_GINT64_FORMAT " s %s, allowed: up "
                       "to %d s",
                       ABS(answer->clock_ahead_s), answer->clock_ahead_s > 0 ? "ahead" : "behind",
                       USERNAME_TOKEN_LIFE_S);
    } else {
        soap_fault_set(&fault, "ter:NotAuthorized", NULL,
                       "a user and a password are needed, as `edgectl passwd --onvif NAME` makes "
                       "them");
    }
    for (size_t i = 0; i < answer->challenge_count; i++)
        headers[i] = (struct http_header){MHD_HTTP_HEADER_WWW_AUTHENTICATE, answer->challenges[i]};
    return send_envelope(call, MHD_HTTP_UNAUTHORIZED, headers, answer->challenge_count,
                         soap_fault_envelope(request, &fault));
}

// Where the client reaches this server
// ---------------------------------------------------------------------

struct reached {
    struct sockaddr_storage local;
    char host[CONFIG_HOST_SIZE + 2]; // "192.168.1.5", "[2001:db8::5]"
    char *base;                      // "http://192.168.1.5:9854"; owned
    char *pictures;                  // the same, inside TLS where pictures are; owned
};

// By the header Host, else by the address that the connection came to. An answer is UTF-8, which a
// header need not be.
static void find_reached(const struct http_call *call, struct reached *ret)
{
    const char *host = http_header_of(call->request, MHD_HTTP_HEADER_HOST);
    const char *scheme = access_is_encrypted(call->access, call->request) ? "https" : "http";
    const char *base_scheme = call->request->lacks_tls ? "http" : scheme;
    char name[CONFIG_HOST_SIZE];
    socklen_t size = sizeof ret->local;
    int fd =
        MHD_get_connection_info(call->connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;

    *ret = (struct reached){0};
    if (getsockname(fd, (struct sockaddr *)&ret->local, &size) < 0)
        ret->local.ss_family = AF_UNSPEC;
    if (host && g_str_is_ascii(host) && config_read_host(host, strlen(host), name) &&
        !strpbrk(name, "/?#@\\")) {
        g_snprintf(ret->host, sizeof ret->host, strchr(name, ':') ? "[%s]" : "%s", name);
        ret->base = g_strdup_printf("%s://%s", base_scheme, host);
        ret->pictures = g_strdup_printf("%s://%s", scheme, host);
    } else {
        struct peer local = peer_of((const struct sockaddr *)&ret->local);
        char address[INET6_ADDRSTRLEN];
        const char *port = strrchr(call->page->shown ? call->page->shown : "", ':');

        peer_name(&local, address);
        g_snprintf(ret->host, sizeof ret->host, strchr(address, ':') ? "[%s]" : "%s", address);
        ret->base = g_strdup_printf("%s://%s%s", base_scheme, ret->host, port ? port : "");
        ret->pictures = g_strdup_printf("%s://%s%s", scheme, ret->host, port ? port : "");
    }
}

// Requests
// ---------------------------------------------------------------------

// Waits for a message. False: there is something to answer, be it a fault.
static bool wait_for_message(const struct http_call *call, const struct onvif_ask *ask,
                             HTTP_RESULT *ret_result)
{
    const char *timeout = soap_request_find(ask->request, "Timeout");
    struct pull_point *point =
        ask->point ? pull_points_find(ask->points, ask->point, ask->user, ask->role) : NULL;
    int64_t wait_ns = WAIT_NS;
    struct pull_request *pull;

    if (timeout)
        soap_read_duration(timeout, g_get_real_time() * NS_PER_US, &wait_ns);
    if (!point)
        return false;
    pull = g_new0(struct pull_request, 1);
    pull->wait.wake = wake_pull;
    pull->wait.context = pull;
    if (!pull_wait_begin(ask->points, point, (unsigned)(MIN(wait_ns, WAIT_MAX_NS) / NS_PER_MS),
                         &pull->wait)) {
        g_free(pull);
        return false;
    }
    const struct http_stream_source source = {.release = free_pull, .context = pull};
    *ret_result = http_wait(call->server, call->request, &source, &pull->stream);
    return true;
}

static HTTP_RESULT answer(const struct http_call *call, const struct onvif_operation *operation,
                          struct onvif_ask *ask, bool has_waited)
{
    HTTP_RESULT result;
    char *text;
    int r;

    if (!has_waited && strcmp(operation->name, ONVIF_PULL) == 0 &&
        wait_for_message(call, ask, &result)) {
        return result;
    }
    text = onvif_reply(operation, ask, &r);
    if (r == 0)
        return send_envelope(call, MHD_HTTP_OK, NULL, 0, text);
    return send_envelope(
        call, ask->fault.is_server ? MHD_HTTP_INTERNAL_SERVER_ERROR : MHD_HTTP_BAD_REQUEST, NULL, 0,
        text);
}

static HTTP_RESULT reply(const struct http_call *call, const struct soap_request *request,
                         const char *camera, const char *point)
{
    const struct account_login *login = call->request->login;
    void *waited = http_take_waiting(call->request);
    struct account_answer verdict = {.verdict = ACCOUNT_ALLOWED};
    const struct onvif_operation *operation;
    struct soap_fault fault;
    struct reached reached;

    if (waited)
        free_pull(waited);
    operation = onvif_find(request, &fault);
    if (!operation)
        return send_fault(call, request, &fault);
    if (!operation->is_open && !waited)
        check_login(call, request, &verdict);
    if (verdict.verdict != ACCOUNT_ALLOWED)
        return refuse_login(call, request, &verdict);
    find_reached(call, &reached);
    struct onvif_ask ask = {
        .model = call->model,
        .points = call->pull_points,
        .request = request,
        .role = operation->is_open ? CONFIG_ROLE_VIEWER : access_role(call->access, call->request),
        .user = login->name,
        .camera = camera,
        .point = point,
        .base = reached.base,
        .pictures = reached.pictures,
        .host = reached.host,
        .local = (const struct sockaddr *)&reached.local,
    };
    HTTP_RESULT result = answer(call, operation, &ask, waited);
    g_free(reached.base);
    g_free(reached.pictures);
    return result;
}

// A client that means to answer a challenge may send its first request without a body, as curl
// does.
static HTTP_RESULT refuse_body(const struct http_call *call, const struct soap_request *request,
                               const struct soap_fault *fault)
{
    struct account_answer verdict = {.verdict = ACCOUNT_ALLOWED};

    if (call->request->body_size == 0)
        check_login(call, request, &verdict);
    return verdict.verdict == ACCOUNT_ALLOWED ? send_fault(call, request, fault)
                                              : refuse_login(call, request, &verdict);
}

static bool is_service(const char *name)
{
    return strcmp(name, ONVIF_DEVICE_PATH) == 0 || strcmp(name, ONVIF_MEDIA_PATH) == 0 ||
           strcmp(name, ONVIF_EVENTS_PATH) == 0;
}

static HTTP_RESULT reply_at(const struct http_call *call, const char *camera, const char *point)
{
    struct soap_request request;
    struct soap_fault fault;
    HTTP_RESULT result;

    if (!call->model->config->onvif.enabled || call->access->is_local) {
        return http_refuse_text(call->connection, MHD_HTTP_NOT_FOUND,
                                call->access->is_local ? "ONVIF is served over TCP alone"
                                                       : "ONVIF is off; onvif.enabled turns it on");
    }
    if (soap_request_parse(call->request->body, call->request->body_size, &request, &fault) == 0)
        result = reply(call, &request, camera, point);
    else
        result = refuse_body(call, &request, &fault);
    soap_request_finish(&request);
    return result;
}

static HTTP_RESULT refuse_path(const struct http_call *call)
{
    return http_refuse_text(call->connection, MHD_HTTP_NOT_FOUND,
                            "no such service; allowed are /onvif/" ONVIF_DEVICE_PATH
                            ", " ONVIF_MEDIA_PATH ", " ONVIF_EVENTS_PATH
                            ", and the same below /onvif/CAMERA");
}

HTTP_RESULT onvif_route_service(struct http_call *call)
{
    return is_service(call->parameters[0]) ? reply_at(call, NULL, NULL) : refuse_path(call);
}

// A camera may be called as the path of pull points; their ids are no names of services.
HTTP_RESULT onvif_route_part(struct http_call *call)
{
    const char *part = call->parameters[0], *name = call->parameters[1];

    if (is_service(name) && schema_name_rule.accepts(part))
        return reply_at(call, part, NULL);
    return strcmp(part, ONVIF_PULL_POINT_PATH) == 0 ? reply_at(call, NULL, name)
                                                    : refuse_path(call);
}
