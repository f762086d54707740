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

TEST(test_values_of_secret_names_are_hidden)
{
    assert_redacted("rtspsrc user-id=me user-pw=hunter2 ! x", "rtspsrc user-id=me user-pw=*** ! x");
    assert_redacted("user-pw = \"two words\" ! x", "user-pw = \"***\" ! x");
    assert_redacted("\"a user-pw=\\\"two \\\\\\\"w\\\" ! x\"", "\"a user-pw=\\\"***\\\" ! x\"");
    assert_redacted("Proxy_Password=(string)'hunter2', b=1", "Proxy_Password=(string)'***', b=1");
    assert_redacted("pipeline \"x token=hunter2\": bad", "pipeline \"x token=***\": bad");
    assert_redacted("http://h/?q=1&access_token=abcd&y=2", "http://h/?q=1&access_token=***&y=2");
    assert_redacted("passwd=abcd;&\"x end", "passwd=*** end");
    assert_redacted("client-secret=\"never closed", "client-secret=\"***");
}

TEST(test_what_is_no_secret_stays)
{
    static const char *const texts[] = {
        "front: V4L2 USERPTR YUYV 1280x720@30 -> registered -> CPU -> x264enc, 0 copies a frame",
        "rtsp://127.0.0.1:8554/front/edges",
        "rtsp://[::1]:8554/edges",
        "http://h/?mail=a@b.c",
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
