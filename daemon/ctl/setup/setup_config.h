// The configuration that `edgectl setup` reads, changes and writes.
//
// What nobody asked for stays as it was, but written anew: comments are not kept, and what was
// included becomes part of the file. So one that somebody has written is kept beside it.
#pragma once

#include "config/config.h"
#include "daemon/ctl/setup/setup.h"

struct setup_config {
    char *path;         // behind its links; owned, as all the others
    struct config *old; // what stands in the file; without one the defaults
    struct config *wanted;
    char *text; // of the file; NULL: there is none
    size_t length;
    char *new_text;    // what is wanted as text
    bool is_somebodys; // the file says another thing than the one that is installed
    char *users_path;  // that it names, else rtsp.users beside it
};

// Reads the configuration. One with mistakes is said with all of them on standard error; with
// answers->force the defaults come in its place. -EINVAL then, else what the file system says.
int setup_config_load(const struct setup_answers *answers, struct error *error,
                      struct setup_config *ret_config);
void setup_config_finish(struct setup_config *config);

// Whether somebody has to log in to watch.
bool setup_config_has_users(const struct setup_config *config);
// Makes `wanted` what the answers say. -EINVAL: edged would not take that, with all that is wrong
// on standard error; -ENOMEM.
int setup_config_apply(struct setup_config *config, const struct setup_answers *answers,
                       struct error *error);
// Whether it would change anything; what, as `edged --check --diff` says it, on standard output.
bool setup_config_print_changes(const struct setup_config *config);
// Writes it, and loads it as edged would, with the files it names. What was there is kept as
// PATH.bak if it was somebody's, and put back where edged would not take the new one: -EINVAL, with
// the mistakes on standard error. Else what the file system says.
int setup_config_write(const struct setup_config *config, struct error *error);
