// Modules, their functions, and launches of them.
#pragma once

#include "tests/fake_cuda/kernel.h"

// With the lock held.
unsigned modules_leaks(void);
void modules_forget(void);
