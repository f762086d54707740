// What the front shows of itself: the pages of the control API, and one line for systemd.
//
// A role is shown the views that it may watch, the cameras with such a view, and, unless it may
// watch all views, neither the problems of the last reload nor the other viewers.
#pragma once

#include "daemon/front/front_network.h"
#include "daemon/front/record/recorder.h"
#include "daemon/front/rtsp/rtsp_server.h"
#include "daemon/front/status/status.h"

#include <stdint.h>

// A second path of the first mount.
#define FRONT_ALIAS_PATH "/edges"

// Status or metrics of `cameras` (struct front_camera) as of now. The caller g_free()s the text.
char *front_status_text(const GPtrArray *cameras, const struct front_network *network,
                        const struct reload_verdict *verdict, const struct recorder *recorder,
                        int64_t uptime_ns, enum facts_format format, enum config_role role);
// "rtsp://192.0.2.1:8554/front/edges, …": up to 32 mounts, or "none". The caller g_free()s it.
char *front_status_list_mounts(const GPtrArray *cameras, const struct rtsp_server *server,
                               enum config_role role);

// The view of these names that `role` may watch, NULL: any; the first that fits; borrowed. NULL:
// there is none, and *ret_refusal says what there is, which the caller g_free()s.
struct stream *front_status_find_view(const GPtrArray *cameras, enum config_role role,
                                      const char *camera, const char *view, char **ret_refusal);

// Of the status the JSON of "cameras" and "mounts": the views of these paths (NULL at their end)
// that `role` is shown, and their cameras. The caller g_free()s it.
char *front_status_views_text(const GPtrArray *cameras, const struct rtsp_server *server,
                              enum config_role role, const char *const *paths);

// "2 cameras, 3 viewers, front 30.0 fps, back no signal"; `refused`: the last reload was. The
// caller g_free()s it.
char *front_status_line(const GPtrArray *cameras, bool refused);
// A message for each mount that can be watched: its URL, with an address of this machine where the
// server listens on every one.
void front_status_log_mounts(const GPtrArray *cameras, const struct rtsp_server *server);
// Adds to the verdict which cameras could not have what a reload has changed: their processes learn
// it only when they build it.
void front_status_note_refusals(const GPtrArray *cameras, struct reload_verdict *verdict);
