// What a follower of /v1/events may ask for: cameras and regions of the configuration.
#pragma once

#include "config/config.h"

// The least role that may watch a view of a camera; CONFIG_ROLE_ADMIN where there is no such
// camera.
enum config_role event_filter_role(const struct config *config, const char *camera);
// Checks the names of a query; each is NULL where the query has none. Returns NULL when the
// configuration has them, among the cameras that `role` may watch, else a sentence that lists the
// names that there are for it, which the caller g_free()s.
char *event_filter_refuse(const struct config *config, enum config_role role, const char *camera,
                          const char *region);
