// What a camera process tells the front before it ends, if the front still reads.
#pragma once

#include "daemon/camera/encoder_watch.h"
#include "daemon/link/link.h"

// Sends the message and waits, 500 ms at most, until the socket has taken it.
void last_words_send(struct link *link, enum link_type type, const void *payload, size_t size);
// Once a second. -EDEADLK when an encoder hangs, after the front has been told: a thread will not
// return from it, and the lane waits for that thread or is going to. Else 0.
int last_words_if_encoder_hangs(struct link *link, struct encoder_watches *encoders);
