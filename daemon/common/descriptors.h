// How many file descriptors this process may have, and how many it still can open.
//
// GLib ends the process when a thread finds no descriptor left for its main loop. So edged refuses
// connections before descriptors run out.
#pragma once

#include "config/base.h"

#include <stddef.h>

// Lets the process and its children open as many descriptors as the administrator allows: raises
// the soft limit, which many systems keep at 1024 for the sake of old programs, to the hard one (at
// most 65536).
void descriptors_raise(void);
// The limit in force.
size_t descriptors_limit(void);
// Whether it is enough for a front with so many cameras. -EMFILE with the numbers in `error`.
int descriptors_check(size_t cameras, struct error *error);
// How many more can be opened below the limit; 0 where that cannot be found out.
size_t descriptors_left(void);
