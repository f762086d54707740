// The configuration in force: the file as it was read last, under settings that were made while
// edged runs (`edgectl set`, PATCH /v1/config).
//
// A setting lasts until the next reload or restart. One that is kept also goes to settings.conf in
// the state directory, for the configuration file of this real path alone, and lies over the file
// from then on; when the file's value has changed meanwhile, each load warns. What is kept never
// keeps edged from starting: a broken settings.conf is set aside, and a setting that does not fit
// the file any more is left out.
#pragma once

#include "config/live/live.h"

#include <glib.h>
#include <stdbool.h>

// Starts out as {0}; all owned.
struct live {
    char *path;                        // of the configuration file; NULL: the built-in defaults
    char *store;                       // settings.conf; NULL: there is no place for it
    struct config_file *file;          // as it was read last
    struct config_overrides kept;      // what settings.conf is to say
    struct config_overrides saved;     // what it says
    char *keeper;                      // who asked for what is not saved yet; NULL: nobody
    struct config_overrides in_effect; // over the file: kept ones that fit, and others
    guint save_timer;                  // GLib source id; 0: none
    bool is_unsaved;
};

// Reads the file `path`, NULL: the built-in defaults, and what is kept for it, and loads both.
// Errors are those of config_load(), with every problem written to `problems`; what is kept only
// gives warnings there. `is_look`: only looked at, for --check, which sets nothing aside. The
// caller owns both results: live_finish(), config_free().
int live_load(const char *path, bool is_look, FILE *problems, struct live *ret_live,
              struct config **ret_config);
// `live` goes on as `next`, which is {0} then.
void live_take(struct live *live, struct live *next);
// Writes what is kept, if that is still to be done, and frees all.
void live_finish(struct live *live);
// Writes what is kept now, if that is still to be done, and logs what is kept by whom, or a
// failure.
void live_save(struct live *live);
// Writes each kept setting that is in effect as a line to standard output, for --check.
void live_tell(const struct live *live);

// A change that somebody asks for.
struct live_request {
    const char *text; // JSON merge patch
    size_t size;
    enum config_role role;     // of who asks
    const char *who;           // asks, for the log: "otto, 192.168.1.5"
    bool is_dry, is_kept;      // only said what it would do; written to settings.conf
    unsigned status;           // result: of HTTP, 200 or an error
    struct config_fault fault; // result: of an error
    char *reply;               // result: JSON; the caller g_free()s it
};

// Reads, checks and, unless it is dry, makes a change over `running`. *ret_config is the
// configuration to go over to, owned by the caller; NULL: nothing changes, or `request` was
// refused.
void live_change(struct live *live, const struct config *running, struct live_request *request,
                 struct config **ret_config);

// {"settings": [{key, file, running, kept, from, file_from}]}: what is over the file, or with
// `is_all` every key, of what `role` is shown. `file_from` is the place in the file
// ("edged.conf:12"), or "default"; `from` is the same, "kept" or "set". The caller g_free()s it.
char *live_describe(const struct live *live, const struct config *running, enum config_role role,
                    bool is_all);
