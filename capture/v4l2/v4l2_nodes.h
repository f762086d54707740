// Tells when a camera may have been plugged in: device nodes come and get their permissions.
//
// udev makes /dev/videoN, gives it to its group, and then makes the links to it in /dev/v4l.
#pragma once

#include <stdbool.h>

// A descriptor that is readable when a node /dev/videoN, or one of the name of `device` in its
// folder, has come or changed. "": any camera. The caller closes it. A negative errno.
int v4l2_nodes_open(const char *device);
// Reads what has happened since the last time. Whether any of it is about such a node.
bool v4l2_nodes_have_come(int nodes, const char *device);
