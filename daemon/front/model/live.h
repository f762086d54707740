// The configuration in force: the file as it was read last, under settings that were made while
// edged runs (`edgectl set`, PATCH /v1/config).
//
// A setting lasts until the next reload or restart. One that is kept also goes to settings.conf in
// the state directory, for the configuration file of this real path alone, and lies over the file
// from then on; when the file's value has changed meanwhile, each load warns. Kept settings never
// stop edged from starting: a broken settings.conf is set aside, and a setting that does not fit
// the file any more, or belongs to a region that the file no longer has, is left out until it does.
#pragma once

#include "config/live/live.h"
#include "daemon/front/model/keeping.h"

#include <stdbool.h>

// Starts out as {0}; all owned.
struct live {
    char *path;                        // of the configuration file; NULL: the built-in defaults
    char *store;                       // settings.conf; NULL: there is no place for it
    struct config_file *file;          // as it was read last
    struct config_overrides kept;      // what settings.conf is to say
    struct keeping *keeping;           // writes it; NULL: nobody does
    struct config_overrides in_effect; // over the file: kept ones that fit, and others
    struct config_overrides bound;     // over both: addresses, which stay until edged ends
};

// Reads the file `path`, NULL: the built-in defaults, and what is kept for it, and loads both.
// Errors are those of config_load(), with every problem written to `problems`; what is kept only
// gives warnings there. `is_look`: only looked at, for --check, which sets nothing aside. The
// caller owns both results: live_finish(), config_free().
int live_load(const char *path, bool is_look, FILE *problems, struct live *ret_live,
              struct config **ret_config);
// The same for the file of `before`, while `in_use` runs. Addresses are bound once, so those of
// `in_use` take the place of the file's before anything is checked: what is checked is what will
// run. Settings that are not written yet count as kept.
int live_reload(const struct live *before, const struct config *in_use,
                struct config_problems *problems, struct live *ret_live,
                struct config **ret_config);
// Adds an error or a warning that names the addresses for which the file has others, if it has.
void live_tell_bound(const struct live *live, bool is_error, struct config_problems *problems);
// From now on changes that are to be kept are written; `told` is called after each write.
void live_keep(struct live *live, void (*told)(void *context), void *context);
// Replaces `live` by `next`, which is {0} afterwards. Changes are kept as before.
void live_take(struct live *live, struct live *next);
// Writes what is kept, if that is still to be done, and frees all.
void live_finish(struct live *live);
// Writes each kept setting that is in effect as a line to standard output, for --check.
void live_tell(const struct live *live);

// A change that somebody asks for.
struct live_request {
    const char *text; // JSON merge patch
    size_t size;
    enum config_role role;     // of who asks, for what they are shown
    enum config_role uncovers; // of who asks, for what they may uncover
    const char *who;           // asks, for the log: "otto, 192.168.1.5"
    bool is_dry;               // changes nothing, and says what it would do
    bool is_kept;              // is written to settings.conf
    unsigned status;           // result: of HTTP, 200 or an error
    struct fault fault;        // result: of an error
    uint64_t number;           // result: of what is to be kept, for live_kept(); 0: nothing is
    char *reply;               // result: JSON, for live_reply(); the caller g_free()s it
    unsigned warnings;         // result: how many the reply has
};

// Reads, checks and, unless it is dry, makes a change over `running`. *ret_config is the
// configuration to go over to, owned by the caller; NULL: nothing changes, or `request` was
// refused.
void live_change(struct live *live, const struct config *running, struct live_request *request,
                 struct config **ret_config);

// Whether a change is kept: a setting is once it is on the disk.
enum live_kept { LIVE_NOT_KEPT, LIVE_KEPT_PENDING, LIVE_KEPT, LIVE_KEEP_FAILED };
// Whether what a live_request has numbered so is kept. *ret_why is why it failed, borrowed.
enum live_kept live_kept(const struct live *live, uint64_t number, const char **ret_why);
// The reply that a request has begun, with so many warnings, and with the end that says whether it
// is kept; the caller g_free()s it. NULL: no memory.
char *live_reply(const char *begun, unsigned warnings, enum live_kept kept, const char *why);

// {"settings": [{key, file, running, kept, from, file_from}]}: what is over the file, or with
// `is_all` every key, of what `role` is shown. `file_from` is the place in the file
// ("edged.conf:12"), or "default"; `from` is the same, "kept" or "set". The caller g_free()s it.
char *live_describe(const struct live *live, const struct config *running, enum config_role role,
                    bool is_all);
