// What the front shows of itself: the snapshot behind the control socket, and one line for systemd.
#pragma once

#include "daemon/front/account/account.h"
#include "daemon/front/front_network.h"
#include "daemon/front/rtsp/rtsp_server.h"
#include "daemon/front/status/snapshot.h"

#include <stdint.h>

// A snapshot of `cameras` (struct front_camera) as of now; snapshot_free(). NULL: out of memory.
struct snapshot *front_status_snapshot(const GPtrArray *cameras, struct rtsp_server *server,
                                       const struct front_network *network,
                                       const struct account *account,
                                       const struct reload_verdict *verdict, int64_t uptime_ns);

// "2 cameras, 3 viewers, front 30.0 fps, back no signal"; `refused`: the last reload was. The
// caller g_free()s it.
char *front_status_line(const GPtrArray *cameras, struct rtsp_server *server, bool refused);
// A message for each mount that can be watched: its URL, with an address of this machine where the
// server listens on every one.
void front_status_log_mounts(const GPtrArray *cameras, const struct rtsp_server *server);
// Adds to the verdict which cameras could not have what a reload has changed: their processes learn
// it only when they build it.
void front_status_note_refusals(const GPtrArray *cameras, struct reload_verdict *verdict);
