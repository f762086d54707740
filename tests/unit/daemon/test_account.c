// Clients that are let in without a password, and cookies: the account with a clock of its own.
// Passwords, roles and reloads are shown by tests/e2e/test_users.py.
#include "daemon/front/account/sessions.h"
#include "tests/unit/daemon/account_client.h"

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
    assert_int_equal(account_read_users(USERS_PASSWORDS, bed.config, NULL, &error, &users), 0);
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
    assert_int_equal(account_read_users(USERS_PASSWORDS, bed->config, NULL, &error, &users), 0);
    account_take_users(bed->account, bed->config, users);
    g_free(text);
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
