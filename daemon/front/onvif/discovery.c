#include "daemon/front/onvif/discovery.h"

#include "config/config.h"
#include "daemon/front/onvif/identity.h"
#include "daemon/front/onvif/onvif.h"
#include "daemon/front/onvif/soap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <glib-unix.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>

#define PORT 3702
#define GROUP "239.255.255.250"
#define ADDRESSING_2004 "http://schemas.xmlsoap.org/ws/2004/08/addressing"
#define DATAGRAMS_MAX 16 // in a turn of the main loop

// A network that this machine is in.
struct network {
    unsigned interface; // its index
    in_addr_t address, mask;
};

// As many as fit into a second, at once or one after the other.
struct rate {
    int64_t full_ns, interval_ns;
};

struct discovery {
    int fd, netlink;
    guint on_datagram, on_change; // GLib source ids
    char *url;                    // as listened on; owned
    struct rate looks, answers;
    GArray *networks; // of struct network; owned
    char **scopes;    // owned
    char uuid[IDENTITY_UUID_SIZE];
    unsigned instance, number;
};

// Text
// ---------------------------------------------------------------------

// Every type that is asked for is one of this device. Prefixes are the client's to choose.
static bool has_types(const char *text)
{
    g_auto(GStrv) types = g_strsplit_set(text ? text : "", " \t\r\n", 0);

    for (char **type = types; *type; type++) {
        const char *colon = strchr(*type, ':'), *name = colon ? colon + 1 : *type;

        if (*name && strcmp(name, "NetworkVideoTransmitter") != 0 && strcmp(name, "Device") != 0)
            return false;
    }
    return true;
}

// Whether one of the scopes begins with all segments of `wanted` (RFC 2396, as WS-Discovery,
// section 5.1, compares them).
static bool has_scope(const char *const *scopes, const char *wanted)
{
    size_t length = strlen(wanted);

    while (length > 0 && wanted[length - 1] == '/')
        length--;
    for (; *scopes; scopes++) {
        if (g_ascii_strncasecmp(*scopes, wanted, length) == 0 &&
            ((*scopes)[length] == '\0' || (*scopes)[length] == '/')) {
            return true;
        }
    }
    return false;
}

static bool has_scopes(const char *const *scopes, const char *text)
{
    g_auto(GStrv) wanted = g_strsplit_set(text ? text : "", " \t\r\n", 0);

    for (char **each = wanted; *each; each++) {
        if (**each && !has_scope(scopes, *each))
            return false;
    }
    return true;
}

// Whether the question means this device; `*ret_match` is what an answer is called.
static bool is_meant(const struct soap_request *request, const struct discovery_device *device,
                     const char **ret_match)
{
    const char *address = soap_request_find(request, "Address");

    if (strcmp(request->operation, "Probe") == 0) {
        *ret_match = "ProbeMatch";
        return has_types(soap_request_find(request, "Types")) &&
               has_scopes(device->scopes, soap_request_find(request, "Scopes"));
    }
    *ret_match = "ResolveMatch";
    return strcmp(request->operation, "Resolve") == 0 && address &&
           g_str_has_prefix(address, "urn:uuid:") &&
           g_ascii_strcasecmp(address + strlen("urn:uuid:"), device->uuid) == 0;
}

static char *write_answer(const struct soap_request *request, const char *match,
                          const struct discovery_device *device)
{
    g_autofree char *id = g_uuid_string_random(), *scopes = NULL;
    GString *text = g_string_new(NULL);

    scopes = g_strjoinv(" ", (char **)device->scopes);
    soap_append(text,
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                "<s:Envelope xmlns:s=\"http://www.w3.org/2003/05/soap-envelope\""
                " xmlns:a=\"" ADDRESSING_2004 "\" xmlns:d=\"%s\""
                " xmlns:dn=\"http://www.onvif.org/ver10/network/wsdl\" xmlns:tds=\"%s\"><s:Header>"
                "<a:MessageID>urn:uuid:%s</a:MessageID><a:RelatesTo>%s</a:RelatesTo>"
                "<a:To>" ADDRESSING_2004 "/role/anonymous</a:To><a:Action>%s/%ses</a:Action>"
                "<d:AppSequence InstanceId=\"%u\" MessageNumber=\"%u\"/></s:Header>",
                soap_namespace(SOAP_DISCOVERY), soap_namespace(SOAP_DEVICE), id,
                request->message_id, soap_namespace(SOAP_DISCOVERY), match, device->instance,
                device->number);
    soap_append(text,
                "<s:Body><d:%ses><d:%s><a:EndpointReference><a:Address>urn:uuid:%s</a:Address>"
                "</a:EndpointReference><d:Types>dn:NetworkVideoTransmitter tds:Device</d:Types>"
                "<d:Scopes>%s</d:Scopes><d:XAddrs>%s</d:XAddrs>"
                "<d:MetadataVersion>1</d:MetadataVersion></d:%s></d:%ses></s:Body></s:Envelope>\n",
                match, match, device->uuid, scopes, device->url, match, match);
    return g_string_free(text, FALSE);
}

char *discovery_answer(const char *text, size_t size, const struct discovery_device *device)
{
    struct soap_request request;
    struct soap_fault fault;
    const char *match;
    char *answer = NULL;

    if (soap_request_parse(text, size, &request, &fault) == 0 &&
        request.service == SOAP_DISCOVERY && request.message_id &&
        strlen(request.message_id) <= DISCOVERY_MESSAGE_ID_MAX &&
        is_meant(&request, device, &match)) {
        answer = write_answer(&request, match, device);
    }
    soap_request_finish(&request);
    return answer;
}

// Networks
// ---------------------------------------------------------------------

static void join(const struct discovery *discovery, unsigned interface)
{
    struct ip_mreqn group = {.imr_ifindex = (int)interface};

    inet_pton(AF_INET, GROUP, &group.imr_multiaddr);
    setsockopt(discovery->fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof group);
}

// The address that HTTP is served at: INADDR_ANY for all, INADDR_NONE for one that is not IPv4's.
static in_addr_t served_address(const char *url)
{
    char host[CONFIG_HOST_SIZE] = "";
    struct in_addr address;

    config_read_host(strstr(url, "://") + 3, strlen(strstr(url, "://") + 3), host);
    if (strcmp(host, "::") == 0)
        return INADDR_ANY;
    return inet_pton(AF_INET, host, &address) == 1 ? address.s_addr : INADDR_NONE;
}

static bool is_useful(const struct ifaddrs *entry)
{
    return entry->ifa_addr && entry->ifa_netmask && entry->ifa_addr->sa_family == AF_INET &&
           entry->ifa_flags & IFF_UP && entry->ifa_flags & IFF_MULTICAST &&
           !(entry->ifa_flags & IFF_LOOPBACK);
}

// Joins the group on each interface. A membership ends with its interface, and one that there is
// already is refused.
static void look_at_networks(struct discovery *discovery)
{
    in_addr_t served = served_address(discovery->url);
    struct ifaddrs *list = NULL;

    g_array_set_size(discovery->networks, 0);
    g_clear_pointer(&discovery->scopes, g_strfreev);
    discovery->scopes = identity_scopes(NULL);
    if (getifaddrs(&list) < 0)
        return;
    for (const struct ifaddrs *entry = list; entry; entry = entry->ifa_next) {
        if (is_useful(entry)) {
            const struct sockaddr_in *address = (const void *)entry->ifa_addr;
            const struct sockaddr_in *mask = (const void *)entry->ifa_netmask;
            struct network network = {if_nametoindex(entry->ifa_name), address->sin_addr.s_addr,
                                      mask->sin_addr.s_addr};

            if (served == INADDR_ANY || served == network.address) {
                g_array_append_val(discovery->networks, network);
                join(discovery, network.interface);
            }
        }
    }
    freeifaddrs(list);
}

// The network of a sender; NULL: it is none of this machine's, or not that of the interface.
static const struct network *find_network(const struct discovery *discovery, in_addr_t sender,
                                          unsigned interface)
{
    for (guint i = 0; i < discovery->networks->len; i++) {
        const struct network *network = &g_array_index(discovery->networks, struct network, i);

        if (network->interface == interface && ((sender ^ network->address) & network->mask) == 0)
            return network;
    }
    return NULL;
}

static gboolean on_change(gint fd, GIOCondition condition, gpointer data)
{
    char drained[4096];

    (void)condition;
    while (recv(fd, drained, sizeof drained, MSG_DONTWAIT) > 0)
        continue;
    look_at_networks(data);
    return G_SOURCE_CONTINUE;
}

// Datagrams
// ---------------------------------------------------------------------

static bool rate_take(struct rate *rate, int64_t now_ns)
{
    if (rate->full_ns - now_ns > NS_PER_S - rate->interval_ns)
        return false;
    rate->full_ns = MAX(rate->full_ns, now_ns) + rate->interval_ns;
    return true;
}

// "http://192.168.1.5:9854/onvif/device_service"; for g_free().
static char *make_url(const struct discovery *discovery, const struct network *network)
{
    const char *scheme_end = strstr(discovery->url, "://"), *port = strrchr(discovery->url, ':');
    char address[INET_ADDRSTRLEN];

    inet_ntop(AF_INET, &network->address, address, sizeof address);
    return g_strdup_printf("%.*s://%s%s/onvif/" ONVIF_DEVICE_PATH,
                           (int)(scheme_end - discovery->url), discovery->url, address, port);
}

static void send_answer(const struct discovery *discovery, const char *text,
                        const struct sockaddr_in *to, unsigned interface)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(struct in_pktinfo))];
    } control = {0};
    struct iovec part = {(char *)text, strlen(text)};
    struct msghdr message = {.msg_name = (void *)to,
                             .msg_namelen = sizeof *to,
                             .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    const struct in_pktinfo by = {.ipi_ifindex = (int)interface};

    control.header = (struct cmsghdr){CMSG_LEN(sizeof by), IPPROTO_IP, IP_PKTINFO};
    memcpy(CMSG_DATA(&control.header), &by, sizeof by);
    sendmsg(discovery->fd, &message, MSG_DONTWAIT);
}

static void answer(struct discovery *discovery, const char *text, size_t size,
                   const struct sockaddr_in *from, unsigned interface)
{
    const struct network *network = find_network(discovery, from->sin_addr.s_addr, interface);
    g_autofree char *url = NULL, *reply = NULL;

    if (!network || !rate_take(&discovery->looks, clock_now_ns()))
        return;
    url = make_url(discovery, network);
    const struct discovery_device device = {discovery->uuid, (const char *const *)discovery->scopes,
                                            url, discovery->instance, discovery->number + 1};
    reply = discovery_answer(text, size, &device);
    if (reply && rate_take(&discovery->answers, clock_now_ns())) {
        discovery->number++;
        send_answer(discovery, reply, from, interface);
    }
}

// The interface that a datagram came by; 0: it is not known.
static unsigned interface_of(struct msghdr *message)
{
    for (struct cmsghdr *each = CMSG_FIRSTHDR(message); each; each = CMSG_NXTHDR(message, each)) {
        if (each->cmsg_level == IPPROTO_IP && each->cmsg_type == IP_PKTINFO) {
            struct in_pktinfo info;

            memcpy(&info, CMSG_DATA(each), sizeof info);
            return (unsigned)info.ipi_ifindex;
        }
    }
    return 0;
}

static gboolean on_datagram(gint fd, GIOCondition condition, gpointer data)
{
    static char text[SOAP_BYTES_MAX];

    (void)condition;
    for (unsigned i = 0; i < DATAGRAMS_MAX; i++) {
        union {
            struct cmsghdr header;
            char bytes[CMSG_SPACE(sizeof(struct in_pktinfo))];
        } control;
        struct sockaddr_in from;
        struct iovec part = {text, sizeof text};
        struct msghdr message = {.msg_name = &from,
                                 .msg_namelen = sizeof from,
                                 .msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = &control,
                                 .msg_controllen = sizeof control};
        ssize_t size = recvmsg(fd, &message, MSG_DONTWAIT);

        if (size < 0)
            break;
        if (!(message.msg_flags & MSG_TRUNC))
            answer(data, text, (size_t)size, &from, interface_of(&message));
    }
    return G_SOURCE_CONTINUE;
}

// Life
// ---------------------------------------------------------------------

static int open_port(struct error *error, int *ret_fd)
{
    const struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    const int on = 1, off = 0;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    // Other programs of this machine may answer there as well.
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof on) < 0 ||
        setsockopt(fd, IPPROTO_IP, IP_MULTICAST_ALL, &off, sizeof off) < 0 ||
        bind(fd, (const struct sockaddr *)&any, sizeof any) < 0) {
        int r = error_set(error, -errno, "onvif.discovery: UDP port %d: %s", PORT, strerror(errno));

        if (fd >= 0)
            close(fd);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

// Without it, interfaces that come later are not known; the rest works.
static int open_netlink(void)
{
    const struct sockaddr_nl changes = {.nl_family = AF_NETLINK,
                                        .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);

    if (fd >= 0 && bind(fd, (const struct sockaddr *)&changes, sizeof changes) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static int begin(const char *url, struct error *error, struct discovery **ret_discovery)
{
    struct discovery *discovery;
    int fd = -1, r = open_port(error, &fd);

    if (r < 0)
        return r;
    discovery = g_new0(struct discovery, 1);
    discovery->fd = fd;
    discovery->netlink = open_netlink();
    discovery->networks = g_array_new(FALSE, FALSE, sizeof(struct network));
    discovery->url = g_strdup(url);
    discovery->looks.interval_ns = NS_PER_S / DISCOVERY_LOOKS_A_SECOND;
    discovery->answers.interval_ns = NS_PER_S / DISCOVERY_ANSWERS_A_SECOND;
    discovery->instance = (unsigned)(g_get_real_time() / G_USEC_PER_SEC);
    identity_uuid(NULL, discovery->uuid);
    discovery->on_datagram = g_unix_fd_add(fd, G_IO_IN, on_datagram, discovery);
    if (discovery->netlink >= 0)
        discovery->on_change = g_unix_fd_add(discovery->netlink, G_IO_IN, on_change, discovery);
    look_at_networks(discovery);
    *ret_discovery = discovery;
    return 0;
}

// Whether other machines can reach it.
static bool is_open(const char *url)
{
    const char *host = strstr(url, "://");
    char name[CONFIG_HOST_SIZE];

    return host && config_read_host(host + 3, strlen(host + 3), name) && !config_is_loopback(name);
}

int discovery_set(struct discovery **discovery, const char *url, struct error *error)
{
    if (!url || !is_open(url)) {
        discovery_free(TAKE(*discovery));
        return 0;
    }
    if (!*discovery)
        return begin(url, error, discovery);
    g_free((*discovery)->url);
    (*discovery)->url = g_strdup(url);
    look_at_networks(*discovery);
    return 0;
}

void discovery_free(struct discovery *discovery)
{
    if (!discovery)
        return;
    g_clear_handle_id(&discovery->on_datagram, g_source_remove);
    g_clear_handle_id(&discovery->on_change, g_source_remove);
    close(discovery->fd);
    if (discovery->netlink >= 0)
        close(discovery->netlink);
    g_array_unref(discovery->networks);
    g_strfreev(discovery->scopes);
    g_free(discovery->url);
    g_free(discovery);
}
