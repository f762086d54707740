#include "daemon/ctl/client.h"

#include "daemon/front/control.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define TIMEOUT_S 5
#define FOLLOW_TIMEOUT_S 45
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
    case -EAGAIN: // its queue of those who wait stayed full
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

// What a stream calls for its bytes. Calls on a socket with a timeout end with EINTR even where no
// signal is handled: as the process goes on after Ctrl-Z.
static ssize_t receive(void *socket, char *bytes, size_t size)
{
    const int *fd = socket;

    return TEMP_FAILURE_RETRY(recv(*fd, bytes, size, 0));
}

// Reads up to the end of the connection. The caller frees *ret_reply.
static int read_reply(int fd, const char *path, struct error *error, char **ret_reply)
{
    _cleanup_(cleanup_free) char *reply = NULL;
    size_t size = 0, used = 0;
    ssize_t count;

    for (;;) {
        if (size - used < 2) {
            char *larger = size < REPLY_MAX_BYTES ? realloc(reply, size + 65536) : NULL;

            if (!larger) {
                return error_set(error, -ENOMEM, "%s: the reply is too long", path);
            }
            reply = larger;
            size += 65536;
        }
        count = receive(&fd, reply + used, size - used - 1);
        if (count < 0) {
            return io_error(path, error);
        }
        if (count == 0) {
            break;
        }
        used += count;
    }
    reply[used] = 0;
    *ret_reply = TAKE(reply);
    return 0;
}

// The body of a complete "200" reply, as a pointer into `reply`; NULL and a sentence otherwise.
static const char *find_body(const char *reply, const char *path, struct error *error)
{
    const char *body = strstr(reply, "\r\n\r\n");
    const char *length = strcasestr(reply, "\r\nContent-Length:");
    unsigned status;

    if (!body || sscanf(reply, "HTTP/1.%*1[01] %3u", &status) != 1) {
        error_set(error, -EPROTO, "%s: what listens there speaks no HTTP: is it edged?", path);
        return NULL;
    }
    body += 4;
    if (status != 200) {
        error_set(error, -EPROTO, "%s: edged answers with status %u: %.300s", path, status, body);
        return NULL;
    }
    if (length && length < body &&
        strtoul(length + strlen("\r\nContent-Length:"), NULL, 10) != strlen(body)) {
        error_set(error, -EPROTO, "%s: edged's reply is cut short", path);
        return NULL;
    }
    return body;
}

// A connection that has sent its request.
static int send_request(const char *path, const char *page, struct error *error)
{
    _cleanup_(cleanup_close) int fd = connect_path(path, error);
    char request[512];
    int length;

    if (fd < 0) {
        return TAKE_FD(fd);
    }
    length = snprintf(request, sizeof request, "GET %s HTTP/1.0\r\nHost: edged\r\n\r\n", page);
    if (length >= (int)sizeof request) {
        return error_set(error, -EINVAL, "the request is too long");
    }
    if (TEMP_FAILURE_RETRY(send(fd, request, length, MSG_NOSIGNAL)) != length) {
        return io_error(path, error);
    }
    return TAKE_FD(fd);
}

int client_get(const char *path, const char *page, struct error *error, char **ret_body)
{
    _cleanup_(cleanup_close) int fd = send_request(path, page, error);
    _cleanup_(cleanup_free) char *reply = NULL;
    const char *body;
    int result;

    if (fd < 0) {
        return TAKE_FD(fd);
    }
    result = read_reply(fd, path, error, &reply);
    if (!reply) {
        return result;
    }
    body = find_body(reply, path, error);
    if (!body) {
        return -EPROTO;
    }
    *ret_body = strdup(body);
    return *ret_body ? 0 : error_set(error, -ENOMEM, "out of memory");
}

// `what` is wrong with a head, unless it did not come at all.
static int head_error(FILE *file, const char *path, const char *what, struct error *error)
{
    return ferror(file) ? io_error(path, error) : error_set(error, -EPROTO, "%s: %s", path, what);
}

// Reads the head of a reply, which has to be a "200". Otherwise the reply is read to its end, for
// its sentence.
static int read_head(FILE *file, const char *path, struct error *error)
{
    _cleanup_(cleanup_free) char *line = NULL, *body = NULL;
    size_t size = 0, body_size = 0;
    unsigned status = 0;

    if (getline(&line, &size, file) < 0 || sscanf(line, "HTTP/1.%*1[01] %3u", &status) != 1) {
        return head_error(file, path, "what listens there speaks no HTTP: is it edged?", error);
    }
    while (strcmp(line, "\r\n") != 0) {
        if (getline(&line, &size, file) < 0) {
            return head_error(file, path, "edged's reply is cut short", error);
        }
    }
    if (status != 200) {
        return error_set(error, -EPROTO, "%s: edged answers with status %u: %.300s", path, status,
                         getline(&body, &body_size, file) > 0 ? body : "");
    }
    return 0;
}

int client_follow(const char *path, const char *page, client_line *line, void *context,
                  struct error *error)
{
    _cleanup_(cleanup_close) int fd = send_request(path, page, error);
    _cleanup_(cleanup_free) char *text = NULL;
    size_t size = 0;
    FILE *file;

    if (fd < 0) {
        return TAKE_FD(fd);
    }
    file = fopencookie(&fd, "r", (cookie_io_functions_t){.read = receive});
    if (!file) {
        return error_set(error, -ENOMEM, "out of memory");
    }
    int r = read_head(file, path, error);
    if (r == 0) {
        r = set_timeout(fd, FOLLOW_TIMEOUT_S);
    }
    while (r >= 0 && getline(&text, &size, file) > 0) {
        text[strcspn(text, "\r\n")] = 0;
        r = line(context, text);
    }
    if (r >= 0 && ferror(file)) {
        r = io_error(path, error);
    }
    fclose(file);
    return r;
}

int client_find_socket(const char *configured, struct error *error, char **ret_path)
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
