// `edgectl bench`: how fast stages, kernels and views are beside a memcpy.
#pragma once

// argv[0] is "bench". Returns the exit status: 0, 1 when it failed, 2 for a wrong command line, 130
// after an interrupt; messages go to stderr.
int ctl_bench(int argc, char **argv);
