// Cases that no request over the network reaches quickly: the digest of ONVIF's own example, a
// table of digests that is full, durations, and a pull point that overflows.
#include "config/base.h"
#include "daemon/front/account/username_token.h"
#include "daemon/front/events/event_feed.h"
#include "daemon/front/onvif/pull_points.h"
#include "daemon/front/onvif/soap.h"
#include "tests/unit/unit.h"

#include <errno.h>

// ONVIF Application Programmer's Guide 1.0, section 6.1.1.3.
TEST(test_the_digest_is_that_of_onvifs_example)
{
    struct username_token token = {.password = "tuOSpGlFlIXsozq4HFNeeGeFLEI=",
                                   .created = "2010-09-16T07:50:45Z"};
    int64_t created_s;
    gsize size;
    g_autofree guchar *nonce = g_base64_decode("LKqI6G/AikKCQrN0zqZFlg==", &size);

    memcpy(token.nonce, nonce, size);
    token.nonce_size = size;
    assert_true(username_token_matches(&token, "userpassword"));
    assert_false(username_token_matches(&token, "userpasswore"));
    assert_int_equal(username_token_created(&token, &created_s), 0);
    assert_int_equal(created_s, 1284623445); // date -d 2010-09-16T07:50:45Z +%s
    token.is_text = true;
    assert_false(username_token_matches(&token, "userpassword"));
}

// A digest of 20 bytes that begins with a number.
static const char *digest(uint32_t number, struct username_token *token)
{
    static char text[32];
    guint8 bytes[20] = {0};

    memcpy(bytes, &number, sizeof number);
    g_autofree char *coded = g_base64_encode(bytes, sizeof bytes);
    snprintf(text, sizeof text, "%s", coded);
    token->password = text;
    return text;
}

static void finish(struct username_tokens *tokens)
{
    username_tokens_finish(tokens);
    g_free(tokens);
}

TEST(test_a_digest_is_taken_again_from_its_address_for_five_seconds_alone)
{
    struct username_tokens *tokens = g_new0(struct username_tokens, 1);
    struct username_token token = {.name = "vera", .created = ""};
    const struct peer from = peer_parse("10.0.0.5"), other = peer_parse("10.0.0.6");

    digest(7, &token);
    assert_true(username_tokens_take(tokens, &token, 1000, &from, NS_PER_S));
    assert_false(username_tokens_take(tokens, &token, 1000, &other, NS_PER_S));
    assert_true(username_tokens_take(tokens, &token, 1000, &from, 6 * NS_PER_S));
    assert_false(username_tokens_take(tokens, &token, 1000, &from, 6 * NS_PER_S + 1));
    assert_false(username_tokens_take(tokens, &token, 1000, &other, 60 * NS_PER_S));
    finish(tokens);
}

TEST(test_a_digest_is_taken_once_even_when_the_table_has_forgotten_it)
{
    struct username_tokens *tokens = g_new0(struct username_tokens, 1);
    struct username_token token = {.name = "vera", .created = ""};
    const struct peer from = peer_parse("10.0.0.5");

    for (uint32_t i = 0; i < USERNAME_TOKENS_KEPT; i++) {
        digest(i, &token);
        assert_true(username_tokens_take(tokens, &token, 1000 + i / 100, &from, 0));
    }
    digest(1u << 31, &token);
    assert_true(username_tokens_take(tokens, &token, 2000, &from,
                                     0)); // it pushes out number 0, made at 1000
    digest(0, &token);
    assert_false(username_tokens_take(tokens, &token, 1000, &from, 0));
    digest(3u << 30, &token);
    assert_false(username_tokens_take(tokens, &token, 1000, &from,
                                      0)); // new, but as old as what is forgotten
    assert_true(username_tokens_take(tokens, &token, 1001, &from, 0));
    finish(tokens);
}

TEST(test_digests_are_taken_after_the_clock_was_set_back)
{
    struct username_tokens *tokens = g_new0(struct username_tokens, 1);
    struct username_token token = {.name = "vera", .created = ""};
    const struct peer from = peer_parse("10.0.0.5");

    for (uint32_t i = 0; i <= USERNAME_TOKENS_KEPT; i++) {
        digest(i, &token);
        assert_true(username_tokens_take(tokens, &token, 90000 + i, &from, 0));
    }
    for (uint32_t i = 0; i < 2; i++) {
        digest(1u << 31 | i, &token);
        assert_true(username_tokens_take(tokens, &token, 1000 + i, &from, 0));
        assert_false(username_tokens_take(tokens, &token, 1000 + i, &from, 60 * NS_PER_S));
    }
    finish(tokens);
}

TEST(test_a_user_who_fills_the_table_of_digests_locks_out_no_other)
{
    struct username_tokens *tokens = g_new0(struct username_tokens, 1);
    struct username_token token = {.name = "nvr", .created = ""};
    const struct peer nvr = peer_parse("10.0.0.5"), other = peer_parse("10.0.0.6");

    digest(0, &token);
    assert_true(username_tokens_take(tokens, &token, 1000, &nvr, 0));
    token.name = "vera";
    for (uint32_t i = 1; i <= 2 * USERNAME_TOKENS_KEPT; i++) {
        digest(i, &token);
        assert_true(username_tokens_take(tokens, &token, 1300 + i / 1000, &other, 0));
    }
    digest(1u << 31, &token);
    assert_false(username_tokens_take(tokens, &token, 1300, &other, 0)); // her own may be old
    token.name = "nvr";
    assert_true(username_tokens_take(tokens, &token, 1001, &nvr, 0));
    digest(0, &token);
    assert_false(username_tokens_take(tokens, &token, 1000, &nvr, 0)); // it was pushed out
    finish(tokens);
}

TEST(test_durations_and_times_are_read)
{
    static const struct {
        const char *text;
        int64_t ms; // -1: refused
    } rows[] = {
        {"PT60S", 60000},
        {"PT1M30.5S", 90500},
        {"P1DT2H", 93600000},
        {"PT0S", 0},
        {"P9999999D", 31622400000},
        {"1970-01-01T00:01:40Z", 90000},
        {"1970-01-01T01:01:40+01:00", 90000},
        {"1970-01-01T00:00:09Z", -1},
        {"P", -1},
        {"PT", -1},
        {"P1Y", -1},
        {"PT1X", -1},
        {"PT-5S", -1},
        {"-PT5S", -1},
        {"PT1e9S", -1},
        {"PTinfS", -1},
        {"P1H", -1},
        {"60", -1},
        {"", -1},
        {"PT99999999999999999999S", -1},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        int64_t ns = -1;
        int r = soap_read_duration(rows[i].text, 10 * NS_PER_S, &ns);

        if (r != (rows[i].ms < 0 ? -EINVAL : 0) || (r == 0 && ns != rows[i].ms * NS_PER_MS))
            fail_msg("\"%s\": %d, %lld ns", rows[i].text, r, (long long)ns);
    }
}

static void add_motion(struct event_feed *feed, const char *camera, bool begins)
{
    struct motion_event motion = {.kind = begins ? MOTION_STARTED : MOTION_ENDED, .number = 1};

    g_strlcpy(motion.camera, camera, sizeof motion.camera);
    g_strlcpy(motion.region, "door", sizeof motion.region);
    event_feed_add(feed, event_of_motion(&motion));
}

TEST(test_a_full_pull_point_keeps_the_newest_of_each_camera)
{
    static const char text[] = "cameras = ( { name = \"gate\"; }, { name = \"yard\"; } );";
    struct event_feed *feed = event_feed_new();
    struct pull_points *points = pull_points_new(feed);
    const struct pull_client client = {"", NULL, CONFIG_ROLE_VIEWER, (1U << PULL_TOPIC_COUNT) - 1};
    struct pull_message message, last[2][PULL_TOPIC_COUNT] = {0};
    struct config *config;
    unsigned count = 0;

    assert_int_equal(config_parse(text, "t.conf", stderr, &config), 0);
    struct pull_point *point = pull_points_add(points, &client, config, 3600 * NS_PER_S);
    assert_non_null(point);
    add_motion(feed, "gate",
               true); // and nothing more of it: the messages of yard may not push it out
    for (unsigned i = 0; i < 501; i++)
        add_motion(feed, "yard", i % 2 == 0);
    while (pull_point_take(point, config, &message)) {
        last[strcmp(message.camera, "yard") == 0][message.topic] = message;
        count++;
    }
    assert_int_equal(count, PULL_POINT_MESSAGES_MAX);
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned topic = 0; topic < PULL_TOPIC_COUNT; topic++)
            assert_true(last[i][topic].is_moving && !last[i][topic].is_initial);
    }
    pull_points_free(points);
    event_feed_free(feed);
    config_free(config);
}

RUN_TESTS(NULL, NULL)
