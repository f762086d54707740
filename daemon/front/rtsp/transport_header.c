#include "daemon/front/rtsp/transport_header.h"

#include <glib.h>
#include <string.h>

// Reads a number of at most `most` at `*text`, and moves `*text` behind it. -1: there is none.
static int read_number(const char **text, int most)
{
    int number = 0;

    if (!g_ascii_isdigit(**text)) {
        return -1;
    }
    for (; g_ascii_isdigit(**text); (*text)++) {
        number = number * 10 + **text - '0';
        if (number > most) {
            return -1;
        }
    }
    return number;
}

// Reads "4588-4589", or "4588", which means the same.
static bool read_pair(const char *text, int least, int most, int *ret_first, int *ret_second)
{
    int first = read_number(&text, most), second = first + 1;

    if (first >= 0 && *text == '-') {
        text++;
        second = read_number(&text, most);
    }
    if (*text || first < least || second < least || second > most || first == second) {
        return false;
    }
    *ret_first = first;
    *ret_second = second;
    return true;
}

static bool read_profile(const char *profile, struct rtsp_transport_offer *offer)
{
    if (g_ascii_strcasecmp(profile, "RTP/AVP/TCP") == 0) {
        offer->lower = RTSP_LOWER_INTERLEAVED;
        return true;
    }
    offer->lower = RTSP_LOWER_UDP;
    return g_ascii_strcasecmp(profile, "RTP/AVP") == 0 ||
           g_ascii_strcasecmp(profile, "RTP/AVP/UDP") == 0;
}

static bool has_name(const char *parameter, const char *name)
{
    return g_ascii_strncasecmp(parameter, name, strlen(name)) == 0;
}

// Reads one parameter. False: the offer cannot be accepted.
static bool read_parameter(const char *parameter, struct rtsp_transport_offer *offer)
{
    int first, second;

    if (has_name(parameter, "interleaved=")) {
        return read_pair(parameter + strlen("interleaved="), 0, 255, &offer->channel,
                         &offer->rtcp_channel);
    }
    if (has_name(parameter, "client_port=")) {
        if (!read_pair(parameter + strlen("client_port="), 1, 65535, &first, &second)) {
            return false;
        }
        offer->port = (uint16_t)first;
        offer->rtcp_port = (uint16_t)second;
        return true;
    }
    if (has_name(parameter, "mode=")) {
        g_autofree char *mode = g_ascii_strdown(parameter, -1);

        return strstr(mode, "play") != NULL;
    }
    if (g_ascii_strcasecmp(parameter, "multicast") == 0) {
        bool has_groups = offer->lower != RTSP_LOWER_INTERLEAVED;

        offer->lower = has_groups ? RTSP_LOWER_MULTICAST : offer->lower;
        return has_groups;
    }
    return true;
}

static bool read_offer(const char *text, struct rtsp_transport_offer *ret_offer)
{
    struct rtsp_transport_offer offer = {.channel = -1, .rtcp_channel = -1};
    g_auto(GStrv) words = g_strsplit(text, ";", 0);
    bool good = words[0] && read_profile(g_strstrip(words[0]), &offer);

    for (char **word = words + 1; good && words[0] && *word; word++) {
        good = read_parameter(g_strstrip(*word), &offer);
    }
    *ret_offer = offer;
    return good && (offer.lower != RTSP_LOWER_UDP || offer.port != 0);
}

bool rtsp_transport_choose(const char *header, unsigned allowed,
                           struct rtsp_transport_offer *ret_offer)
{
    g_auto(GStrv) offers = g_strsplit(header, ",", 0);

    for (char **offer = offers; *offer; offer++) {
        struct rtsp_transport_offer chosen;

        if (read_offer(*offer, &chosen) && allowed & RTSP_LOWER_BIT(chosen.lower)) {
            *ret_offer = chosen;
            return true;
        }
    }
    return false;
}
