// The configuration that `edgectl setup` reads, changes and writes.
//
// Only the settings that differ are changed in its text; comments and everything else stay. The
// file as it was is kept beside the new one all the same.
#pragma once

#include "config/config.h"
#include "daemon/common/replace_file.h"
#include "daemon/ctl/users/password.h"

#include <stdbool.h>
#include <strings.h>

// The answers, from the command line, a file (setup_answers.h) and the questions. NULL: stays as
// the configuration has it.
struct setup_answers {
    const char *config_path; // borrowed
    const char *path;        // of a file with answers, borrowed; NULL: there is none
    char *camera;            // its name; owned, as all the others
    char *device;    // of the camera, or the rtsp:// URL of an IP camera; "": the first that works
    char *view;      // a kind of view: the first of the first camera
    char *user;      // who may watch
    char *address;   // to listen on
    char *storage;   // the folder for clips
    char *record;    // what is kept of the camera: a word of cameras.record.mode
    char *broker;    // of MQTT; "": none
    char *broker_ca; // the authority of its certificate; NULL: the system's
    char *broker_user;               // that edged is there; NULL: none
    struct password broker_password; // of that user; "": it has none
    bool broker_tls;                 // the broker is inside TLS
    struct password password;        // of `user`
    struct password onvif_password;  // drawn; "": no user was made
    struct password login;           // of an IP camera, "user:password"; "": it has none
    bool tls;                        // encrypted, too
    bool onvif;                      // ONVIF, with a user of its own
    bool page;                       // the page for browsers is for other machines, too
    bool start;                      // edged, now and with the system
    bool force;                      // do not ask before an edited configuration is replaced
    bool on_terminal;                // questions can be asked
};

// Whether a device is the URL of an IP camera.
static inline bool setup_answers_is_url(const char *device)
{
    return device &&
           (strncasecmp(device, "rtsp://", 7) == 0 || strncasecmp(device, "rtsps://", 8) == 0);
}

struct setup_config {
    struct replaced_file file; // the configuration; owned, as all the others
    char *mended;              // its text after setup_mend(); NULL: it has no mistakes to mend
    char *mends;               // what was mended, a line each
    struct config *old;        // what stands in the file; without one the defaults
    struct config *wanted;     // after setup_config_apply()
    char *new_text;            // what is wanted as text
    bool is_somebodys;         // somebody has edited the file since it was installed
    char *users_path;          // that it names, else rtsp.users beside it
    char *kept_path;           // where a copy of the file goes before it is changed
};

// Reads the file, if there is one. Errors are those of the file system.
int setup_config_read(const struct setup_answers *answers, struct error *error,
                      struct setup_config *ret_config);
// Loads what was read, or mended. If it has mistakes they are printed on standard error, and it
// returns -EINVAL, or takes the defaults with answers->force.
int setup_config_load(struct setup_config *config, const struct setup_answers *answers,
                      struct error *error);
void setup_config_finish(struct setup_config *config);

// The word's mode in *ret_mode. -EINVAL with the allowed words in `error`.
int setup_config_read_mode(const char *word, struct error *error,
                           enum config_record_mode *ret_mode);
// The recording mode of the first camera in the file, as such a word.
const char *setup_config_mode_name(const struct setup_config *config);
// Whether somebody has to log in to watch.
bool setup_config_has_users(const struct setup_config *config);
// The file with the user and password of the first camera of `wanted`: NAME.credentials beside the
// configuration. The caller frees it (g_free).
char *setup_config_login_path(const struct setup_config *config, const struct config *wanted);
// The file with the password of edged's user at the broker: mqtt.password beside the configuration.
// The caller frees it (g_free).
char *setup_config_broker_path(const struct setup_config *config);
// Whether ONVIF gets a user: not where nobody is asked for a password.
bool setup_config_makes_onvif_user(const struct setup_config *config,
                                   const struct setup_answers *answers);
// Whether edged would take the configuration with these answers; those that are NULL stay as the
// file has them. Changes nothing. -EINVAL with the key and what is allowed. -ENOMEM.
int setup_config_try(const struct setup_config *config, const struct setup_answers *answers,
                     struct error *error);
// Makes `wanted` of what the file has and the answers. -EINVAL: edged would not take the result,
// with the first mistake in `error`. -ENOMEM.
int setup_config_apply(struct setup_config *config, const struct setup_answers *answers,
                       struct error *error);
// Prints what would change, as `edged --check --diff` does. Returns whether anything would.
bool setup_config_print_changes(const struct setup_config *config);
// Writes what was mended, although mistakes are left, and keeps the file as it was as `kept_path`.
// Errors are those of the file system.
int setup_config_write_mended(const struct setup_config *config, struct error *error);
// Writes the configuration, and loads it as edged would, with the files that it names. The
// file as it was is kept as `kept_path`. If edged would not take the new one, the old one is put
// back: -EINVAL, with the mistakes on standard error. Other errors are those of the file system.
int setup_config_write(const struct setup_config *config, struct error *error);
