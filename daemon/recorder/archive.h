// All clips: which there are, how they grow, and what becomes of them. Everything that touches the
// disk is a job for a thread; the archive says what came of it.
//
// It is in one of three states (enum record_state). When the storage fails it stops: all clips that
// are open are given up, and the folder is opened again every ARCHIVE_RETRY_NS, which also makes
// clips whole that did not get that far. Main loop only.
#pragma once

#include "daemon/recorder/growing_file.h"

#define ARCHIVE_RETRY_NS (2 * NS_PER_S)
#define ARCHIVE_WAITING_MAX (64u << 20) // bytes in memory for the disk

struct archive;

struct archive_events {
    void (*stopped)(void *context);                                 // open clips are to be ended
    void (*state)(void *context);                                   // of archive_report()
    void (*clip)(void *context, const struct recording *recording); // it was begun, or changed
};

struct archive *archive_new(const struct archive_events *events, void *context);
// Waits until what was begun is written. Takes NULL.
void archive_free(struct archive *archive);

// The first call opens the folder, later ones change limits alone. False: it is another folder.
bool archive_configure(struct archive *archive, const struct record_storage *storage);
// Once a second.
void archive_tick(struct archive *archive);
void archive_report(struct archive *archive, struct record_state_report *ret_report);
bool archive_is_open(const struct archive *archive);
// What would be deleted now if `limits` were the limits.
void archive_try(struct archive *archive, const struct record_storage *limits, uint64_t *ret_clips,
                 uint64_t *ret_bytes);

// Growing clips. archive_begin() gives a copy of `recording` an id and a file; NULL: the storage is
// not ready. *ret_recording is the archive's, and may be changed until archive_finish().
struct growing_file *archive_begin(struct archive *archive, const struct recording *recording,
                                   const struct mp4_video *video, struct recording **ret_recording);
// Takes the fragment. -ENOBUFS: the disk is so far behind that it was dropped, and counted.
int archive_append(struct archive *archive, struct growing_file *file, struct fragment *fragment);
void archive_finish(struct archive *archive, struct growing_file *file);
void archive_count_lost(struct archive *archive, uint64_t units);
// Tells of a clip by `clip` of the events.
void archive_announce(struct archive *archive, const struct recording *recording);
// Takes `payload`, whose JPEG begins at `offset`.
void archive_put_picture(struct archive *archive, uint64_t id, uint8_t *payload, size_t offset,
                         size_t size);

// NULL: there is no such clip.
const struct recording *archive_find(const struct archive *archive, uint64_t id);
// The clips that a question asks for, the newest first; the caller g_ptr_array_unref()s the array,
// whose struct recording are borrowed.
GPtrArray *archive_list(const struct archive *archive, const struct record_list *question);

// Called with the result of what was asked: 0 or a negative errno.
typedef void archive_answer(void *context, uint32_t request, int result);
void archive_change(struct archive *archive, uint64_t id, enum record_action action,
                    uint32_t request, archive_answer *answer, void *context);

// `bytes` are borrowed, `total` is the size of the whole.
typedef void archive_bytes(void *context, uint32_t request, int result, const uint8_t *bytes,
                           size_t size, uint64_t total);
void archive_read(struct archive *archive, const struct record_read *question,
                  archive_bytes *answer, void *context);
