// The RTSP server: a listening socket on the main loop, a thread a client (a DESCRIBE that waits
// for its first frame holds up nobody else), and the list of who watches what.
#pragma once

#include "config/base.h"
#include "daemon/front/mount.h"

struct rtsp_server;

// Listens on `address` (a numeric address or host name; "localhost" is 127.0.0.1, whatever else it
// is) and `port` (0: any free one) in the default main context. -EADDRINUSE, -EADDRNOTAVAIL,
// -EACCES, or -EIO; the sentence in `error`.
int rtsp_server_new(const char *address, int port, struct error *error,
                    struct rtsp_server **ret_server);
// Stops listening and hangs up on every client.
void rtsp_server_close(struct rtsp_server *server);
// Whether every connection is closed, some moment after rtsp_server_close(), and has ended the
// sessions that were left.
bool rtsp_server_is_closed(struct rtsp_server *server);
// Closes it too. Takes NULL.
void rtsp_server_free(struct rtsp_server *server);

// "rtsp://127.0.0.1:8554", with the real port. Borrowed.
const char *rtsp_server_url(const struct rtsp_server *server);

// Serves `mount` under `path` (also, when another path has it already). Replaces what was there.
void rtsp_server_add(struct rtsp_server *server, const char *path, GstRTSPMediaFactory *mount);
void rtsp_server_remove(struct rtsp_server *server, const char *path);
// Hangs up on all who watch the stream of `stream_path`, or have set it up.
void rtsp_server_disconnect(struct rtsp_server *server, const char *stream_path);

// How many sessions play the stream of `stream_path`; NULL: any.
unsigned rtsp_server_count_viewers(struct rtsp_server *server, const char *stream_path);
