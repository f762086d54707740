// Messages between the front and the recorder, by a link of its own (daemon/link/link.h; the types
// are those of enum link_type that begin with RECORD).
//
// Both ends are one build: each sends RECORD_HELLO first, and an end that hears another version
// hangs up. The front then says where clips are kept and which views it feeds; it says all of that
// again after every reconnect. A view that is fed is a track; its number stands in the header's
// `view`, and no other track of the connection ever gets it.
//
// The recorder keeps what it has while no front is connected: a new connection takes the place of
// an older one, is a gap in every track, and ends the clips of events. A clip is known by its id
// alone, never by a path.
// `_ns` are CLOCK_MONOTONIC, `_wall_ns` nanoseconds since 1970 in UTC.
#pragma once

#include "daemon/link/clip_facts.h"

#include <stdint.h>

#define RECORD_NAME_SIZE 40 // of a camera, a view, a region; ends in NUL
#define RECORD_REGIONS_MAX 8
#define RECORD_NAMES_SIZE 320 // of all these regions, with '/' in between; ends in NUL
#define RECORD_PATH_SIZE 1024
#define RECORD_BYTES_MAX (256u << 10) // of a clip in one answer
#define RECORD_CLIPS_MAX 64u          // in one message
#define RECORD_READS_MAX 64u          // questions for bytes at a time
#define RECORD_LIST_MAX 1024u         // in all messages that answer one question
#define RECORD_STEPS_MAX 2000u        // of a timeline
#define RECORD_DAYS_MAX 3661u
#define RECORD_DAY_NS INT64_C(86400000000000)
#define RECORD_LANES_MAX 256u // views in one answer, those with the newest clips

enum record_mode {
    RECORD_EVENTS, // clips of motion events, and of what RECORD_TRIGGER asks for
    RECORD_ALWAYS, // all of it; an event marks the clips that show it
};

// RECORD_STORAGE: where clips are kept and how many. The first one of a connection opens the folder
// and reads its index; a later one changes the limits alone.
struct record_storage {
    uint64_t max_bytes;      // of all clips with their pictures; 0: no limit
    uint64_t min_free_bytes; // of the file system; 0: a tenth of it, and at least 1 GB
    int64_t max_age_ns;      // 0: no limit
    char path[RECORD_PATH_SIZE];
};

// RECORD_TRACK: from now on a view is fed, or is fed with other settings. RECORD_TRACK_END, without
// payload: it is fed no longer, and its open clip is closed.
struct record_track {
    char camera[RECORD_NAME_SIZE], view[RECORD_NAME_SIZE];
    uint32_t mode;  // enum record_mode
    uint32_t codec; // enum config_codec
    int64_t before_ns, after_ns, max_clip_ns;
};

// RECORD_UNIT: an access unit follows, in Annex B form.
struct record_unit {
    int64_t captured_ns;
    uint64_t number; // one more than that of the unit before, unless units were lost; 0 of a slate
    uint8_t key_frame;
    uint8_t slate; // NO SIGNAL: a gap
    uint8_t reserved[6];
};

// The last event of a region.
struct record_motion {
    char region[RECORD_NAME_SIZE];
    uint64_t number; // of the event in its region
    int64_t started_ns;
    int64_t ended_ns; // 0: it is under way
    float peak;       // the largest share of the region's pixels so far, 0..1
    uint32_t reserved;
};

// RECORD_WANTED, of a track: all that is to be recorded of it, which takes the place of what was
// said before. It is said at each change and again once a second, so that one that was lost does no
// harm.
struct record_wanted {
    uint64_t number;        // one more at each change; from 1 on
    int64_t asked_until_ns; // by RECORD_TRIGGER; 0: nothing is asked for
    uint32_t asked_by;      // the request of the newest RECORD_TRIGGER that counts in it; 0: none
    uint32_t region_count;
    struct record_motion regions[RECORD_REGIONS_MAX];
};

// RECORD_PICTURE: a JPEG of the track's view follows, of the beginning of the clip that is open or
// of a moment with more motion than any before in it; it replaces the clip's picture.
struct record_picture {
    int64_t captured_ns;
    float share;
    uint32_t reserved;
};

// Every question has a number that its answer repeats, from 1 on. While the folder is not open yet,
// questions are answered by RECORD_DONE with -EAGAIN, whatever their own answer is.
enum record_action { RECORD_START, RECORD_STOP, RECORD_KEEP, RECORD_UNKEEP, RECORD_DELETE };

// RECORD_TRIGGER, of a track: a signal from outside starts a clip, or prolongs the one that is
// open, until `duration_ns` from `asked_ns` on; or stops it. Answered by RECORD_DONE. If that is an
// error, the trigger changes nothing; else it is part of RECORD_WANTED from then on.
struct record_trigger {
    uint32_t request;
    uint32_t action;     // RECORD_START, RECORD_STOP
    int64_t asked_ns;    // one that waited longer than the front does is refused with -ETIMEDOUT
    int64_t duration_ns; // of RECORD_START; 0: until RECORD_STOP or max_clip
};

// Until when a trigger asks for a clip of which `until_ns` was asked for before.
static inline int64_t record_trigger_until(const struct record_trigger *trigger,
                                           const struct record_track *track, int64_t until_ns)
{
    int64_t duration_ns = trigger->duration_ns ? trigger->duration_ns : track->max_clip_ns;
    int64_t asked_ns = trigger->asked_ns + duration_ns;

    if (trigger->action == RECORD_STOP)
        return until_ns < trigger->asked_ns ? until_ns : trigger->asked_ns;
    return until_ns > asked_ns ? until_ns : asked_ns;
}

// RECORD_LIST: the clips that overlap a span of time, the newest first; with `after_id` the oldest
// first. Answered by one or more RECORD_CLIPS; the last one has `more` 0.
struct record_list {
    uint32_t request;
    uint32_t count;                   // at most; 0 or more: RECORD_LIST_MAX
    int64_t from_wall_ns, to_wall_ns; // of 0 each: any time
    uint64_t before_id;               // 0: from the newest on, else those with smaller ids
    uint64_t after_id; // those with greater ids; 0: `before_id` counts, which is 0 else
    // Of that camera, of views of that name, that show motion in a region of that name; "": of all.
    char camera[RECORD_NAME_SIZE], view[RECORD_NAME_SIZE], region[RECORD_NAME_SIZE];
};

// RECORD_TIMELINE: which steps of a span of time each view has clips of, and which days. Answered
// by a RECORD_LANE for each view that has clips at any time; the last one has `more` 0.
struct record_timeline {
    uint32_t request;
    uint32_t steps, days; // up to RECORD_STEPS_MAX and RECORD_DAYS_MAX
    uint32_t reserved;
    int64_t from_wall_ns, step_ns; // the first step's beginning, and how long each is
    int64_t first_day_wall_ns;     // the first day's beginning, each of which has RECORD_DAY_NS
};

// RECORD_FIND: one clip. Answered by RECORD_CLIPS with one or none.
struct record_find {
    uint32_t request;
    uint32_t reserved;
    uint64_t id;
};

enum record_part { RECORD_VIDEO, RECORD_STILL };

// RECORD_READ: bytes of a clip's video or picture. Answered by RECORD_BYTES, in order of asking;
// at most RECORD_READS_MAX wait, more are refused with EBUSY.
struct record_read {
    uint32_t request;
    uint32_t part; // enum record_part
    uint64_t id;
    uint64_t offset;
    uint32_t size; // 1 to RECORD_BYTES_MAX
    uint32_t reserved;
};

// RECORD_CHANGE: keep a clip for ever, no longer, or delete it. Answered by RECORD_DONE.
struct record_change {
    uint32_t request;
    uint32_t action; // RECORD_KEEP, RECORD_UNKEEP, RECORD_DELETE
    uint64_t id;
};

// RECORD_TRIAL: what would be deleted with these limits. `storage.path` does not count. Answered by
// RECORD_DONE, which counts.
struct record_trial {
    uint32_t request;
    uint32_t reserved;
    struct record_storage storage;
};

// Messages of the recorder.

// Of RECORD_CLIPS and RECORD_CLIP: all facts of a clip. Its id grows, also over restarts and jumps
// of the clock.
#define RECORD_VALUE(type, member, ...) type member;
#define RECORD_TEXT(size, member, ...) char member[size];
struct record_clip {
    CLIP_FACTS(RECORD_VALUE, RECORD_TEXT)
};

// RECORD_CLIPS: `count` struct record_clip follow.
struct record_clips {
    uint32_t request;
    uint16_t count;
    uint16_t more; // another one follows
};

// The content of a step.
enum record_step {
    RECORD_STEP_EMPTY,
    RECORD_STEP_FOOTAGE,
    RECORD_STEP_MOTION, // from the first motion in a region up to the end of the last in the clip
};

// RECORD_LANE: a byte for each step follows, an enum record_step; then one for each day. If there
// are no clips at all, `camera` is "" and nothing follows.
struct record_lane {
    uint32_t request;
    uint32_t more; // another one follows
    char camera[RECORD_NAME_SIZE], view[RECORD_NAME_SIZE];
};

// RECORD_BYTES: `size` bytes follow.
struct record_bytes {
    uint32_t request;
    int32_t error;  // 0 or a negative errno: -ENOENT, -EBUSY, -EIO, -ETIMEDOUT (a slow storage)
    uint64_t total; // bytes of the whole file
    uint32_t size;  // fewer than asked for only at the end of it
    uint32_t reserved;
};

// RECORD_DONE.
struct record_done {
    uint32_t request;
    int32_t error;         // a negative errno, or 0
    uint64_t id;           // of the clip that a trigger began or prolonged
    uint64_t clips, bytes; // of a trial: to be deleted, with pictures
    char sentence[256];    // why it is refused; ""
};

enum record_state {
    RECORD_OPENING, // reads its index, or waits for the folder
    RECORD_READY,
    RECORD_STOPPED, // cannot write; `sentence` says why, and it goes on by itself
};

// RECORD_STATE: once a second, also while the index is read, and at every change of state. The
// front hangs up on a recorder that sends none for 10 s.
struct record_state_report {
    uint32_t state; // enum record_state
    uint32_t open_clips;
    uint64_t clips, kept_clips, clip_bytes; // in the folder; the bytes with their pictures'
    uint64_t free_bytes, total_bytes;       // of its file system; 0: not known yet
    uint64_t written_bytes, written_clips, deleted_clips, lost_units; // since the recorder began
    uint64_t waiting_bytes;                                           // in memory for the disk
    int64_t write_max_ns;   // the longest write or sync of the last minute
    uint64_t kept_bytes;    // of clip_bytes
    uint64_t lost_clips;    // that could not be written, or had to be deleted as soon as they ended
    uint64_t syncs;         // since the recorder began, as the other counts
    int64_t running_ns;     // for so long
    int64_t oldest_wall_ns; // the beginning of the oldest clip that is not kept; 0: there is none
    char sentence[256];     // also while it is ready: why clips are lost; ""
};

// RECORD_CLIP: a clip was begun (`is_open`) or closed, its picture came, or it is kept or not any
// more; payload: struct record_clip.
