// The RTSP server of the front: listening sockets, connections, and who watches what. Main loop
// only; no client can make it wait.
#pragma once

#include "config/config.h"

#include <glib.h>

struct account;
struct certificate;
struct rtsp_server;

// Listens on rtsp.address and rtsp.port, unless rtsp.plain is false, as listener_open() does, whose
// errors it returns. It serves the streams of `mounts` (mounts.h) as they are at each request. Both
// `mounts` and `account` are borrowed.
int rtsp_server_new(const struct config *config, GHashTable *mounts, struct account *account,
                    struct error *error, struct rtsp_server **ret_server);
// RTSP inside TLS, at another port of the same address, is opened in two steps, of which only the
// first may fail, and it changes nothing. It opens `port` (0: none) with the errors of
// listener_open(). *ret_fd is the descriptor for the second step, which the caller owns until then;
// -1: the port is the one in use, and nothing had to be opened.
int rtsp_server_open_tls(const struct rtsp_server *server, int port, struct error *error,
                         int *ret_fd);
// The second step: serves there from now on, with `certificate` (referenced; NULL with port 0).
// Clients that are connected go on with the certificate that they have seen.
void rtsp_server_take_tls(struct rtsp_server *server, int port, int fd,
                          struct certificate *certificate);
// "rtsps://127.0.0.1:8322"; "": not served. Borrowed.
const char *rtsp_server_tls_url(const struct rtsp_server *server);
// To be called after each change. Takes over what of `config` can change while the server runs: the
// limits, and multicast of groups to come. Hangs up on clients whose stream is gone, or that may
// not watch it any more, or not in that way: by the users of the account, the roles of the mounts,
// or multicast.
void rtsp_server_configure(struct rtsp_server *server, const struct config *config);
// Stops listening and hangs up on every client.
void rtsp_server_close(struct rtsp_server *server);
// Closes it too. Takes NULL.
void rtsp_server_free(struct rtsp_server *server);

// "rtsp://127.0.0.1:8554", with the real port; that of TLS where there is no other. Borrowed.
const char *rtsp_server_url(const struct rtsp_server *server);
