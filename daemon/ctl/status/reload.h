// `edgectl reload`: has the running edged load its configuration again, and prints the verdict.
#pragma once

// `argv[0]` is "reload". Returns the exit status: 0, 1 when the configuration was refused or edged
// does not answer (the reasons are on stderr), 2 for a wrong command line.
int ctl_reload(int argc, char **argv);
