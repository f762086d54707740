// Where the servers may listen, and for whom.
#include "config/config.h"
#include "config/multicast_range.h"
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

// RFC 3986, section 3.2: HOST, an IPv6 address only in brackets, and a port that TCP has.
TEST(test_a_url_has_a_host_and_a_port_that_there_can_be)
{
    static const char *const good[] = {"cam",       "cam:554",        "cam:65535", "10.0.0.5:1",
                                       "[::1]:554", "[fe80::1%eth0]", "cam:"},
                             *const bad[] = {"cam:70000",
                                             "cam:65536",
                                             "cam:0",
                                             "cam:-1",
                                             "cam:55x",
                                             "cam:554:554",
                                             "[::1]:70000",
                                             "[::1",
                                             "[cam]",
                                             "::1",
                                             "[::1]554",
                                             "cam]",
                                             "cam:99999999999999999999"};

    for (size_t i = 0; i < ARRAY_LENGTH(good) + ARRAY_LENGTH(bad); i++) {
        bool is_good = i < ARRAY_LENGTH(good);
        const char *host = is_good ? good[i] : bad[i - ARRAY_LENGTH(good)];
        _cleanup_(cleanup_config) struct config *config = NULL;
        _cleanup_(cleanup_free) char *text = NULL, *found = NULL;
        size_t size;
        FILE *problems = open_memstream(&found, &size);

        assert_true(asprintf(&text,
                             "cameras = ({source = \"rtsp\"; url = \"rtsps://%s/a?b:70000\";});",
                             host) > 0);
        int r = config_parse(text, "t.conf", problems, &config);
        fclose(problems);
        if ((r == 0) != is_good || (!is_good && !strstr(found, "cameras[0].url: got "))) {
            fail_msg("%s: %d %s", host, r, found);
        }
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
    check("http = { address = \"0.0.0.0\"; port = 0; };", 0, ""); // it listens nowhere
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

TEST(test_streams_are_served_at_one_port_at_least)
{
    check("rtsp = { plain = false; };", -EINVAL,
          "t.conf:1: error: rtsp.plain: got false without tls_port, allowed: true, or this with "
          "tls_port (8322)\n");
    check("rtsp = { plain = false; tls_port = 8554; };", 0, ""); // port is not in use
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

#define MULTICAST(settings) "rtsp = { " settings " };"
#define GROUPS "multicast = { addresses = \"239.255.4.0/24\"; "

// A password asked of who sets up says nothing of who joins the group.
TEST(test_multicast_beside_users_has_to_be_wanted)
{
    check(MULTICAST("users = \"u\"; " GROUPS "};"), -EINVAL,
          "t.conf:1: error: rtsp.multicast.addresses: got \"239.255.4.0/24\" with users, allowed: "
          "\"\"; or this with public = true, which lets whoever is in the network watch without a "
          "password\n");
    check(MULTICAST("users = \"u\"; " GROUPS "public = true; };"), 0, "");
    check(MULTICAST("users = \"u\"; multicast = { addresses = \"\"; };"), 0, "");
    check(MULTICAST("auth = \"none\"; " GROUPS "};"), 0, "");
}

// Without users a server answers its own machine alone, and groups are of no other either.
TEST(test_multicast_without_users_stays_on_the_machine)
{
    check(
        MULTICAST(GROUPS "interface = \"eth0\"; };"), -EINVAL,
        "t.conf:1: error: rtsp.multicast.interface: got \"eth0\", allowed: \"\" or \"lo\", or this "
        "with users (`edgectl passwd`), or with auth = \"none\", which lets whoever reaches it "
        "watch\n");
    check(MULTICAST(GROUPS "interface = \"lo\"; };"), 0, "");
    check(MULTICAST(GROUPS "};"), 0, "");
    check(MULTICAST("auth = \"none\"; " GROUPS "interface = \"eth0\"; };"), 0, "");
    check(MULTICAST("users = \"u\"; " GROUPS "interface = \"eth0\"; public = true; };"), 0, "");
}

static void assert_range(const char *text, uint32_t first, uint32_t count)
{
    struct multicast_range range = {1, 1};

    assert_int_equal(multicast_range_parse(text, &range), 0);
    assert_int_equal(range.first, first);
    assert_int_equal(range.count, count);
}

TEST(test_multicast_addresses_are_one_a_network_or_first_and_last)
{
    assert_range("", 0, 0);
    assert_range("239.255.4.1", 0xefff0401, 1);
    assert_range("239.255.4.0/24", 0xefff0400, 256);
    assert_range("239.255.4.6/31", 0xefff0406, 2);
    assert_range("239.255.4.7/32", 0xefff0407, 1);
    assert_range("239.0.0.0/8", 0xef000000, 1 << 24);
    assert_range("239.255.4.1-239.255.4.9", 0xefff0401, 9);
    assert_range("239.255.4.9-239.255.4.9", 0xefff0409, 1);
    assert_range("224.0.1.0-239.255.255.255", 0xe0000100, 0x0fffff00);
}

TEST(test_what_is_no_range_of_multicast_is_refused)
{
    static const char *const texts[] = {
        "239.255.4",
        "239.255.4.256",
        "224.0.0.251",
        "192.168.1.7",
        "240.0.0.0",
        "ff15::1",
        "239.255.4.1/24",
        "239.255.4.0/",
        "239.255.4.0/33",
        "239.255.4.0/3",
        "239.255.4.0/+8",
        "239.255.4.0/024",
        "224.0.0.0/4",
        "239.255.4.1-",
        "239.255.4.9-239.255.4.1",
        "239.255.4.1-9",
        "239.0.0.0-240.0.0.1",
        "239.255.4.1 ",
        "239.255.4.0/24-239.255.5.0",
        "localhost",
        "239.255.004.0001",
    };

    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        struct multicast_range range;

        if (multicast_range_parse(texts[i], &range) != -EINVAL) {
            fail_msg("\"%s\" was taken", texts[i]);
        }
    }
}

TEST(test_multicast_settings_are_checked)
{
    static const struct expectation wrong[] = {
        {MULTICAST("multicast = { addresses = \"239.255.4.1/24\"; };"),
         "rtsp.multicast.addresses: got \"239.255.4.1/24\", allowed: " MULTICAST_RANGE_ALLOWED},
        {MULTICAST("multicast = { port = 5005; };"),
         "rtsp.multicast.port: got 5005, allowed: an even integer from 1024 to 63488 (UDP port)"},
        {MULTICAST("multicast = { ttl = 0; };"),
         "rtsp.multicast.ttl: got 0, allowed: an integer from 1 to 255"},
        {MULTICAST("multicast = { interface = \"a name too long\"; };"),
         "rtsp.multicast.interface: got \"a name too long\", allowed: \"\" or the name of a "
         "network interface, as `ip link` shows it"},
    };

    check_each(wrong, ARRAY_LENGTH(wrong));
}

RUN_TESTS(NULL, NULL)
