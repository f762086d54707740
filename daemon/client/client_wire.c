#include "daemon/client/client_wire.h"

#include "daemon/common/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define FINGERPRINT_TEXT_SIZE (3 * CLIENT_FINGERPRINT_BYTES)

struct client_wire {
    int fd, timeout_s;
    gnutls_certificate_credentials_t credentials; // owned; NULL: plain
    gnutls_session_t session;                     // owned; NULL: plain
};

void client_wire_free(struct client_wire *wire)
{
    if (!wire)
        return;
    if (wire->session)
        gnutls_deinit(wire->session);
    if (wire->credentials)
        gnutls_certificate_free_credentials(wire->credentials);
    if (wire->fd >= 0)
        close(wire->fd);
    g_free(wire);
}

void client_wire_cleanup(struct client_wire **wire)
{
    client_wire_free(*wire);
}

static void set_timeout(int fd, int seconds)
{
    const struct timeval timeout = {.tv_sec = seconds};

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
}

void client_wire_set_timeout(struct client_wire *wire, int timeout_s)
{
    wire->timeout_s = timeout_s;
    set_timeout(wire->fd, timeout_s);
}

// Connecting
// ---------------------------------------------------------------------

static int explain_socket(const char *path, int code, struct error *error)
{
    switch (code) {
    case -ENOENT:
    case -ECONNREFUSED:
        return error_set(
            error, code,
            "no edged listens on %s: start it with `systemctl start edged`; if it has ended, "
            "`journalctl -u edged` says why",
            path);
    case -EACCES:
        return error_set(error, code, "%s: permission denied: join the group edged or use sudo",
                         path);
    case -EAGAIN: // its queue of waiting connections stayed full
        return error_set(error, -ETIMEDOUT, "%s: edged does not answer", path);
    default:
        return error_set(error, code, "%s: %s", path, strerror(-code));
    }
}

static int connect_socket(const char *path, int timeout_s, struct error *error)
{
    _cleanup_(cleanup_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (strlen(path) >= sizeof address.sun_path) {
        return error_set(error, -EINVAL, "%s: a unix socket's path has at most %zu bytes", path,
                         sizeof address.sun_path - 1);
    }
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (fd < 0)
        return error_set(error, -errno, "cannot make a unix socket: %s", strerror(errno));
    set_timeout(fd, timeout_s);
    if (TEMP_FAILURE_RETRY(connect(fd, (const struct sockaddr *)&address, sizeof address)) < 0)
        return explain_socket(path, -errno, error);
    return TAKE_FD(fd);
}

// A timeout of a blocking connect() shows as EINPROGRESS.
static int explain_host(const char *name, int code, struct error *error)
{
    switch (code) {
    case -ECONNREFUSED:
        return error_set(error, code,
                         "%s: connection refused: does edged serve HTTP there (http.address)?",
                         name);
    case -EINPROGRESS:
        return error_set(error, -ETIMEDOUT, "%s: no answer", name);
    default:
        return error_set(error, code, "%s: %s", name, strerror(-code));
    }
}

// Connects to the first address of the host that answers.
static int connect_host(const struct client_place *place, int timeout_s, struct error *error)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    struct addrinfo *list = NULL;
    int r = getaddrinfo(place->host, place->port, &hints, &list), fd = -1;

    if (r != 0)
        return error_set(error, -ENOENT, "%s: %s", place->name, gai_strerror(r));
    for (const struct addrinfo *at = list; at && fd < 0; at = at->ai_next) {
        fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        r = fd < 0 ? -errno : 0;
        if (fd >= 0) {
            set_timeout(fd, timeout_s);
            r = TEMP_FAILURE_RETRY(connect(fd, at->ai_addr, at->ai_addrlen)) < 0 ? -errno : 0;
        }
        if (fd >= 0 && r < 0) {
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(list);
    return fd < 0 ? explain_host(place->name, r, error) : fd;
}

static bool leads_to_loopback(int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof address;

    if (getpeername(fd, (struct sockaddr *)&address, &size) < 0)
        return false;
    struct peer peer = peer_of((const struct sockaddr *)&address);
    return peer_is_loopback(&peer);
}

// TLS
// ---------------------------------------------------------------------

static void format_fingerprint(const uint8_t bytes[CLIENT_FINGERPRINT_BYTES],
                               char ret_text[FINGERPRINT_TEXT_SIZE])
{
    for (unsigned i = 0; i < CLIENT_FINGERPRINT_BYTES; i++) {
        snprintf(ret_text + 3 * (size_t)i, 4, "%02X%s", bytes[i],
                 i + 1 < CLIENT_FINGERPRINT_BYTES ? ":" : "");
    }
}

static bool read_fingerprint(gnutls_session_t session, uint8_t ret_bytes[CLIENT_FINGERPRINT_BYTES])
{
    unsigned count = 0;
    const gnutls_datum_t *chain = gnutls_certificate_get_peers(session, &count);
    size_t size = CLIENT_FINGERPRINT_BYTES;

    return chain && count > 0 &&
           gnutls_fingerprint(GNUTLS_DIG_SHA256, &chain[0], ret_bytes, &size) == 0;
}

static int refuse_certificate(const struct client_place *place, gnutls_session_t session,
                              struct error *error)
{
    unsigned status = gnutls_session_get_verify_cert_status(session);
    uint8_t bytes[CLIENT_FINGERPRINT_BYTES] = {0};
    char text[FINGERPRINT_TEXT_SIZE];
    gnutls_datum_t why = {0};
    int r;

    read_fingerprint(session, bytes);
    format_fingerprint(bytes, text);
    if (gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &why, 0) < 0)
        why.data = NULL;
    // GnuTLS ends each of its sentences in a space.
    r = error_set(error, -EPROTO,
                  "%s: %sIf `edgectl status` on that machine shows the fingerprint %s, give it by "
                  "--fingerprint",
                  place->name, why.data ? (const char *)why.data : "", text);
    gnutls_free(why.data);
    return r;
}

static int check_pin(const struct client_place *place, gnutls_session_t session,
                     struct error *error)
{
    uint8_t bytes[CLIENT_FINGERPRINT_BYTES] = {0};
    char text[FINGERPRINT_TEXT_SIZE];

    if (read_fingerprint(session, bytes) && memcmp(bytes, place->fingerprint, sizeof bytes) == 0)
        return 0;
    format_fingerprint(bytes, text);
    return error_set(error, -EPROTO,
                     "%s: its certificate has the fingerprint %s, which is not that of "
                     "--fingerprint",
                     place->name, text);
}

static int shake_hands(const struct client_place *place, gnutls_session_t session,
                       struct error *error)
{
    int r;

    do {
        r = gnutls_handshake(session);
    } while (r == GNUTLS_E_INTERRUPTED ||
             (r < 0 && r != GNUTLS_E_AGAIN && !gnutls_error_is_fatal(r)));
    if (r == GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR)
        return refuse_certificate(place, session, error);
    if (r == GNUTLS_E_AGAIN)
        return error_set(error, -ETIMEDOUT, "%s: edged does not answer", place->name);
    if (r < 0) {
        return error_set(error, -EPROTO, "%s: no TLS is spoken there: %s", place->name,
                         gnutls_strerror(r));
    }
    return place->is_pinned ? check_pin(place, session, error) : 0;
}

static int load_trust(const struct client_place *place, gnutls_certificate_credentials_t trust,
                      struct error *error)
{
    int r = 1;

    if (place->ca) {
        r = gnutls_certificate_set_x509_trust_file(trust, place->ca, GNUTLS_X509_FMT_PEM);
    } else if (!place->is_pinned) {
        gnutls_certificate_set_x509_system_trust(trust); // a machine without any trusts nobody
    }
    return r > 0 ? 0
                 : error_set(error, -EINVAL, "--ca %s: %s", place->ca,
                             r < 0 ? gnutls_strerror(r) : "it has no certificate");
}

static int begin_tls(struct client_wire *wire, const struct client_place *place,
                     struct error *error)
{
    int r = gnutls_certificate_allocate_credentials(&wire->credentials);

    r = r < 0 ? r : gnutls_init(&wire->session, GNUTLS_CLIENT | GNUTLS_NO_SIGNAL);
    r = r < 0 ? r : gnutls_set_default_priority(wire->session);
    r = r < 0 ? r
              : gnutls_credentials_set(wire->session, GNUTLS_CRD_CERTIFICATE, wire->credentials);
    if (r < 0)
        return error_set(error, -EIO, "%s: TLS: %s", place->name, gnutls_strerror(r));
    r = load_trust(place, wire->credentials, error);
    if (r < 0)
        return r;
    if (!g_hostname_is_ip_address(place->host))
        gnutls_server_name_set(wire->session, GNUTLS_NAME_DNS, place->host, strlen(place->host));
    if (!place->is_pinned)
        gnutls_session_set_verify_cert(wire->session, place->host, 0);
    gnutls_transport_set_int(wire->session, wire->fd);
    return shake_hands(place, wire->session, error);
}

static int begin_host(struct client_wire *wire, const struct client_place *place,
                      struct error *error)
{
    if (place->tls)
        return begin_tls(wire, place, error);
    return place->token && !leads_to_loopback(wire->fd)
               ? error_set(error, -EACCES,
                           "%s: a token is sent inside TLS alone: use https:// (http.tls)",
                           place->name)
               : 0;
}

int client_wire_open(const struct client_place *place, int timeout_s, struct error *error,
                     struct client_wire **ret_wire)
{
    struct client_wire *wire = g_new0(struct client_wire, 1);
    int r = 0;

    wire->timeout_s = timeout_s;
    wire->fd = place->socket ? connect_socket(place->socket, timeout_s, error)
                             : connect_host(place, timeout_s, error);
    r = wire->fd < 0 || place->socket ? MIN(wire->fd, 0) : begin_host(wire, place, error);
    if (r < 0) {
        client_wire_free(wire);
        return r;
    }
    *ret_wire = wire;
    return 0;
}

// Bytes
// ---------------------------------------------------------------------

static ssize_t tls_result(ssize_t result)
{
    if (result >= 0)
        return result;
    switch (result) {
    case GNUTLS_E_AGAIN:
        return -EAGAIN;
    case GNUTLS_E_PREMATURE_TERMINATION: // the end, without a word that it is
        return -ECONNRESET;
    default:
        return -EIO;
    }
}

int client_wire_send(struct client_wire *wire, const char *text)
{
    size_t left = strlen(text);

    while (left > 0) {
        ssize_t sent;

        if (wire->session) {
            do {
                sent = gnutls_record_send(wire->session, text, left);
            } while (sent == GNUTLS_E_INTERRUPTED);
            sent = tls_result(sent);
        } else {
            sent = TEMP_FAILURE_RETRY(send(wire->fd, text, left, MSG_NOSIGNAL));
            sent = sent < 0 ? -errno : sent;
        }
        if (sent < 0)
            return (int)sent;
        text += sent;
        left -= (size_t)sent;
    }
    return 0;
}

// Calls on a socket with a timeout may end with EINTR although no signal is handled, for example
// when the process continues after Ctrl-Z. The next call would wait for all of the timeout again.
static ssize_t receive_plain(const struct client_wire *wire, char *bytes, size_t size)
{
    int64_t until_ns = clock_now_ns() + wire->timeout_s * NS_PER_S;
    ssize_t count;

    do {
        count = recv(wire->fd, bytes, size, 0);
    } while (count < 0 && errno == EINTR && clock_now_ns() < until_ns);
    if (count < 0)
        return errno == EINTR ? -EAGAIN : -errno;
    return count;
}

ssize_t client_wire_receive(struct client_wire *wire, char *bytes, size_t size)
{
    ssize_t count;

    if (!wire->session)
        return receive_plain(wire, bytes, size);
    do {
        count = gnutls_record_recv(wire->session, bytes, size);
    } while (count < 0 && count != GNUTLS_E_AGAIN && !gnutls_error_is_fatal((int)count));
    return tls_result(count);
}

int client_wire_stop_waiting(struct client_wire *wire)
{
    fcntl(wire->fd, F_SETFL, fcntl(wire->fd, F_GETFL) | O_NONBLOCK);
    return wire->fd;
}
