// Events: marks in a stream that tell when it came by.
#pragma once

#include "tests/fakes/cuda/stream.h"

// With the lock held.
unsigned events_leaks(void);
void events_forget(void);
