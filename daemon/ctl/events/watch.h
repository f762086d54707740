// `edgectl watch`: the motion events of the running edged, a line each, as they come.
#pragma once

// `argv[0]` is "watch". Returns the exit status: 0 when a signal ended it, 1 when edged does not
// answer, stays away or refuses (the reason is on stderr), 2 for a wrong command line.
int ctl_watch(int argc, char **argv);
