#include "daemon/front/onvif/identity.h"

#include "board/board.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/if_packet.h>
#include <string.h>

#define SCOPE "onvif://www.onvif.org/"
#define KEY "edged's number as a device of ONVIF"

void identity_uuid(const char *camera, char ret_uuid[IDENTITY_UUID_SIZE])
{
    GHmac *hmac = g_hmac_new(G_CHECKSUM_SHA256, (const guchar *)KEY, strlen(KEY));
    g_autofree char *machine = NULL;
    guint8 bytes[32];
    gsize size = sizeof bytes;

    if (!g_file_get_contents("/etc/machine-id", &machine, NULL, NULL))
        machine = g_strdup(g_get_host_name());
    g_hmac_update(hmac, (const guchar *)g_strstrip(machine), -1);
    if (camera)
        g_hmac_update(hmac, (const guchar *)camera, (gssize)strlen(camera) + 1);
    g_hmac_get_digest(hmac, bytes, &size);
    g_hmac_unref(hmac);
    bytes[6] = (guint8)(0x40 | (bytes[6] & 0x0f)); // as RFC 4122 has a random one
    bytes[8] = (guint8)(0x80 | (bytes[8] & 0x3f));
    for (unsigned i = 0, at = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            ret_uuid[at++] = '-';
        at += (unsigned)g_snprintf(ret_uuid + at, 3, "%02x", bytes[i]);
    }
}

const char *identity_model(void)
{
    static struct board board;

    if (!board.profile)
        board_read("", &board);
    return board_is_jetson(board.profile) || !*board.model ? board.profile->name : board.model;
}

const char *identity_host_name(void)
{
    return g_get_host_name();
}

// Interfaces
// ---------------------------------------------------------------------

static struct identity_interface *find_or_add(struct identity_interface *list, size_t *count,
                                              const struct ifaddrs *entry)
{
    for (size_t i = 0; i < *count; i++) {
        if (strcmp(list[i].name, entry->ifa_name) == 0)
            return &list[i];
    }
    if (*count == IDENTITY_INTERFACES_MAX)
        return NULL;
    struct identity_interface *added = &list[(*count)++];
    *added = (struct identity_interface){.is_loopback = entry->ifa_flags & IFF_LOOPBACK};
    g_strlcpy(added->name, entry->ifa_name, sizeof added->name);
    added->index = if_nametoindex(added->name);
    return added;
}

static void take_mac(struct identity_interface *interface, const struct sockaddr_ll *link)
{
    const unsigned char *mac = link->sll_addr;

    if (link->sll_halen == 6) {
        g_snprintf(interface->mac, sizeof interface->mac, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0],
                   mac[1], mac[2], mac[3], mac[4], mac[5]);
    }
}

static int prefix_of(const struct sockaddr_in *mask)
{
    return mask ? __builtin_popcount(mask->sin_addr.s_addr) : 32;
}

static void take_address(struct identity_interface *interface, const struct ifaddrs *entry)
{
    if (interface->has_address)
        return;
    interface->has_address = true;
    interface->prefix = prefix_of((const void *)entry->ifa_netmask);
    inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)entry->ifa_addr)->sin_addr,
              interface->address, sizeof interface->address);
}

static bool is_local(const struct ifaddrs *entry, const struct sockaddr *local)
{
    const struct sockaddr *own = entry->ifa_addr;

    if (!local || own->sa_family != local->sa_family)
        return false;
    if (own->sa_family == AF_INET) {
        return memcmp(&((const struct sockaddr_in *)(const void *)own)->sin_addr,
                      &((const struct sockaddr_in *)(const void *)local)->sin_addr,
                      sizeof(struct in_addr)) == 0;
    }
    return own->sa_family == AF_INET6 &&
           memcmp(&((const struct sockaddr_in6 *)(const void *)own)->sin6_addr,
                  &((const struct sockaddr_in6 *)(const void *)local)->sin6_addr,
                  sizeof(struct in6_addr)) == 0;
}

static void move_to_front(struct identity_interface *list, size_t index)
{
    struct identity_interface chosen = list[index];

    memmove(list + 1, list, index * sizeof *list);
    list[0] = chosen;
}

// Takes the loopback out of a list with others.
static size_t drop_loopback(struct identity_interface *list, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (!list[i].is_loopback)
            list[kept++] = list[i];
    }
    return kept > 0 ? kept : count;
}

size_t identity_interfaces(const struct sockaddr *local,
                           struct identity_interface ret_list[IDENTITY_INTERFACES_MAX])
{
    char chosen[IF_NAMESIZE] = "";
    struct ifaddrs *entries = NULL;
    size_t count = 0;

    if (getifaddrs(&entries) < 0)
        return 0;
    for (const struct ifaddrs *entry = entries; entry; entry = entry->ifa_next) {
        bool is_up = entry->ifa_addr && entry->ifa_flags & IFF_UP;
        struct identity_interface *interface = is_up ? find_or_add(ret_list, &count, entry) : NULL;

        if (!interface)
            continue;
        if (entry->ifa_addr->sa_family == AF_PACKET)
            take_mac(interface, (const void *)entry->ifa_addr);
        else if (entry->ifa_addr->sa_family == AF_INET)
            take_address(interface, entry);
        if (is_local(entry, local))
            g_strlcpy(chosen, entry->ifa_name, sizeof chosen);
    }
    freeifaddrs(entries);
    count = drop_loopback(ret_list, count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(ret_list[i].name, chosen) == 0)
            move_to_front(ret_list, i);
    }
    return count;
}

// Scopes
// ---------------------------------------------------------------------

static void add(GPtrArray *scopes, const char *kind, const char *value)
{
    g_autofree char *escaped = g_uri_escape_string(value, NULL, FALSE);

    g_ptr_array_add(scopes, g_strconcat(SCOPE, kind, "/", escaped, NULL));
}

char **identity_scopes(const char *camera)
{
    struct identity_interface interfaces[IDENTITY_INTERFACES_MAX];
    size_t count = identity_interfaces(NULL, interfaces);
    g_autofree char *name = g_strconcat(identity_host_name(), camera ? " " : NULL, camera, NULL);
    GPtrArray *scopes = g_ptr_array_new();

    add(scopes, "type", "video_encoder");
    add(scopes, "Profile", "Streaming");
    add(scopes, "name", name);
    add(scopes, "hardware", identity_model());
    add(scopes, "location", "");
    if (count > 0 && *interfaces[0].mac)
        add(scopes, "mac", interfaces[0].mac);
    g_ptr_array_add(scopes, NULL);
    return (char **)g_ptr_array_free(scopes, FALSE);
}
