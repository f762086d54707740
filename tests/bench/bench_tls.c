// The cost of TLS for the loop that serves all viewers: a handshake, a crowd of them, and a
// megabyte of packets.
//
//   bench_tls [--runs N]        never fails by time
#include "tests/bench/bench.h"

#include "daemon/front/account/account.h"
#include "daemon/front/model/mounts.h"
#include "daemon/front/rtsp/rtsp_server.h"
#include "daemon/front/rtsp/wire_tls.h"

#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define RUNS_MAX 2000
#define PARTS 64 // packets of an access unit, a header and a body each
#define HEAD 16u
#define BODY 1400u
#define ROUNDS 400
#define CROWD 50 // clients that come at once

struct peers {
    struct wire *wire;
    gnutls_session_t client;
    int fd; // the client's
};

static gnutls_certificate_credentials_t credentials;

static int64_t thread_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static void must(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "bench_tls: %s failed\n", what);
        exit(1);
    }
}

// Connects a client that wants `priority`; returns the server's part of the time, and in
// *ret_longest its longest step.
static int64_t connect_peers(struct peers *peers, struct certificate *certificate,
                             const char *priority, int64_t *ret_longest)
{
    int at_client = GNUTLS_E_AGAIN, at_server = -1, fds[2];
    int64_t spent = 0, begin;

    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0, "socket");
    gnutls_init(&peers->client, GNUTLS_CLIENT | GNUTLS_NONBLOCK);
    must(gnutls_priority_set_direct(peers->client, priority, NULL) == 0, "priority");
    gnutls_credentials_set(peers->client, GNUTLS_CRD_CERTIFICATE, credentials);
    gnutls_transport_set_int(peers->client, fds[1]);
    peers->fd = fds[1];
    begin = thread_ns();
    must(wire_new_tls(fds[0], certificate, &peers->wire) == 0, "wire");
    spent += thread_ns() - begin;
    *ret_longest = spent;
    while (at_client || at_server) {
        int64_t step;

        at_client = at_client ? gnutls_handshake(peers->client) : 0;
        must(at_client == 0 || at_client == GNUTLS_E_AGAIN, "the client's handshake");
        begin = thread_ns();
        at_server = at_server ? wire_handshake(peers->wire) : 0;
        step = thread_ns() - begin;
        spent += step;
        *ret_longest = step > *ret_longest ? step : *ret_longest;
    }
    return spent;
}

static void disconnect_peers(struct peers *peers)
{
    wire_free(peers->wire);
    gnutls_deinit(peers->client);
    close(peers->fd);
}

static void bench_handshake(const char *name, struct certificate *certificate, const char *priority,
                            unsigned runs)
{
    static int64_t times[RUNS_MAX], steps[RUNS_MAX];
    struct peers peers;

    for (unsigned i = 0; i < runs; i++) {
        times[i] = connect_peers(&peers, certificate, priority, &steps[i]);
        disconnect_peers(&peers);
    }
    printf("handshake %-22s %7.0f us, longest step %7.0f us\n", name, median_us(times, runs),
           median_us(steps, runs));
}

// A server that listens for TLS at the address that is returned.
static struct rtsp_server *make_server(struct config *config, struct account *account,
                                       struct certificate *certificate, struct sockaddr_in *address)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    socklen_t size = sizeof *address;
    struct rtsp_server *server;
    struct error error;

    *address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    must(bind(fd, (const struct sockaddr *)address, size) == 0 && listen(fd, CROWD) == 0 &&
             getsockname(fd, (struct sockaddr *)address, &size) == 0,
         "listening");
    must(rtsp_server_new(config, mounts_new(), account, &error, &server) == 0, "the server");
    rtsp_server_take_tls(server, ntohs(address->sin_port), fd, certificate);
    return server;
}

// The server's longest turn of the main loop, until all of the crowd have shaken hands.
static int64_t longest_turn(const gnutls_session_t *clients)
{
    int64_t longest = 0, begin;
    bool done[CROWD] = {false};

    for (unsigned left = CROWD; left > 0;) {
        for (unsigned i = 0; i < CROWD; i++) {
            int r = done[i] ? GNUTLS_E_AGAIN : gnutls_handshake(clients[i]);

            must(r == 0 || r == GNUTLS_E_AGAIN, "a handshake of the crowd's");
            done[i] |= r == 0;
            left -= r == 0;
        }
        begin = thread_ns();
        g_main_context_iteration(NULL, FALSE);
        longest = MAX(longest, thread_ns() - begin);
    }
    return longest;
}

static void bench_crowd(const char *name, struct certificate *certificate)
{
    gnutls_session_t clients[CROWD];
    struct config *config;
    struct account *account;
    struct sockaddr_in address;
    struct error error;
    int fds[CROWD];

    must(config_parse("rtsp = { port = 0; };", "bench", stderr, &config) == 0, "the configuration");
    must(account_new(config, NULL, &error, &account) == 0, "the account");
    struct rtsp_server *server = make_server(config, account, certificate, &address);
    for (unsigned i = 0; i < CROWD; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        must(connect(fds[i], (const struct sockaddr *)&address, sizeof address) == 0, "connecting");
        must(fcntl(fds[i], F_SETFL, O_NONBLOCK) == 0, "a socket");
        gnutls_init(&clients[i], GNUTLS_CLIENT | GNUTLS_NONBLOCK);
        must(gnutls_priority_set_direct(clients[i], "NORMAL", NULL) == 0, "priority");
        gnutls_credentials_set(clients[i], GNUTLS_CRD_CERTIFICATE, credentials);
        gnutls_transport_set_int(clients[i], fds[i]);
    }
    printf("%d at once, %-20s longest turn of the main loop %7.0f us\n", CROWD, name,
           longest_turn(clients) / 1e3);
    for (unsigned i = 0; i < CROWD; i++) {
        gnutls_deinit(clients[i]);
        close(fds[i]);
    }
    rtsp_server_free(server);
    account_free(account);
    config_free(config);
}

static void drain(struct peers *peers)
{
    static uint8_t bytes[65536];

    while (gnutls_record_recv(peers->client, bytes, sizeof bytes) > 0) {
    }
}

static void bench_packets(struct certificate *certificate)
{
    static uint8_t bytes[PARTS][HEAD + BODY];
    struct iovec parts[2 * PARTS];
    struct peers peers;
    int64_t spent = 0, longest;
    double megabytes = 0;

    connect_peers(&peers, certificate, "NORMAL", &longest);
    for (unsigned i = 0; i < PARTS; i++) {
        parts[2 * i] = (struct iovec){bytes[i], HEAD};
        parts[2 * i + 1] = (struct iovec){bytes[i] + HEAD, BODY};
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        for (int sent = 0; sent < PARTS || wire_wants_write(peers.wire);) {
            int64_t begin = thread_ns();
            int taken = wire_send_packets(peers.wire, parts + 2 * (ptrdiff_t)sent, 2, PARTS - sent);

            spent += thread_ns() - begin;
            must(taken >= 0, "sending");
            sent += taken;
            drain(&peers);
        }
        megabytes += sizeof bytes / 1e6;
    }
    printf("packets inside TLS               %7.0f us a megabyte\n", spent / 1e3 / megabytes);
    disconnect_peers(&peers);
}

static double resident_kb(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");

    must(file && fscanf(file, "%*u %lu", &pages) == 1, "statm");
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1024;
}

// Of both ends, of which the server's is about half.
static void bench_memory(struct certificate *certificate)
{
    static struct peers peers[200];
    double before = resident_kb();
    int64_t longest;

    for (unsigned i = 0; i < ARRAY_LENGTH(peers); i++)
        connect_peers(&peers[i], certificate, "NORMAL", &longest);
    printf("a connection, both of its ends   %7.1f KiB\n",
           (resident_kb() - before) / ARRAY_LENGTH(peers));
    for (unsigned i = 0; i < ARRAY_LENGTH(peers); i++)
        disconnect_peers(&peers[i]);
}

static struct certificate *make(const char *folder, const char *algorithm)
{
    g_autofree char *command = g_strdup_printf(
        "sh -c 'cd %s && openssl req -x509 -newkey %s -nodes -days 2 -subj /CN=bench -keyout k "
        "-out c 2>/dev/null && chmod 600 k'",
        folder, algorithm);
    g_autofree char *path = g_build_filename(folder, "c", NULL);
    g_autofree char *key = g_build_filename(folder, "k", NULL);
    struct certificate *certificate = NULL;
    struct error error = {0};
    int status;

    must(g_spawn_command_line_sync(command, NULL, NULL, &status, NULL) && status == 0, "openssl");
    must(certificate_load(path, key, &error, &certificate) == 0, "the certificate");
    g_unlink(path);
    g_unlink(key);
    return certificate;
}

int main(int argc, char **argv)
{
    bool has_runs = argc == 3 && strcmp(argv[1], "--runs") == 0;
    unsigned runs = has_runs ? (unsigned)atoi(argv[2]) : 200;
    g_autofree char *folder = g_dir_make_tmp("edged-XXXXXX", NULL);
    struct certificate *curve = make(folder, "ec -pkeyopt ec_paramgen_curve:P-256");
    struct certificate *rsa2 = make(folder, "rsa:2048"), *rsa4 = make(folder, "rsa:4096");

    runs = runs < 1 ? 1 : runs > RUNS_MAX ? RUNS_MAX : runs;
    gnutls_certificate_allocate_credentials(&credentials);
    bench_handshake("ECDSA P-256, TLS 1.3", curve, "NORMAL", runs);
    bench_handshake("ECDSA P-256, TLS 1.2", curve, "NORMAL:-VERS-ALL:+VERS-TLS1.2", runs);
    bench_handshake("ECDSA P-256, P-384", curve, "NORMAL:-GROUP-ALL:+GROUP-SECP384R1", runs);
    bench_handshake("RSA 2048, TLS 1.3", rsa2, "NORMAL", runs);
    bench_handshake("RSA 4096, TLS 1.3", rsa4, "NORMAL", runs);
    bench_crowd("ECDSA P-256", curve);
    bench_crowd("RSA 4096", rsa4);
    bench_packets(curve);
    bench_memory(curve);
    gnutls_certificate_free_credentials(credentials);
    certificate_unref(curve);
    certificate_unref(rsa2);
    certificate_unref(rsa4);
    g_rmdir(folder);
    return 0;
}
