// The folder of all clips. Every file in it is opened, renamed and deleted by these functions,
// which follow no symbolic link below the folder and touch only names that are the recorder's own.
//
// All of them may block for as long as the disk does: for the disk threads alone.
#pragma once

#include "config/base.h"
#include "daemon/recorder/recording.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORAGE_DAMAGED ".damaged"

struct stat;
struct storage;

// Opens the folder, making it if need be, and tries whether it can be written. *ret_is_full: there
// is no room now, which is no error, because clips can still be read and deleted. Errors are what
// the file system says, with a sentence in `error`.
int storage_open(const char *path, struct error *error, bool *ret_is_full,
                 struct storage **ret_storage);
// Any thread may take and give back references.
struct storage *storage_ref(struct storage *storage);
void storage_unref(struct storage *storage); // takes NULL

// Whether the folder takes a file. 0 or a negative errno; -ENOSPC: not now.
int storage_try(const struct storage *storage);
// The folder itself, borrowed.
int storage_folder(const struct storage *storage);
// Makes the empty file `name` of `folder` in the place of what has that name. A descriptor to write
// or a negative errno.
int storage_create(int folder, const char *name);
// The size of the file system in bytes, and how many are free for the recorder. 0 or a negative
// errno. -ENOENT, -ESTALE: the path it was opened by leads to no folder any more, or to another.
int storage_space(const struct storage *storage, uint64_t *ret_free, uint64_t *ret_total);

// Opens a file of a clip; `flags` as for open(). With O_CREAT its folders are made as well.
// Returns its descriptor or a negative errno.
int storage_open_file(const struct storage *storage, const struct recording *recording,
                      enum recording_file file, int flags);
// Opens a clip's video or its picture to be read, also while another thread renames the video.
// Returns its descriptor or a negative errno.
int storage_open_to_read(const struct storage *storage, const struct recording *recording,
                         enum recording_file file);
// Gives the grown file its name, once it is synced; returns when the name is safe. -EEXIST, here
// and for storage_keep(): something else has that name, and is left as it is.
int storage_publish(const struct storage *storage, const struct recording *recording);
// Writes or replaces its picture. -ENOENT: its folder is gone.
int storage_put_picture(const struct storage *storage, const struct recording *recording,
                        const uint8_t *jpeg, size_t size);
// Renames the clip's `file`, RECORDING_VIDEO or RECORDING_PART, to the name of one that is kept, or
// back; returns when the name is safe.
int storage_keep(const struct storage *storage, const struct recording *recording,
                 enum recording_file file, bool keep);
// Gives the files of a finished clip `from` the names of `to`, which begins at another time;
// returns when the names are safe. After an error they have the names that they had.
int storage_move(const struct storage *storage, const struct recording *from,
                 const struct recording *to);
// Renames the part of a clip that nobody can finish, so that it is no part any more: its name ends
// in STORAGE_DAMAGED in place of ".part". -EEXIST: something has that name.
int storage_set_aside(const struct storage *storage, const struct recording *recording);
// Deletes its files, and the folders that are empty after that. Files that are gone are no error; a
// folder with the name of one is left alone.
int storage_remove(const struct storage *storage, const struct recording *recording);

// How many bytes of a file take no room on its disk, such as what is left of a clip's room for its
// table. 0 if the file system does not say.
uint64_t storage_hole(const struct stat *about);

// Calls `visit` for each file of the recorder below the folder, with all that its place says, and
// in `bytes` and `hole_bytes` the size of a RECORDING_VIDEO or RECORDING_PICTURE; `camera` and
// `view` are interned.
// Stops with what `visit` returns if that is negative.
typedef int storage_visitor(void *context, const struct recording *recording,
                            enum recording_file file);
int storage_walk(const struct storage *storage, storage_visitor *visit, void *context);

// Makes what was written to a file or folder safe; storage_syncs() counts these calls of the
// process. Any thread. storage_sync() returns 0 or a negative errno.
int storage_sync(int fd);
uint64_t storage_syncs(void);
// write() of all of it at `offset`. 0 or a negative errno.
int storage_write(int fd, const uint8_t *bytes, size_t size, uint64_t offset);
