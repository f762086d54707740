// Two clients of the RTSP server, whole: what they send comes in over wires of memory, and each
// reply and packet is looked at. No client reaches the sessions of the other, nor any session
// without the password where there are users.
//
// The first byte says where the clients are (the bits below). The rest is what the first client
// sends, but for a record separator (0x1e) and the byte behind it, which are what happens next; see
// happen(). Time stands still meanwhile, nothing is random, and what goes out by UDP goes nowhere.
//
// Parsers: daemon/front/rtsp/connection.c daemon/front/rtsp/methods.c daemon/front/rtsp/session.c
// Parsers: daemon/front/rtsp/transport_interleaved.c daemon/front/rtsp/wire.c
#include "tests/fuzz/fuzz_rtsp_client.h"
#include "tests/fuzz/fuzz_system_calls.h"

#include "config/users.h"
#include "daemon/front/rtsp/connection.h"
#include "daemon/front/rtsp/session.h"

#define SEPARATOR 0x1e
#define CLIENTS 2
#define STREAM_KBPS 80     // so little is kept for viewers that large pictures leave them behind,
#define STREAM_BYTES 30000 // such as this one
// Bits of the first byte.
#define USERS 1     // there are users: vera, who may watch, with the password "veravera"
#define ENCRYPTED 2 // the wires are, so that Basic is good enough
#define DESCRIBED 4 // the camera has sent a picture
#define REMOTE 8    // not from this machine
#define IPV6 16
#define MULTICAST 32 // it is offered, by the loopback interface

static struct {
    unsigned flags;
    struct config *config, *config_of_multicast;
    struct account *account;
    struct rtsp_service service;
    struct mount mounts[CLIENTS]; // for viewers, and for admins
    struct client clients[CLIENTS];
    struct client *talker;
} bed;

static void check_connection(const struct connection *connection)
{
    fuzz_claim(connection->unread->len <= CONNECTION_UNREAD_MAX);
    fuzz_claim(connection->sessions->len <= (unsigned)bed.service.limits.sessions_a_connection);
    if (bed.flags & USERS || bed.flags & REMOTE) {
        fuzz_claim(connection->login.allowed || connection->sessions->len == 0);
        fuzz_claim(connection->login.allowed || !connection->wait);
        for (unsigned i = 0; i < connection->sessions->len; i++)
            fuzz_claim(!session_is_of(connection->sessions->pdata[i], &bed.mounts[1]));
    }
}

static void come(struct client *client)
{
    struct sockaddr_storage peer = {.ss_family = bed.flags & IPV6 ? AF_INET6 : AF_INET};

    if (bed.flags & IPV6) {
        struct in6_addr *address = &((struct sockaddr_in6 *)&peer)->sin6_addr;

        *address = in6addr_loopback;
        address->s6_addr[0] = bed.flags & REMOTE ? 0xfd : 0;
    } else {
        ((struct sockaddr_in *)&peer)->sin_addr.s_addr =
            htonl(bed.flags & REMOTE ? 0xc0000207 : INADDR_LOOPBACK);
    }
    client_come(client, &bed.service, &peer, bed.flags & ENCRYPTED);
}

// Frees the connections that have ended, as the server does.
static void reap(void)
{
    for (size_t i = 0; i < CLIENTS; i++) {
        if (bed.clients[i].connection && bed.clients[i].connection->ended)
            client_go(&bed.clients[i]);
    }
}

// Lets the server see to a client. That may cost the other sessions that do not play, and no more.
static void serve(struct client *client)
{
    const struct client *other = &bed.clients[client == &bed.clients[0]];
    uint32_t events = client_is_here(client) ? client_events(client) : 0;
    unsigned sessions, viewers;

    if (!events)
        return;
    sessions = client_is_here(other) ? other->connection->sessions->len : 0;
    viewers = client_is_here(other) ? connection_count_viewers(other->connection) : 0;
    client->connection->watch.ready(client->connection, events);
    fuzz_claim(!client_is_here(other) || (other->connection->sessions->len <= sessions &&
                                          connection_count_viewers(other->connection) == viewers));
}

// Runs the server until there is nothing more to do at this time.
static void run(void)
{
    size_t before, left = SIZE_MAX;
    unsigned sessions = 0;

    do {
        before = left;
        left = 0;
        for (size_t i = 0; i < CLIENTS; i++) {
            serve(&bed.clients[i]);
            left += client_is_here(&bed.clients[i]) ? bed.clients[i].sent->len : 0;
        }
        // A socket for UDP is always writable, even where the network is to be full.
        for (unsigned turn = 0; turn < 16 && g_main_context_iteration(NULL, FALSE); turn++) {
        }
        reap();
    } while (left < before);
    for (size_t i = 0; i < CLIENTS; i++) {
        if (client_is_here(&bed.clients[i])) {
            client_check_received(&bed.clients[i]);
            check_connection(bed.clients[i].connection);
            sessions += bed.clients[i].connection->sessions->len;
        }
    }
    fuzz_claim(bed.service.session_count == sessions);
}

static void pass(int seconds)
{
    fuzz_now_ns += seconds * NS_PER_S;
    for (size_t i = 0; i < CLIENTS; i++) {
        if (client_is_here(&bed.clients[i]))
            connection_tick(bed.clients[i].connection, fuzz_now_ns);
    }
}

static void send_picture(bool key_frame, size_t size)
{
    static const uint8_t sets[] = {0, 0, 0,    1,    0x67, 0x42, 0xc0, 0x1f, 0x99, 0, 0,
                                   0, 1, 0x68, 0xce, 0x3c, 0x80, 0,    0,    0,    1};
    struct link_access_unit life = {.captured_ns = fuzz_now_ns, .key_frame = key_frame};
    size_t head = sizeof life + sizeof sets;
    uint8_t *payload = malloc(head + size);

    fuzz_claim(payload != NULL);
    memcpy(payload, &life, sizeof life);
    memcpy(payload + sizeof life, sets, sizeof sets);
    memset(payload + head, 0xaa, size);
    payload[head] = key_frame ? 0x65 : 0x41;
    fuzz_claim(stream_take_access_unit(bed.mounts[0].stream, payload, head + size) == 0);
}

// A reload that leaves the viewers' stream to admins.
static void take_away(void)
{
    bed.mounts[0].role = CONFIG_ROLE_ADMIN;
    for (size_t i = 0; i < CLIENTS; i++) {
        if (client_is_here(&bed.clients[i]))
            connection_recheck(bed.clients[i].connection);
    }
}

static void happen(uint8_t what)
{
    struct client *client = bed.talker;

    switch (what) {
    case '1': // who talks from here on
    case '2':
        bed.talker = &bed.clients[what - '1'];
        break;
    case 'k':
    case 'd':
        send_picture(what == 'k', 2000);
        break;
    case 'l':
        send_picture(true, STREAM_BYTES);
        break;
    case 's':
        stream_interrupt(bed.mounts[0].stream);
        break;
    case 't':
        pass(1);
        break;
    case 'i':
        pass(11);
        break;
    case 'm':
        pass(RTSP_SESSION_TIMEOUT_S + 1);
        break;
    case 'b': // reads nothing, a little, or all
        client->room = 0;
        break;
    case 'c':
        client->room = 999;
        break;
    case 'r':
        client->room = SIZE_MAX;
        break;
    case 'h':
        client->hangs_up = true;
        break;
    case 'e':
        client->broken = true;
        break;
    case 'n':
        fuzz_network_full = !fuzz_network_full;
        break;
    case 'a':
        take_away();
        break;
    default: // only a pause
        break;
    }
}

// RTCP that came to the port of each of the talker's sessions over UDP.
static void receive_datagram(const uint8_t *bytes, size_t size)
{
    for (guint i = 0; client_is_here(bed.talker) && i < bed.talker->connection->sessions->len;
         i++) {
        session_take_rtcp(g_ptr_array_index(bed.talker->connection->sessions, i), 0, bytes, size);
    }
}

static void talk(const uint8_t *data, size_t size)
{
    uint8_t what = '1';

    for (;;) {
        const uint8_t *end = memchr(data, SEPARATOR, size);
        size_t length = end ? (size_t)(end - data) : size;

        happen(what);
        if (!client_is_here(bed.talker)) {
            client_go(bed.talker);
            come(bed.talker);
        }
        if (what == 'u')
            receive_datagram(data, length);
        else
            g_byte_array_append(bed.talker->sent, data, (guint)length);
        run();
        if (!end || length + 2 > size)
            return;
        what = end[1];
        data += length + 2;
        size -= length + 2;
    }
}

// Sets up the parts that last as long as the process.
static void set_up_once(void)
{
    if (bed.config)
        return;
    fuzz_claim(config_parse("rtsp = { limits = { sessions = 4; sessions_a_connection = 3; }; };",
                            "fuzz", stderr, &bed.config) == 0);
    fuzz_claim(config_parse("rtsp = { multicast = { addresses = \"239.255.7.1\"; }; };", "fuzz",
                            stderr, &bed.config_of_multicast) == 0);
    bed.service = (struct rtsp_service){.mounts = g_hash_table_new(g_str_hash, g_str_equal),
                                        .limits = bed.config->rtsp.limits};
    fuzz_claim(poller_new(&bed.service.poller) == 0);
    bed.service.multicast = multicast_new(bed.service.poller, bed.config);
    g_hash_table_insert(bed.service.mounts, (char *)"/front/edges", &bed.mounts[0]);
    g_hash_table_insert(bed.service.mounts, (char *)"/front/secret", &bed.mounts[1]);
}

static void set_up_account(void)
{
    static const char *const secret[] = {"vera", "edged", "veravera"};
    struct config config = *bed.config;
    char path[FUZZ_PATH_SIZE], sha256[DIGEST_HEX_SIZE], md5[DIGEST_HEX_SIZE], line[256];
    struct error error;
    int fd;

    digest_hash(DIGEST_SHA256, secret, ARRAY_LENGTH(secret), sha256);
    digest_hash(DIGEST_MD5, secret, ARRAY_LENGTH(secret), md5);
    snprintf(line, sizeof line, "vera:viewer:%s:%s\n", md5, sha256);
    fd = fuzz_file((const uint8_t *)line, strlen(line), path);
    if (bed.flags & USERS)
        config.rtsp.users = path;
    fuzz_claim(account_new(&config, NULL, &error, &bed.account) == 0);
    bed.service.account = bed.account;
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return -1;
    set_up_once();
    fuzz_now_ns = 1000 * NS_PER_S;
    fuzz_drawn = 0;
    bed.flags = data[0];
    fuzz_network_full = false;
    set_up_account();
    multicast_configure(bed.service.multicast,
                        bed.flags & MULTICAST ? bed.config_of_multicast : bed.config);
    bed.mounts[0] = (struct mount){NULL, CONFIG_ROLE_VIEWER};
    bed.mounts[1] = (struct mount){NULL, CONFIG_ROLE_ADMIN};
    fuzz_claim(stream_new("/front/edges", &payload_h264, STREAM_KBPS, &bed.mounts[0].stream) == 0);
    fuzz_claim(stream_new("/front/secret", &payload_h264, STREAM_KBPS, &bed.mounts[1].stream) == 0);
    if (bed.flags & DESCRIBED)
        send_picture(true, 100);
    bed.talker = bed.clients;
    talk(data + 1, size - 1);
    client_go(&bed.clients[0]);
    client_go(&bed.clients[1]);
    fuzz_claim(bed.service.session_count == 0);
    while (g_main_context_iteration(NULL, FALSE)) {
    }
    stream_unref(bed.mounts[0].stream);
    stream_unref(bed.mounts[1].stream);
    account_free(bed.account);
    return 0;
}
