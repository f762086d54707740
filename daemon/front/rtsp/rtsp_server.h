// The RTSP server of the front: listening sockets, connections, and who watches what. Main loop
// only; no client can make it wait.
#pragma once

#include "config/config.h"
#include "daemon/front/stream/stream.h"

struct account;
struct certificate;
struct multicast_place;
struct rtsp_server;

// Listens on rtsp.address and rtsp.port, unless rtsp.plain is false, as listener_open() does, whose
// errors it returns. `account` is borrowed.
int rtsp_server_new(const struct config *config, struct account *account, struct error *error,
                    struct rtsp_server **ret_server);
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
// Takes over what of `config` can change while the server runs: the limits, and multicast of groups
// to come. Hangs up on clients that may not watch any more, or not in that way: by the users of the
// account, the roles of the mounts, or multicast.
void rtsp_server_configure(struct rtsp_server *server, const struct config *config);
// Stops listening and hangs up on every client.
void rtsp_server_close(struct rtsp_server *server);
// Closes it too. Takes NULL.
void rtsp_server_free(struct rtsp_server *server);

// "rtsp://127.0.0.1:8554", with the real port; that of TLS where there is no other. Borrowed.
const char *rtsp_server_url(const struct rtsp_server *server);

// Serves `stream` under `path` (also, when another path has it already) to users of `role` and
// those above it. Replaces what was there.
void rtsp_server_add(struct rtsp_server *server, const char *path, struct stream *stream,
                     enum config_role role);
void rtsp_server_remove(struct rtsp_server *server, const char *path);
// Hangs up on all who watch the stream of `stream_path`, or have set it up.
void rtsp_server_disconnect(struct rtsp_server *server, const char *stream_path);

// How many sessions play the stream of `stream_path`; NULL: any.
unsigned rtsp_server_count_viewers(const struct rtsp_server *server, const char *stream_path);

// The group that the stream of `stream_path` is sent to; borrowed. NULL: none.
const struct multicast_place *rtsp_server_multicast(const struct rtsp_server *server,
                                                    const char *stream_path);
