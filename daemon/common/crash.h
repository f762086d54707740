// The trace of a program that crashes or hangs: one line on standard error, which is the journal
// for a service, with return addresses and nothing of its memory.
//
//   edged-camera: error: crashed by signal 11 (SIGSEGV) in thread lane, build-id 3f…, return
//   addresses: edged-camera+0x4f2c1 libc.so.6+0x3c050 …
//
// Each address is one of a file as `addr2line -Cfe FILE ADDRESS` takes it, where FILE has the same
// build-id.
#pragma once

#include <signal.h>

// A thread that gets this signal says where it stands, and goes on. The front sends it to each
// thread of a process that hangs, before it kills the process.
#define CRASH_TRACE_SIGNAL SIGUSR2

// To be called once, before other threads are there. `program` begins the line: a literal. Signals
// that somebody handles already, as a sanitizer does, are left alone. The process then dies of the
// signal, as without this.
void crash_watch(const char *program);
// Writes the number of the signal to `fd` as well, as 32 bits, which is a wait status.
void crash_tell(int fd);
