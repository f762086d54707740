// Where the servers may listen, and for whom.
#include "config/config.h"
#include "config/multicast_range.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

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

RUN_TESTS(NULL, NULL)
