// Kept settings on their way to settings.conf.
//
// They are written by a thread (slow_write.h), one file at a time: all that is kept, with a number.
// Settings that came meanwhile are written next, at once where the last write began 100 ms ago or
// longer. A write that fails is tried again after 30 s. Main loop only.
#pragma once

#include "config/live/live.h"

struct keeping;

enum keeping_state {
    KEEPING_PENDING, // it is not known yet
    KEEPING_DONE,    // it is on the disk
    KEEPING_FAILED,  // it could not be written so far
};

// For the file `store`, which says `saved` now, and the configuration file `config_path`. `told` is
// called after each write, whatever came of it.
struct keeping *keeping_new(const char *store, const char *config_path,
                            const struct config_overrides *saved, void (*told)(void *context),
                            void *context);
// Waits for the write under way, and writes what is still to be written. After 2 s it gives up
// and logs what is not kept. Takes NULL.
void keeping_free(struct keeping *keeping);

// Has `kept` written in place of what was asked for before; `who` asks for what is new in it, for
// the log. Returns its number, which is larger than all before.
uint64_t keeping_put(struct keeping *keeping, const struct config_overrides *kept, const char *who);
// Writes without delay, because edged stops.
void keeping_hurry(struct keeping *keeping);
// The state of the settings of that number. *ret_why is why keeping them failed, borrowed.
enum keeping_state keeping_state(const struct keeping *keeping, uint64_t number,
                                 const char **ret_why);
// Whether the newest is still pending; whether it is not on the disk, because of that or a failure.
bool keeping_is_pending(const struct keeping *keeping);
bool keeping_is_unsaved(const struct keeping *keeping);
// The settings in the file; borrowed. NULL: nothing is kept anywhere (takes NULL).
const struct config_overrides *keeping_saved(const struct keeping *keeping);
// The file was read again and says `saved`; not while something is unsaved.
void keeping_reread(struct keeping *keeping, const struct config_overrides *saved);
