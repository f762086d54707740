// The front's end of the link to edged-recorder, the process that keeps clips: connects to it or
// starts it, tells it the storage's settings, and carries units and questions to it.
//
// As a service edged connects to the socket that $EDGED_RECORDER names, which systemd holds.
// Otherwise it starts the program, which ends together with edged. It does so when the recorder is
// first needed, by recorder_want() or a question, and again after a pause if the recorder has
// ended. The link never blocks: what the recorder does not take waits in the readers' rings
// (front/model/tracks.h). Main loop only.
#pragma once

#include "config/config.h"
#include "daemon/link/link.h"
#include "daemon/link/record.h"

#include <stdbool.h>

struct recorder;

// Called with each message that answers a question, in order. `message` is NULL if no answer will
// come, because the recorder is gone, cannot be started, or did not answer in 5 s. Its size is
// checked, and texts in it end in NUL. Returns true if more is expected (RECORD_CLIPS, RECORD_LANE
// with `more`); after false it is not called again.
typedef bool recorder_answer(void *context, const struct link_message *message);

// Reports of the recorder to the front.
struct recorder_events {
    void (*clip)(void *context, const struct record_clip *clip); // began, ended, or has a picture
    // The recorder is there and knows nothing yet: it is to be told of the tracks.
    void (*connected)(void *context);
    // It takes more again, after an -ENOBUFS.
    void (*writable)(void *context);
    void *context;
};

// Never fails (GLib's allocator ends the process). Nothing is connected yet.
struct recorder *recorder_new(const struct recorder_events *events);
// Kills what is left of a process that it has started. Takes NULL.
void recorder_free(struct recorder *recorder);
// Closes the link, upon which a process that it has started closes its clips and ends.
void recorder_stop(struct recorder *recorder);
// Whether no process runs that it has started.
bool recorder_is_stopped(const struct recorder *recorder);

// Takes over what the configuration says of storage.
void recorder_configure(struct recorder *recorder, const struct config *config);
// Takes over a list of files, NULL at its end, that a process which edged starts must not open.
void recorder_set_secrets(struct recorder *recorder, char **secrets);
// The storage in the recorder's words: where clips are kept and how many. Borrowed.
const struct record_storage *recorder_storage(const struct recorder *recorder);
// Says whether the recorder has to run even while nobody asks it anything.
void recorder_want(struct recorder *recorder, bool wanted);
// Whether it has to: something is recorded.
bool recorder_is_wanted(const struct recorder *recorder);

// Sends a question: one of RECORD_LIST, _TIMELINE, _FIND, _READ, _TRIGGER, _CHANGE, _TRIAL with its
// struct, whose first member `request` it fills in. `view` is the track's number, of
// RECORD_TRIGGER. At most 64 wait for answers. Returns the request's number, or 0: it cannot be
// asked now, and `answer` is not called.
uint32_t recorder_ask(struct recorder *recorder, enum link_type type, uint32_t view, void *question,
                      size_t size, recorder_answer *answer, void *context);
// Its answer is not wanted any more. Takes 0.
void recorder_forget(struct recorder *recorder, uint32_t request);

// Sends to the recorder without an answer. Errors are those of link_send(), -ENOTCONN.
int recorder_send(struct recorder *recorder, enum link_type type, uint32_t view,
                  const struct iovec *pieces, int count);
// Something that was sent is still on its way to the recorder.
bool recorder_is_behind(const struct recorder *recorder);
// Its newest report; NULL: it is not running. Borrowed until the main loop goes on.
const struct record_state_report *recorder_state(const struct recorder *recorder);
// A sentence that says why it is not running; "": it runs, or was never needed. Borrowed.
const char *recorder_fault(const struct recorder *recorder);
