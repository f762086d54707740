// What `edgectl setup` is told.
#pragma once

#include "config/base.h"
#include "daemon/ctl/users/password.h"

#include <stdbool.h>
#include <strings.h>

// The answers, from the command line and the questions. NULL: stays as the configuration has it.
struct setup_answers {
    const char *config_path; // borrowed
    char *camera;            // its name; owned, as all the others
    char *device;  // of the camera, or the rtsp:// URL of an IP camera; "": the first that works
    char *view;    // a kind of view: the first of the first camera
    char *user;    // who may watch
    char *address; // to listen on
    struct password password; // of `user`
    struct password login;    // of an IP camera, "user:password"; "": it has none
    bool tls;                 // encrypted, too
    bool force;               // do not ask before an edited configuration is replaced
    bool on_terminal;         // questions can be asked
};

// Whether a device is the URL of an IP camera.
static inline bool setup_answers_is_url(const char *device)
{
    return device &&
           (strncasecmp(device, "rtsp://", 7) == 0 || strncasecmp(device, "rtsps://", 8) == 0);
}
