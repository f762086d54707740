// The model in a few words: for systemd, for the log, and for a request that leads nowhere.
#pragma once

#include "daemon/front/model/model.h"

#define SUMMARY_URL_SIZE 160

// A URL with an address of this machine where it is listened on at every one; "" for NULL.
const char *summary_show_url(const char *url, char shown[SUMMARY_URL_SIZE]);
// "2 cameras, 3 viewers, front 30.0 fps, back no signal", and whether the last reload was refused.
// The caller g_free()s it.
char *summary_line(const struct model *model);
// "rtsp://192.0.2.1:8554/front/edges, …": up to 32 mounts that `role` may watch, or "none". The
// caller g_free()s it.
char *summary_list_mounts(const struct model *model, enum config_role role);
// A message for each mount that can be watched: its URL.
void summary_log_mounts(const struct model *model);
