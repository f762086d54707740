// The address by which other machines reach this one: what its interfaces and routes say, asked of
// the kernel; no name is looked up.
#pragma once

#include "config/base.h"

#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>

// The address of the interface that the default route leads through, the cheapest where there are
// several; IPv4 before IPv6; without such a route, that of the first interface that is up and not a
// loopback. Link-local addresses do not count. `family` is AF_INET, or AF_UNSPEC for both.
// -EADDRNOTAVAIL: there is none.
int host_address_find(int family, char ret_text[INET6_ADDRSTRLEN]);

// `url`, of a server of this machine, as others can type it: "http://0.0.0.0:80" and
// "http://[::]:80", which listen on every address, get the one that host_address_find() names, or
// without one the loopback address. Any other stays as it is.
void host_address_show_url(const char *url, char *ret_url, size_t size);

// The interface of the default route in the kernel's table of IPv4 routes (the text of
// /proc/net/route, proc(5)). -ENOENT: there is none.
int host_address_default_route(FILE *routes, char ret_interface[IF_NAMESIZE]);
