// Pictures of cameras, for a broker. edged takes up to a second to make one; nothing else waits
// for it.
#pragma once

#include "daemon/client/client.h"

struct picture_requests;

// Takes a JPEG of `size` bytes, which is borrowed.
typedef void picture_taker(void *context, const char *camera, const char *jpeg, size_t size);

struct picture_requests *picture_requests_new(const struct client *client, picture_taker *take,
                                              void *context);
// Forgets those under way as well. Takes NULL.
void picture_requests_free(struct picture_requests *requests);
// Asks edged for a picture of now, unless it is making one of that camera already. `take` is called
// from the main loop, or never if edged has no picture.
void picture_requests_add(struct picture_requests *requests, const char *camera);
