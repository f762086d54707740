// The program that `edgectl watch --exec` runs for each event: one at a time for a region, none for
// longer than its time limit. Runs in GLib's default main context.
//
// The event is in the program's environment: each field of its JSON in capitals after EDGED_, the
// box as X,Y,WIDTH,HEIGHT, and the JSON itself as EDGED_JSON. It reads nothing and writes to
// standard error. It leads a process group, which gets SIGTERM at the time limit and SIGKILL 2 s
// later.
#pragma once

#include <json-glib/json-glib.h>

struct event_programs;

// `command`: a program, looked up in PATH, and its arguments, NULL at the end; borrowed.
struct event_programs *event_programs_new(char *const *command, int timeout_s);
// Ends the programs that run, and says on stderr how many ran, failed, were ended and were skipped.
// Takes NULL.
void event_programs_free(struct event_programs *programs);

// Runs the program for an event, `json` in one line; or counts the event as skipped while one of
// the same region runs. Says on stderr what goes wrong.
void event_programs_take(struct event_programs *programs, JsonObject *event, const char *json);
