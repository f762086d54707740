#include "daemon/ctl/client.h"

#include "config/config.h"
#include "daemon/front/http/control_socket.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define TIMEOUT_S 5
#define POST_TIMEOUT_S 60
#define HEAD_MAX_BYTES 4096
#define REPLY_MAX_BYTES ((size_t)16 << 20)

static int connect_error(const char *path, int code, struct error *error)
{
    switch (code) {
    case -ENOENT:
    case -ECONNREFUSED:
        return error_set(error, code,
                         "no edged listens on %s: start it with `systemctl start edged`", path);
    case -EACCES:
        return error_set(error, code, "%s: permission denied: join the group edged or use sudo",
                         path);
    case -EAGAIN: // its queue of waiting connections stayed full
        return error_set(error, -ETIMEDOUT, "%s: edged does not answer", path);
    default:
        return error_set(error, code, "%s: %s", path, strerror(-code));
    }
}

static int set_timeout(int fd, int seconds)
{
    struct timeval timeout = {.tv_sec = seconds};

    return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) < 0 ||
                   setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout) < 0
               ? -errno
               : 0;
}

static int connect_path(const char *path, struct error *error)
{
    _cleanup_(cleanup_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (strlen(path) >= sizeof address.sun_path) {
        return error_set(error, -EINVAL, "%s: a unix socket's path has at most %zu bytes", path,
                         sizeof address.sun_path - 1);
    }
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (fd < 0 || set_timeout(fd, TIMEOUT_S) < 0) {
        return error_set(error, -errno, "cannot make a unix socket: %s", strerror(errno));
    }
    if (TEMP_FAILURE_RETRY(connect(fd, (const struct sockaddr *)&address, sizeof address)) < 0) {
        return connect_error(path, -errno, error);
    }
    return TAKE_FD(fd);
}

// A timeout shows as EAGAIN on a blocking socket.
static int io_error(const char *path, struct error *error)
{
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
        return error_set(error, -ETIMEDOUT, "%s: edged does not answer", path);
    }
    return error_set(error, -errno, "%s: %s", path, strerror(errno));
}

// Calls on a socket with a timeout may end with EINTR although no signal is handled, for example
// when the process continues after Ctrl-Z.
static ssize_t receive(int fd, char *bytes, size_t size)
{
    return TEMP_FAILURE_RETRY(recv(fd, bytes, size, 0));
}

// Connects and sends a request, whose `headers` end in "\r\n" each.
static int send_request(const char *path, const char *method, const char *page, const char *headers,
                        const char *body, struct error *error)
{
    _cleanup_(cleanup_close) int fd = connect_path(path, error);
    g_autofree char *request = NULL;
    ssize_t length;

    if (fd < 0) {
        return TAKE_FD(fd);
    }
    request =
        g_strdup_printf("%s %s HTTP/1.0\r\nHost: edged\r\n%s\r\n%s", method, page, headers, body);
    length = (ssize_t)strlen(request);
    if (TEMP_FAILURE_RETRY(send(fd, request, (size_t)length, MSG_NOSIGNAL)) != length) {
        return io_error(path, error);
    }
    return TAKE_FD(fd);
}

// Reads the head of a reply and not a byte of its body. Returns the status.
static int read_head(int fd, const char *path, char head[HEAD_MAX_BYTES], struct error *error)
{
    size_t used = 0;
    ssize_t count = 1;
    int status;

    while (count > 0 && (used < 4 || memcmp(head + used - 4, "\r\n\r\n", 4) != 0)) {
        count = used + 1 < HEAD_MAX_BYTES ? receive(fd, head + used, 1) : 0;
        if (count < 0) {
            return io_error(path, error);
        }
        used += (size_t)count;
    }
    head[used] = 0;
    if (count == 0 || sscanf(head, "HTTP/1.%*1[01] %3d", &status) != 1) {
        return error_set(error, -EPROTO, "%s: what listens there speaks no HTTP: is it edged?",
                         path);
    }
    return status;
}

// Reads up to the end of the connection. The caller frees *ret_body.
static int read_body(int fd, const char *path, const char *head, struct error *error,
                     char **ret_body, size_t *ret_size)
{
    const char *length = strcasestr(head, "\r\nContent-Length:");
    _cleanup_(cleanup_free) char *body = NULL;
    size_t size = 0, used = 0;
    ssize_t count = 1;

    while (count > 0) {
        if (size - used < 2) {
            char *larger = size < REPLY_MAX_BYTES ? realloc(body, size + 65536) : NULL;

            if (!larger) {
                return error_set(error, -ENOMEM, "%s: the reply is too long", path);
            }
            body = larger;
            size += 65536;
        }
        count = receive(fd, body + used, size - used - 1);
        if (count < 0) {
            return io_error(path, error);
        }
        used += (size_t)count;
    }
    body[used] = 0;
    if (length && strtoul(length + strlen("\r\nContent-Length:"), NULL, 10) != used) {
        return error_set(error, -EPROTO, "%s: edged's reply is cut short", path);
    }
    *ret_body = TAKE(body);
    *ret_size = used;
    return 0;
}

// What edged says of a request that it refuses: the sentence of its JSON, or all of it. Borrowed
// from either.
static const char *find_sentence(const char *body, JsonObject **ret_reply)
{
    return client_parse(body, NULL, ret_reply) == 0 ? get_string(*ret_reply, "error") : body;
}

static int refused(const char *path, int status, const char *body, struct error *error)
{
    g_autoptr(JsonObject) reply = NULL;

    return error_set(error, status == 503 ? -EAGAIN : -EINVAL, "%s: edged refuses (%d): %.300s",
                     path, status, find_sentence(body, &reply));
}

static int ask(const char *path, const char *method, const char *page, const char *json,
               int timeout_s, struct error *error, char **ret_body, size_t *ret_size)
{
    g_autofree char *headers =
        json ? g_strdup_printf("Content-Type: application/merge-patch+json\r\n"
                               "Content-Length: %zu\r\n",
                               strlen(json))
             : g_strdup("");
    _cleanup_(cleanup_close) int fd =
        send_request(path, method, page, headers, json ? json : "", error);
    _cleanup_(cleanup_free) char *body = NULL;
    g_autoptr(JsonObject) reply = NULL;
    char head[HEAD_MAX_BYTES];
    int status, r;

    if (fd < 0) {
        return TAKE_FD(fd);
    }
    set_timeout(fd, timeout_s); // if that fails the timeout stays as it is
    status = read_head(fd, path, head, error);
    r = status < 0 ? status : read_body(fd, path, head, error, &body, ret_size);
    if (r < 0) {
        return r;
    }
    if (status != 200 && json) {
        return refused(path, status, body, error);
    }
    if (status != 200) {
        return error_set(error, -EPROTO, "%s: edged answers with status %d: %.300s", path, status,
                         find_sentence(body, &reply));
    }
    *ret_body = TAKE(body);
    return 0;
}

int client_get_bytes(const char *path, const char *page, struct error *error, char **ret_body,
                     size_t *ret_size)
{
    return ask(path, "GET", page, NULL, TIMEOUT_S, error, ret_body, ret_size);
}

int client_get(const char *path, const char *page, struct error *error, char **ret_body)
{
    size_t size;

    return client_get_bytes(path, page, error, ret_body, &size);
}

int client_post(const char *path, const char *page, struct error *error, char **ret_body)
{
    size_t size;

    return ask(path, "POST", page, NULL, POST_TIMEOUT_S, error, ret_body, &size);
}

int client_patch(const char *path, const char *page, const char *json, struct error *error,
                 char **ret_body)
{
    size_t size;

    return ask(path, "PATCH", page, json, POST_TIMEOUT_S, error, ret_body, &size);
}

int client_open_stream(const char *path, const char *page, const char *last_id, struct error *error)
{
    g_autofree char *header = last_id ? g_strdup_printf("Last-Event-ID: %s\r\n", last_id) : NULL;
    _cleanup_(cleanup_close) int fd =
        send_request(path, "GET", page, header ? header : "", "", error);
    _cleanup_(cleanup_free) char *body = NULL;
    char head[HEAD_MAX_BYTES];
    int status = fd < 0 ? fd : read_head(fd, path, head, error);

    if (status < 0 || status == 200) {
        return status < 0 ? status : TAKE_FD(fd);
    }
    size_t size;
    int r = read_body(fd, path, head, error, &body, &size);

    return r < 0 ? r : refused(path, status, body, error);
}

int client_parse(const char *text, struct error *error, JsonObject **ret_object)
{
    g_autoptr(JsonParser) parser = json_parser_new();
    JsonNode *root =
        json_parser_load_from_data(parser, text, -1, NULL) ? json_parser_get_root(parser) : NULL;

    if (!root || !JSON_NODE_HOLDS_OBJECT(root)) {
        return error_set(error, -EPROTO,
                         "edged's reply is no JSON object: are both of one version?");
    }
    *ret_object = json_object_ref(json_node_get_object(root));
    return 0;
}

// The path of the control socket; NULL and "" as of client_get_status(). The caller frees it.
static int find_socket(const char *configured, struct error *error, char **ret_path)
{
    _cleanup_(cleanup_free) char *path = NULL;
    bool by_default = !configured || !configured[0];
    int result = control_socket_path(by_default ? "" : configured, error, &path);

    if (result == 0 && by_default && access(path, F_OK) < 0) {
        return control_socket_path("/run/edged/control.sock", error, ret_path);
    }
    if (result == 0) {
        *ret_path = TAKE(path);
    }
    return result;
}

int client_get_status(const char *configured, struct error *error, JsonObject **ret_status)
{
    _cleanup_(cleanup_free) char *path = NULL, *body = NULL;
    int r = find_socket(configured, error, &path);

    r = r < 0 ? r : client_get(path, "/v1/status", error, &body);
    return r < 0 ? r : client_parse(body, error, ret_status);
}

int client_choose_socket(const char *config_path, const char *socket, struct error *error,
                         char **ret_path)
{
    _cleanup_(cleanup_config) struct config *config = NULL;

    if (config_path && !socket && config_load(config_path, stderr, &config) < 0) {
        return error_set(error, -EINVAL, "%s does not name the socket to ask", config_path);
    }
    return find_socket(config ? config->control.socket : socket, error, ret_path);
}
