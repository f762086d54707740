// The archive has all clips: it begins them, writes them, deletes those that have to go, and
// answers questions about them. It hands everything that touches the disk to a thread as a job
// (disk_thread.h), and tells the result by its events.
//
// It is in one of three states (enum record_state). When the storage fails, the archive stops: it
// gives up all open clips, and tries to open the folder again every ARCHIVE_RETRY_NS. Opening the
// folder also finishes the clips that were given up.
//
// A fault of one clip, whose file is gone or has something foreign in its way, is that clip's: the
// log and archive_report() tell it, and all others go on. Main loop only.
#pragma once

#include "daemon/recorder/growing_file.h"
#include "daemon/recorder/library.h"

#define ARCHIVE_RETRY_NS (2 * NS_PER_S)
#define ARCHIVE_WAITING_MAX (64u << 20) // bytes in memory for the disk

struct archive;

struct archive_events {
    void (*stopped)(void *context); // the storage failed; the owners of open clips end them
    void (*lost)(void *context, uint64_t id); // this clip cannot be written; its owner ends it
    void (*state)(void *context);             // archive_report() has another state to tell
    void (*clip)(void *context, const struct recording *recording); // it was begun, or changed
};

struct archive *archive_new(const struct archive_events *events, void *context);
// Waits until all jobs for the disk are done; their answers are given, but no event is told any
// more. Takes NULL.
void archive_free(struct archive *archive);

// The first call opens the folder; later calls change only the limits. False: they name another
// folder, which takes a restart.
bool archive_configure(struct archive *archive, const struct record_storage *storage);
// Once a second.
void archive_tick(struct archive *archive);
void archive_report(struct archive *archive, struct record_state_report *ret_report);
bool archive_is_open(const struct archive *archive);
// Counts the clips, and their bytes, that would be deleted now if `limits` were in force.
void archive_try(struct archive *archive, const struct record_storage *limits, uint64_t *ret_clips,
                 uint64_t *ret_bytes);

// Growing clips. archive_begin() copies `recording` and gives the copy an id and a file; NULL: the
// storage is not ready, or so far behind that the clip would lack its beginning. `room` as for
// growing_file_new(). *ret_recording is that copy. The archive owns it; the caller may change it
// until archive_finish().
struct growing_file *archive_begin(struct archive *archive, const struct recording *recording,
                                   const struct mp4_video *video, uint32_t room,
                                   struct recording **ret_recording);
// Takes over the fragment, and writes it. -ENOBUFS: the disk is ARCHIVE_WAITING_MAX behind, so the
// fragment was dropped and counted as lost.
int archive_append(struct archive *archive, struct growing_file *file, struct fragment *fragment);
void archive_finish(struct archive *archive, struct growing_file *file);
// A view is not recorded any more: once its clips are finished, none of their faults lasts.
void archive_forget_view(struct archive *archive, const char *camera, const char *view);
// Calls the event `clip` for it.
void archive_announce(struct archive *archive, const struct recording *recording);
// Writes a clip's picture. Takes over `payload`, in which the JPEG begins at `offset`.
void archive_put_picture(struct archive *archive, uint64_t id, uint8_t *payload, size_t offset,
                         size_t size);

// All clips, borrowed until the main loop goes on.
const struct library *archive_library(const struct archive *archive);

// Answers repeat the ticket of the question; they come at once where the disk is not needed.
// Called with the result of a change, once it is on the disk: 0 or a negative errno. -ENOENT: the
// clip's file is gone, and the clip with it.
typedef void archive_answer(void *context, uint32_t ticket, int result);
void archive_change(struct archive *archive, uint64_t id, enum record_action action,
                    uint32_t ticket, archive_answer *answer, void *context);

// `bytes` are borrowed; `total` is the size of the whole file.
typedef void archive_bytes(void *context, uint32_t ticket, int result, const uint8_t *bytes,
                           size_t size, uint64_t total);
void archive_read(struct archive *archive, const struct record_read *question, uint32_t ticket,
                  archive_bytes *answer, void *context);
