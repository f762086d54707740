// The catalog finds out which clips are in the folder. `index.jsonl` has a line of JSON for each,
// which only saves opening every clip at a start. If index and folder differ, the folder is right:
// a clip that the index lacks is read and added, a line whose file is gone is dropped, and the
// files say how large a clip is, whether it is kept and whether it has a picture.
//
// A full file system is no error here, because clips can still be deleted. An index that could not
// be written is written at the next start.
//
// The first line of the index has a mark that identifies the folder, and the next id, so that ids
// grow even if the newest clips were deleted. For the disk thread alone.
#pragma once

#include "daemon/recorder/storage.h"

#include <glib.h>

#define CATALOG_MARK_SIZE 40

struct catalog {
    GPtrArray *clips; // owned, of struct recording, by growing id
    uint64_t next_id;
    char mark[CATALOG_MARK_SIZE]; // no other folder has it
    unsigned recovered;           // clips that a crash had left open, and that are finished now
    unsigned ignored;             // files that look like a clip and are none, or a copy of another
};

// Reads the index and the folder, finishes clips that were left open, and writes the index again if
// it was not right. `mark` is that of the folder that was open before, or "" for the first; a
// folder with another mark is refused with -ESTALE. Other errors are what the file system says,
// with a sentence in `error`.
int catalog_load(struct storage *storage, const char *mark, struct error *error,
                 struct catalog *ret_catalog);
void catalog_finish(struct catalog *catalog); // takes zeros

// Adds a clip that has been finished.
int catalog_add(const struct storage *storage, const struct recording *recording);
