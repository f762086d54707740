// The start of a camera process by systemd: the front connects to edged-camera.socket, upon which
// systemd starts edged-camera with that connection, its line to the front. The first message on the
// line is below; it brings the link (daemon/link/link.h). The process answers with words of 32
// bits: first CAMERA_LINE_HELLO, of which the kernel says which process sent it, and when it ends
// its wait status, as of waitpid(2). The front sends nothing more, and the line ends when the
// process has ended. A process whose front ends is killed by the kernel (camera/unit_line.h).
#pragma once

#include "config/base.h"

#include <stdint.h>

#define CAMERA_LINE_HELLO INT32_MAX // no wait status
#define CAMERA_START_FILES_MAX 120

// Lists of texts end in NULL.
struct camera_start {
    const char *name;
    const char *const *hidden;     // files that the process must not open
    const char *const *variables;  // "NAME=VALUE", of its environment
    const char *const *file_paths; // the camera's own files, which the unit may hide
    int link_fd;
    int file_fds[CAMERA_START_FILES_MAX]; // the same files, open to be read
};

// One that was received; the descriptors are the receiver's to close.
struct camera_start_received {
    struct camera_start start;
    char *text;         // owned, as are the lists; `start` points into it
    const char **lists; // owned
    size_t file_count;
};

// Sends it, as the first message of a new connection. -EMSGSIZE, -EAGAIN, other errors of
// sendmsg().
int camera_start_send(int line_fd, const struct camera_start *start);
// Waits for it, up to 10 s. -ETIMEDOUT, -EPROTO with `error` filled in, which says where the front
// is of another version.
int camera_start_receive(int line_fd, struct error *error, struct camera_start_received *ret);
void camera_start_finish(struct camera_start_received *received); // frees all but descriptors
