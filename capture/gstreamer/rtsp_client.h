// Makes GStreamer's rtspsrc play what cameras send that differ from its own server.
//
// rtspsrc takes a camera at its word: it drops packets that RTP-Info does not foretell, lets a
// session run out while pictures come by TCP, and takes an address in the SDP for the camera's. The
// client mends requests and answers on their way, and remembers what a failure was about. It dates
// the pictures by the camera's clock (rtp_clock.h), and notes when RTP arrives: a camera whose
// pictures cannot be shown yet is not silent.
//
// All functions are for the lane thread.
#pragma once

#include "config/config.h"

#include <gst/gst.h>

struct rtsp_client;

// NULL: out of memory. `camera` must outlive it. The next rtspsrc that this thread makes is the
// client's; it must be freed first.
struct rtsp_client *rtsp_client_new(const struct config_camera *camera);
// Takes NULL.
void rtsp_client_free(struct rtsp_client *client);

// Sets up `rtspsrc`, whose packets enter `parser`, for the camera's URL, by the transports
// `protocols` ("udp+tcp"). Errors of credentials_read().
int rtsp_client_attach(struct rtsp_client *client, GstElement *rtspsrc, GstElement *parser,
                       const char *protocols, struct error *error);

// The camera has answered, so that pictures may be waited for.
bool rtsp_client_is_heard(const struct rtsp_client *client);
// The camera has described its stream, and nothing of the stream has come: another transport may
// do.
bool rtsp_client_needs_transport(const struct rtsp_client *client);
// Until when the camera is not silent, on CLOCK_MONOTONIC: some of its periods after what came
// last.
int64_t rtsp_client_patient_until_ns(const struct rtsp_client *client);
// The time from a picture to the next, shown or not: see rhythm_period_ns(); 4 s
// until two have come.
int64_t rtsp_client_period_ns(const struct rtsp_client *client);
// Sends what keeps the session, if it is time to.
void rtsp_client_keep_alive(struct rtsp_client *client);

// Says in `error` what a failure of `code` was about, where the client knows it better than
// GStreamer. May connect to the camera to find out, for at most a second. Returns the code, or
// -EKEYREJECTED: the camera does not let this user in, or anybody without one.
int rtsp_client_explain(struct rtsp_client *client, int code, struct error *error);
