// Who is let in, who is asked, and who is not: the account with a clock of its own.
#include "daemon/front/account/sessions.h"
#include "tests/unit/daemon/account_client.h"

#include <errno.h>

TEST(test_a_user_with_the_right_password_is_let_in)
{
    static const GChecksumType hashes[] = {G_CHECKSUM_MD5, G_CHECKSUM_SHA256};
    _cleanup_(bed_finish) struct account_bed bed;

    bed_init(&bed, NULL);
    for (size_t i = 0; i < ARRAY_LENGTH(hashes); i++) {
        for (unsigned count = 0; count < 2; count++) {
            struct account_login login = {0};
            struct client client = {CLIENT, .login = &login, .count = count};

            client.hash = hashes[i];
            take_nonce(&bed, &client);
            assert_int_equal(verdict(&bed, &client), ACCOUNT_ALLOWED);
            assert_string_equal(login.name, "vera");
            assert_int_equal(login.role, CONFIG_ROLE_VIEWER);
        }
    }
}

// In the order of fields that live555 reads: its sscanf() wants realm, nonce and stale first.
TEST(test_challenges_offer_sha_256_then_md5_and_basic_over_tls_alone)
{
    struct client client = {CLIENT};
    struct account_answer answer;
    _cleanup_(bed_finish) struct account_bed bed;

    bed_init(&bed, NULL);
    assert_int_equal(ask(&bed, &client, &answer), ACCOUNT_CHALLENGE);
    assert_int_equal(answer.challenge_count, 2);
    assert_memory_equal(answer.challenges[0], "Digest realm=\"edged\", nonce=\"", 29);
    assert_memory_equal(answer.challenges[0], answer.challenges[1], 29 + NONCE_TEXT_SIZE - 1);
    assert_string_equal(answer.challenges[0] + 29 + NONCE_TEXT_SIZE - 1,
                        "\", algorithm=SHA-256, qop=\"auth\"");
    assert_string_equal(answer.challenges[1] + 29 + NONCE_TEXT_SIZE - 1,
                        "\", algorithm=MD5, qop=\"auth\"");
    client.encrypted = true;
    assert_int_equal(ask(&bed, &client, &answer), ACCOUNT_CHALLENGE);
    assert_int_equal(answer.challenge_count, 3);
    assert_string_equal(answer.challenges[2], "Basic realm=\"edged\"");
}

TEST(test_a_wrong_password_name_method_or_uri_is_challenged)
{
    struct client client = {CLIENT};
    struct account_answer answer;
    _cleanup_(bed_finish) struct account_bed bed;

    bed_init(&bed, NULL);
    take_nonce(&bed, &client);
    g_autofree char *right = client_answer(&client);
    client.password = "wrongone";
    assert_int_equal(verdict(&bed, &client), ACCOUNT_CHALLENGE);
    client.password = "veravera";
    client.name = "wera";
    assert_int_equal(verdict(&bed, &client), ACCOUNT_CHALLENGE);
    client.method = "PLAY";
    assert_int_equal(send_header(&bed, &client, right, &answer), ACCOUNT_CHALLENGE);
    client.method = "DESCRIBE";
    client.uri = "rtsp://10.0.0.5:8554/back/edges";
    assert_int_equal(send_header(&bed, &client, right, &answer), ACCOUNT_CHALLENGE);
    client.uri = URI;
    assert_int_equal(send_header(&bed, &client, right, &answer), ACCOUNT_ALLOWED);
}

TEST(test_roles_include_lower_ones)
{
    static const char *const names[] = {"vera", "otto", "anna"};
    static const char *const passwords[] = {"veravera", "ottootto", "annaanna"};
    _cleanup_(bed_finish) struct account_bed bed;

    bed_init(&bed, NULL);
    for (unsigned user = 0; user < 3; user++) {
        for (unsigned role = 0; role < 3; role++) {
            struct client client = {CLIENT, .role = (enum config_role)role};
            take_nonce(&bed, &client);
            client.name = names[user];
            client.password = passwords[user];
            assert_int_equal(verdict(&bed, &client),
                             user >= role ? ACCOUNT_ALLOWED : ACCOUNT_FORBIDDEN);
        }
    }
}

TEST(test_without_users_loopback_alone_is_let_in)
{
    struct client client = {CLIENT};
    _cleanup_(bed_finish) struct account_bed bed;

    bed_init(&bed, "port = 8554;");
    client.role = CONFIG_ROLE_ADMIN;
    assert_int_equal(verdict(&bed, &client), ACCOUNT_FORBIDDEN);
    client.from = "127.0.0.1";
    assert_int_equal(verdict(&bed, &client), ACCOUNT_ALLOWED);
    client.from = "127.1.2.3";
    assert_int_equal(verdict(&bed, &client), ACCOUNT_ALLOWED);
    client.from = "::ffff:127.0.0.1";
    assert_int_equal(verdict(&bed, &client), ACCOUNT_ALLOWED);
    client.from = "::1";
    assert_int_equal(verdict(&bed, &client), ACCOUNT_ALLOWED);
    client.from = "::";
    assert_int_equal(verdict(&bed, &client), ACCOUNT_FORBIDDEN);
    client.from = "fe80::1";
    assert_int_equal(verdict(&bed, &client), ACCOUNT_FORBIDDEN);
}

TEST(test_auth_none_lets_everybody_in)
{
    struct client client = {CLIENT, .role = CONFIG_ROLE_ADMIN};
    _cleanup_(bed_finish) struct account_bed bed;

    bed_init(&bed, "address = \"0.0.0.0\"; auth = \"none\";");
    assert_true(account_is_open(bed.account));
    assert_int_equal(verdict(&bed, &client), ACCOUNT_ALLOWED);
}

TEST(test_a_file_without_users_lets_nobody_in)
{
    struct client client = {CLIENT};
    struct users *users = NULL;
    _cleanup_(bed_finish) struct account_bed bed;
    struct error error;

    bed_init(&bed, NULL);
    bed_write_users(&bed, "# nobody yet\n");
    assert_int_equal(account_read_users(USERS_PASSWORDS, bed.config, &error, &users), 0);
    account_take_users(bed.account, bed.config, users);
    assert_true(account_has_users(bed.account));
    client.from = "127.0.0.1";
    assert_int_equal(verdict(&bed, &client), ACCOUNT_CHALLENGE);
    take_nonce(&bed, &client);
    client.name = client.password = "";
    assert_int_equal(verdict(&bed, &client), ACCOUNT_CHALLENGE);
}

// Reads `text` as the users of a reload.
static void reload(struct account_bed *bed, char *text)
{
    struct users *users = NULL;
    struct error error;

    bed_write_users(bed, text);
    assert_int_equal(account_read_users(USERS_PASSWORDS, bed->config, &error, &users), 0);
    account_take_users(bed->account, bed->config, users);
    g_free(text);
}

TEST(test_a_reload_ends_what_a_user_may_no_more)
{
    struct account_login login = {0}, stranger = {0};
    struct client client = {CLIENT, .login = &login};
    _cleanup_(bed_finish) struct account_bed bed;

    bed_init(&bed, NULL);
    take_nonce(&bed, &client);
    client.name = "otto";
    client.password = "ottootto";
    assert_false(account_is_still_allowed(bed.account, &stranger, CONFIG_ROLE_VIEWER));
    assert_int_equal(verdict(&bed, &client), ACCOUNT_ALLOWED);
    reload(&bed, user_line("otto", "operator", "ottootto"));
    assert_true(account_is_still_allowed(bed.account, &login, CONFIG_ROLE_OPERATOR));
    assert_int_equal(verdict(&bed, &client), ACCOUNT_ALLOWED); // with its nonce
    reload(&bed, user_line("otto", "viewer", "ottootto"));
    assert_false(account_is_still_allowed(bed.account, &login, CONFIG_ROLE_OPERATOR));
    assert_true(account_is_still_allowed(bed.account, &login, CONFIG_ROLE_VIEWER));
    reload(&bed, user_line("otto", "operator", "another one"));
    assert_false(account_is_still_allowed(bed.account, &login, CONFIG_ROLE_VIEWER));
    reload(&bed, user_line("vera", "viewer", "veravera"));
    assert_false(account_is_still_allowed(bed.account, &login, CONFIG_ROLE_VIEWER));
    assert_int_equal(verdict(&bed, &client), ACCOUNT_CHALLENGE);
}

TEST(test_whoever_was_not_asked_ends_with_the_first_users)
{
    struct account_login local = {0}, remote = {0};
    struct client client = {CLIENT};
    struct account_bed bed, with_users;

    bed_init(&with_users, NULL);
    bed_init(&bed, "address = \"0.0.0.0\"; auth = \"none\";");
    client.login = &remote;
    assert_int_equal(verdict(&bed, &client), ACCOUNT_ALLOWED);
    client.login = &local;
    client.from = "127.0.0.1";
    assert_int_equal(verdict(&bed, &client), ACCOUNT_ALLOWED);
    assert_true(account_is_still_allowed(bed.account, &remote, CONFIG_ROLE_ADMIN));
    with_users.config->rtsp.auth = CONFIG_AUTH_UNSET;
    account_take_users(bed.account, with_users.config, NULL);
    assert_false(account_is_still_allowed(bed.account, &remote, CONFIG_ROLE_VIEWER));
    assert_true(account_is_still_allowed(bed.account, &local, CONFIG_ROLE_VIEWER));
    reload(&with_users, user_line("vera", "viewer", "veravera"));
    assert_false(account_is_still_allowed(with_users.account, &local, CONFIG_ROLE_VIEWER));
    bed_finish(&bed);
    bed_finish(&with_users);
}

TEST(test_a_file_that_is_gone_is_an_error)
{
    struct users *users = NULL;
    _cleanup_(bed_finish) struct account_bed bed;
    struct error error;

    bed_init(&bed, NULL);
    unlink(bed.path);
    assert_int_equal(account_read_users(USERS_PASSWORDS, bed.config, &error, &users), -ENOENT);
    assert_non_null(strstr(error.text, "rtsp.users: cannot read \"/tmp/edged-users-"));
}

TEST(test_a_cookie_is_good_for_12_hours_and_gives_no_free_tries_of_passwords)
{
    struct account_login login = {0};
    struct client client = {CLIENT, .login = &login};
    char secret[SESSION_SECRET_SIZE];
    struct sessions *sessions;
    _cleanup_(bed_finish) struct account_bed bed;
    struct error error;

    bed_init(&bed, NULL);
    take_nonce(&bed, &client);
    assert_int_equal(verdict(&bed, &client), ACCOUNT_ALLOWED);
    assert_int_equal(sessions_new(&error, &sessions), 0);
    assert_int_equal(sessions_begin(sessions, &login, 0, secret), 0);
    const struct account_login *found =
        sessions_find(sessions, bed.account, secret, SESSION_S * NS_PER_S - 1);
    assert_non_null(found);
    assert_string_equal(found->name, login.name);
    assert_true(found->failed);
    uint64_t number = found->session;
    assert_true(sessions_go_on(sessions, bed.account, number, SESSION_S * NS_PER_S - 1));
    assert_false(sessions_go_on(sessions, bed.account, number, SESSION_S * NS_PER_S));
    assert_null(sessions_find(sessions, bed.account, secret, SESSION_S * NS_PER_S));
    sessions_free(sessions);
}

RUN_TESTS(NULL, NULL)
