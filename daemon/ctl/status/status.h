// `edgectl status`: what the running edged does, as tables or as its JSON.
#pragma once

// `argv[0]` is "status". Returns the exit status: 0, 1 when edged does not answer (the reason is on
// stderr), 2 for a wrong command line.
int ctl_status(int argc, char **argv);
