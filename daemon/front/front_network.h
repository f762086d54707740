// Services of the front besides the plain streams: the control API on its socket and over TCP,
// streams inside TLS, and the certificate for both.
#pragma once

#include "config/users.h"
#include "daemon/front/account/certificate.h"
#include "daemon/front/http/control.h"
#include "daemon/front/model/model.h"
#include "daemon/front/onvif/discovery.h"
#include "daemon/front/rtsp/rtsp_server.h"

// All NULL before front_network_open().
struct front_network {
    struct model *model;             // borrowed
    struct rtsp_server *server;      // borrowed
    struct control *control;         // owned
    struct discovery *discovery;     // owned; NULL: nobody looks for this machine, or may find it
    struct certificate *certificate; // reference; NULL: nothing is encrypted
    struct slow_write *making;       // of a generated one, under way; owned; NULL: none
    struct certificate_file *made;   // its result, until it is taken; owned; NULL: none
    int64_t clock_offset_s;          // of the clock of day to CLOCK_MONOTONIC, a second ago
    bool was_set;                    // the clock, and a certificate for it is not chosen yet
    bool is_open;                    // front_network_open() is over
    struct error fault;              // why TLS is not served although it should be; "": it is
};

// Listens where the configuration says, and keeps the places of `model` up to date. `model` and
// `server` are borrowed. The errors of control_new() and of front_network_listen().
int front_network_open(struct front_network *network, struct model *model,
                       struct rtsp_server *server, struct error *error);
// If the generated certificate cannot be made or read at the start, as with a full disk, what needs
// one is not served, `fault` says why, and each reload tries again.
//
// Loads the certificate, logs it if it is another one than before, and listens as `config` says. If
// that fails at a reload, everything stays as it was: the errors of certificate_load(),
// control_listen() and rtsp_server_open_tls(). After front_network_open() a certificate that has to
// be made is written by a thread: -EAGAIN until it is, with a sentence as well.
int front_network_listen(struct front_network *network, const struct config *config,
                         struct error *error);
// Replaces the users, the tokens and ONVIF's passwords by those of `config`, and hangs up on
// clients that are not among them any more.
void front_network_take_users(struct front_network *network, const struct config *config,
                              struct users *users, struct users *tokens, struct users *onvif);
// To be called once a second: if somebody has set the clock, chooses the generated certificate
// again.
void front_network_watch_clock(struct front_network *network, const struct config *config);
void front_network_finish(struct front_network *network);

// For `edged --check`: writes what is wrong with the user's own certificate as lines to `problems`.
// 0, also with warnings, or the error of certificate_load().
int front_network_check_certificate(const struct config *config, const char *path, FILE *problems);
