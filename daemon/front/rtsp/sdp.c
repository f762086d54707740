#include "daemon/front/rtsp/sdp.h"

#include "daemon/front/rtsp/target.h"

#include <string.h>

// Seconds since 1970, at the first call: a number that no other start of the server has, and that
// is the same for one session however often it is described (section 5.2).
static long long session_number(void)
{
    static time_t number;

    number = number ? number : time(NULL);
    return number;
}

// Lines in the order of section 5.
char *sdp_write(const char *name, const char *address, const struct payloader_ops *payloader,
                const struct parameter_sets *sets, unsigned version)
{
    const char *family = strchr(address, ':') ? "IP6" : "IP4";
    const char *any = strchr(address, ':') ? "::" : "0.0.0.0";
    unsigned type = payloader->payload_type;
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    if (!file) {
        return NULL;
    }
    fprintf(file, "v=0\r\no=- %lld %u IN %s %s\r\ns=%s\r\n", session_number(), version, family,
            address, name);
    fprintf(file, "c=IN %s %s\r\nt=0 0\r\na=tool:edged " EDGED_VERSION "\r\n", family, any);
    fprintf(file, "a=type:broadcast\r\na=control:*\r\na=range:npt=now-\r\n");
    fprintf(file, "m=video 0 RTP/AVP %u\r\na=rtpmap:%u %s/%d\r\n", type, type, payloader->encoding,
            RTP_CLOCK_HZ);
    if (payloader->write_fmtp) {
        fprintf(file, "a=fmtp:%u ", type);
        payloader->write_fmtp(sets, file);
        fprintf(file, "\r\n");
    }
    fprintf(file, "a=control:" RTSP_MEDIA_CONTROL "\r\n");
    if (fclose(file) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
