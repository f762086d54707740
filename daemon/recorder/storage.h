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

struct storage;

// Opens the folder, making it if need be, and tries whether it can be written. *ret_is_full: there
// is no room now, which is no error, because clips can still be read and deleted. Errors are what
// the file system says, with a sentence in `error`.
int storage_open(const char *path, struct error *error, bool *ret_is_full,
                 struct storage **ret_storage);
// Any thread may take and give back references.
struct storage *storage_ref(struct storage *storage);
void storage_unref(struct storage *storage); // takes NULL

// The folder itself, borrowed.
int storage_folder(const struct storage *storage);
// Makes the empty file `name` of `folder` in the place of what has that name. A descriptor to write
// or a negative errno.
int storage_create(int folder, const char *name);
// The size of the file system in bytes, and how many are free for the recorder. 0 or a negative
// errno.
int storage_space(const struct storage *storage, uint64_t *ret_free, uint64_t *ret_total);

// Opens a file of a clip; `flags` as for open(). With O_CREAT its folders are made as well.
// Returns its descriptor or a negative errno.
int storage_open_file(const struct storage *storage, const struct recording *recording,
                      enum recording_file file, int flags);
// Opens a clip's video or its picture to be read, also while another thread renames the video.
// Returns its descriptor or a negative errno.
int storage_open_to_read(const struct storage *storage, const struct recording *recording,
                         enum recording_file file);
// Gives the grown file its name, once it is synced; returns when the name is safe.
int storage_publish(const struct storage *storage, const struct recording *recording);
// Writes or replaces its picture.
int storage_put_picture(const struct storage *storage, const struct recording *recording,
                        const uint8_t *jpeg, size_t size);
// Renames the clip's `file`, RECORDING_VIDEO or RECORDING_PART, to the name of one that is kept, or
// back; returns when the name is safe.
int storage_keep(const struct storage *storage, const struct recording *recording,
                 enum recording_file file, bool keep);
// Deletes its files, and the folders that are empty after that. Files that are gone are no error.
int storage_remove(const struct storage *storage, const struct recording *recording);

// Calls `visit` for each file of the recorder below the folder, with all that its place says, and
// in `bytes` the size of a RECORDING_VIDEO or RECORDING_PICTURE; `camera` and `view` are interned.
// Stops with what `visit` returns if that is negative.
typedef int storage_visitor(void *context, const struct recording *recording,
                            enum recording_file file);
int storage_walk(const struct storage *storage, storage_visitor *visit, void *context);

// write() of all of it at `offset`. 0 or a negative errno.
int storage_write(int fd, const uint8_t *bytes, size_t size, uint64_t offset);
