// The facts of a clip, each of them once. The recorder's struct recording, the message struct
// record_clip, a clip's line in the index, its JSON over HTTP and the schema Clip of /openapi.yaml
// are made of this table. A new fact is a nullable row at its end: lines of an earlier edged lack
// it, and an earlier edged ignores it. The recorder sets its member where it learns it (footage.c).
//
// A row is VALUE(type, member, kind, is_nullable, line, name, description), or TEXT() with its
// bytes in the message in place of the type. `line` is the fact's name in the index, `name` over
// HTTP; NULL: it is not there. Numbers, times, names and the picture may be nullable: 0 or "" is
// null over HTTP, and behind `regions` left out of a line. The other facts are in each line, in
// this order.
#pragma once

// The form of a fact: C, the line, JSON.
enum clip_fact_kind {
    CLIP_NUMBER,  // uint64_t, a number, a number
    CLIP_TIME,    // int64_t nanoseconds since 1970, the same, RFC 3339
    CLIP_SPAN,    // uint64_t nanoseconds, the same, seconds
    CLIP_SHARE,   // float from 0 to 1, the same, the same
    CLIP_FLAG,    // uint8_t 0 or 1, a boolean, a boolean
    CLIP_NAME,    // as a configuration allows it
    CLIP_NAMES,   // several with '/' in between, an array, an array
    CLIP_PICTURE, // uint64_t bytes, in no line, the address of the picture
    // Over HTTP alone; they follow from other facts.
    CLIP_DURATION,
    CLIP_ADDRESS,
};

#define CLIP_FACTS(VALUE, TEXT)                                                                    \
    VALUE(uint64_t, id, NUMBER, false, "id", "id", "Newer clips have larger ones.")                \
    TEXT(RECORD_NAME_SIZE, camera, NAME, false, "camera", "camera", NULL)                          \
    TEXT(RECORD_NAME_SIZE, view, NAME, false, "view", "view", NULL)                                \
    VALUE(uint8_t, is_kept, FLAG, false, NULL, "keep", "It is never deleted to make room.")        \
    VALUE(uint8_t, is_open, FLAG, false, NULL, "open", "It goes on.")                              \
    VALUE(uint8_t, is_always, FLAG, false, "always", "always", "Recorded without a cause.")        \
    VALUE(uint8_t, is_triggered, FLAG, false, "triggered", "triggered",                            \
          "A signal from outside began or prolonged it.")                                          \
    VALUE(uint8_t, is_dated, FLAG, false, "dated", NULL, NULL)                                     \
    VALUE(uint64_t, event, NUMBER, true, "event", "event",                                         \
          "The number of the clip's first motion event, in the first of its regions.")             \
    VALUE(int64_t, start_wall_ns, TIME, false, "start_ns", "start",                                \
          "The key frame before `asked`.")                                                         \
    VALUE(int64_t, end_wall_ns, TIME, false, "end_ns", "end", NULL)                                \
    VALUE(int64_t, asked_wall_ns, TIME, true, "asked_ns", "asked", "When it was asked to begin.")  \
    VALUE(uint64_t, bytes, NUMBER, false, "bytes", "bytes", NULL)                                  \
    VALUE(uint64_t, picture_bytes, PICTURE, true, NULL, "picture", NULL)                           \
    VALUE(uint64_t, gap_ns, SPAN, false, "gap_ns", "gap", "Seconds of it without pictures.")       \
    VALUE(float, peak, SHARE, false, "peak", "peak", "The largest share of a region that moved.")  \
    TEXT(RECORD_NAMES_SIZE, regions, NAMES, false, "regions", "regions", NULL)                     \
    TEXT(RECORD_NAME_SIZE, codec, NAME, true, "codec", "codec",                                    \
         "h264 or h265; null: recorded before clips told it.")                                     \
    VALUE(int64_t, motion_wall_ns, TIME, true, "motion_ns", "motion",                              \
          "When the first motion in it began; null: there is none, or clips did not tell it yet.") \
    VALUE(                                                                                         \
        int64_t, motion_end_wall_ns, TIME, true, "motion_end_ns", "motion_end",                    \
        "When the last motion in it ended; null: it went on at the end, there was none, or clips " \
        "did not tell it yet.")
