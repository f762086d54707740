// `edgectl tune`: which block sizes, rows a thread and memory are fastest on this GPU.
#pragma once

// argv[0] is "tune". Returns the exit status: 0; 1 when it failed or there is no GPU, 2 for a wrong
// command line, 130 after an interrupt; messages go to stderr.
int ctl_tune(int argc, char **argv);
