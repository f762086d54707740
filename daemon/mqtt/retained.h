// Retained messages: those that the broker keeps of this edged, one for each state, by its topic.
// It is published when the state changes, and taken back when there is no such state any more.
#pragma once

#include "daemon/mqtt/broker.h"

#include <glib.h>

// Embedded.
struct retained {
    GHashTable *told;    // payloads by their topics, as the broker has them; owned
    GHashTable *current; // topics that were told of, or were as before, since it began; owned
    bool tells_again;    // the broker may have lost them
};

void retained_init(struct retained *retained);
void retained_finish(struct retained *retained);
// It is another broker from now on.
void retained_forget(struct retained *retained);

// Publishes a state, unless the broker has it. Takes over `topic`.
void retained_tell(struct retained *retained, struct broker *broker, char *topic,
                   const char *payload);
// The bridge publishes a state of another kind there, such as a picture. Takes over `topic`.
void retained_keep(struct retained *retained, char *topic);
// The payload that was published last; NULL: none was. Borrowed.
const char *retained_last(const struct retained *retained, const char *topic);
// The broker, or who listens, has something else: the next retained_tell() publishes it.
void retained_doubt(struct retained *retained, const char *topic);

// All states are told between these two; the second takes back those that were not.
void retained_begin(struct retained *retained);
void retained_end(struct retained *retained, struct broker *broker);
// The broker has kept a message: it is taken back if it is none of the states.
void retained_look_at(const struct retained *retained, struct broker *broker, const char *topic);
// The broker keeps nothing in the topic any more.
void retained_take_back(struct broker *broker, const char *topic);
