// `edgectl passwd`: adds, changes and removes users.
#pragma once

// `argv[0]` is "passwd". Returns the exit status: 0, 1 when nothing was changed (the reason is on
// stderr), 2 for a wrong command line.
int ctl_passwd(int argc, char **argv);
