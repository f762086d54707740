// A file that appears whole or not at all: written under a temporary name beside its place.
//
// One at a time: SIGHUP, SIGINT and SIGTERM remove the unfinished file and end the program, unless
// they were ignored when it started.
#pragma once

#include "config/base.h"

// Makes an empty file beside `path` with the permissions a new file gets. -ENOENT and kin when the
// folder is not there or not writable. The caller owns *ret_temporary: output_file_publish() or
// output_file_discard() first, then free().
int output_file_new(const char *path, struct error *error, char **ret_temporary);
// Gives the finished file its name.
int output_file_publish(const char *temporary, const char *path, struct error *error);
void output_file_discard(const char *temporary);
