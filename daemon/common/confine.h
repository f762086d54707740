// Confines a camera process or the recorder, so that a picture that exploits a decoder reaches
// nothing else of edged: no other process's memory, no program to start, no file with a secret, and
// a network only where the camera is in it. Refused calls fail with EPERM (EACCES where a file is
// opened).
//
// None of it can be taken back, and all of it is inherited. A kernel without one of both, and
// valgrind and qemu-user, go on with what there is.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct confinement {
    bool network;    // sockets of IPv4, IPv6 and netlink beside those of Unix
    bool programs;   // may be started
    bool no_connect; // not even to a Unix socket; what is connected already goes on
};

// Whether the kernel has seccomp, which filters calls.
bool confine_has_seccomp(void);
// The version of the kernel's landlock, which guards processes; 0: it has none, or it is off.
int confine_landlock_version(void);

// Keeps other processes of the same user from the memory, descriptors, folders and mounts of this
// one, in /proc and as a debugger; it leaves no core. Not if $EDGED_DUMPABLE is set and not empty,
// nor with LeakSanitizer, which reads the memory by another process.
void confine_memory(void);
// First in main(), as it is for the calling thread and those that it starts: the memory of
// processes outside is out of reach (ptrace, /proc/PID/mem), from version 6 so are signals to them,
// and device nodes cannot be made. The files `hidden` (NULL at the end) cannot be read, written,
// replaced or removed, whether they are there or not. Landlock can only allow: what stands beside
// them, and beside each folder above them, is allowed as it is now, so a file that is put there
// later is shut as well (confine_shuts()). A file below a folder that all may write to (/tmp) is
// not hidden, because others make files there at any time. The `count` files `shown` are open, and
// may be opened again by /proc/self/fd. 0, -ENOSYS without landlock (a process that has secrets
// calls confine_memory() then, before it has them), another -errno.
int confine_first(const char *const *hidden, const int *shown, size_t count);
// Whether the file could be read if it had been there when the process was confined.
bool confine_shuts(const char *path);
// All threads of the process, with what they have opened: no further program, debugger, io_uring or
// kind of socket than `confinement` says. 0, -ENOSYS without seccomp, another -errno.
int confine_calls(const struct confinement *confinement);
