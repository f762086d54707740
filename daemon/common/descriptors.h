// How many file descriptors this process may have, and how many it still can open.
//
// GLib ends the process where a thread finds none left for its main loop, so that nobody may come
// for whom there is no room.
#pragma once

#include <stddef.h>

// Lets the process and its children open as many as the administrator allows: the soft limit, which
// many systems keep at 1024 for the sake of old programs, becomes the hard one (at most 65536).
void descriptors_raise(void);
// The limit now.
size_t descriptors_limit(void);
// How many are left below it; 0 where that cannot be seen.
size_t descriptors_left(void);
