// Clips that are lost while the storage works: those of a view whose files cannot be written, and
// those that have to be deleted as soon as they end. The log tells the beginning and the end of
// each fault, clip_faults_sentence() that it lasts. Main loop only.
#pragma once

#include "daemon/recorder/library.h"

// Embedded.
struct clip_faults {
    GHashTable *views; // sentences, owned, by the interned names of views that get no clip
    char no_room[256]; // why clips are deleted as soon as they end; "": they stay
    uint64_t lost;     // clips
};

void clip_faults_init(struct clip_faults *faults);
void clip_faults_finish(struct clip_faults *faults);

// A clip in the folder `path` could not be written, for `result`, a negative errno.
void clip_faults_lose(struct clip_faults *faults, const struct recording *recording,
                      const char *path, int result);
// A part of a clip was written.
void clip_faults_forget(struct clip_faults *faults, const struct recording *recording);
// A view is not recorded any more: nothing is said of it.
void clip_faults_drop(struct clip_faults *faults, const char *camera, const char *view);
// The clip that ended last is deleted, because those of `library` that may not be leave no room.
void clip_faults_lack_room(struct clip_faults *faults, const struct library *library,
                           const char *path);
// The clip that ended last stays, or other limits or fewer kept clips may let the next one stay.
void clip_faults_have_room(struct clip_faults *faults);

// One that lasts, for people. "": there is none.
const char *clip_faults_sentence(const struct clip_faults *faults);
// The name of a clip's view as messages have it, "camera/view"; interned.
const char *clip_faults_view(const struct recording *recording);
