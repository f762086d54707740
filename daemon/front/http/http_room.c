#include "daemon/front/http/http_room.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

// A reply that is whole at once is sent by then, unless its client reads slowly.
#define SLOW_NS (2 * NS_PER_S)
// How far back the last turn of an address counts, so that new addresses keep none waiting longer.
#define CREDIT_NS (NS_PER_S / 2)
// How much later an address comes that has left a handshake unfinished within this time, or has
// more connections than a browser opens.
#define PENALTY_NS NS_PER_S
#define ABANDONED_NS (10 * NS_PER_S)
#define CROWD 8
#define CROWD_SHARE 25
// After which a handshake gives its address' turn to another client.
#define HANDSHAKE_NS (2 * NS_PER_S)

// A record of TLS (RFC 8446, section 5.1): type, version, length.
#define RECORD_HEADER_BYTES 5
#define RECORD_MAX_BYTES 16384
#define RECORD_HANDSHAKE 22

static guint hash_network(gconstpointer network)
{
    const uint8_t *bytes = ((const struct peer *)network)->address;
    guint hash = 5381;

    for (size_t i = 0; i < sizeof(struct peer); i++)
        hash = 33 * hash + bytes[i];
    return hash;
}

static gboolean is_same_network(gconstpointer a, gconstpointer b)
{
    return memcmp(a, b, sizeof(struct peer)) == 0;
}

void http_room_init(struct http_room *room, const struct http_limits *limits)
{
    *room = (struct http_room){
        .limits = *limits,
        .clients = g_ptr_array_new(),
        .addresses = g_hash_table_new_full(hash_network, is_same_network, NULL, g_free),
    };
}

void http_room_finish(struct http_room *room)
{
    g_clear_pointer(&room->clients, g_ptr_array_unref);
    g_clear_pointer(&room->addresses, g_hash_table_unref);
}

static bool is_proxy(const struct http_limits *limits, const struct peer *peer)
{
    for (size_t i = 0; i < limits->proxy_count; i++) {
        if (is_same_network(&limits->proxies[i], peer))
            return true;
    }
    return false;
}

void http_room_add(struct http_room *room, struct http_client *client,
                   const struct sockaddr *address)
{
    struct peer peer = peer_of(address), network = {0};
    struct http_address *found;

    // A proxy is one address also of IPv6: its neighbours in the /64 are no proxies.
    if (address->sa_family != AF_UNIX)
        network = is_proxy(&room->limits, &peer) ? peer : peer_network(&peer);
    found = g_hash_table_lookup(room->addresses, &network);
    if (!found) {
        found = g_new0(struct http_address, 1);
        found->network = network;
        g_hash_table_insert(room->addresses, &found->network, found);
    }
    found->is_proxy = is_proxy(&room->limits, &peer);
    found->clients++;
    found->connections++;
    room->connections++;
    client->address = found;
    g_ptr_array_add(room->clients, client);
}

void http_room_end(struct http_room *room, struct http_client *client)
{
    if (!client->ended) {
        client->ended = true;
        client->address->connections--;
        room->connections--;
        if (client->stage == HTTP_SHAKES)
            client->address->abandoned_ns = clock_now_ns();
        http_room_end_handshake(client);
    }
}

void http_room_remove(struct http_room *room, struct http_client *client)
{
    http_room_end(room, client);
    g_ptr_array_remove_fast(room->clients, client);
    client->address->clients--;
    if (!client->address->turn_ns && !client->address->clients)
        g_hash_table_remove(room->addresses, &client->address->network);
}

static gboolean is_forgotten(gpointer network, gpointer data, gpointer now)
{
    const struct http_address *address = data;

    (void)network;
    return !address->clients && *(const int64_t *)now - address->turn_ns > CREDIT_NS;
}

void http_room_sweep(struct http_room *room, int64_t now_ns)
{
    g_hash_table_foreach_remove(room->addresses, is_forgotten, &now_ns);
}

static bool has_logged_in(const struct http_client *client)
{
    enum account_way way = client->login.way;

    return client->login.allowed && way != ACCOUNT_UNKNOWN && way != ACCOUNT_UNASKED;
}

// Connections
// ---------------------------------------------------------------------

// Since when it waits for a request, or reads slowly; 0: it does neither.
static int64_t idles_since(const struct http_client *client, int64_t now_ns)
{
    bool is_slow =
        !client->waiting_since_ns && !client->stream && now_ns - client->answered_ns > SLOW_NS;

    if (client->ended)
        return 0;
    return is_slow ? client->answered_ns : client->waiting_since_ns;
}

// Whether `a` makes room before `b`: strangers come first, of these the one whose address has most
// connections, then one that does not shake hands, whose work would be lost, then one without an
// accepted request, then the one that idles for longest.
static bool goes_before(const struct http_client *a, const struct http_client *b, int64_t now_ns)
{
    unsigned of_a = a->address->is_proxy ? 1 : a->address->connections;
    unsigned of_b = b->address->is_proxy ? 1 : b->address->connections;

    if (has_logged_in(a) != has_logged_in(b))
        return has_logged_in(b);
    if (of_a != of_b)
        return of_a > of_b;
    if ((a->stage == HTTP_SHAKES) != (b->stage == HTTP_SHAKES))
        return b->stage == HTTP_SHAKES;
    if (a->accepted != b->accepted)
        return b->accepted;
    return idles_since(a, now_ns) < idles_since(b, now_ns);
}

// Of `address`, NULL: of any. NULL: nobody idles.
static struct http_client *find_idle(const GPtrArray *clients, const struct http_address *address,
                                     const struct http_client *newcomer, int64_t now_ns)
{
    struct http_client *found = NULL;

    for (guint i = 0; i < clients->len; i++) {
        struct http_client *client = g_ptr_array_index(clients, i);

        if (client != newcomer && (!address || client->address == address) &&
            idles_since(client, now_ns) && (!found || goes_before(client, found, now_ns))) {
            found = client;
        }
    }
    return found;
}

bool http_room_for_connection(const struct http_room *room, const struct http_client *newcomer,
                              int64_t now_ns, struct http_client **ret_leaves)
{
    const struct http_address *address = newcomer->address;
    unsigned of_address = room->limits.connections_an_address;
    bool is_full = of_address && !address->is_proxy && address->connections > of_address;

    *ret_leaves = NULL;
    if (!is_full && room->connections <= room->limits.connections)
        return true;
    *ret_leaves = find_idle(room->clients, is_full ? address : NULL, newcomer, now_ns);
    return *ret_leaves;
}

// Replies that go on
// ---------------------------------------------------------------------

static bool goes_on(const struct http_client *client)
{
    return client->stream && !client->ended && !client->leaves_ns;
}

// Whether two clients count as one: of the same user, or else from the same address.
static bool is_same_owner(const struct http_client *a, const struct http_client *b)
{
    if (has_logged_in(a) != has_logged_in(b))
        return false;
    return has_logged_in(a)
               ? a->login.way == b->login.way && strcmp(a->login.name, b->login.name) == 0
               : a->address == b->address;
}

// How many replies of its owner go on.
static unsigned count_own(const GPtrArray *clients, const struct http_client *client)
{
    unsigned count = 0;

    for (guint i = 0; i < clients->len; i++) {
        const struct http_client *other = g_ptr_array_index(clients, i);

        count += goes_on(other) && is_same_owner(client, other);
    }
    return count;
}

// Whether the reply of `a` ends for a newcomer before that of `b`, of the same owner: a download
// only if there is nothing else, and the newest.
static bool ends_before(const struct http_client *a, const struct http_client *b)
{
    return a->is_download != b->is_download ? b->is_download : a->answered_ns > b->answered_ns;
}

// A reply of the owner that has most, if that leaves it no less than `asking` then has; NULL: there
// is none. A stranger replaces strangers alone.
static struct http_client *find_greedy(const GPtrArray *clients, const struct http_client *asking,
                                       unsigned own)
{
    struct http_client *found = NULL;
    unsigned most = own + 1;

    for (guint i = 0; i < clients->len; i++) {
        struct http_client *client = g_ptr_array_index(clients, i);
        unsigned count;

        if (!goes_on(client) || (!has_logged_in(asking) && has_logged_in(client)))
            continue;
        if (found && is_same_owner(client, found)) {
            found = ends_before(client, found) ? client : found;
            continue;
        }
        count = count_own(clients, client);
        if (count > most) {
            most = count;
            found = client;
        }
    }
    return found;
}

// How many replies go on, in all and of strangers.
static void count_streams(const GPtrArray *clients, unsigned *ret_all, unsigned *ret_strangers)
{
    *ret_all = *ret_strangers = 0;
    for (guint i = 0; i < clients->len; i++) {
        const struct http_client *client = g_ptr_array_index(clients, i);

        if (goes_on(client)) {
            ++*ret_all;
            *ret_strangers += !has_logged_in(client);
        }
    }
}

int http_room_for_stream(const struct http_room *room, const struct http_client *asking,
                         struct fault *fault, struct http_client **ret_leaves)
{
    const struct http_limits *limits = &room->limits;
    bool is_stranger = !has_logged_in(asking);
    unsigned all, strangers, own = count_own(room->clients, asking);

    *ret_leaves = NULL;
    if (limits->streams_a_client && own >= limits->streams_a_client &&
        !(is_stranger && asking->address->is_proxy)) {
        return fault_at(fault, "http.limits.streams_a_client",
                        error_set(&fault->error, -EBUSY,
                                  "%u videos, events and downloads of this %s go on, as many as "
                                  "may; end one of them",
                                  own, is_stranger ? "address" : "user"));
    }
    count_streams(room->clients, &all, &strangers);
    if (all < limits->streams &&
        (!is_stranger || strangers + limits->streams_reserved < limits->streams)) {
        return 0;
    }
    *ret_leaves = find_greedy(room->clients, asking, own);
    if (*ret_leaves)
        return 0;
    return fault_at(
        fault, "http.limits.streams",
        error_set(&fault->error, -EBUSY,
                  "as many videos, events and downloads go on as may%s; try again later",
                  is_stranger && limits->streams_reserved ? " without a login" : ""));
}

// TLS handshakes
// ---------------------------------------------------------------------

bool http_room_look_at_hello(struct http_client *client, int64_t now_ns)
{
    uint8_t head[RECORD_HEADER_BYTES];
    ssize_t size = recv(client->fd, head, sizeof head, MSG_PEEK | MSG_DONTWAIT);
    bool is_request = size > 0 && g_ascii_isupper(head[0]); // the first letter of a method
    bool is_ready = size > 0 && head[0] != RECORD_HANDSHAKE;
    int unread = 0;

    if (size <= 0)
        return size < 0 && (errno == EAGAIN || errno == EINTR);
    if (!is_ready && size == RECORD_HEADER_BYTES && ioctl(client->fd, FIONREAD, &unread) == 0) {
        int length = head[3] << 8 | head[4];

        is_ready = length > RECORD_MAX_BYTES || unread >= RECORD_HEADER_BYTES + length;
    }
    if (is_ready && client->stage == HTTP_HELD) {
        client->stage = is_request ? HTTP_SERVED : HTTP_READY;
        client->stage_ns = now_ns;
    }
    return true;
}

static bool is_of_crowd(const struct http_address *address, int64_t now_ns)
{
    bool has_abandoned = address->abandoned_ns && now_ns - address->abandoned_ns < ABANDONED_NS;

    return has_abandoned || (address->connections > CROWD && !address->is_proxy);
}

// When the turn of a client is due. It is fixed once the client is ready and its address has no
// other turn, so nobody waits for ever.
static int64_t due_ns(const struct http_client *client, int64_t now_ns)
{
    const struct http_address *address = client->address;

    return MAX(address->turn_ns, client->stage_ns - CREDIT_NS) +
           (is_of_crowd(address, now_ns) ? PENALTY_NS : 0);
}

// Of one address, by when they came.
static bool is_earlier(const struct http_client *a, const struct http_client *b, int64_t now_ns)
{
    int64_t a_ns = due_ns(a, now_ns), b_ns = due_ns(b, now_ns);

    return a_ns != b_ns ? a_ns < b_ns : a->waiting_since_ns < b->waiting_since_ns;
}

struct http_client *http_room_next_handshake(const struct http_room *room, int64_t now_ns,
                                             struct http_client **ret_late)
{
    struct http_client *next = NULL;

    *ret_late = NULL;
    for (guint i = 0; i < room->clients->len; i++) {
        struct http_client *client = g_ptr_array_index(room->clients, i);
        struct http_client *before = client->address->shakes;

        if (client->stage != HTTP_READY || client->ended ||
            (now_ns < room->crowd_ns && is_of_crowd(client->address, now_ns))) {
            continue;
        }
        if (before && now_ns - before->stage_ns > HANDSHAKE_NS)
            *ret_late = before;
        else if (!before && (!next || is_earlier(client, next, now_ns)))
            next = client;
    }
    return next;
}

void http_room_begin_handshake(struct http_room *room, struct http_client *client, int64_t now_ns)
{
    room->charges = is_of_crowd(client->address, now_ns);
    client->stage = HTTP_SHAKES;
    client->stage_ns = now_ns;
    client->address->shakes = client;
    client->address->turn_ns = now_ns;
}

void http_room_charge_handshake(struct http_room *room, int64_t spent_ns, int64_t now_ns)
{
    if (room->charges)
        room->crowd_ns = now_ns + CROWD_SHARE * spent_ns;
}

void http_room_end_handshake(struct http_client *client)
{
    if (client->stage == HTTP_SHAKES)
        client->stage = HTTP_SERVED;
    if (client->address->shakes == client)
        client->address->shakes = NULL;
}
