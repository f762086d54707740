// The RTSP server on a loopback port with one stream, "/front/edges", and clients of the test's own
// in the same thread: whoever waits for an answer lets the server run.
#pragma once

#include "tests/unit/stopwatch.h"
#include "tests/unit/unit.h"

#include "daemon/front/account/account.h"
#include "daemon/front/model/mounts.h"
#include "daemon/front/rtsp/rtsp_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

struct rtsp_bed {
    struct config *config;
    struct account *account;
    struct stream *stream;
    GHashTable *mounts;
    struct rtsp_server *server;
    char url[200]; // of the stream
};

// `settings`: more settings of rtsp.
static inline struct rtsp_bed *rtsp_bed_new_with(const char *settings)
{
    struct rtsp_bed *bed = calloc(1, sizeof *bed);
    g_autofree char *text = g_strdup_printf("rtsp = { port = 0; %s };", settings);
    struct error error = {0};

    assert_int_equal(config_parse(text, "test.conf", stderr, &bed->config), 0);
    assert_int_equal(account_new(bed->config, NULL, &error, &bed->account), 0);
    assert_int_equal(stream_new("/front/edges", &payload_h264, 4000, &bed->stream), 0);
    bed->mounts = mounts_new();
    mounts_add(bed->mounts, "/front/edges", bed->stream, CONFIG_ROLE_VIEWER);
    if (rtsp_server_new(bed->config, bed->mounts, bed->account, &error, &bed->server) < 0)
        fail_msg("%s", error.text);
    snprintf(bed->url, sizeof bed->url, "%s/front/edges", rtsp_server_url(bed->server));
    return bed;
}

// `limits`: settings of rtsp.limits.
static inline struct rtsp_bed *rtsp_bed_new(const char *limits)
{
    g_autofree char *settings = g_strdup_printf("limits = { %s };", limits);

    return rtsp_bed_new_with(settings);
}

static inline void rtsp_bed_free(struct rtsp_bed *bed)
{
    rtsp_server_free(bed->server);
    while (g_main_context_iteration(NULL, FALSE)) {
    }
    g_hash_table_unref(bed->mounts);
    stream_unref(bed->stream);
    account_free(bed->account);
    config_free(bed->config);
    free(bed);
}

// A key frame: parameter sets and `size` bytes of a slice.
static inline void rtsp_bed_send_frame(struct rtsp_bed *bed, size_t size)
{
    static const uint8_t sets[] = {0, 0, 0,    1,    0x67, 0x42, 0xc0, 0x1f, 0x99, 0, 0,
                                   0, 1, 0x68, 0xce, 0x3c, 0x80, 0,    0,    0,    1, 0x65};
    struct link_access_unit life = {.captured_ns = clock_now_ns(), .key_frame = true};
    uint8_t *payload = malloc(sizeof life + sizeof sets + size);

    memcpy(payload, &life, sizeof life);
    memcpy(payload + sizeof life, sets, sizeof sets);
    memset(payload + sizeof life + sizeof sets, 0xaa, size);
    assert_int_equal(
        stream_take_access_unit(bed->stream, payload, sizeof life + sizeof sets + size), 0);
}

struct rtsp_client {
    int fd;
    bool ended; // by the server
    bool reset; // by a reset
    size_t size;
    char bytes[65536]; // received and not taken yet
};

static inline void client_connect(struct rtsp_client *client, const struct rtsp_bed *bed)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int port;

    *client = (struct rtsp_client){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    assert_int_equal(sscanf(rtsp_server_url(bed->server), "rtsp://127.0.0.1:%d", &port), 1);
    address.sin_port = htons((uint16_t)port);
    assert_int_equal(connect(client->fd, (const struct sockaddr *)&address, sizeof address), 0);
}

// Lets the server run, and reads what has come.
static inline void client_turn(struct rtsp_client *client)
{
    struct pollfd wait = {.fd = client->fd, .events = POLLIN};

    while (g_main_context_iteration(NULL, FALSE)) {
    }
    if (client->ended || poll(&wait, 1, 1) <= 0)
        return;
    ssize_t size = recv(client->fd, client->bytes + client->size,
                        sizeof client->bytes - 1 - client->size, MSG_DONTWAIT);
    client->ended = size <= 0;
    client->reset = size < 0;
    client->size += size > 0 ? (size_t)size : 0;
    client->bytes[client->size] = '\0';
}

static inline void client_send(struct rtsp_client *client, const void *bytes, size_t size)
{
    size_t sent = 0;

    while (sent < size) {
        ssize_t n =
            send(client->fd, (const char *)bytes + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno != EAGAIN) {
            return; // the server has hung up
        }
        sent += n > 0 ? (size_t)n : 0;
        client_turn(client);
    }
}

static inline void client_take(struct rtsp_client *client, size_t size)
{
    memmove(client->bytes, client->bytes + size, client->size - size + 1);
    client->size -= size;
}

// Takes an interleaved packet that lies in front. Whether there was one.
static inline bool client_take_packet(struct rtsp_client *client, int *ret_channel,
                                      uint8_t *ret_bytes, size_t *ret_size)
{
    const uint8_t *bytes = (const uint8_t *)client->bytes;
    size_t size = client->size >= 4 ? (size_t)bytes[2] << 8 | bytes[3] : 0;

    if (client->size < 4 + size || bytes[0] != '$')
        return false;
    *ret_channel = bytes[1];
    *ret_size = size;
    memcpy(ret_bytes, bytes + 4, size);
    client_take(client, 4 + size);
    return true;
}

// The size of the reply that lies in front, head and body; 0: it is not complete.
static inline size_t client_reply_size(const struct rtsp_client *client)
{
    const char *end = client->size ? strstr(client->bytes, "\r\n\r\n") : NULL;
    const char *length = end ? strstr(client->bytes, "Content-Length: ") : NULL;
    size_t size = end ? (size_t)(end + 4 - client->bytes) : 0;

    size += length && length < end ? strtoul(length + 16, NULL, 10) : 0;
    return size <= client->size ? size : 0;
}

// The next reply; packets before it are dropped. The caller frees it (g_free). NULL: the server
// hung up instead.
static inline char *client_read_reply(struct rtsp_client *client)
{
    int64_t begin_ns = clock_now_ns();
    uint8_t packet[65535];
    size_t size;
    int channel;

    while (client_take_packet(client, &channel, packet, &size) ||
           (size = client_reply_size(client)) == 0) {
        if (client->ended)
            return NULL;
        assert_true(clock_now_ns() - begin_ns < PATIENCE_NS);
        client_turn(client);
    }
    char *reply = g_strndup(client->bytes, size);
    client_take(client, size);
    return reply;
}

// Sends "METHOD url RTSP/1.0" with CSeq 7 and `lines`, each of which ends in CR LF; `url` NULL: the
// stream's. Returns the reply as above.
static inline char *client_ask(struct rtsp_client *client, const struct rtsp_bed *bed,
                               const char *method, const char *url, const char *lines)
{
    g_autofree char *request =
        g_strdup_printf("%s %s RTSP/1.0\r\nCSeq: 7\r\n%s\r\n", method, url ? url : bed->url, lines);

    client_send(client, request, strlen(request));
    return client_read_reply(client);
}

static inline int status_of(const char *reply)
{
    int status = 0;

    assert_non_null(reply);
    assert_int_equal(sscanf(reply, "RTSP/1.0 %d ", &status), 1);
    return status;
}

// The status of the reply to a request.
static inline int client_status(struct rtsp_client *client, const struct rtsp_bed *bed,
                                const char *method, const char *lines)
{
    g_autofree char *reply = client_ask(client, bed, method, NULL, lines);

    return status_of(reply);
}

// Plays the stream interleaved. Returns the line "Session: …" for the requests to come (g_free).
static inline char *client_play(struct rtsp_client *client, const struct rtsp_bed *bed)
{
    g_autofree char *reply =
        client_ask(client, bed, "SETUP", NULL, "Transport: RTP/AVP/TCP;unicast\r\n");
    const char *session = strstr(reply, "Session: ");

    assert_int_equal(status_of(reply), 200);
    assert_non_null(session);
    char *line = g_strdup_printf("%.*s\r\n", (int)strcspn(session, ";\r"), session);
    assert_int_equal(client_status(client, bed, "PLAY", line), 200);
    return line;
}

// Waits until the server hangs up.
static inline void client_wait_end(struct rtsp_client *client)
{
    int64_t begin_ns = clock_now_ns();

    while (!client->ended) {
        assert_true(clock_now_ns() - begin_ns < PATIENCE_NS);
        client->size = 0;
        client_turn(client);
    }
}

static inline void client_finish(struct rtsp_client *client)
{
    close(client->fd);
}
