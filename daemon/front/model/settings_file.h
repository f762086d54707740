// settings.conf: the settings that are kept for one configuration file, in libconfig's syntax.
//
//   config = "/etc/edged/edged.conf";
//   settings = ( { key = "cameras.front.fps"; value = "25"; file = "30"; } );
//
// `value` is as it would stand in edged.conf; without it the region `key` is taken away. `file` is
// what the file said when the setting was kept: "" where it had the camera, view or region and said
// nothing of the key; without `file`, it had no such region.
#pragma once

#include "config/live/live.h"

#define SETTINGS_FILE_NAME "settings.conf"
#define SETTINGS_FILE_MAX 1000

// Reads `path` (NULL, and a missing file: nothing) for the configuration file `config_path`.
// Settings of another one are left alone. A broken file is renamed to "PATH.broken", unless
// `is_look`; both are said as a warning in `problems`.
void settings_file_read(const char *path, const char *config_path, bool is_look,
                        struct config_problems *problems, struct config_overrides *ret_kept);
// Replaces it in one step, mode 0600; without a setting it is removed. Errors of the file system.
int settings_file_write(const char *path, const char *config_path,
                        const struct config_overrides *kept, struct error *error);
// Reads the text of one. -EINVAL: it is none. *ret_config_path is owned by the caller.
int settings_file_parse(const char *text, char **ret_config_path,
                        struct config_overrides *ret_kept);
