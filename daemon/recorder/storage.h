// The folder of all clips, and every way in which files in it are touched. No symbolic link below
// it is followed, and nothing but the recorder's own names is opened or deleted there.
//
// All of it may block for as long as the disk does: for the disk threads alone.
#pragma once

#include "config/base.h"
#include "daemon/recorder/recording.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct storage;

// Opens the folder, or makes it, and tries whether it can be written. An error is what the file
// system says.
int storage_open(const char *path, struct error *error, struct storage **ret_storage);
// Any thread may take and give back references.
struct storage *storage_ref(struct storage *storage);
void storage_unref(struct storage *storage); // takes NULL

// The folder itself, borrowed.
int storage_folder(const struct storage *storage);
// Bytes of the file system, and those that are free for the recorder. 0 or a negative errno.
int storage_space(const struct storage *storage, uint64_t *ret_free, uint64_t *ret_total);

// Opens a file of a clip; `flags` as for open(). With O_CREAT its folders are made as well.
// Returns its descriptor or a negative errno.
int storage_open_file(const struct storage *storage, const struct recording *recording,
                      enum recording_file file, int flags);
// Gives the grown file its name, once it is synced; returns when the name is safe.
int storage_publish(const struct storage *storage, const struct recording *recording);
// Writes or replaces its picture.
int storage_put_picture(const struct storage *storage, const struct recording *recording,
                        const uint8_t *jpeg, size_t size);
// Keeps the clip (`keep`) or no longer: renames its file.
int storage_keep(const struct storage *storage, const struct recording *recording, bool keep);
// Deletes its files, and folders that are empty then. No error if they are gone.
int storage_remove(const struct storage *storage, const struct recording *recording);

// Calls `visit` for each file of the recorder below the folder, with all that its place says;
// `camera` and `view` are interned. Stops with what `visit` returns if that is negative.
typedef int storage_visitor(void *context, const struct recording *recording,
                            enum recording_file file);
int storage_walk(const struct storage *storage, storage_visitor *visit, void *context);

// write() of all of it at `offset`. 0 or a negative errno.
int storage_write(int fd, const uint8_t *bytes, size_t size, uint64_t offset);
