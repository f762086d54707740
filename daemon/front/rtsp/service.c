#include "daemon/front/rtsp/service.h"

#include "daemon/common/log.h"

#include <string.h>

struct udp_sockets *rtsp_service_udp(struct rtsp_service *service, int family)
{
    struct udp_sockets **sockets = family == AF_INET6 ? &service->udp6 : &service->udp;

    if (!*sockets) {
        struct sockaddr_storage any = {.ss_family = (sa_family_t)family};
        bool is_local = service->local.ss_family == family;
        int r = udp_sockets_new(service->poller, is_local ? &service->local : &any, sockets);

        if (r < 0)
            log_warning("no UDP ports for viewers: %s, serving them over TCP", strerror(-r));
    }
    return *sockets;
}

bool rtsp_service_has_multicast(const struct rtsp_service *service, const struct mount *mount)
{
    return multicast_is_offered(service->multicast) && mount->role == CONFIG_ROLE_VIEWER;
}

static guint hash_network(gconstpointer address)
{
    guint words[sizeof(struct peer) / sizeof(guint)];

    memcpy(words, address, sizeof words);
    return words[0] ^ words[1] * 31 ^ words[2] * 961 ^ words[3];
}

static gboolean is_same_network(gconstpointer a, gconstpointer b)
{
    return memcmp(a, b, sizeof(struct peer)) == 0;
}

struct rtsp_address *rtsp_service_address(struct rtsp_service *service, const struct peer *peer)
{
    const struct peer network = peer_network(peer);
    struct rtsp_address *address;

    if (!service->addresses)
        service->addresses = g_hash_table_new_full(hash_network, is_same_network, g_free, NULL);
    address = g_hash_table_lookup(service->addresses, &network);
    if (!address) {
        address = g_new0(struct rtsp_address, 1);
        address->network = network;
        g_hash_table_add(service->addresses, address);
    }
    address->connections++;
    return address;
}

void rtsp_service_release(struct rtsp_service *service, struct rtsp_address *address)
{
    if (--address->connections == 0)
        g_hash_table_remove(service->addresses, address);
    if (g_hash_table_size(service->addresses) == 0)
        g_clear_pointer(&service->addresses, g_hash_table_unref);
}

bool rtsp_service_logs(struct rtsp_service *service, const struct rtsp_address *address,
                       char ret_suffix[LOG_LIMIT_SUFFIX_SIZE])
{
    const struct peer *network = &address->network;

    return log_limit_line(
        log_limits_of(&service->log_limits, network->address, sizeof network->address),
        clock_now_ns(), ret_suffix);
}

static gboolean dispatch(GSource *source, GSourceFunc call, gpointer context)
{
    (void)source;
    return call(context);
}

GSource *rtsp_service_source(GSourceFunc call, void *context, int priority)
{
    static GSourceFuncs functions = {.dispatch = dispatch};
    GSource *source = g_source_new(&functions, sizeof(GSource));

    g_source_set_callback(source, call, context, NULL);
    g_source_set_priority(source, priority);
    g_source_attach(source, NULL);
    return source;
}

void rtsp_service_end(struct connection *connection)
{
    if (!connection->ended && connection->service->reaper)
        g_source_set_ready_time(connection->service->reaper, 0);
    connection->ended = true;
}

void rtsp_service_reply(struct connection *connection, GString *reply)
{
    if (!connection->ended && wire_send(connection->wire, reply->str, reply->len) < 0)
        rtsp_service_end(connection);
    g_string_free(reply, TRUE);
}

void rtsp_service_resume(struct connection *connection)
{
    connection->resumed = true;
    poller_set_events(connection->service->poller, &connection->watch, EPOLLIN | EPOLLOUT);
}
