// How long and how often an answer to a challenge is good.
#include "tests/unit/daemon/account_client.h"

TEST(test_a_nonce_is_good_for_300_s_and_for_its_address)
{
    struct client client = {CLIENT};
    struct account_answer answer;
    _cleanup_(bed_finish) struct account_bed bed;

    bed_init(&bed, NULL);
    take_nonce(&bed, &client);
    bed.now_ns += 300 * NS_PER_S;
    assert_int_equal(verdict(&bed, &client), ACCOUNT_ALLOWED);
    client.from = "10.0.0.8";
    assert_int_equal(ask(&bed, &client, &answer), ACCOUNT_CHALLENGE);
    assert_non_null(strstr(answer.challenges[1], ", stale=true, algorithm=MD5"));
    client.from = "::ffff:10.0.0.9"; // the same, to a socket for both families
    assert_int_equal(verdict(&bed, &client), ACCOUNT_ALLOWED);
    bed.now_ns++;
    assert_int_equal(ask(&bed, &client, &answer), ACCOUNT_CHALLENGE);
    assert_non_null(strstr(answer.challenges[0], ", stale=true, algorithm=SHA-256"));
    client.password = "wrongone"; // it is not told whether it was only late
    assert_int_equal(ask(&bed, &client, &answer), ACCOUNT_CHALLENGE);
    assert_null(strstr(answer.challenges[0], "stale"));
}

TEST(test_a_nonce_that_edged_did_not_make_is_not_taken)
{
    struct client client = {CLIENT};
    struct account_answer answer;
    _cleanup_(bed_finish) struct account_bed bed;

    bed_init(&bed, NULL);
    take_nonce(&bed, &client);
    char *nonce = client.taken;
    for (size_t i = 0; i < strlen(nonce); i++) { // each digit is under the HMAC, or is the HMAC
        nonce[i] = nonce[i] == '0' ? '1' : '0';
        assert_int_equal(ask(&bed, &client, &answer), ACCOUNT_CHALLENGE);
        assert_non_null(strstr(answer.challenges[0], "stale=true"));
        nonce[i] = nonce[i] == '0' ? '1' : '0';
    }
    client.nonce = "";
    assert_int_equal(verdict(&bed, &client), ACCOUNT_CHALLENGE);
}

TEST(test_a_nonce_in_use_lasts_as_long_as_its_connection)
{
    struct account_login login = {0}, other = {0};
    struct client client = {CLIENT, .login = &login};
    _cleanup_(bed_finish) struct account_bed bed;

    bed_init(&bed, NULL);
    take_nonce(&bed, &client);
    assert_int_equal(verdict(&bed, &client), ACCOUNT_ALLOWED);
    bed.now_ns += 7 * 24 * 3600 * NS_PER_S;
    assert_int_equal(verdict(&bed, &client), ACCOUNT_ALLOWED);
    client.login = &other;
    assert_int_equal(verdict(&bed, &client), ACCOUNT_CHALLENGE);
}

TEST(test_an_answer_with_a_count_is_good_once)
{
    struct account_login login = {0}, other = {0};
    struct client client = {CLIENT, .login = &login, .count = 1}, thief = {CLIENT, .login = &other};
    _cleanup_(bed_finish) struct account_bed bed;

    bed_init(&bed, NULL);
    take_nonce(&bed, &client);
    thief.nonce = client.nonce;
    assert_int_equal(verdict(&bed, &client), ACCOUNT_ALLOWED);
    assert_int_equal(verdict(&bed, &client), ACCOUNT_CHALLENGE);
    client.count = 3; // requests on two connections overtake each other
    assert_int_equal(verdict(&bed, &client), ACCOUNT_ALLOWED);
    thief.count = 3;
    assert_int_equal(verdict(&bed, &thief), ACCOUNT_CHALLENGE);
    thief.count = 2;
    assert_int_equal(verdict(&bed, &thief), ACCOUNT_ALLOWED);
    client.count = 200;
    assert_int_equal(verdict(&bed, &client), ACCOUNT_ALLOWED);
    thief.count = 100; // too far behind to tell
    assert_int_equal(verdict(&bed, &thief), ACCOUNT_CHALLENGE);
}

TEST(test_counts_of_a_nonce_that_was_forgotten_are_not_taken)
{
    struct client first = {CLIENT, .count = 1};
    _cleanup_(bed_finish) struct account_bed bed;

    bed_init(&bed, NULL);
    take_nonce(&bed, &first);
    assert_int_equal(verdict(&bed, &first), ACCOUNT_ALLOWED);
    for (unsigned i = 0; i < NONCE_KEPT; i++) { // each later than the one before
        struct client client = {CLIENT, .count = 1};

        bed.now_ns += NS_PER_MS;
        take_nonce(&bed, &client);
        assert_int_equal(verdict(&bed, &client), ACCOUNT_ALLOWED);
    }
    for (first.count = 1; first.count <= 2; first.count++) // 1 was taken, 2 may have been
        assert_int_equal(verdict(&bed, &first), ACCOUNT_CHALLENGE);
}

RUN_TESTS(NULL, NULL)
