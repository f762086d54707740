// Retained messages: those that the broker keeps of this edged, one for each state, by its topic.
// It is published when the state changes, and taken back when there is no such state any more.
#pragma once

#include "daemon/mqtt/broker.h"

#include <glib.h>
#include <stdbool.h>

// Embedded.
struct retained {
    GHashTable *told;    // payloads by their topics, as the broker has them; owned
    GHashTable *current; // topics of all states since retained_begin(), published or not; owned
    bool tells_again;    // the broker may have lost them
    bool has_looked_back;
    GHashTable *gone; // topics of cameras that an earlier run told of, and that are no more; owned
};

void retained_init(struct retained *retained);
void retained_finish(struct retained *retained);
// Another broker is told from now on, or below other topics.
void retained_forget(struct retained *retained);

// Publishes a state, unless the broker has it. Takes over `topic`.
void retained_tell(struct retained *retained, struct broker *broker, char *topic,
                   const char *payload);
// The bridge publishes a state of another kind there, such as a picture. Takes over `topic`.
void retained_keep(struct retained *retained, char *topic);
// The payload that was published last; NULL: none was. Borrowed.
const char *retained_last(const struct retained *retained, const char *topic);
// The next retained_tell() publishes it in any case; the second one: all until retained_end().
void retained_doubt(struct retained *retained, const char *topic);
void retained_doubt_all(struct retained *retained);

// All states are told between these two; the second takes back those that were not.
void retained_begin(struct retained *retained);
void retained_end(struct retained *retained, struct broker *broker);
// Once for each broker: has it send what it has kept of an earlier run, to retained_take_old(): how
// available cameras are and what moves in regions, below `own`, the topic of this edged.
void retained_look_back(struct retained *retained, struct broker *broker, const char *own);
// The broker has kept it. It is taken back if it is no state any more; `gone` is the topic of its
// camera if that is no more, of which all is asked for and taken back then; NULL: it is there.
void retained_take_old(struct retained *retained, struct broker *broker, const char *topic,
                       const char *payload, const char *gone);
// The broker keeps nothing in the topic any more.
void retained_take_back(struct broker *broker, const char *topic);
