// Requests of RTSP as they come from a network, whole, in pieces and hostile; what their URLs and
// Transport headers mean; the SDP of a reply.
#include "tests/unit/text_table.h"

#include "config/base.h"
#include "daemon/front/rtsp/message.h"
#include "daemon/front/rtsp/methods.h"

#include <errno.h>
#include <inttypes.h>
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

static void tell_request(const char *input, GString *output)
{
    ssize_t size = read_text(input);

    if (size <= 0) {
        g_string_append_printf(output, size == 0 ? "more" : "%d", (int)-size);
        if (size < 0 && request.sequence >= 0)
            g_string_append_printf(output, " %" PRId64, request.sequence);
        g_string_append(output, size < 0 && request.is_http ? ", HTTP" : "");
        return;
    }
    g_string_append_printf(output, "%s%s %s %" PRId64,
                           request.method == RTSP_METHOD_OTHER ? "other " : "", request.method_name,
                           request.url, request.sequence);
    if (request.body_size > 0)
        g_string_append_printf(output, ", body of %zu", request.body_size);
    for (size_t i = 0; i < request.line_count; i++) {
        if (g_ascii_strcasecmp(request.lines[i].name, "CSeq") != 0) {
            g_string_append_printf(output, "; %s: %s", request.lines[i].name,
                                   request.lines[i].value);
        }
    }
    if (input[size])
        g_string_append_printf(output, ", left: %s", input + size);
}

TEST(test_requests_are_read_or_refused_with_their_number)
{
    text_table_check("tests/unit/tables/rtsp_requests.txt", tell_request);
}

TEST(test_a_header_is_found_in_any_case)
{
    assert_true(read_text(live555) > 0);
    assert_string_equal(rtsp_request_header(&request, "user-AGENT"),
                        "LibVLC/3.0.18 (LIVE555 Streaming Media v2016.11.28)");
    assert_null(rtsp_request_header(&request, "Session"));
    assert_int_equal(rtsp_request_count(&request, "transport"), 1);
    assert_int_equal(rtsp_request_count(&request, "y"), 0);
}

TEST(test_a_request_that_comes_byte_by_byte_waits_for_its_last)
{
    static const char with_body[] = "SET_PARAMETER rtsp://h/a RTSP/1.0\r\nCSeq: 421\r\n"
                                    "Content-Length: 20\r\n\r\nbarparam: barstuff\r\n";
    const char *const texts[] = {example, live555, with_body};

    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        size_t size = strlen(texts[i]);

        for (size_t come = 0; come < size; come++)
            assert_int_equal(rtsp_request_read(texts[i], come, &request), 0);
        assert_int_equal(rtsp_request_read(texts[i], size, &request), size);
    }
}

// Without the last four bytes, which end it, a head is not complete.
TEST(test_a_byte_0_in_a_head_is_refused)
{
    char bytes[sizeof live555];

    for (size_t at = 0; at < strlen(live555) - 4; at++) {
        memcpy(bytes, live555, sizeof bytes);
        bytes[at] = '\0';
        assert_int_equal(rtsp_request_read(bytes, strlen(live555), &request), -RTSP_BAD_REQUEST);
    }
}

// A request of OPTIONS with as many lines behind the first, CSeq among them.
static ssize_t read_lines(unsigned count)
{
    g_autoptr(GString) text = g_string_new("OPTIONS * RTSP/1.0\r\nCSeq: 7\r\n");

    for (unsigned i = 1; i < count; i++)
        g_string_append(text, "a: b\r\n");
    g_string_append(text, "\r\n");
    return read_text(text->str);
}

TEST(test_64_lines_are_read_and_no_more)
{
    assert_true(read_lines(64) > 0);
    assert_int_equal(rtsp_request_count(&request, "a"), 63);
    assert_int_equal(read_lines(65), -RTSP_BAD_REQUEST);
}

// OPTIONS of that URL.
static ssize_t read_url(const char *url)
{
    g_autofree char *text = g_strdup_printf("OPTIONS %s RTSP/1.0\r\nCSeq: 7\r\n\r\n", url);

    return read_text(text);
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
        for (ssize_t come = 0; come < taken; come++)
            assert_int_equal(rtsp_request_read(bytes, (size_t)come, &request), 0);
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

static void tell_target(const char *input, GString *output)
{
    struct rtsp_target target;
    int r = rtsp_target_read(input, &target);

    g_string_append_printf(output, r == -EINVAL ? "refused" : "%s %s", target.path, target.base);
    if (r == 0 && target.track > 0)
        g_string_append_printf(output, " track %u", target.track);
}

TEST(test_urls_name_presentations)
{
    text_table_check("tests/unit/tables/rtsp_urls.txt", tell_target);
}

static void assert_target(const char *url, const char *path)
{
    struct rtsp_target target;

    assert_int_equal(rtsp_target_read(url, &target), 0);
    assert_string_equal(target.path, path);
    assert_string_equal(target.base, url);
}

TEST(test_longer_paths_and_urls_than_ours_are_refused)
{
    g_autofree char *text = g_strnfill(2048, 'a');
    g_autofree char *path = g_strdup_printf("rtsp://h/%.126s", text);
    g_autofree char *longer_path = g_strdup_printf("rtsp://h/%.127s", text);
    g_autofree char *host = g_strdup_printf("rtsp://%.246s/a", text);
    g_autofree char *longer_host = g_strdup_printf("rtsp://%.247s/a", text);
    struct rtsp_target target;

    assert_target(path, path + strlen("rtsp://h"));
    assert_int_equal(rtsp_target_read(longer_path, &target), -ENAMETOOLONG);
    assert_target(host, "/a");
    assert_int_equal(rtsp_target_read(longer_host, &target), -ENAMETOOLONG);
}

#define TCP RTSP_LOWER_BIT(RTSP_LOWER_INTERLEAVED)
#define UNICAST (TCP | RTSP_LOWER_BIT(RTSP_LOWER_UDP))
#define MULTICAST RTSP_LOWER_BIT(RTSP_LOWER_MULTICAST)

// "unicast: RTP/AVP…": what is allowed, then the header.
static void tell_transport(const char *input, GString *output)
{
    const char *header = strchr(input, ':') + 1;
    unsigned allowed = g_str_has_prefix(input, "any")         ? UNICAST | MULTICAST
                       : g_str_has_prefix(input, "multicast") ? MULTICAST
                       : g_str_has_prefix(input, "TCP")       ? TCP
                                                              : UNICAST;
    struct rtsp_transport_offer offer;

    if (!rtsp_transport_choose(header + strspn(header, " "), allowed, &offer))
        g_string_append(output, "none");
    else if (offer.lower == RTSP_LOWER_MULTICAST)
        g_string_append(output, "multicast");
    else if (offer.lower == RTSP_LOWER_UDP)
        g_string_append_printf(output, "UDP %u-%u", offer.port, offer.rtcp_port);
    else if (offer.channel < 0 && offer.rtcp_channel < 0)
        g_string_append(output, "interleaved of our choice");
    else
        g_string_append_printf(output, "interleaved %d-%d", offer.channel, offer.rtcp_channel);
}

TEST(test_the_first_transport_that_can_be_had_is_chosen)
{
    text_table_check("tests/unit/tables/rtsp_transports.txt", tell_transport);
}

static int set_up(void **state)
{
    struct mount *mount = calloc(1, sizeof *mount);

    assert_int_equal(stream_new("/front/edges", &payload_h264, 80, &mount->stream), 0);
    *state = mount;
    return 0;
}

static int tear_down(void **state)
{
    struct mount *mount = *state;

    stream_unref(mount->stream);
    free(mount);
    return 0;
}

// Sends a key frame with an SPS that ends in `last`, and describes the mount to a client that
// reaches it at `address`.
static char *write_sdp(const struct mount *mount, uint8_t last, const char *address)
{
    const uint8_t bytes[] = {0, 0,    0,    1,    0x67, 0x42, 0xc0, 0x1f, last, 0,    0,   0,
                             1, 0x68, 0xce, 0x3c, 0x80, 0,    0,    0,    1,    0x65, 0xaa};
    const struct link_access_unit life = {.captured_ns = clock_now_ns(), .key_frame = true};
    uint8_t *payload = malloc(sizeof life + sizeof bytes);

    memcpy(payload, &life, sizeof life);
    memcpy(payload + sizeof life, bytes, sizeof bytes);
    assert_int_equal(stream_take_access_unit(mount->stream, payload, sizeof life + sizeof bytes),
                     0);
    return methods_write_sdp(mount, address);
}

// In the order of RFC 4566, section 5; fmtp by RFC 6184, section 8.2.1, its base64 by coreutils.
TEST(test_a_mount_is_described_line_by_line, set_up, tear_down)
{
    g_autofree char *text = write_sdp(*state, 0x99, "192.168.1.7");
    char *origin = strstr(text, "o="), *end = strstr(origin, "\r\n") + 2;

    memmove(origin, end, strlen(end) + 1); // that line names the process
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

TEST(test_the_origin_is_the_address_the_client_reached, set_up, tear_down)
{
    g_autofree char *four = write_sdp(*state, 0x99, "192.168.1.7");
    g_autofree char *six = write_sdp(*state, 0x98, "fe80::1");
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
