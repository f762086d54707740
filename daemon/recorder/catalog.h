// Which clips there are in the folder: `index.jsonl` there, a line of JSON a clip, and what lies in
// the folder. The file only saves reading every clip at a start. The names of the files are what
// counts: a clip that is not in the index is read and added, a line without a file is dropped, and
// whether a clip is kept and has a picture is what its files' names say.
//
// A full file system is no error here: clips can still be deleted, and what could not be written is
// written at another start.
//
// The first line says what identifies the folder, and the next id, so that ids grow even if the
// newest clips were deleted. For the disk thread alone.
#pragma once

#include "daemon/recorder/storage.h"

#include <glib.h>

#define CATALOG_MARK_SIZE 40

struct catalog {
    GPtrArray *clips; // owned, of struct recording, by growing id
    uint64_t next_id;
    char mark[CATALOG_MARK_SIZE]; // no other folder has it
    unsigned recovered;           // clips that were made whole now
};

// Reads the index and the folder, makes clips whole that are not, and writes the index anew if it
// says something else. `mark` is that of the folder that was open before, "" at first; another one
// is refused with -ESTALE. Else a negative errno, with its sentence in `error`.
int catalog_load(struct storage *storage, const char *mark, struct error *error,
                 struct catalog *ret_catalog);
void catalog_finish(struct catalog *catalog); // takes zeros

// Adds a clip that has been finished.
int catalog_add(const struct storage *storage, const struct recording *recording);
