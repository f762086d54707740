// What config/redact.c hides, and what it leaves.
#include "tests/unit/unit.h"

#include "config/base.h"
#include "config/redact.h"

#include <stdio.h>
#include <string.h>

static void assert_redacted(const char *text, const char *expected)
{
    char copy[256];

    snprintf(copy, sizeof copy, "%s", text);
    redact(copy);
    assert_string_equal(copy, expected);
}

TEST(test_user_and_password_of_addresses_are_hidden)
{
    assert_redacted("rtsp://admin:hunter2@10.0.0.5:554/ch1 failed",
                    "rtsp://***@10.0.0.5:554/ch1 failed");
    assert_redacted("pipeline \"rtspsrc location=rtsp://hunter2@cam ! x\": bad",
                    "pipeline \"rtspsrc location=rtsp://***@cam ! x\": bad");
    assert_redacted("a=http://h/x,b=rtsp://u:p@h/", "a=http://h/x,b=rtsp://***@h/");
    assert_redacted("location='rtsp://u:p@[::1]:554/' x", "location='rtsp://***@[::1]:554/' x");
    assert_redacted("proxy=me:hunter2@10.0.0.1:3128 !", "proxy=***@10.0.0.1:3128 !");
    // No URL may have them, and people write them.
    assert_redacted("rtsp://admin:p@ss=w/o'rd?@cam/1 x", "rtsp://***@cam/1 x");
    assert_redacted("rtsp://admin:cut off", "rtsp://*** off");
    assert_redacted("rtsp://u@h", "rtsp://*@h");
}

TEST(test_all_that_a_url_asks_for_is_hidden)
{
    assert_redacted("rtsp://127.0.0.1:1/live?usr=admin&psw=hunter2: refused",
                    "rtsp://127.0.0.1:1/live?usr=***&psw=***: refused");
    assert_redacted("rtsp://h/cam?channel=1&whatever=aHVudGVyMg==, retrying in 2 s",
                    "rtsp://h/cam?channel=*&whatever=***, retrying in 2 s");
    assert_redacted("url = \"rtsp://u:hunter2@h/live?loginpas=hunter2\"; fps = 30;",
                    "url = \"rtsp://***@h/live?loginpas=***\"; fps = 30;");
    assert_redacted("{\"url\":\"rtsp://h/?x=hunter2\",\"fps\":30}",
                    "{\"url\":\"rtsp://h/?x=***\",\"fps\":30}");
    assert_redacted("'rtsp://h/?x=hunter2' fails", "'rtsp://h/?x=***' fails");
    assert_redacted("rtsp://h/live?hunter2", "rtsp://h/live?***");
    assert_redacted("rtsp://h/user=admin&password=hunter2&channel=1.sdp?real_stream",
                    "rtsp://h/user=***&password=***&channel=***");
    assert_redacted("rtsp://h/user=admin_password=hunter2_channel=1", "rtsp://h/user=***");
    assert_redacted("http://h/a?next=http://u:hunter2@h/b?c=hunter2 x", "http://h/a?next=*** x");
    assert_redacted("GET /live?usr=admin&x=hunter2 HTTP/1.1", "GET /live?usr=***&x=*** HTTP/1.1");
}

TEST(test_values_in_a_pipeline_are_hidden_but_those_known_to_be_harmless)
{
    assert_redacted("rtspsrc location=rtsp://h/ zauberwort=hunter2 latency=5",
                    "rtspsrc location=rtsp://h/ zauberwort=*** latency=5");
    assert_redacted("x a=hunter2 ! video/x-raw,width=64 ! y name=z",
                    "x a=*** ! video/x-raw,width=64 ! y name=z");
    assert_redacted("pipeline \"x a=\\\"two w\\\" width=3\": bad",
                    "pipeline \"x a=\\\"***\\\" width=3\": bad");
    assert_redacted(
        "souphttpsrc extra-headers=\"x, Authorization=(string)\\\"Bearer hunter2\\\"\" !",
        "souphttpsrc extra-headers=\"***\" !");
    assert_redacted("rtspsrc user-pw=\thunter2 ! x", "rtspsrc user-pw=\t*** ! x");
    assert_redacted("rtspsrc user-pw =\n\thunter2 ! x", "rtspsrc user-pw =\n\t*** ! x");
    assert_redacted("could not set property \"user-x\" in element \"rtspsrc0\" to \"a \"b\" c\"",
                    "could not set property \"user-x\" in element \"rtspsrc0\" to \"***\"");
}

TEST(test_headers_and_members_of_secret_names_are_hidden)
{
    assert_redacted("Authorization: Basic aHVudGVyMg==\r\nCSeq: 1",
                    "Authorization: ***\r\nCSeq: 1");
    assert_redacted("Cookie: a=hunter2; b=hunter2", "Cookie: ***");
    assert_redacted("user-pw: hunter2", "user-pw: ***");
    assert_redacted("{\"api_token\":\"hunter2\",\"b\":1}", "{\"api_token\":\"***\",\"b\":1}");
    assert_redacted("Authorization=(string)\"Bearer hunter2\"", "Authorization=(string)\"***\"");
}

TEST(test_values_of_secret_names_are_hidden)
{
    assert_redacted("rtspsrc user-id=me user-pw=hunter2 ! x", "rtspsrc user-id=me user-pw=*** ! x");
    assert_redacted("user-pw = \"two words\" ! x", "user-pw = \"***\" ! x");
    assert_redacted("\"a user-pw=\\\"two \\\\\\\"w\\\" ! x\"", "\"a user-pw=\\\"***\\\" ! x\"");
    assert_redacted("Proxy_Password=(string)'hunter2', b=1", "Proxy_Password=(string)'***', b=1");
    assert_redacted("pipeline \"x token=hunter2\": bad", "pipeline \"x token=***\": bad");
    assert_redacted("http://h/?q=1&access_token=abcd&y=2", "http://h/?q=*&access_token=***&y=*");
    assert_redacted("passwd=abcd;&\"x end", "passwd=*** end");
    static const char *const names[] = {"pass",       "psw",       "loginpas", "authbasic",
                                        "auth",       "key",       "jwt",      "access_key",
                                        "credential", "signature", "cookies"};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        char text[64], expected[64];

        snprintf(text, sizeof text, "a %s=hunter2 b", names[i]);
        snprintf(expected, sizeof expected, "a %s=*** b", names[i]);
        assert_redacted(text, expected);
    }
    assert_redacted("client-secret=\"never closed", "client-secret=\"***");
}

TEST(test_what_is_no_secret_stays)
{
    static const char *const texts[] = {
        "front: V4L2 USERPTR YUYV 1280x720@30 -> registered -> CPU -> x264enc, 0 copies a frame",
        "rtsp://127.0.0.1:8554/front/edges",
        "rtsp://[::1]:8554/edges",
        "http://h/mail/a@b.c",
        "videotestsrc is-live=true pattern=ball ! video/x-raw,width=640,framerate=30/1 ! queue",
        "v4l2src device=/dev/video0 io-mode=4 ! image/jpeg, width = (int)640 ! jpegdec",
        "key_frames: 5, passed_over: 1",
        "time=12 ms, restarts=2",
        "it wants a user and a password: credentials = \"/etc/x\", a file with the line",
        "edged.conf:9: error: cameras[0].password: unknown key, allowed: a=1",
        "bitrate=4000",
        "/dev/v4l/by-path/platform-3610000.usb-usb-0:2.1:1.0-video-index0",
        "modprobe@videodev",
    };

    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        assert_redacted(texts[i], texts[i]);
    }
}

TEST(test_an_error_is_redacted_before_it_is_cut)
{
    struct error error = {0};

    // 512 bytes end, and so do a prefix's 255, between the password and its '@'.
    error_set(&error, -1, "%*srtsp://u:hunter2hunter2@h", 490, "");
    assert_null(strstr(error.text, "hunter2"));
    error_set(&error, -1, "x");
    error_prefix(&error, -1, "%*srtsp://u:hunter2@h", 240, "");
    assert_null(strstr(error.text, "hunter2"));
}

RUN_TESTS(NULL, NULL)
