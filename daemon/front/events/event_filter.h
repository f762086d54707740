// What a follower of /v1/events may ask for: cameras and regions of the configuration.
#pragma once

struct config;

// The names of a query, each NULL where it says none. Returns NULL when they are there, else a
// sentence that lists those that are; the caller g_free()s it.
char *event_filter_refuse(const struct config *config, const char *camera, const char *region);
