// What a follower of /v1/events may ask for: cameras and regions of the configuration.
#pragma once

struct config;

// Checks the names of a query; each is NULL where the query has none. Returns NULL when the
// configuration has them, else a sentence that lists the names it has, which the caller g_free()s.
char *event_filter_refuse(const struct config *config, const char *camera, const char *region);
