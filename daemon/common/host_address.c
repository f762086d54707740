#include "daemon/common/host_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

int host_address_default_route(FILE *routes, char ret_interface[IF_NAMESIZE])
{
    unsigned cheapest = UINT_MAX;
    char line[256];

    while (fgets(line, sizeof line, routes)) {
        char interface[IF_NAMESIZE];
        unsigned destination, flags, metric, mask;

        // Destination, gateway, flags and mask in hexadecimal digits; gateway, reference count,
        // use.
        if (sscanf(line, "%15s %x %*x %x %*u %*u %u %x", interface, &destination, &flags, &metric,
                   &mask) == 5 &&
            destination == 0 && mask == 0 && flags & 1 /* RTF_UP */ && metric < cheapest) {
            cheapest = metric;
            memcpy(ret_interface, interface, sizeof interface);
        }
    }
    return cheapest == UINT_MAX ? -ENOENT : 0;
}

static bool is_usable(const struct ifaddrs *entry, int family)
{
    if (!entry->ifa_addr || entry->ifa_addr->sa_family != family || !(entry->ifa_flags & IFF_UP) ||
        entry->ifa_flags & IFF_LOOPBACK) {
        return false;
    }
    if (family == AF_INET) {
        const struct sockaddr_in *v4 = (const void *)entry->ifa_addr;

        return ntohl(v4->sin_addr.s_addr) >> 16 != 0xa9fe; // 169.254.0.0/16
    }
    const struct sockaddr_in6 *v6 = (const void *)entry->ifa_addr;

    return !IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr);
}

// The first address of that family on `interface`; NULL: on any.
static bool find_one(const struct ifaddrs *list, int family, const char *interface,
                     char ret_text[INET6_ADDRSTRLEN])
{
    for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
        if (is_usable(i, family) && (!interface || strcmp(i->ifa_name, interface) == 0)) {
            const void *address =
                family == AF_INET
                    ? (const void *)&((const struct sockaddr_in *)(const void *)i->ifa_addr)
                          ->sin_addr
                    : &((const struct sockaddr_in6 *)(const void *)i->ifa_addr)->sin6_addr;

            return inet_ntop(family, address, ret_text, INET6_ADDRSTRLEN) != NULL;
        }
    }
    return false;
}

static bool find(const struct ifaddrs *list, int family, const char *interface,
                 char ret_text[INET6_ADDRSTRLEN])
{
    return find_one(list, AF_INET, interface, ret_text) ||
           (family != AF_INET && find_one(list, AF_INET6, interface, ret_text));
}

int host_address_find(int family, char ret_text[INET6_ADDRSTRLEN])
{
    char interface[IF_NAMESIZE];
    FILE *routes = fopen("/proc/net/route", "re");
    struct ifaddrs *list = NULL;
    bool has_route = routes && host_address_default_route(routes, interface) == 0, found;

    if (routes)
        fclose(routes);
    if (getifaddrs(&list) < 0)
        return -EADDRNOTAVAIL;
    found = (has_route && find(list, family, interface, ret_text)) ||
            find(list, family, NULL, ret_text);
    freeifaddrs(list);
    return found ? 0 : -EADDRNOTAVAIL;
}

void host_address_show_url(const char *url, char *ret_url, size_t size)
{
    static const struct {
        const char *every, *loopback;
        int family;
    } hosts[] = {{"://0.0.0.0:", "127.0.0.1", AF_INET}, {"://[::]:", "::1", AF_UNSPEC}};

    for (size_t i = 0; i < ARRAY_LENGTH(hosts); i++) {
        const char *host = strstr(url, hosts[i].every);
        char found[INET6_ADDRSTRLEN];

        if (host) {
            if (host_address_find(hosts[i].family, found) < 0)
                snprintf(found, sizeof found, "%s", hosts[i].loopback);
            snprintf(ret_url, size, strchr(found, ':') ? "%.*s://[%s]:%s" : "%.*s://%s:%s",
                     (int)(host - url), url, found, host + strlen(hosts[i].every));
            return;
        }
    }
    snprintf(ret_url, size, "%s", url);
}
