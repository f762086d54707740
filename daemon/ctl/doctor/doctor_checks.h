// Shared by the checks of `edgectl doctor`: the facts they look at, and how they report.
//
// A check prints one line for each thing that it looked at. Its verdict is "failed" only if edged
// cannot do what the configuration asks for. Lines of failures and warnings end in what to do.
#pragma once

#include "board/board.h"
#include "config/config.h"

#include <json-glib/json-glib.h>
#include <stdbool.h>

enum doctor_verdict {
    DOCTOR_OK,
    DOCTOR_INFO,    // not there, and not needed
    DOCTOR_WARNING, // edged works, in another way than it could
    DOCTOR_FAILED,
};

struct doctor_report;
struct frame_allocator;

struct doctor {
    const char *config_path;      // borrowed; NULL: built-in defaults
    struct config *config;        // owned; the built-in defaults where the file cannot be used
    JsonObject *status;           // of the running edged; a reference; NULL: it does not answer
    bool running;                 // an edged listens, so that the cameras are its
    bool unusable;                // the file has mistakes, so that only the machine is looked at
    struct doctor_report *report; // owned
    struct board board;           // known to the checks after that of the board
    bool has_gpu;                 // one that computes, and shares memory with the CPU
};

// One line about `subject` ("encoder x264enc"), of printf's format.
void doctor_say(struct doctor *doctor, enum doctor_verdict verdict, const char *subject,
                const char *format, ...) __attribute__((format(printf, 4, 5)));

// The checks.
void doctor_check_service(struct doctor *doctor);     // what systemd says of edged's units
void doctor_check_control(struct doctor *doctor);     // what the running edged says of itself
void doctor_check_rtsp(struct doctor *doctor);        // elements, address and port
void doctor_check_certificate(struct doctor *doctor); // of encrypted connections
void doctor_check_users(struct doctor *doctor);       // the file of those who may watch
void doctor_check_clips(struct doctor *doctor);       // where they are recorded to
void doctor_check_board(struct doctor *doctor);       // what is chosen, by whom; its heat
void doctor_check_gpu(struct doctor *doctor);         // driver, kernels, self-tests, memory
// Part of it: a Jetson's encoders with frames of its own memory, and in which way they take them.
void doctor_check_surface_encoders(struct doctor *doctor, const struct frame_allocator *surfaces);
void doctor_check_confinement(struct doctor *doctor); // what the kernel has for camera processes
void doctor_check_memory(struct doctor *doctor);      // free, and that may be locked
void doctor_check_encoders(struct doctor *doctor);    // a trial encode each
void doctor_check_cameras(struct doctor *doctor);     // those of the configuration, and devices
void doctor_check_devices(struct doctor *doctor);     // nodes and majors of GPU, codecs, cameras
void doctor_check_speed(struct doctor *doctor);       // of four views with their encoders
