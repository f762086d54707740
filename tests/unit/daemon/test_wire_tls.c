// RTSPS's wire with a client of GnuTLS at the other end of a socket: what is written arrives whole
// and in order whatever the socket takes, and what a client may not do ends it.
#include "tests/unit/unit.h"

#include "daemon/front/rtsp/wire_tls.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/socket.h>

#define TURNS_MAX 100000 // a test that turns round more often than that hangs

struct fixture {
    char *folder;
    struct certificate *certificate;
    gnutls_certificate_credentials_t credentials;
    gnutls_session_t client;
    int fd; // the client's
    struct wire *wire;
    GByteArray *received; // by the client
    unsigned blocked;     // times the wire said so
};

static int setup(void **state)
{
    struct fixture *fixture = g_new0(struct fixture, 1);
    struct error error = {0};

    fixture->folder = g_dir_make_tmp("edged-XXXXXX", NULL);
    g_setenv("STATE_DIRECTORY", fixture->folder, true);
    assert_int_equal(certificate_load("", "", &error, &fixture->certificate), 0);
    assert_int_equal(gnutls_certificate_allocate_credentials(&fixture->credentials), 0);
    fixture->received = g_byte_array_new();
    fixture->fd = -1;
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    g_autofree char *file = g_build_filename(fixture->folder, "tls.pem", NULL);

    wire_free(fixture->wire);
    if (fixture->client)
        gnutls_deinit(fixture->client);
    if (fixture->fd >= 0)
        close(fixture->fd);
    gnutls_certificate_free_credentials(fixture->credentials);
    certificate_unref(fixture->certificate);
    g_byte_array_unref(fixture->received);
    g_unlink(file);
    g_rmdir(fixture->folder);
    g_free(fixture->folder);
    g_free(fixture);
    return 0;
}

static void count_blocked(void *context)
{
    ((struct fixture *)context)->blocked++;
}

// A wire, and a client without TLS yet.
static void open_wire(struct fixture *fixture)
{
    const int small = 4096; // the kernel makes more of it
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    fixture->fd = fds[1];
    assert_int_equal(wire_new_tls(fds[0], fixture->certificate, &fixture->wire), 0);
    assert_int_equal(wire_fd(fixture->wire), fds[0]);
    wire_on_blocked(fixture->wire, count_blocked, fixture);
}

static void begin_client(struct fixture *fixture, const char *priority)
{
    open_wire(fixture);
    assert_int_equal(gnutls_init(&fixture->client, GNUTLS_CLIENT | GNUTLS_NONBLOCK), 0);
    assert_int_equal(gnutls_priority_set_direct(fixture->client, priority, NULL), 0);
    gnutls_credentials_set(fixture->client, GNUTLS_CRD_CERTIFICATE, fixture->credentials);
    gnutls_transport_set_int(fixture->client, fixture->fd);
}

static void connect_client(struct fixture *fixture, const char *priority)
{
    int at_client = GNUTLS_E_AGAIN, at_server = -EAGAIN;

    begin_client(fixture, priority);
    for (int i = 0; at_client || at_server; i++) {
        at_client = at_client ? gnutls_handshake(fixture->client) : 0;
        at_server = at_server ? wire_handshake(fixture->wire) : 0;
        assert_true(at_client == 0 || at_client == GNUTLS_E_AGAIN);
        assert_true(at_server == 0 || at_server == -EAGAIN);
        assert_true(i < TURNS_MAX);
    }
}

// Receives the bytes that have come so far.
static void receive(struct fixture *fixture)
{
    uint8_t bytes[20000];
    ssize_t count;

    while ((count = gnutls_record_recv(fixture->client, bytes, sizeof bytes)) > 0)
        g_byte_array_append(fixture->received, bytes, (guint)count);
    assert_true(count == GNUTLS_E_AGAIN || count == GNUTLS_E_INTERRUPTED);
}

static uint8_t pattern_at(size_t position)
{
    return (uint8_t)(position * 2654435761u >> 16);
}

static void assert_pattern(const struct fixture *fixture, size_t size)
{
    assert_int_equal(fixture->received->len, size);
    for (size_t i = 0; i < size; i++) {
        if (fixture->received->data[i] != pattern_at(i))
            fail_msg("byte %zu of %zu is another", i, size);
    }
}

#define PACKETS 200
#define HEAD 16u
#define BODY 1400u

// Sends packets of two parts while the client reads now and then, as many as `turn` wants.
static void stream_packets(struct fixture *fixture, void (*turn)(struct fixture *fixture, int at))
{
    g_autofree uint8_t *bytes = g_malloc(PACKETS * (HEAD + BODY));
    struct iovec parts[PACKETS * 2];
    int sent = 0, turns = 0;

    for (size_t i = 0; i < PACKETS * (HEAD + BODY); i++)
        bytes[i] = pattern_at(i);
    for (size_t i = 0; i < PACKETS; i++) {
        parts[2 * i] = (struct iovec){bytes + i * (HEAD + BODY), HEAD};
        parts[2 * i + 1] = (struct iovec){bytes + i * (HEAD + BODY) + HEAD, BODY};
    }
    while (sent < PACKETS || wire_wants_write(fixture->wire)) {
        int taken = wire_send_packets(fixture->wire, parts + 2 * (ptrdiff_t)sent, 2,
                                      PACKETS - sent > 50 ? 50 : PACKETS - sent);
        assert_true(taken >= 0);
        sent += taken;
        if (turn)
            turn(fixture, sent);
        receive(fixture);
        assert_true(turns++ < TURNS_MAX);
    }
    receive(fixture);
    assert_pattern(fixture, PACKETS * (HEAD + BODY));
    assert_true(fixture->blocked > 0); // or the socket took all at once, and nothing was tried
}

TEST(test_packets_arrive_whole_through_a_socket_that_blocks, setup, teardown)
{
    connect_client(*state, "NORMAL");
    stream_packets(*state, NULL);
}

TEST(test_packets_arrive_whole_by_tls_1_2, setup, teardown)
{
    connect_client(*state, "NORMAL:-VERS-ALL:+VERS-TLS1.2");
    stream_packets(*state, NULL);
}

// Asks for new keys again and again, in the middle of records.
static void renew_keys(struct fixture *fixture, int at)
{
    uint8_t byte;

    if (at % 10 == 0)
        gnutls_session_key_update(fixture->client, GNUTLS_KU_PEER);
    assert_int_equal(wire_read(fixture->wire, &byte, 1), -EAGAIN);
}

TEST(test_new_keys_in_the_middle_lose_nothing, setup, teardown)
{
    connect_client(*state, "NORMAL:-VERS-ALL:+VERS-TLS1.3");
    stream_packets(*state, renew_keys);
}

TEST(test_a_client_with_small_records_gets_all, setup, teardown)
{
    struct fixture *fixture = *state;
    int at_client = GNUTLS_E_AGAIN, at_server = -EAGAIN;

    begin_client(fixture, "NORMAL");
    assert_int_equal(gnutls_record_set_max_recv_size(fixture->client, 600), 0);
    while (at_client || at_server) {
        at_client = at_client ? gnutls_handshake(fixture->client) : 0;
        at_server = at_server ? wire_handshake(fixture->wire) : 0;
        assert_true(at_server == 0 || at_server == -EAGAIN);
    }
    stream_packets(fixture, NULL);
}

TEST(test_replies_and_packets_keep_their_order, setup, teardown)
{
    struct fixture *fixture = *state;
    char big[60000];
    const struct iovec part = {(void *)"packet", 6};
    int sent = 0;

    memset(big, 'r', sizeof big);
    connect_client(fixture, "NORMAL");
    assert_int_equal(wire_send(fixture->wire, big, sizeof big), 0);
    assert_int_equal(wire_send(fixture->wire, "end", 3), 0);
    while (!sent) {
        sent = wire_send_packets(fixture->wire, &part, 1, 1);
        receive(fixture);
    }
    while (wire_wants_write(fixture->wire)) {
        wire_flush(fixture->wire);
        receive(fixture);
    }
    receive(fixture);
    assert_int_equal(fixture->received->len, sizeof big + 9);
    assert_memory_equal(fixture->received->data, big, sizeof big);
    assert_memory_equal(fixture->received->data + sizeof big, "endpacket", 9);
}

TEST(test_what_is_read_in_part_is_told_of, setup, teardown)
{
    struct fixture *fixture = *state;
    char bytes[16] = "";

    connect_client(fixture, "NORMAL");
    assert_false(wire_has_unread(fixture->wire));
    assert_int_equal(wire_read(fixture->wire, bytes, sizeof bytes), -EAGAIN);
    assert_int_equal(gnutls_record_send(fixture->client, "OPTIONS", 7), 7);
    assert_int_equal(wire_read(fixture->wire, bytes, 0), -EAGAIN);
    assert_int_equal(wire_read(fixture->wire, bytes, 3), 3);
    assert_true(wire_has_unread(fixture->wire));
    assert_int_equal(wire_read(fixture->wire, bytes + 3, 13), 4);
    assert_string_equal(bytes, "OPTIONS");
    assert_false(wire_has_unread(fixture->wire));
}

TEST(test_an_end_is_an_end_with_or_without_a_word, setup, teardown)
{
    struct fixture *fixture = *state;
    char byte;

    connect_client(fixture, "NORMAL");
    gnutls_bye(fixture->client, GNUTLS_SHUT_WR);
    assert_int_equal(wire_read(fixture->wire, &byte, 1), 0);
    wire_free(TAKE(fixture->wire));
    assert_int_equal(gnutls_record_recv(fixture->client, &byte, 1), 0); // it says so itself
    gnutls_deinit(TAKE(fixture->client));
    close(fixture->fd);
    connect_client(fixture, "NORMAL");
    close(TAKE_FD(fixture->fd));
    assert_int_equal(wire_read(fixture->wire, &byte, 1), 0);
}

TEST(test_who_leaves_in_the_handshake_has_failed, setup, teardown)
{
    struct fixture *fixture = *state;

    begin_client(fixture, "NORMAL");
    assert_int_equal(gnutls_handshake(fixture->client), GNUTLS_E_AGAIN);
    assert_int_equal(wire_handshake(fixture->wire), -EAGAIN);
    close(TAKE_FD(fixture->fd));
    assert_true(wire_handshake(fixture->wire) < 0);
    assert_int_not_equal(wire_handshake(fixture->wire), -EAGAIN);
}

TEST(test_negotiating_anew_ends_the_connection, setup, teardown)
{
    struct fixture *fixture = *state;
    char byte;

    connect_client(fixture, "NORMAL:-VERS-ALL:+VERS-TLS1.2");
    assert_int_equal(gnutls_handshake(fixture->client), GNUTLS_E_AGAIN); // a second one
    assert_int_equal(wire_read(fixture->wire, &byte, 1), -EPROTO);
}

TEST(test_keys_cannot_be_renewed_for_ever, setup, teardown)
{
    struct fixture *fixture = *state;
    ssize_t result = -EAGAIN;
    char byte;

    connect_client(fixture, "NORMAL:-VERS-ALL:+VERS-TLS1.3");
    for (int i = 0; result == -EAGAIN && i < TURNS_MAX; i++) {
        gnutls_session_key_update(fixture->client, GNUTLS_KU_PEER); // and reads nothing
        result = wire_read(fixture->wire, &byte, 1);
    }
    assert_true(result < 0 && result != -EAGAIN);
}

TEST(test_a_certificate_outlives_its_wires, setup, teardown)
{
    struct fixture *fixture = *state;

    connect_client(fixture, "NORMAL");
    certificate_unref(TAKE(fixture->certificate)); // as a reload does
    stream_packets(fixture, NULL);
}

RUN_TESTS(NULL, NULL)
