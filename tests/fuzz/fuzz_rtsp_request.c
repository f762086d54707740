// Requests of whoever connects to the RTSP server, one after the other as they come in a stream,
// with their URLs and what they offer as a transport.
//
// Parsers: daemon/front/rtsp/message.c
#include "tests/fuzz/fuzz.h"

#include "daemon/front/rtsp/message.h"

static void check_text(const struct rtsp_request *request, const char *text)
{
    fuzz_claim(text >= request->head && text < request->head + sizeof request->head);
    fuzz_claim(!strpbrk(text, "\r\n"));
}

// The base of a URL that is taken names the same path.
static void check_target(const char *url)
{
    struct rtsp_target target, again;

    if (rtsp_target_read(url, &target) == 0 && target.path[0]) {
        fuzz_claim(target.path[0] == '/' && !strchr(target.path, '?'));
        fuzz_claim(strncmp(target.base, url, strlen(target.base)) == 0);
        fuzz_claim(rtsp_target_read(target.base, &again) == 0);
        fuzz_claim(strcmp(again.path, target.path) == 0);
    }
}

static void check_transport(const char *header)
{
    struct rtsp_transport_offer offer;

    for (unsigned allowed = 0; allowed < RTSP_LOWER_BIT(RTSP_LOWER_MULTICAST + 1); allowed++) {
        if (!rtsp_transport_choose(header, allowed, &offer))
            continue;
        fuzz_claim(allowed & RTSP_LOWER_BIT(offer.lower));
        if (offer.lower == RTSP_LOWER_UDP) {
            fuzz_claim(offer.port > 0 && offer.rtcp_port > 0);
        } else {
            fuzz_claim(offer.channel >= -1 && offer.channel <= 255);
            fuzz_claim(offer.rtcp_channel >= -1 && offer.rtcp_channel <= 255);
        }
    }
}

static void check_request(const struct rtsp_request *request)
{
    fuzz_claim(request->sequence >= 0 && request->line_count <= RTSP_LINES_MAX);
    fuzz_claim(request->body_size <= RTSP_BODY_MAX && strlen(request->url) <= RTSP_URL_MAX);
    check_text(request, request->method_name);
    check_text(request, request->url);
    for (size_t i = 0; i < request->line_count; i++) {
        check_text(request, request->lines[i].name);
        check_text(request, request->lines[i].value);
        fuzz_claim(rtsp_request_count(request, request->lines[i].name) > 0);
    }
    if (request->method < RTSP_METHOD_COUNT)
        fuzz_claim(strcmp(rtsp_method_name(request->method), request->method_name) == 0);
    check_target(request->url);
    if (rtsp_request_header(request, "Transport"))
        check_transport(rtsp_request_header(request, "Transport"));
    GString *reply = rtsp_reply_new(RTSP_OK, request->sequence);
    rtsp_reply_end(reply, "text/parameters", request->url);
    g_string_free(reply, TRUE);
}

// Every error has a reply, whose first line names it.
static void check_refusal(const struct rtsp_request *request, ssize_t r)
{
    GString *reply = rtsp_reply_new((enum rtsp_status) - r, request->sequence);
    char line[32];

    snprintf(line, sizeof line, "RTSP/1.0 %d ", (int)-r);
    rtsp_reply_end(reply, NULL, NULL);
    fuzz_claim(strncmp(reply->str, line, strlen(line)) == 0);
    g_string_free(reply, TRUE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rtsp_request *request = malloc(sizeof *request);
    char *bytes = malloc(size + !size);
    size_t at = 0;
    ssize_t r;

    fuzz_claim(request && bytes);
    memcpy(bytes, data, size);
    while ((r = rtsp_request_read(bytes + at, size - at, request)) > 0) {
        fuzz_claim((size_t)r <= size - at);
        check_request(request);
        at += (size_t)r;
    }
    if (r < 0)
        check_refusal(request, r);
    free(bytes);
    free(request);
    return 0;
}
