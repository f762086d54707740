// Loading the configuration again while the front runs: all of it is loaded, checked and opened
// before anything changes, and then front.c applies it, which cannot fail.
//
// A file that is being written may be cut off behind a whole setting, and looks like one without
// the rest. So files that were changed within the last second are looked at again a second later,
// until they have not changed meanwhile (five times at most); and once more those that leave none
// of the cameras in use.
#pragma once

#include "config/users.h"
#include "daemon/front/front_network.h"
#include "daemon/front/model/model.h"

// The results of a reload; starts out as {0}. All owned.
struct reload {
    struct config *config;
    struct live live;     // its file, and what is kept over it
    struct users *users;  // NULL: none
    struct users *tokens; // the same
    struct users *onvif;  // the same
    char *changes;        // in one line, with what they cost; NULL: no memory to say
};

#define RELOAD_LOOK_MS 1000 // from one look at the files to the next

// One reload on its way, which may look at the files several times; starts out as {0}.
struct reload_looks {
    unsigned count;     // of looks so far that found files which may not be whole
    unsigned waits;     // of those that found a certificate which is being written
    int64_t changed_ns; // when the newest file had changed, at the last one
    char log_suffix[LOG_LIMIT_SUFFIX_SIZE];
};

// Loads the file of `model` and that of its users again, logs every problem and notes them in its
// verdict; a file without a setting is one here. The new configuration keeps the addresses that are
// in use, as live_reload() says. `network` then listens as the new one says. 0, or the error of
// config_load(), -EINVAL for a file without a setting, -EMFILE for more cameras than there are file
// descriptors for, or those of users_read() and front_network_listen(). After an error nothing has
// changed. -EAGAIN: the files are to be looked at again after RELOAD_LOOK_MS, because they may not
// be whole or a certificate is being written; nothing is logged or noted.
int reload_open(struct reload *reload, struct model *model, struct front_network *network,
                struct reload_looks *looks);
void reload_finish(struct reload *reload);
