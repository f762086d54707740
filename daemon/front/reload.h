// Loading the configuration again while the front runs: all of it is loaded, checked and opened
// before anything changes, and then front.c applies it, which cannot fail.
#pragma once

#include "config/users.h"
#include "daemon/front/front_network.h"
#include "daemon/front/live.h"
#include "daemon/front/status/status.h"

// What a reload has brought; starts out as {0}. All owned.
struct reload {
    struct config *config;
    struct live live;     // its file, and what is kept over it
    struct users *users;  // NULL: none
    struct users *tokens; // the same
    char *changes;        // in one line, with what they cost; NULL: no memory to say
};

// Loads the file of `verdict` and that of its users again, logs every problem and notes them there;
// a file without a setting is one here. Addresses are bound once: where the file has others than
// `in_use`, that is a warning, and the new configuration gets those of `in_use` (which is left with
// the file's). `network` then listens as the new one says. 0, or the error of config_load(),
// -EINVAL for a file without a setting, -EMFILE for more cameras than there are file descriptors
// for, or those of users_read() and front_network_listen(). After an error nothing has changed.
int reload_open(struct reload *reload, struct config *in_use, struct front_network *network,
                struct reload_verdict *verdict);
void reload_finish(struct reload *reload);
// Has `config` keep what is bound once of `old`, which gets the others. Whether they differ.
bool reload_keep_addresses(struct config *old, struct config *config);
