// The messages by which Home Assistant finds a camera: one for each device, with all its entities
// (https://www.home-assistant.io/integrations/mqtt/#device-discovery-payload). It drops a message
// as a whole for a key that it does not know, and an entity whose availability lacks one of its two
// payloads, so each has both.
#pragma once

#include "daemon/mqtt/settings.h"

#define DISCOVERY_BYTES_MAX 24000u // beyond it only the settings that are shown by default are told

// The message of a camera, or of edged itself; the caller g_free()s it.
char *discovery_of_camera(const struct edged_state *edged, const char *camera);
char *discovery_of_edged(const struct edged_state *edged);

// `wanted` with a mark for each entity that only `old`, an earlier message of the same topic, has:
// Home Assistant keeps an entity that a later message leaves out, and removes one that is marked.
// NULL: there is none. The caller g_free()s it.
char *discovery_with_removed(const char *wanted, const char *old);
