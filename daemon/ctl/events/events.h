// `edgectl events`: the motion events that a camera's regions raise on a recording.
#pragma once

// argv[0] is "events". Returns the exit status: 0, 1 when the work failed, 2 for a wrong command
// line; messages go to stderr.
int ctl_events(int argc, char **argv);
