// What requests carry besides their method: URLs and the Transport header; and the SDP of a reply.
#include "tests/unit/unit.h"

#include "config/base.h"
#include "daemon/front/rtsp/description.h"
#include "daemon/front/rtsp/message.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

static void assert_target(const char *url, const char *path, const char *base)
{
    struct rtsp_target target;

    assert_int_equal(rtsp_target_read(url, &target), 0);
    assert_string_equal(target.path, path);
    assert_string_equal(target.base, base);
}

TEST(test_a_presentation_and_its_media_are_the_same_path)
{
    static const char base[] = "rtsp://192.168.1.7:8554/front/edges";
    static const char *const behind[] = {
        "",
        "/",
        "//",
        "?",
        "?a=b",
        "/?a=b",
        "/stream=0",
        "/stream=0/",
        "/stream=0?a=b",
        "/stream=0//stream=0?a=b",
        "?a=b/stream=0", // from players that append to a URL with a query
    };

    for (size_t i = 0; i < ARRAY_LENGTH(behind); i++) {
        g_autofree char *url = g_strconcat(base, behind[i], NULL);

        assert_target(url, "/front/edges", base);
    }
}

TEST(test_whatever_host_a_url_names_is_ours)
{
    assert_target("rtsp://h/a", "/a", "rtsp://h/a");
    assert_target("RTSP://H/a", "/a", "RTSP://H/a");
    assert_target("rtsps://[fe80::1%25eth0]:8322/a/b", "/a/b", "rtsps://[fe80::1%25eth0]:8322/a/b");
    assert_target("rtsp://user:word@h:1/a", "/a", "rtsp://user:word@h:1/a");
    assert_target("rtsp://h", "/", "rtsp://h");
    assert_target("rtsp://h/", "/", "rtsp://h");
    assert_target("rtsp://h?a", "/", "rtsp://h");
    assert_target("*", "", "");
}

TEST(test_only_the_end_of_a_path_names_the_media)
{
    assert_target("rtsp://h/stream=0", "/", "rtsp://h");
    assert_target("rtsp://h/a/stream=1", "/a/stream=1", "rtsp://h/a/stream=1");
    assert_target("rtsp://h/a/stream=01", "/a/stream=01", "rtsp://h/a/stream=01");
    assert_target("rtsp://h/stream=0/a", "/stream=0/a", "rtsp://h/stream=0/a");
    assert_target("rtsp://h/../a", "/../a", "rtsp://h/../a");
}

TEST(test_what_is_no_url_of_rtsp_is_refused)
{
    static const char *const urls[] = {"",
                                       "/front/edges",
                                       "rtsp:/h/a",
                                       "rtsp://",
                                       "rtsp:///a",
                                       "http://h/a",
                                       "rtspx://h/a",
                                       "**",
                                       "rtspu://h/a",
                                       "rtsp://?a",
                                       "rtsp://h#/a",
                                       "rtsp://h/a#b"};

    for (size_t i = 0; i < ARRAY_LENGTH(urls); i++) {
        struct rtsp_target target;

        assert_int_equal(rtsp_target_read(urls[i], &target), -EINVAL);
    }
}

TEST(test_longer_paths_and_urls_than_ours_are_refused)
{
    g_autofree char *text = g_strnfill(2048, 'a');
    g_autofree char *path = g_strdup_printf("rtsp://h/%.126s", text);
    g_autofree char *longer_path = g_strdup_printf("rtsp://h/%.127s", text);
    g_autofree char *host = g_strdup_printf("rtsp://%.246s/a", text);
    g_autofree char *longer_host = g_strdup_printf("rtsp://%.247s/a", text);
    struct rtsp_target target;

    assert_target(path, path + strlen("rtsp://h"), path);
    assert_int_equal(rtsp_target_read(longer_path, &target), -ENAMETOOLONG);
    assert_target(host, "/a", host);
    assert_int_equal(rtsp_target_read(longer_host, &target), -ENAMETOOLONG);
}

#define INTERLEAVED RTSP_LOWER_BIT(RTSP_LOWER_INTERLEAVED)
#define UNICAST (INTERLEAVED | RTSP_LOWER_BIT(RTSP_LOWER_UDP))
#define MULTICAST RTSP_LOWER_BIT(RTSP_LOWER_MULTICAST)

static struct rtsp_transport_offer offer;

static bool choose(const char *header)
{
    return rtsp_transport_choose(header, UNICAST, &offer);
}

static void assert_udp(const char *header, unsigned port, unsigned rtcp_port)
{
    assert_true(choose(header));
    assert_int_equal(offer.lower, RTSP_LOWER_UDP);
    assert_int_equal(offer.port, port);
    assert_int_equal(offer.rtcp_port, rtcp_port);
}

static void assert_interleaved(const char *header, int channel, int rtcp_channel)
{
    assert_true(choose(header));
    assert_int_equal(offer.lower, RTSP_LOWER_INTERLEAVED);
    assert_int_equal(offer.channel, channel);
    assert_int_equal(offer.rtcp_channel, rtcp_channel);
}

TEST(test_the_first_offer_that_can_be_had_is_chosen)
{
    // RFC 2326, section 12.39: multicast is the client's first choice.
    assert_udp("RTP/AVP;multicast;ttl=127;mode=\"PLAY\","
               "RTP/AVP;unicast;client_port=3456-3457;mode=\"PLAY\"",
               3456, 3457);
    assert_udp("RTP/AVP;unicast;client_port=5000-5001,RTP/AVP/TCP;interleaved=0-1", 5000, 5001);
    assert_interleaved("RTP/AVP/TCP;interleaved=0-1,RTP/AVP;unicast;client_port=5000-5001", 0, 1);
    assert_interleaved("RTP/SAVP;unicast;client_port=5000-5001, RTP/AVP/TCP;unicast", -1, -1);
}

TEST(test_transports_of_players_are_read)
{
    assert_udp("RTP/AVP;unicast;client_port=57764-57765", 57764, 57765);          // live555
    assert_udp("RTP/AVP/UDP;unicast;client_port=14632-14633", 14632, 14633);      // ffmpeg
    assert_interleaved("RTP/AVP/TCP;unicast;interleaved=0-1", 0, 1);              // ffmpeg
    assert_udp("RTP/AVP;unicast;client_port=4588", 4588, 4589);                   // RFC 2326, 14.1
    assert_udp("RTP/AVP/UDP;unicast;destination=10.0.0.1;client_port=8-9", 8, 9); // passed over
    assert_interleaved("rtp/avp/tcp; unicast; interleaved=6-7; mode=play", 6, 7);
    assert_interleaved("RTP/AVP/TCP;unicast;interleaved=3;ssrc=1234;new-parameter", 3, 4);
    assert_interleaved("RTP/AVP/TCP;interleaved=255-0", 255, 0);
}

TEST(test_udp_is_not_chosen_where_it_is_not_allowed)
{
    assert_false(rtsp_transport_choose("RTP/AVP;unicast;client_port=8-9", INTERLEAVED, &offer));
    assert_true(rtsp_transport_choose("RTP/AVP;client_port=8-9,RTP/AVP/TCP", INTERLEAVED, &offer));
    assert_int_equal(offer.lower, RTSP_LOWER_INTERLEAVED);
}

TEST(test_multicast_is_chosen_where_it_is_allowed)
{
    static const char *const headers[] = {
        "RTP/AVP/UDP;multicast",                                         // ffmpeg
        "RTP/AVP;multicast",                                             // rtspsrc
        "RTP/AVP;multicast;client_port=5000-5001",                       // live555
        "RTP/AVP;multicast;ttl=127;mode=\"PLAY\"",                       // RFC 2326, section 12.39
        "RTP/AVP;multicast;destination=224.2.0.1;port=3456-3457;ttl=16", // section 14.4
        "RTP/AVP/TCP;multicast,RTP/AVP;MULTICAST,RTP/AVP/TCP",
    };

    for (size_t i = 0; i < ARRAY_LENGTH(headers); i++) {
        assert_true(rtsp_transport_choose(headers[i], UNICAST | MULTICAST, &offer));
        assert_int_equal(offer.lower, RTSP_LOWER_MULTICAST);
        assert_true(rtsp_transport_choose(headers[i], UNICAST, &offer) == (i == 5));
    }
    assert_false(rtsp_transport_choose("RTP/AVP/TCP;multicast", UNICAST | MULTICAST, &offer));
    assert_false(rtsp_transport_choose("RTP/AVP;unicast", UNICAST | MULTICAST, &offer));
    assert_false(rtsp_transport_choose("RTP/AVP;multicast;mode=record", MULTICAST, &offer));
}

TEST(test_offers_that_cannot_be_had_are_refused)
{
    static const char *const headers[] = {
        "",
        ";",
        ",,,",
        "RTP/AVP",
        "RTP/AVP;unicast",
        "RTP/AVP;multicast;client_port=8-9",
        "RTP/AVP/TCP;interleaved=0-1;mode=record",
        "RTP/AVPF;unicast;client_port=8-9",
        "RAW/RAW/UDP;unicast;client_port=8-9",
        "RTP/AVP/TCP;interleaved=",
        "RTP/AVP/TCP;interleaved=-1",
        "RTP/AVP/TCP;interleaved=+1-2",
        "RTP/AVP/TCP;interleaved= 1- 2",
        "RTP/AVP/TCP;interleaved=1-",
        "RTP/AVP/TCP;interleaved=1-2-3",
        "RTP/AVP/TCP;interleaved=1-1",
        "RTP/AVP/TCP;interleaved=255",
        "RTP/AVP/TCP;interleaved=255-256",
        "RTP/AVP/TCP;interleaved=4294967296-4294967297",
        "RTP/AVP;client_port=0-1",
        "RTP/AVP;client_port=65535",
        "RTP/AVP;client_port=65535-65536",
        "RTP/AVP;client_port=18446744073709551616-9",
        "RTP/AVP;client_port=8-9x",
    };

    for (size_t i = 0; i < ARRAY_LENGTH(headers); i++) {
        if (choose(headers[i])) {
            fail_msg("\"%s\" was chosen", headers[i]);
        }
    }
}

static const struct parameter_sets sets = {
    .sets = {{0x67, 0x42, 0xc0, 0x1f, 0x99}, {0x68, 0xce, 0x3c, 0x80}}, .sizes = {5, 4}};

// The lines but for the one that begins with "o=", which names the process.
static char *write_sdp(const char *address)
{
    char *text = sdp_write("/front/edges", address, &payload_h264, &sets, 1);

    assert_non_null(text);
    char *origin = strstr(text, "o="), *end = strstr(origin, "\r\n") + 2;
    memmove(origin, end, strlen(end) + 1);
    return text;
}

// In the order of RFC 4566, section 5; fmtp by RFC 6184, section 8.2.1, its base64 by coreutils.
TEST(test_a_stream_is_described_line_by_line)
{
    g_autofree char *text = write_sdp("192.168.1.7");

    assert_string_equal(text, "v=0\r\n"
                              "s=/front/edges\r\n"
                              "c=IN IP4 0.0.0.0\r\n"
                              "t=0 0\r\n"
                              "a=tool:edged " EDGED_VERSION "\r\n"
                              "a=type:broadcast\r\n"
                              "a=control:*\r\n"
                              "a=range:npt=now-\r\n"
                              "m=video 0 RTP/AVP 96\r\n"
                              "a=rtpmap:96 H264/90000\r\n"
                              "a=fmtp:96 packetization-mode=1;profile-level-id=42C01F;"
                              "sprop-parameter-sets=Z0LAH5k=,aM48gA==\r\n"
                              "a=control:stream=0\r\n");
}

TEST(test_the_origin_is_the_address_the_client_reached)
{
    g_autofree char *four = sdp_write("/a", "192.168.1.7", &payload_h264, &sets, 1);
    g_autofree char *six = sdp_write("/a", "fe80::1", &payload_h264, &sets, 2);
    long long number, same;
    char address[64];

    assert_int_equal(sscanf(four, "v=0\r\no=- %lld 1 IN IP4 %63s", &number, address), 2);
    assert_true(number > 0);
    assert_string_equal(address, "192.168.1.7");
    assert_int_equal(sscanf(six, "v=0\r\no=- %lld 2 IN IP6 %63s", &same, address), 2);
    assert_int_equal(same, number); // the same session, changed
    assert_string_equal(address, "fe80::1");
    assert_non_null(strstr(six, "\r\nc=IN IP6 ::\r\n"));
}

RUN_TESTS(NULL, NULL)
