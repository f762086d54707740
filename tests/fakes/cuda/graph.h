// Graphs of kernels, and what was instantiated of them.
#pragma once

// With the lock held.
unsigned graphs_leaks(void);
void graphs_forget(void);
