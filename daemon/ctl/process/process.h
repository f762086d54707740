// `edgectl process`: the views of the daemon on pictures and clips.
#pragma once

// argv[0] is "process". Returns the exit status: 0, 1 when the work failed, 2 for a wrong command
// line; messages go to stderr.
int ctl_process(int argc, char **argv);
