#include "daemon/front/rtsp/service.h"

#include "daemon/common/log.h"

#include <string.h>

const struct rtsp_mount *rtsp_service_find(const struct rtsp_service *service, const char *path)
{
    return g_hash_table_lookup(service->mounts, path);
}

struct udp_sockets *rtsp_service_udp(struct rtsp_service *service, int family)
{
    struct udp_sockets **sockets = family == AF_INET6 ? &service->udp6 : &service->udp;

    if (!*sockets) {
        int r = udp_sockets_new(service->poller, family, sockets);

        if (r < 0) {
            log_warning("no UDP ports for viewers: %s, serving them over TCP", strerror(-r));
        }
    }
    return *sockets;
}

bool rtsp_service_has_multicast(const struct rtsp_service *service, const struct rtsp_mount *mount)
{
    return multicast_is_offered(service->multicast) && mount->role == CONFIG_ROLE_VIEWER;
}

static gboolean on_reap(gpointer data)
{
    struct rtsp_service *service = data;

    service->reaper = 0;
    service->reap(service->context);
    return G_SOURCE_REMOVE;
}

void rtsp_service_reap(struct rtsp_service *service)
{
    if (!service->reaper) {
        service->reaper = g_idle_add_full(G_PRIORITY_HIGH, on_reap, service, NULL);
    }
}
