// Finds what a request names, among what its user is shown.
#pragma once

#include "config/config.h"

#include <glib.h>

struct stream;

// A camera, view or region that a request names and that is not there, or not for this user.
struct lookup_absent {
    const char *key;  // the part of the request: "camera"; a literal
    const char *name; // borrowed
    char *allowed;    // the names that there are; for g_free()
};

// The view of these names that `role` may watch, NULL: any; the first that fits of `cameras`
// (struct front_camera); borrowed. NULL: there is none, and *ret_absent (may be NULL) says what
// there is.
struct stream *lookup_view(const GPtrArray *cameras, enum config_role role, const char *camera,
                           const char *view, struct lookup_absent *ret_absent);
// Whether the configuration has the names of a query, each NULL where the query has none, among the
// cameras that `role` may watch. If not, *ret_absent lists those that there are for it.
bool lookup_region(const struct config *config, enum config_role role, const char *camera,
                   const char *region, struct lookup_absent *ret_absent);
// The least role that may watch a view of a camera; CONFIG_ROLE_ADMIN where there is no such
// camera.
enum config_role lookup_role(const struct config *config, const char *camera);
// The same of one view.
enum config_role lookup_view_role(const struct config *config, const char *camera,
                                  const char *view);
