// Standard input and output as files: GStreamer seeks in what it reads, and errors must leave
// nothing half written.
#pragma once

#include "config/base.h"

#include <stdbool.h>
#include <stdio.h>

// A file in memory, at the path of its descriptor in this process.
struct standard_file {
    FILE *stream; // owned; NULL: none
    char path[32];
};

// Whether `path` is "-".
bool standard_file_is(const char *path);
// Holds all of standard input. End it with standard_file_finish() in any case. -ENODATA: it is
// empty; -errno of reading, -ENOMEM.
int standard_file_read(struct error *error, struct standard_file *ret_file);
// An empty one, whose content standard_file_write() copies to standard output: -errno of writing.
int standard_file_new(struct error *error, struct standard_file *ret_file);
int standard_file_write(struct standard_file *file, struct error *error);
void standard_file_finish(struct standard_file *file);
