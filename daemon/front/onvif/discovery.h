// WS-Discovery (OASIS 2005/04, as ONVIF uses it): answers Probe and Resolve of clients in the same
// network, over IPv4 at UDP port 3702. Main loop only.
//
// An answer is larger than its question, and a sender's address can be forged, so it goes to
// addresses of the networks that this machine is in alone, by the interface through which the
// question came, at most 10 a second. Interfaces that come and go are followed by the kernel's
// messages.
#pragma once

#include "config/base.h"

#include <stdbool.h>
#include <stddef.h>

#define DISCOVERY_ANSWERS_A_SECOND 10
#define DISCOVERY_LOOKS_A_SECOND 200 // more datagrams are dropped unread
#define DISCOVERY_MESSAGE_ID_MAX 256

struct discovery;

// This device, as an answer describes it. All is borrowed.
struct discovery_device {
    const char *uuid;
    const char *const *scopes; // ends in NULL
    const char *url;           // of the Device service
    unsigned instance, number; // of the start, and of the message
};

// The answer to a datagram; the caller g_free()s it. NULL: it is no Probe and no Resolve, does not
// mean this device, or is not understood.
char *discovery_answer(const char *text, size_t size, const struct discovery_device *device);

// Answers from now on, where `url` ("http://0.0.0.0:9854") is not NULL and no loopback's; its host
// is replaced by the address that the client can reach. *discovery may be NULL before and after:
// where nothing is to be answered. -errno: the port cannot be had, with the sentence in `error`;
// nothing is answered then.
int discovery_set(struct discovery **discovery, const char *url, struct error *error);
// Takes NULL.
void discovery_free(struct discovery *discovery);
