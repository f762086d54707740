// Decides whether a login that a camera has refused may be tried again in the same opening.
//
// A camera may lock an account after a few wrong passwords. So credentials go out once for each
// challenge that differs in scheme or realm: the answer to a request without any is the first of
// them, and one that says stale=true has only asked for another nonce. After a login that the
// camera has taken, all of that begins anew: some cameras change their nonce in the middle of a
// stream, and say nothing of stale.
#pragma once

#include <gst/rtsp/rtsp.h>
#include <stdbool.h>

#define RTSP_LOGINS_MAX 4 // challenges in one opening

// Starts out as {0}.
struct rtsp_logins {
    char tried[RTSP_LOGINS_MAX][128]; // the challenges that were answered: scheme and realm
    unsigned count;
    unsigned stale; // answers that asked for another nonce
};

enum rtsp_login {
    RTSP_LOGIN_TRY,     // may be answered
    RTSP_LOGIN_REFUSED, // user and password were sent, and are wrong
    RTSP_LOGIN_UNKNOWN, // no challenge that GStreamer can answer
};

// Takes the answer 401 to `request`, and removes its challenges that GStreamer would answer
// wrongly: it computes MD5 whatever a Digest challenge asks for.
enum rtsp_login rtsp_logins_take(struct rtsp_logins *logins, const GstRTSPMessage *request,
                                 GstRTSPMessage *answer);

// Takes any answer, before rtsp_logins_take(): one that a camera gives to a login that it takes
// makes all challenges new.
void rtsp_logins_note(struct rtsp_logins *logins, const GstRTSPMessage *request,
                      const GstRTSPMessage *answer);
