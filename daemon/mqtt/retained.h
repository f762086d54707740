// The messages that the broker keeps of this edged, "retained" ones: a topic for each state, which is
// published when it changes, and taken back when there is no such state any more.
//
// tell_all() of the bridge publishes all states between retained_begin() and retained_end().
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
// What others publish in the topic is a state as well. Takes over `topic`.
void retained_keep(struct retained *retained, char *topic);
// What the topic was last told; NULL: nothing. Borrowed.
const char *retained_last(const struct retained *retained, const char *topic);
// Somebody shows or says otherwise: the topic is told again.
void retained_doubt(struct retained *retained, const char *topic);

// All states follow, of which retained_end() takes back those that did not.
void retained_begin(struct retained *retained);
void retained_end(struct retained *retained, struct broker *broker);
// The broker has kept a message: it is taken back if it is none of the states.
void retained_look_at(const struct retained *retained, struct broker *broker, const char *topic);
// The broker keeps nothing in the topic any more.
void retained_take_back(struct broker *broker, const char *topic);
