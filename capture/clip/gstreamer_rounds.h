// The rounds of a clip that is played again and again, by seeks without a flush, while time runs
// on: the first picture of all is due at once, that of another round a period after the last one of
// the round before.
//
// Demuxers let a round begin at different times (where the last picture began, or where it ended),
// and are rounds ahead of what is shown. So the rounds are told apart, measured and put one after
// the other where their segments and pictures pass. So are pictures that came without times.
#pragma once

#include <gst/gst.h>
#include <stdbool.h>
#include <stdint.h>

struct rounds;

// Watches what enters `pad`, from the next segment on, which is that of a first round. Owned by
// `pad`, and valid as long as that is. NULL without memory.
struct rounds *rounds_watch(GstPad *pad);

// The next segment is that of a first round: what came before is about to be flushed, or stopped.
// Rounds follow each other by `period_ns`.
void rounds_begin(struct rounds *rounds, int64_t period_ns);
// When the last picture that passed is due, as running time; 0 before the first one.
int64_t rounds_last_ns(struct rounds *rounds);
// Whether `count` rounds have begun since rounds_begin(), and the newest has had a picture.
bool rounds_have_come(struct rounds *rounds, unsigned count);
