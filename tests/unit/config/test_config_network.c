// Where the servers may listen, and for whom.
#include "config/config.h"
#include "config/multicast_range.h"
#include "tests/unit/text_table.h"

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
        if ((r == 0) != is_good || (!is_good && !strstr(found, "cameras[0].url: got ")))
            fail_msg("%s: %d %s", host, r, found);
    }
}

static void tell_range(const char *input, GString *output)
{
    struct multicast_range range = {1, 1};
    int r = multicast_range_parse(input, &range);

    g_string_append_printf(output,
                           r == -EINVAL  ? "refused"
                           : range.count ? "%08x %u"
                                         : "none",
                           range.first, range.count);
    assert_true(r == 0 || r == -EINVAL);
}

TEST(test_multicast_addresses_are_one_a_network_or_first_and_last)
{
    text_table_check("tests/unit/tables/multicast_ranges.txt", tell_range);
}

RUN_TESTS(NULL, NULL)
