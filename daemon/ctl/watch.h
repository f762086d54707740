// `edgectl watch`: the motion events of the running edged, a line each, as they come.
#pragma once

// `argv[0]` is "watch". Returns the exit status: 0 when edged ended the stream, 1 when it does not
// answer (the reason is on stderr), 2 for a wrong command line.
int ctl_watch(int argc, char **argv);
