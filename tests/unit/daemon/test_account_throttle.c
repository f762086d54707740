// How often passwords may be tried, and what strangers cost.
#include "daemon/front/account/throttle.h"
#include "tests/unit/daemon/account_client.h"

static void fail_times(struct account_bed *bed, const char *from, unsigned times)
{
    struct client client = {CLIENT};

    client.from = from;
    take_nonce(bed, &client);
    client.password = "wrongone";
    for (unsigned i = 0; i < times; i++)
        assert_int_equal(verdict(bed, &client), ACCOUNT_CHALLENGE);
}

TEST(test_five_wrong_passwords_then_one_try_a_second)
{
    struct client client = {CLIENT};
    struct account_answer answer;
    _cleanup_(bed_finish) struct account_bed bed;

    bed_init(&bed, NULL);
    take_nonce(&bed, &client);
    fail_times(&bed, "10.0.0.9", 5);
    assert_int_equal(ask(&bed, &client, &answer), ACCOUNT_THROTTLED); // right, but not looked at
    assert_int_equal(answer.retry_after_s, 1);
    assert_int_equal(answer.challenge_count, 0);
    bed.now_ns += NS_PER_S - 1;
    assert_int_equal(verdict(&bed, &client), ACCOUNT_THROTTLED);
    bed.now_ns += 1;
    fail_times(&bed, "10.0.0.9", 1);
    assert_int_equal(verdict(&bed, &client), ACCOUNT_THROTTLED);
    bed.now_ns += NS_PER_S;
    assert_int_equal(verdict(&bed, &client), ACCOUNT_ALLOWED);
    assert_int_equal(verdict(&bed, &client), ACCOUNT_ALLOWED); // it takes no try
    client.from = "10.0.0.8";
    client.nonce = NULL;
    fail_times(&bed, "10.0.0.8", 5); // has five of its own
}

TEST(test_loopback_is_throttled_as_well_and_a_network_of_ipv6_as_one)
{
    struct client client = {CLIENT};
    _cleanup_(bed_finish) struct account_bed bed;

    bed_init(&bed, NULL);
    fail_times(&bed, "127.0.0.1", 5);
    fail_times(&bed, "::1", 5);
    fail_times(&bed, "2001:db8:0:1::1", 3);
    fail_times(&bed, "2001:db8:0:1:ffff::1", 2);
    fail_times(&bed, "2001:db8:0:2::1", 5);
    client.nonce = "n";
    client.from = "127.0.0.1";
    assert_int_equal(verdict(&bed, &client), ACCOUNT_THROTTLED);
    client.from = "::1";
    assert_int_equal(verdict(&bed, &client), ACCOUNT_THROTTLED);
    client.from = "2001:db8:0:1::2";
    assert_int_equal(verdict(&bed, &client), ACCOUNT_THROTTLED);
}

TEST(test_a_connection_that_is_logged_in_goes_on_while_its_address_is_throttled)
{
    struct account_login login = {0};
    struct client client = {CLIENT, .login = &login};
    _cleanup_(bed_finish) struct account_bed bed;

    bed_init(&bed, NULL);
    take_nonce(&bed, &client);
    assert_int_equal(verdict(&bed, &client), ACCOUNT_ALLOWED);
    fail_times(&bed, "10.0.0.9", 5);
    assert_int_equal(verdict(&bed, &client), ACCOUNT_ALLOWED);
    client.name = "anna"; // not as somebody else
    assert_int_equal(verdict(&bed, &client), ACCOUNT_THROTTLED);
    client.name = "vera"; // and not to guess: one wrong password ends it
    client.password = "wrongone";
    assert_int_equal(verdict(&bed, &client), ACCOUNT_CHALLENGE);
    client.password = "veravera";
    assert_int_equal(verdict(&bed, &client), ACCOUNT_THROTTLED);
}

TEST(test_many_addresses_get_200_tries_and_20_a_second)
{
    struct client client = {CLIENT};
    struct account_counters counters;
    _cleanup_(bed_finish) struct account_bed bed;
    unsigned tried = 0;

    bed_init(&bed, NULL);
    client.nonce = "n";
    client.password = "wrongone";
    for (unsigned i = 0; i < 20000; i++) { // 10 s of 20,000 addresses
        char from[32];

        snprintf(from, sizeof from, "10.1.%u.%u", i / 250, i % 250);
        client.from = from;
        tried += verdict(&bed, &client) == ACCOUNT_CHALLENGE;
        bed.now_ns += NS_PER_S / 2000;
    }
    account_count(bed.account, &counters);
    assert_in_range(tried, 200 + 10 * 20 - 1, 200 + 10 * 20 + 1);
    assert_int_equal(counters.failed, tried);
    assert_int_equal(counters.throttled, 20000 - tried);
}

// Each of 60 addresses tries as often as it may; 100 ms pass between one round and the next.
static void guess_from_sixty(struct account_bed *bed)
{
    struct client client = {CLIENT};

    client.nonce = "n";
    client.password = "wrongone";
    for (unsigned i = 0; i < 60; i++) {
        char from[32];

        snprintf(from, sizeof from, "10.1.0.%u", i);
        client.from = from;
        verdict(bed, &client);
    }
    bed->now_ns += 100 * NS_PER_MS;
}

static enum account_verdict log_in(struct account_bed *bed, const char *from)
{
    struct client client = {CLIENT};

    client.from = from;
    take_nonce(bed, &client);
    return verdict(bed, &client);
}

TEST(test_an_address_that_logged_in_within_a_day_is_not_kept_out_by_others)
{
    _cleanup_(bed_finish) struct account_bed bed;

    bed_init(&bed, NULL);
    assert_int_equal(log_in(&bed, "2001:db8:0:1::1"), ACCOUNT_ALLOWED);
    for (unsigned round = 0; round < 300; round++) {
        guess_from_sixty(&bed);
        assert_int_equal(log_in(&bed, "2001:db8:0:1::2"), ACCOUNT_ALLOWED); // of the same /64
    }
    // It has no more tries of its own than others.
    fail_times(&bed, "2001:db8:0:1::1", 5);
    assert_int_equal(log_in(&bed, "2001:db8:0:1::2"), ACCOUNT_THROTTLED);
}

TEST(test_an_address_without_a_wrong_password_is_not_kept_out_by_sixty_that_guess)
{
    _cleanup_(bed_finish) struct account_bed bed;

    bed_init(&bed, NULL);
    for (unsigned round = 0; round < 300; round++) {
        char from[32];

        guess_from_sixty(&bed);
        snprintf(from, sizeof from, "10.7.%u.%u", round / 250, round % 250);
        assert_int_equal(log_in(&bed, from), ACCOUNT_ALLOWED);
    }
}

TEST(test_trust_ends_after_a_day_and_the_oldest_makes_room)
{
    static struct throttle throttle;
    struct peer first = peer_of(address("10.9.9.9"));
    int64_t now_ns = NS_PER_S, day_ns = 86400 * NS_PER_S;

    throttle_trust(&throttle, &first, now_ns);
    throttle.full_ns = now_ns + 2 * day_ns; // of all: nobody else may try for two days
    assert_true(throttle_wait_ns(&throttle, &first, now_ns + day_ns) == 0);
    assert_true(throttle_wait_ns(&throttle, &first, now_ns + day_ns + 1) > 0);
    for (unsigned i = 0; i < THROTTLE_TRUSTED; i++) {
        struct peer peer = peer_of(address("10.2.0.0"));

        assert_true(throttle_wait_ns(&throttle, &first, now_ns + 1) == 0);
        peer.address[14] = (uint8_t)(i >> 8);
        peer.address[15] = (uint8_t)i;
        throttle_trust(&throttle, &peer, now_ns + 1);
    }
    assert_true(throttle_wait_ns(&throttle, &first, now_ns + 1) > 0);
}

// At one moment, which the total would never let happen.
TEST(test_of_more_addresses_than_there_is_room_for_the_worst_are_remembered)
{
    static struct throttle throttle;
    struct peer worst = peer_of(address("10.9.9.9"));

    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(throttle_count_failure(&throttle, &worst, NS_PER_S),
                         i == 0   ? THROTTLE_FIRST
                         : i == 4 ? THROTTLE_WAITS
                                  : THROTTLE_MORE_OF_IT);
    }
    for (unsigned i = 0; i < 2 * THROTTLE_ADDRESSES; i++) {
        struct peer peer = peer_of(address("10.2.0.0"));

        peer.address[14] = (uint8_t)(i >> 8);
        peer.address[15] = (uint8_t)i;
        throttle_count_failure(&throttle, &peer, NS_PER_S);
    }
    throttle.full_ns = 0;
    assert_true(throttle_wait_ns(&throttle, &worst, NS_PER_S) == NS_PER_S);
}

RUN_TESTS(NULL, NULL)
