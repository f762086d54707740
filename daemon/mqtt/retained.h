// Retained messages: those that the broker keeps of this edged, one for each state, by its topic.
// Each is published when its state changes, and taken back when there is no such state any more.
#pragma once

#include "daemon/mqtt/broker.h"

#include <glib.h>
#include <stdbool.h>

// Embedded.
struct retained {
    GHashTable *told;    // payloads by their topics, as the broker has them; owned
    GHashTable *current; // topics of all states since retained_begin(), published or not; owned
    GHashTable *gone;    // topics of cameras that the broker tells of, and that are no more; owned
    bool tells_again;    // the broker may have lost them, or may have what was taken back
};

void retained_init(struct retained *retained);
void retained_finish(struct retained *retained);
// Another broker is told from now on, or below other topics.
void retained_forget(struct retained *retained);

// Publishes a state, unless the broker has it. Takes over `topic`.
void retained_tell(struct retained *retained, struct broker *broker, char *topic,
                   const char *payload);
// The topic is that of a state which is published by other means, a picture. Takes over `topic`.
void retained_keep(struct retained *retained, char *topic);
// The payload that was published last; NULL: none was. Borrowed.
const char *retained_last(const struct retained *retained, const char *topic);
// The next retained_tell() of the topic publishes whatever the payload is; after the second, each
// one does until retained_end().
void retained_doubt(struct retained *retained, const char *topic);
void retained_doubt_all(struct retained *retained);

// All states are told between these two; the second takes back those that were not, and those below
// the level `first` before the others.
void retained_begin(struct retained *retained);
void retained_end(struct retained *retained, struct broker *broker, const char *first);
// Has the broker send what it has kept, to retained_take_old(): how available cameras are, what
// moves in regions, and the settings of views and regions, below `own`, the topic of this edged.
void retained_look_back(struct retained *retained, struct broker *broker, const char *own);
// The broker has kept the message, which is taken back if there is no such state any more. `gone`
// is the topic of its camera if there is no such camera any more: all that the broker keeps below
// that is then asked for and taken back as well. NULL: the camera is there.
void retained_take_old(struct retained *retained, struct broker *broker, const char *topic,
                       const char *payload, const char *gone);
// The broker keeps nothing in the topic any more.
void retained_take_back(struct broker *broker, const char *topic);
