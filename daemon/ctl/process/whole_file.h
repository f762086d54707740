// A file that appears whole or not at all: written beside its place, or in memory if it is standard
// output. Standard input is held in memory as well, because GStreamer seeks in what it reads.
//
// One beside its place at a time: SIGHUP, SIGINT and SIGTERM remove what is unfinished and end the
// program, unless they were ignored when it started.
#pragma once

#include "config/base.h"

#include <stdbool.h>
#include <stdio.h>

struct whole_file {
    char *path;   // where it is written, or read; owned
    FILE *stream; // of a file in memory; owned; NULL: it lies beside its place
};

// Whether `path` is "-".
bool whole_file_is_standard(const char *path);
// An empty file for what will be at `target`, with the permissions that a new file gets. -ENOENT
// and kin when the folder is not there or not writable. End it with whole_file_finish() in any
// case.
int whole_file_new(const char *target, struct error *error, struct whole_file *ret_file);
// Gives the file its name, or copies it to standard output. -errno.
int whole_file_publish(struct whole_file *file, const char *target, struct error *error);
// Holds all of standard input. End it with whole_file_finish() in any case. -ENODATA: it is empty;
// -errno of reading.
int whole_file_read_input(struct error *error, struct whole_file *ret_file);
// Removes what was not published. Takes a zeroed one.
void whole_file_finish(struct whole_file *file);
