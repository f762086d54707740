// Where the servers may listen, and for whom.
#include "config/config.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

#define ADDRESSES CONFIG_LOOPBACK ", or with users, or auth = \"none\", any address of this machine"
#define OPEN                                                                                       \
    CONFIG_LOOPBACK                                                                                \
    ", or this with users (`edgectl passwd`), or with auth = \"none\", which lets "                \
    "whoever reaches it watch"

struct expectation {
    const char *text;
    const char *problem;
};

static void check(const char *text, int result, const char *expected)
{
    _cleanup_(cleanup_free) char *found = NULL;
    _cleanup_(cleanup_config) struct config *config = NULL;
    size_t size;
    FILE *problems = open_memstream(&found, &size);

    assert_non_null(problems);
    assert_int_equal(config_parse(text, "t.conf", problems, &config), result);
    fclose(problems);
    assert_string_equal(found, expected);
}

// Each text has one problem, on line 1: "t.conf:1: error: " and the newline are added here.
static void check_each(const struct expectation *expectations, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        _cleanup_(cleanup_free) char *line = NULL;

        assert_true(asprintf(&line, "t.conf:1: error: %s\n", expectations[i].problem) > 0);
        check(expectations[i].text, -EINVAL, line);
    }
}

TEST(test_addresses_that_others_can_reach_are_refused)
{
    static const struct expectation open[] = {
        {"rtsp = { address = \"0.0.0.0\"; };", "rtsp.address: got \"0.0.0.0\", allowed: " OPEN},
        {"rtsp = { address = \"::\"; auth = \"\"; };", "rtsp.address: got \"::\", allowed: " OPEN},
        {"rtsp = { address = \"1.2.3\"; };", "rtsp.address: got \"1.2.3\", allowed: " ADDRESSES},
        {"rtsp = { auth = \"none\"; users = \"u\"; };",
         "rtsp.auth: got \"none\" with users, allowed: \"\"; or no users"},
        {"rtsp = { auth = \"any\"; };", "rtsp.auth: got \"any\", allowed: \"\", \"none\""},
    };

    check_each(open, ARRAY_LENGTH(open));
    check(
        "http = { address = \"0.0.0.0\"; port = 9854; };", -EINVAL,
        "t.conf:1: error: http.address: got \"0.0.0.0\", allowed: 127.0.0.0/8, ::1 or localhost, "
        "or "
        "this with rtsp.users (`edgectl passwd`), or with rtsp.auth = \"none\", which lets whoever "
        "reaches it ask\n");
    check("http = { address = \"0.0.0.0\"; };", 0, ""); // it listens nowhere
    check("http = { address = \"0.0.0.0\"; port = 9854; }; rtsp = { users = \"u\"; };", 0, "");
    check("rtsp = { address = \"0.0.0.0\"; auth = \"none\"; };", 0, "");
    check("rtsp = { address = \"0.0.0.0\"; users = \"u\"; };", 0, "");
}

TEST(test_two_servers_want_two_ports)
{
    check(
        "rtsp = { port = 8322; tls_port = 8322; };", -EINVAL,
        "t.conf:1: error: rtsp.tls_port: got 8322, which is rtsp.port, too; allowed: a port of its "
        "own, or 0\n");
    check("rtsp = { port = 0; tls_port = 0; };", 0, "");
}

TEST(test_a_certificate_comes_with_its_key)
{
    check("rtsp = { certificate = \"a.crt\"; };", -EINVAL,
          "t.conf:1: error: rtsp.certificate: got certificate without key, allowed: both, or "
          "neither for a generated certificate\n");
    check("rtsp = { key = \"a.key\"; };", -EINVAL,
          "t.conf:1: error: rtsp.key: got key without certificate, allowed: both, or neither for a "
          "generated certificate\n");
    check("rtsp = { certificate = \"a.crt\"; key = \"a.key\"; };", 0, "");
}

RUN_TESTS(NULL, NULL)
