// What a camera process gives up, so that whoever takes it over by a picture that breaks a decoder
// reaches nothing else of edged: no other process's memory, no program to start, and a network only
// where the camera is in it. What is refused fails with EPERM (EACCES where a file is opened).
//
// None of it can be taken back, and all of it is inherited. A kernel without one of both, and
// valgrind and qemu-user, go on with what there is.
#pragma once

#include <stdbool.h>

struct confinement {
    bool network;  // sockets of IPv4, IPv6 and netlink beside those of Unix
    bool programs; // may be started
};

// Whether the kernel has seccomp, which filters calls.
bool confine_has_seccomp(void);
// The version of the kernel's landlock, which guards processes; 0: it has none, or it is off.
int confine_landlock_version(void);

// First in main(), as it is for the calling thread and those that it starts: the memory of
// processes outside is out of reach (ptrace, /proc/PID/mem), from version 6 so are signals to them,
// and device nodes cannot be made. 0, -ENOSYS without landlock, another -errno.
int confine_memory(void);
// All threads of the process, with what they have opened: no further program, debugger, io_uring or
// kind of socket than `confinement` says. 0, -ENOSYS without seccomp, another -errno.
int confine_calls(const struct confinement *confinement);
