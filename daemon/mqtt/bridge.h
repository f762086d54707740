// Between the running edged and a broker: events, states and settings go to the broker, settings
// and recordings that are asked for come back.
//
// edged is asked over its control socket. Its events tell when something changes, so nothing is
// polled; each of them that tells of a state is followed by asking how it all is. What the broker
// has been told is remembered, so only changes go out, and all of it is told again at each
// connection. Main loop only.
#pragma once

#include "daemon/client/client.h"

struct bridge;

// `client` is borrowed; `id` is this machine's among those that share a broker. Nothing is
// connected before the main loop runs.
struct bridge *bridge_new(const struct client *client, const char *id);
// Tells the broker that edged is not available, and disconnects. Takes NULL.
void bridge_free(struct bridge *bridge);
