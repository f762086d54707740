// How this device names itself to ONVIF's clients: its numbers, its scopes, its interfaces.
#pragma once

#include "config/base.h"

#include <glib.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#define IDENTITY_UUID_SIZE 37
#define IDENTITY_MAC_SIZE 18
#define IDENTITY_INTERFACES_MAX 16

// The number of this machine, or of one `camera` of it where that is a device of its own (NULL:
// not): a hash of /etc/machine-id, which is not for strangers itself; without it of the host's
// name.
void identity_uuid(const char *camera, char ret_uuid[IDENTITY_UUID_SIZE]);
// "Jetson Orin Nano", or what else the board calls itself. Borrowed.
const char *identity_model(void);
const char *identity_host_name(void); // borrowed

// An interface that is up, with one of its addresses of IPv4.
struct identity_interface {
    char name[IF_NAMESIZE], mac[IDENTITY_MAC_SIZE], address[INET_ADDRSTRLEN];
    unsigned index;
    int prefix;
    bool has_address, is_loopback;
};

// The interfaces of this machine, at most IDENTITY_INTERFACES_MAX: first the one that has the
// address `local` (NULL: none), then the others; the loopback only if there is no other. Returns
// how many there are.
size_t identity_interfaces(const struct sockaddr *local,
                           struct identity_interface ret_list[IDENTITY_INTERFACES_MAX]);

// The scopes by which clients choose devices, "onvif://www.onvif.org/name/jetson", for
// g_strfreev().
char **identity_scopes(const char *camera);
