#include "capture/gstreamer/rtsp_logins.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>

#define STALE_MAX 3 // a camera that says so each time is not to be believed

static const char *find_challenge(const GstRTSPMessage *answer, int index)
{
    char *value = NULL;

    gst_rtsp_message_get_header(answer, GST_RTSP_HDR_WWW_AUTHENTICATE, &value, index);
    return value;
}

static bool is_newer_digest(const char *challenge)
{
    return g_ascii_strncasecmp(challenge, "Digest", 6) == 0 &&
           (strcasestr(challenge, "SHA-") || strcasestr(challenge, "SHA2"));
}

// Whether a challenge is left that can be answered, or there was none.
static bool remove_newer(GstRTSPMessage *answer)
{
    bool newer = false, known = false;
    const char *challenge;

    for (int i = 0; (challenge = find_challenge(answer, i));) {
        if (is_newer_digest(challenge)) {
            newer = true;
            gst_rtsp_message_remove_header(answer, GST_RTSP_HDR_WWW_AUTHENTICATE, i);
        } else {
            known = true;
            i++;
        }
    }
    return known || !newer;
}

// Whether the challenge was not answered before, which it counts as from now on.
static bool is_other(struct rtsp_logins *logins, const char *challenge)
{
    const char *realm = strcasestr(challenge, "realm=");
    size_t scheme = strcspn(challenge, " ");
    char name[sizeof logins->tried[0]];

    realm = realm ? realm + strlen("realm=") : "";
    realm += *realm == '"';
    snprintf(name, sizeof name, "%.*s %.*s", (int)MIN(scheme, 16), challenge,
             (int)strcspn(realm, "\","), realm);
    for (unsigned i = 0; i < logins->count; i++) {
        if (g_ascii_strcasecmp(logins->tried[i], name) == 0)
            return false;
    }
    if (logins->count == RTSP_LOGINS_MAX)
        return false;
    memcpy(logins->tried[logins->count++], name, sizeof name);
    return true;
}

static bool is_stale(const char *challenge)
{
    const char *stale = strcasestr(challenge, "stale=");

    stale = stale ? stale + strlen("stale=") : "";
    stale += *stale == '"';
    return g_ascii_strncasecmp(stale, "true", 4) == 0;
}

static bool has_login(const GstRTSPMessage *request)
{
    char *sent = NULL;

    return gst_rtsp_message_get_header(request, GST_RTSP_HDR_AUTHORIZATION, &sent, 0) ==
           GST_RTSP_OK;
}

// Cameras answer OPTIONS whatever the login.
void rtsp_logins_note(struct rtsp_logins *logins, const GstRTSPMessage *request,
                      const GstRTSPMessage *answer)
{
    if (answer->type_data.response.code == GST_RTSP_STS_OK &&
        request->type_data.request.method != GST_RTSP_OPTIONS && has_login(request)) {
        *logins = (struct rtsp_logins){0};
    }
}

enum rtsp_login rtsp_logins_take(struct rtsp_logins *logins, const GstRTSPMessage *request,
                                 GstRTSPMessage *answer)
{
    bool stale = false, other = false;
    const char *challenge;

    if (!remove_newer(answer))
        return RTSP_LOGIN_UNKNOWN;
    for (int i = 0; (challenge = find_challenge(answer, i)); i++) {
        stale |= is_stale(challenge);
        other |= is_other(logins, challenge);
    }
    if (!has_login(request) || other || (stale && logins->stale++ < STALE_MAX))
        return RTSP_LOGIN_TRY;
    return RTSP_LOGIN_REFUSED;
}
