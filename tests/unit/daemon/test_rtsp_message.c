// Requests of RTSP as they come from a network, whole, in pieces and hostile.
#include "tests/unit/unit.h"

#include "config/base.h"
#include "daemon/front/rtsp/message.h"

#include <string.h>

// The example of RFC 2326, section 10.2.
static const char example[] = "DESCRIBE rtsp://server.example.com/fizzle/foo RTSP/1.0\r\n"
                              "CSeq: 312\r\n"
                              "Accept: application/sdp, application/rtsl, application/mheg\r\n"
                              "\r\n";

// As live555 in VLC 3.0 writes it.
static const char live555[] = "SETUP rtsp://192.168.1.7:8554/front/edges/stream=0 RTSP/1.0\r\n"
                              "CSeq: 4\r\n"
                              "User-Agent: LibVLC/3.0.18 (LIVE555 Streaming Media v2016.11.28)\r\n"
                              "Transport: RTP/AVP;unicast;client_port=57764-57765\r\n"
                              "\r\n";

static struct rtsp_request request;

static ssize_t read_text(const char *text)
{
    return rtsp_request_read(text, strlen(text), &request);
}

// OPTIONS with that line behind CSeq.
static ssize_t read_with(const char *line)
{
    g_autofree char *text = g_strdup_printf("OPTIONS * RTSP/1.0\r\nCSeq: 7\r\n%s\r\n\r\n", line);

    return read_text(text);
}

// OPTIONS of that URL.
static ssize_t read_url(const char *url)
{
    g_autofree char *text = g_strdup_printf("OPTIONS %s RTSP/1.0\r\nCSeq: 7\r\n\r\n", url);

    return read_text(text);
}

TEST(test_the_example_of_rfc_2326_is_read)
{
    assert_int_equal(read_text(example), strlen(example));
    assert_int_equal(request.method, RTSP_DESCRIBE);
    assert_string_equal(request.method_name, "DESCRIBE");
    assert_string_equal(request.url, "rtsp://server.example.com/fizzle/foo");
    assert_int_equal(request.sequence, 312);
    assert_int_equal(request.body_size, 0);
    assert_string_equal(rtsp_request_header(&request, "Accept"),
                        "application/sdp, application/rtsl, application/mheg");
    assert_null(rtsp_request_header(&request, "Session"));
}

TEST(test_headers_are_found_in_any_case_and_without_the_blanks_around_them)
{
    assert_true(read_text("PLAY rtsp://h/a RTSP/1.0\ncseq:9 \nSESSION:\t 12 34 \t\nX:\n\n") > 0);
    assert_int_equal(request.sequence, 9);
    assert_string_equal(rtsp_request_header(&request, "Session"), "12 34");
    assert_string_equal(rtsp_request_header(&request, "x"), "");
    assert_int_equal(rtsp_request_count(&request, "session"), 1);
    assert_int_equal(rtsp_request_count(&request, "y"), 0);
}

TEST(test_a_request_that_comes_byte_by_byte_waits_for_its_last)
{
    static const char with_body[] = "SET_PARAMETER rtsp://h/a RTSP/1.0\r\nCSeq: 421\r\n"
                                    "Content-Length: 20\r\n\r\nbarparam: barstuff\r\n";
    const char *const texts[] = {example, live555, with_body};

    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        size_t size = strlen(texts[i]);

        for (size_t come = 0; come < size; come++) {
            assert_int_equal(rtsp_request_read(texts[i], come, &request), 0);
        }
        assert_int_equal(rtsp_request_read(texts[i], size, &request), size);
    }
}

TEST(test_what_follows_a_request_is_left_for_the_next)
{
    g_autofree char *text = g_strconcat(live555, example, NULL);

    assert_int_equal(read_text(text), strlen(live555));
    assert_int_equal(request.sequence, 4);
    assert_int_equal(read_text(text + strlen(live555)), strlen(example));
    assert_int_equal(request.sequence, 312);
}

TEST(test_methods_are_known_by_their_exact_names)
{
    for (unsigned method = 0; method < RTSP_METHOD_COUNT; method++) {
        g_autofree char *text = g_strdup_printf("%s * RTSP/1.0\r\nCSeq: 1\r\n\r\n",
                                                rtsp_method_name((enum rtsp_method)method));

        assert_true(read_text(text) > 0);
        assert_int_equal(request.method, method);
    }
    assert_true(read_text("options * RTSP/1.0\r\nCSeq: 1\r\n\r\n") > 0);
    assert_int_equal(request.method, RTSP_METHOD_OTHER);
    assert_true(read_text("ANNOUNCE * RTSP/1.0\r\nCSeq: 1\r\n\r\n") > 0);
    assert_int_equal(request.method, RTSP_METHOD_OTHER);
    assert_string_equal(request.method_name, "ANNOUNCE");
}

TEST(test_requests_of_http_are_told_from_those_that_make_no_sense)
{
    assert_int_equal(read_text("GET /edges HTTP/1.1\r\nx-sessioncookie: a\r\n\r\n"),
                     -RTSP_METHOD_NOT_ALLOWED);
    assert_true(request.is_http);
    assert_int_equal(read_text("OPTIONS * RTSP/2.0\r\nCSeq: 8\r\n\r\n"),
                     -RTSP_VERSION_NOT_SUPPORTED);
    assert_false(request.is_http);
}

TEST(test_lines_that_are_no_request_line_are_refused)
{
    static const char *const lines[] = {
        "OPTIONS",        "OPTIONS *",          "OPTIONS  RTSP/1.0",  " * RTSP/1.0",
        "* RTSP/1.0",     "OPTIONS * HTPP/1.1", "OPTIONS * rtsp/1.0", "OPTIONS * ",
        "RTSP/1.0 200 OK"};

    for (size_t i = 0; i < ARRAY_LENGTH(lines); i++) {
        g_autofree char *text = g_strdup_printf("%s\r\nCSeq: 7\r\n\r\n", lines[i]);

        assert_int_equal(read_text(text), -RTSP_BAD_REQUEST);
        assert_int_equal(request.sequence, 7); // for the reply
    }
    assert_int_equal(read_text("OPTIONS * RTSP/2.0\r\nCSeq: 8\r\n\r\n"),
                     -RTSP_VERSION_NOT_SUPPORTED);
    assert_int_equal(request.sequence, 8);
}

TEST(test_only_a_number_of_32_bits_is_a_sequence)
{
    static const char *const values[] = {"",    "-1",  "+1",  "4294967296", "18446744073709551617",
                                         "1 2", "0x1", "1.0", "one"};

    for (size_t i = 0; i < ARRAY_LENGTH(values); i++) {
        g_autofree char *text =
            g_strdup_printf("OPTIONS * RTSP/1.0\r\nCSeq: %s\r\n\r\n", values[i]);

        assert_int_equal(read_text(text), -RTSP_BAD_REQUEST);
        assert_int_equal(request.sequence, -1);
    }
    assert_int_equal(read_text("OPTIONS * RTSP/1.0\r\n\r\n"), -RTSP_BAD_REQUEST);
    assert_int_equal(request.sequence, -1);
    assert_true(read_text("OPTIONS * RTSP/1.0\r\nCSeq: 0\r\n\r\n") > 0);
    assert_int_equal(request.sequence, 0);
    assert_true(read_text("OPTIONS * RTSP/1.0\r\nCSeq: 4294967295\r\n\r\n") > 0);
    assert_int_equal(request.sequence, 4294967295);
}

TEST(test_headers_that_are_none_are_refused)
{
    // The third goes on in the next line, the fourth would hide it from those who look for an end.
    static const char *const lines[] = {
        "nothing",      ": value",      "Session: 12\r\n 34", "Session: 12\r\n \r\nRequire: a",
        "Session : 12", "Ses sion: 12", "\tSession: 12"};

    for (size_t i = 0; i < ARRAY_LENGTH(lines); i++) {
        assert_int_equal(read_with(lines[i]), -RTSP_BAD_REQUEST);
        assert_int_equal(request.sequence, 7);
    }
}

TEST(test_a_head_is_text)
{
    char bytes[sizeof live555];

    // The last four end the head: without them it is not complete.
    for (size_t at = 0; at < strlen(live555) - 4; at++) {
        memcpy(bytes, live555, sizeof bytes);
        bytes[at] = '\0';
        assert_int_equal(rtsp_request_read(bytes, strlen(live555), &request), -RTSP_BAD_REQUEST);
    }
    assert_int_equal(read_with("Session: 12\rRequire: a"), -RTSP_BAD_REQUEST);
    assert_int_equal(read_with("User-Agent: \x1b[2J"), -RTSP_BAD_REQUEST);
    assert_int_equal(read_with("User-Agent: \x7f"), -RTSP_BAD_REQUEST);
    assert_true(read_with("User-Agent: Stra\xc3\x9f"
                          "e") > 0);
}

TEST(test_a_body_is_bounded_and_its_length_a_number)
{
    static const char *const values[] = {
        "", "-1", "5x", "0x5", "5 5", "18446744073709551616", "99999999999999999999999999999"};

    for (size_t i = 0; i < ARRAY_LENGTH(values); i++) {
        g_autofree char *line = g_strdup_printf("Content-Length: %s", values[i]);

        assert_int_equal(read_with(line), -RTSP_BAD_REQUEST);
    }
    assert_int_equal(read_with("Content-Length: 4097"), -RTSP_ENTITY_TOO_LARGE);
    assert_int_equal(read_with("Content-Length: 18446744073709551615"), -RTSP_ENTITY_TOO_LARGE);
    assert_int_equal(read_with("Content-Length: 4096"), 0); // it has not come yet
    assert_int_equal(request.body_size, 4096);
    assert_true(read_with("Content-Length: 0") > 0);
    assert_int_equal(read_with("Content-Length: 5\r\nContent-Length: 0"), -RTSP_BAD_REQUEST);
}

TEST(test_64_lines_are_read_and_no_more)
{
    g_autoptr(GString) lines = g_string_new("a: b"); // behind CSeq

    for (int i = 2; i < 64; i++) {
        g_string_append(lines, "\r\na: b");
    }
    assert_true(read_with(lines->str) > 0);
    assert_int_equal(rtsp_request_count(&request, "a"), 63);
    g_string_append(lines, "\r\na: b");
    assert_int_equal(read_with(lines->str), -RTSP_BAD_REQUEST);
}

TEST(test_a_url_of_2048_bytes_is_read_and_no_longer_one)
{
    g_autofree char *url = g_strnfill(2049, 'a');

    assert_int_equal(read_url(url), -RTSP_URL_TOO_LARGE);
    assert_int_equal(request.sequence, 7);
    url[2048] = '\0';
    assert_true(read_url(url) > 0);
    assert_string_equal(request.url, url);
}

// A head of `size` bytes.
static char *make_head(size_t size)
{
    static const char begin[] = "OPTIONS * RTSP/1.0\r\nCSeq: 7\r\nX: ";
    g_autofree char *filler = g_strnfill(size - strlen(begin) - 4, 'x');

    return g_strconcat(begin, filler, "\r\n\r\n", NULL);
}

TEST(test_a_head_of_8192_bytes_is_read_and_no_longer_one)
{
    g_autofree char *largest = make_head(8192), *larger = make_head(8193);

    assert_int_equal(read_text(largest), 8192);
    assert_int_equal(rtsp_request_read(largest, 8191, &request), 0);
    assert_int_equal(read_text(larger), -RTSP_BAD_REQUEST);
}

TEST(test_a_line_without_an_end_is_refused_as_soon_as_it_is_too_long)
{
    g_autofree char *endless = g_strnfill(100000, 'x');

    assert_int_equal(rtsp_request_read(endless, 8191, &request), 0);
    assert_int_equal(rtsp_request_read(endless, 8192, &request), -RTSP_BAD_REQUEST);
    assert_int_equal(rtsp_request_read(endless, 100000, &request), -RTSP_BAD_REQUEST);
    assert_int_equal(request.sequence, -1);
}

// Whatever of an honest request is exchanged, what is taken of it does not depend on how much has
// come behind it, and nothing of it is looked for elsewhere.
TEST(test_requests_with_any_bytes_exchanged_are_taken_the_same_in_pieces)
{
    static const char interesting[] = {'\0', '\n', '\r', ' ', ':', '\t', '/', '9', '\xff'};
    char bytes[sizeof live555];
    unsigned taken_count = 0, refused = 0;

    srandom(random_seed());
    for (int round = 0; round < 2000; round++) {
        memcpy(bytes, live555, sizeof bytes);
        for (int i = 0; i < 3; i++) {
            bytes[(size_t)random() % strlen(live555)] =
                interesting[(size_t)random() % sizeof interesting];
        }
        ssize_t taken = rtsp_request_read(bytes, strlen(live555), &request);
        assert_true(taken <= (ssize_t)strlen(live555));
        taken_count += taken > 0;
        refused += taken < 0;
        for (ssize_t come = 0; come < taken; come++) {
            assert_int_equal(rtsp_request_read(bytes, (size_t)come, &request), 0);
        }
    }
    assert_true(taken_count > 0);
    assert_true(refused > 0);
}

TEST(test_replies_name_status_and_sequence)
{
    GString *reply = rtsp_reply_new(RTSP_OK, 312);

    rtsp_reply_end(reply, "application/sdp", "v=0\r\n");
    assert_string_equal(reply->str, "RTSP/1.0 200 OK\r\nCSeq: 312\r\nServer: edged/" EDGED_VERSION
                                    "\r\nContent-Type: application/sdp\r\nContent-Length: 5\r\n"
                                    "\r\nv=0\r\n");
    g_string_free(reply, TRUE);
    reply = rtsp_reply_new(RTSP_BAD_REQUEST, -1);
    rtsp_reply_end(reply, NULL, NULL);
    assert_string_equal(reply->str,
                        "RTSP/1.0 400 Bad Request\r\nServer: edged/" EDGED_VERSION "\r\n\r\n");
    g_string_free(reply, TRUE);
}

RUN_TESTS(NULL, NULL)
