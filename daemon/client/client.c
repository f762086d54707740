#include "daemon/client/client.h"

#include "config/config.h"
#include "daemon/common/json.h"
#include "daemon/common/service_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT_S 5
#define POST_TIMEOUT_S 60
#define STREAM_TIMEOUT_S 10
#define HEAD_MAX_BYTES 4096
#define REPLY_MAX_BYTES ((size_t)16 << 20)
#define DEFAULT_PORT "9854"
#define TOKEN_DIGITS 64u

struct client {
    struct client_place place;
};

// Where edged is
// ---------------------------------------------------------------------

void client_free(struct client *client)
{
    if (!client)
        return;
    if (client->place.token)
        explicit_bzero(client->place.token, strlen(client->place.token));
    g_free(client->place.token);
    g_free(client->place.socket);
    g_free(client->place.host);
    g_free(client->place.port);
    g_free(client->place.ca);
    g_free(client->place.name);
    g_free(client);
}

void client_cleanup(struct client **client)
{
    client_free(*client);
}

const char *client_name(const struct client *client)
{
    return client->place.name;
}

// The control socket that `configured` names; NULL and "" as of client_get_status().
static int find_socket(const char *configured, struct error *error, struct client_place *place)
{
    static const char service[] = "/run/edged/control.sock";
    _cleanup_(cleanup_free) char *path = NULL;
    bool by_default = !configured || !configured[0];
    int r = control_path_find(by_default ? "" : configured, error, &path);

    if (r < 0)
        return r;
    place->socket = g_strdup(by_default && access(path, F_OK) < 0 ? service : path);
    place->name = g_strdup(place->socket);
    return 0;
}

static int choose_socket(const struct client_options *options, struct error *error,
                         struct client_place *place)
{
    _cleanup_(cleanup_config) struct config *config = NULL;

    if (options->token_file || options->ca || options->fingerprint)
        return error_set(error, -EINVAL, "--token-file, --ca and --fingerprint go with --host");
    // Warnings of the file are its reader's, edged's.
    if (options->config_path && !options->socket &&
        config_load(options->config_path, NULL, &config) < 0 &&
        config_load(options->config_path, stderr, &config) < 0) {
        return error_set(error, -EINVAL, "%s does not name the socket to ask",
                         options->config_path);
    }
    return find_socket(config ? config->control.socket : options->socket, error, place);
}

// Reads "https://camera:9854", "camera:9854", "[::1]", …
static int read_host(const char *text, struct error *error, struct client_place *place)
{
    const char *scheme = strstr(text, "://"), *begin = scheme ? scheme + 3 : text;
    size_t length = strcspn(begin, "/"), host_length;
    char host[CONFIG_HOST_SIZE];

    bool is_https = g_str_has_prefix(text, "https://");
    if ((scheme && !is_https && !g_str_has_prefix(text, "http://")) ||
        strcmp(begin + length, "/") > 0 || !config_read_host(begin, length, host)) {
        return error_set(error, -EINVAL,
                         "--host %s: allowed are https://HOST, http://HOST and HOST, with :PORT or "
                         "without",
                         text);
    }
    host_length = strlen(host) + (*begin == '[' ? 2 : 0);
    place->host = g_strdup(host);
    place->port = length > host_length
                      ? g_strndup(begin + host_length + 1, length - host_length - 1)
                      : g_strdup(DEFAULT_PORT);
    place->tls = scheme ? is_https : !config_is_loopback(host);
    place->name = g_strdup_printf("%s://%.*s:%s", place->tls ? "https" : "http", (int)host_length,
                                  begin, place->port);
    return 0;
}

// 64 hexadecimal digits, with a colon after every two or without, and what `edgectl status` writes
// before them.
static int read_fingerprint(const char *text, struct error *error, struct client_place *place)
{
    const char *at = g_str_has_prefix(text, "SHA-256 ") ? text + strlen("SHA-256 ") : text;
    size_t count = 0;

    while (count < CLIENT_FINGERPRINT_BYTES && g_ascii_isxdigit(at[0]) && g_ascii_isxdigit(at[1])) {
        place->fingerprint[count++] =
            (uint8_t)(g_ascii_xdigit_value(at[0]) * 16 + g_ascii_xdigit_value(at[1]));
        at += 2;
        at += *at == ':' && at[1];
    }
    place->is_pinned = true;
    return count == CLIENT_FINGERPRINT_BYTES && !*at
               ? 0
               : error_set(error, -EINVAL,
                           "--fingerprint %s: allowed are 64 hexadecimal digits, with a colon "
                           "after every two or without",
                           text);
}

// The token, of the file or else the environment; there may be none.
static int read_token(const char *path, struct error *error, struct client_place *place)
{
    const char *given = getenv(CLIENT_TOKEN_VARIABLE);
    g_autoptr(GError) failure = NULL;
    g_autofree char *text = path ? NULL : g_strdup(given);

    if (path && !g_file_get_contents(path, &text, NULL, &failure))
        return error_set(error, -EINVAL, "--token-file: %s", failure->message);
    if (!text || (!path && !*text))
        return 0;
    place->token = g_strdup(g_strchomp(text));
    explicit_bzero(text, strlen(text));
    return strlen(place->token) == TOKEN_DIGITS &&
                   strspn(place->token, "0123456789abcdef") == TOKEN_DIGITS
               ? 0
               : error_set(error, -EINVAL,
                           "%s has no token: `edgectl token` prints one, of 64 hexadecimal digits",
                           path ? path : CLIENT_TOKEN_VARIABLE);
}

static int choose_host(const struct client_options *options, struct error *error,
                       struct client_place *place)
{
    int r;

    if (options->config_path || options->socket)
        return error_set(error, -EINVAL, "--host does not go with --config and --socket");
    r = read_host(options->host, error, place);
    if (r == 0 && !place->tls && (options->ca || options->fingerprint))
        return error_set(error, -EINVAL, "%s is not inside TLS: use https://", place->name);
    place->ca = g_strdup(options->ca);
    r = r == 0 && options->fingerprint ? read_fingerprint(options->fingerprint, error, place) : r;
    return r < 0 ? r : read_token(options->token_file, error, place);
}

int client_new(const struct client_options *options, struct error *error,
               struct client **ret_client)
{
    struct client *client = g_new0(struct client, 1);
    int r = options->host ? choose_host(options, error, &client->place)
                          : choose_socket(options, error, &client->place);

    if (r < 0) {
        client_free(client);
        return r;
    }
    *ret_client = client;
    return 0;
}

// Requests and replies
// ---------------------------------------------------------------------

static int explain(const struct client *client, int code, struct error *error)
{
    return code == -EAGAIN
               ? error_set(error, -ETIMEDOUT, "%s: edged does not answer", client->place.name)
               : error_set(error, code, "%s: %s", client->place.name, strerror(-code));
}

// Connects and sends a request, whose `headers` end in "\r\n" each.
static int send_request(const struct client *client, const char *method, const char *page,
                        const char *headers, const char *body, struct error *error,
                        struct client_wire **ret_wire)
{
    const struct client_place *place = &client->place;
    const char *host = place->socket ? "edged" : strstr(place->name, "://") + strlen("://");
    _cleanup_(client_wire_cleanup) struct client_wire *wire = NULL;
    int r = client_wire_open(place, TIMEOUT_S, error, &wire);

    if (r < 0)
        return r;
    char *request = g_strdup_printf("%s %s HTTP/1.0\r\nHost: %s\r\n%s%s%s%s\r\n%s", method, page,
                                    host, place->token ? "Authorization: Bearer " : "",
                                    place->token ? place->token : "", place->token ? "\r\n" : "",
                                    headers, body);
    r = client_wire_send(wire, request);
    explicit_bzero(request, strlen(request));
    g_free(request);
    if (r < 0)
        return explain(client, r, error);
    *ret_wire = TAKE(wire);
    return 0;
}

static int read_status(const struct client *client, const char *head, struct error *error)
{
    int status;

    return sscanf(head, "HTTP/1.%*1[01] %3d", &status) == 1
               ? status
               : error_set(error, -EPROTO,
                           "%s: what listens there speaks no HTTP: is it edged, and not https?",
                           client->place.name);
}

// Reads the head of a reply and not a byte of its body. Returns the status.
static int read_head(const struct client *client, struct client_wire *wire,
                     char head[HEAD_MAX_BYTES], struct error *error)
{
    size_t used = 0;
    ssize_t count = 1;

    while (count > 0 && (used < 4 || memcmp(head + used - 4, "\r\n\r\n", 4) != 0)) {
        count = used + 1 < HEAD_MAX_BYTES ? client_wire_receive(wire, head + used, 1) : 0;
        if (count < 0)
            return explain(client, (int)count, error);
        used += (size_t)count;
    }
    head[count > 0 ? used : 0] = 0; // one that is cut short is none
    return read_status(client, head, error);
}

// How long the head says that the body is; SIZE_MAX: it does not.
static size_t body_length(const char *head)
{
    static const char name[] = "\r\nContent-Length:";
    const char *found = strcasestr(head, name);

    return found ? strtoul(found + strlen(name), NULL, 10) : SIZE_MAX;
}

// Reads as much as the head says, or else up to the end of the connection. The body is a text and
// its control characters are replaced, or is of *ret_size bytes where that is not NULL. The caller
// frees *ret_body.
static int read_body(const struct client *client, struct client_wire *wire, const char *head,
                     struct error *error, char **ret_body, size_t *ret_size)
{
    size_t length = body_length(head), size = 0, used = 0;
    _cleanup_(cleanup_free) char *body = NULL;
    ssize_t count = 1;

    while (count > 0 && used < length) {
        if (size - used < 2) {
            char *larger = size < REPLY_MAX_BYTES ? realloc(body, size + 65536) : NULL;

            if (!larger)
                return error_set(error, -ENOMEM, "%s: the reply is too long", client->place.name);
            body = larger;
            size += 65536;
        }
        count = client_wire_receive(wire, body + used, size - used - 1);
        if (count < 0)
            return explain(client, (int)count, error);
        used += (size_t)count;
    }
    if (length != SIZE_MAX && length != used)
        return error_set(error, -EPROTO, "%s: edged's reply is cut short", client->place.name);
    char *text = body ? TAKE(body) : malloc(1);
    if (!text)
        return error_set(error, -ENOMEM, "out of memory");
    text[used] = 0;
    if (ret_size)
        *ret_size = used;
    else
        json_replace_controls(text);
    *ret_body = text;
    return 0;
}

// Advice on a refusal; "" if there is none.
static const char *find_hint(const struct client *client, int status)
{
    if (status != 401 || client->place.socket)
        return "";
    return client->place.token ? ": it does not know this token"
                               : "; give a token by --token-file or in " CLIENT_TOKEN_VARIABLE;
}

// Says why edged refuses a request: the sentence of its JSON, or the status and all of its reply.
static int refused(const struct client *client, int status, const char *body, struct error *error)
{
    g_autoptr(JsonObject) reply = NULL;
    const char *sentence = client_parse(body, NULL, &reply) == 0 ? get_string(reply, "error") : "";
    g_autofree char *unknown = g_strchomp(g_strdup_printf("status %d: %s", status, body));

    // It is the edged of this machine unless another one is named.
    return error_set(error, status == 503 ? -EAGAIN : -EINVAL, "%s%s%.300s%s",
                     client->place.socket ? "" : client->place.name,
                     client->place.socket ? "" : ": ", *sentence ? sentence : unknown,
                     find_hint(client, status));
}

static int ask(const struct client *client, const char *method, const char *page, const char *json,
               int timeout_s, struct error *error, char **ret_body, size_t *ret_size)
{
    g_autofree char *headers =
        json ? g_strdup_printf("Content-Type: application/merge-patch+json\r\n"
                               "Content-Length: %zu\r\n",
                               strlen(json))
             : g_strdup("");
    _cleanup_(client_wire_cleanup) struct client_wire *wire = NULL;
    _cleanup_(cleanup_free) char *body = NULL;
    char head[HEAD_MAX_BYTES];
    int r = send_request(client, method, page, headers, json ? json : "", error, &wire), status;

    if (r < 0)
        return r;
    client_wire_set_timeout(wire, timeout_s);
    status = read_head(client, wire, head, error);
    r = status < 0 ? status : read_body(client, wire, head, error, &body, ret_size);
    if (r < 0)
        return r;
    if (status / 100 != 2) {
        json_replace_controls(body);
        return refused(client, status, body, error);
    }
    *ret_body = TAKE(body);
    return 0;
}

int client_get_bytes(const struct client *client, const char *page, struct error *error,
                     char **ret_body, size_t *ret_size)
{
    return ask(client, "GET", page, NULL, TIMEOUT_S, error, ret_body, ret_size);
}

int client_get(const struct client *client, const char *page, struct error *error, char **ret_body)
{
    return ask(client, "GET", page, NULL, TIMEOUT_S, error, ret_body, NULL);
}

int client_post(const struct client *client, const char *page, const char *json,
                struct error *error, char **ret_body)
{
    return ask(client, "POST", page, json, POST_TIMEOUT_S, error, ret_body, NULL);
}

int client_patch(const struct client *client, const char *page, const char *json,
                 struct error *error, char **ret_body)
{
    return ask(client, "PATCH", page, json, POST_TIMEOUT_S, error, ret_body, NULL);
}

int client_delete(const struct client *client, const char *page, struct error *error)
{
    _cleanup_(cleanup_free) char *body = NULL;

    return ask(client, "DELETE", page, NULL, POST_TIMEOUT_S, error, &body, NULL);
}

int client_begin(const struct client *client, const char *page, struct error *error,
                 struct client_wire **ret_wire)
{
    return send_request(client, "GET", page, "", "", error, ret_wire);
}

int client_read_reply(const struct client *client, const GString *reply, struct error *error,
                      const char **ret_body, size_t *ret_size)
{
    const char *head_end = strstr(reply->str, "\r\n\r\n");
    int status = read_status(client, head_end ? reply->str : "", error);

    if (status < 0)
        return status;
    const char *body = head_end + strlen("\r\n\r\n");
    size_t size = reply->len - (size_t)(body - reply->str);
    if (status / 100 != 2)
        return refused(client, status, body, error);
    if (size != body_length(reply->str))
        return error_set(error, -EPROTO, "%s: edged's reply is cut short", client->place.name);
    *ret_body = body;
    *ret_size = size;
    return 0;
}

// GETs `page` and reads the head of the reply. Its status is 200; else -errno.
static int open_page(const struct client *client, const char *page, const char *headers,
                     char head[HEAD_MAX_BYTES], struct error *error, struct client_wire **ret_wire)
{
    _cleanup_(client_wire_cleanup) struct client_wire *wire = NULL;
    _cleanup_(cleanup_free) char *body = NULL;
    int r = send_request(client, "GET", page, headers, "", error, &wire), status;

    if (r < 0)
        return r;
    client_wire_set_timeout(wire, STREAM_TIMEOUT_S);
    status = read_head(client, wire, head, error);
    if (status == 200) {
        *ret_wire = TAKE(wire);
        return 0;
    }
    r = status < 0 ? status : read_body(client, wire, head, error, &body, NULL);
    return r < 0 ? r : refused(client, status, body, error);
}

int client_download(const struct client *client, const char *page, FILE *file, struct error *error)
{
    _cleanup_(client_wire_cleanup) struct client_wire *wire = NULL;
    char head[HEAD_MAX_BYTES], block[16384];
    size_t left;
    ssize_t count = 1;
    int r = open_page(client, page, "", head, error, &wire);

    left = r < 0 ? 0 : body_length(head);
    while (left > 0 && count > 0) {
        count = client_wire_receive(wire, block, MIN(left, sizeof block));
        if (count > 0 && fwrite(block, 1, (size_t)count, file) < (size_t)count)
            return error_set(error, -errno, "%s", strerror(errno));
        left -= (size_t)MAX(count, 0);
    }
    if (count < 0)
        return explain(client, (int)count, error);
    return r == 0 && left > 0
               ? error_set(error, -EPROTO, "%s: edged's reply is cut short", client->place.name)
               : r;
}

int client_open_stream(const struct client *client, const char *page, const char *last_id,
                       struct error *error, struct client_wire **ret_wire)
{
    g_autofree char *header = last_id ? g_strdup_printf("Last-Event-ID: %s\r\n", last_id) : NULL;
    char head[HEAD_MAX_BYTES];

    return open_page(client, page, header ? header : "", head, error, ret_wire);
}

int client_read_status(const struct client *client, struct error *error, JsonObject **ret_status)
{
    _cleanup_(cleanup_free) char *body = NULL;
    int r = client_get(client, "/v1/status", error, &body);

    return r < 0 ? r : client_parse(body, error, ret_status);
}

int client_get_status(const char *configured, struct error *error, JsonObject **ret_status)
{
    const struct client_options options = {.socket = configured};
    _cleanup_(client_cleanup) struct client *client = NULL;
    int r = client_new(&options, error, &client);

    return r < 0 ? r : client_read_status(client, error, ret_status);
}

int client_parse(const char *text, struct error *error, JsonObject **ret_object)
{
    if (json_parse_object(text, strlen(text), NULL, ret_object) < 0) {
        return error_set(error, -EPROTO,
                         "edged's reply is no JSON object: are both of one version?");
    }
    return 0;
}

int client_parse_array(const char *text, struct error *error, JsonArray **ret_array)
{
    g_autoptr(JsonNode) root = NULL;

    if (json_parse(text, strlen(text), NULL, &root) < 0 || !JSON_NODE_HOLDS_ARRAY(root)) {
        return error_set(error, -EPROTO,
                         "edged's reply is no JSON array: are both of one version?");
    }
    *ret_array = json_node_dup_array(root);
    return 0;
}
