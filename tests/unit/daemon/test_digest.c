// The header Authorization: the RFCs' own examples, what real clients send, and what only an
// attacker would.
#include "config/base.h"
#include "daemon/front/account/authorization.h"
#include "tests/unit/text_table.h"

#include <errno.h>

static const char *const algorithms[] = {[DIGEST_MD5] = "MD5", [DIGEST_SHA256] = "SHA-256"};

// Whether the response is the one that the password has.
static void tell_response(const struct authorization *authorization, const char *method,
                          const char *password, GString *output)
{
    const char *const fields[] = {authorization->username, authorization->realm, password};
    char ha1[DIGEST_HEX_SIZE], expected[DIGEST_HEX_SIZE];

    digest_hash(authorization->algorithm, fields, 3, ha1);
    authorization_response(authorization, method, ha1, expected);
    g_string_append_printf(output, "%s %s %s, %s", algorithms[authorization->algorithm],
                           authorization->username, authorization->realm,
                           strcmp(authorization->response, expected) == 0 ? "right" : "wrong");
}

// "GET (password) Digest …" or the header alone.
static void tell_authorization(const char *input, GString *output)
{
    g_auto(GStrv) parts = g_regex_split_simple("^([A-Z]+) \\((.*?)\\) ", input, 0, 0);
    bool asks = g_strv_length(parts) == 4;
    struct authorization authorization;

    if (authorization_parse(asks ? parts[3] : input, &authorization) == -EINVAL) {
        g_string_append(output, "refused");
    } else if (authorization.scheme == AUTHORIZATION_BASIC) {
        g_string_append_printf(output, "Basic, %s, %s", authorization.username,
                               authorization.password);
    } else if (asks) {
        tell_response(&authorization, parts[1], parts[2], output);
    } else {
        g_string_append_printf(output, "%s, %s, %s, %s, %s, %u",
                               algorithms[authorization.algorithm], authorization.username,
                               authorization.realm, authorization.nonce, authorization.uri,
                               authorization.count);
    }
    authorization_finish(&authorization);
}

TEST(test_answers_are_read_and_judged_as_the_rfcs_say)
{
    text_table_check("tests/unit/tables/authorization.txt", tell_authorization);
}

static void tell_uri(const char *input, GString *output)
{
    g_auto(GStrv) uris = g_strsplit(input, "|", 2);

    g_string_append(output, authorization_uri_matches(g_strstrip(uris[0]), g_strstrip(uris[1]))
                                ? "same"
                                : "another");
}

TEST(test_the_uri_is_that_of_the_request_as_clients_sign_it)
{
    text_table_check("tests/unit/tables/authorization_uris.txt", tell_uri);
}

#define GOOD                                                                                       \
    "Digest username=\"a\", realm=\"edged\", nonce=\"n\", uri=\"/\", "                             \
    "response=\"00000000000000000000000000000000\""

static void refuse(const char *header)
{
    struct authorization authorization;

    assert_int_equal(authorization_parse(header, &authorization), -EINVAL);
    authorization_finish(&authorization);
}

TEST(test_a_header_longer_than_there_is_room_for_is_refused)
{
    size_t longest = AUTHORIZATION_SIZE - 1;
    char *header = malloc(8192 + 1);
    struct authorization authorization;

    assert_non_null(header);
    memset(header, 'a', 8192);
    header[8192] = '\0';
    memcpy(header, GOOD ", x=\"", strlen(GOOD ", x=\""));
    refuse(header); // without an end
    header[8191] = '"';
    refuse(header);
    header[longest - 1] = '"';
    header[longest] = '\0';
    assert_int_equal(authorization_parse(header, &authorization), 0);
    free(header);
}

TEST(test_nothing_of_a_header_is_left_in_memory)
{
    struct authorization authorization;

    assert_int_equal(authorization_parse("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", &authorization), 0);
    authorization_finish(&authorization);
    for (size_t i = 0; i < sizeof authorization; i++)
        assert_int_equal(((const unsigned char *)&authorization)[i], 0);
}

RUN_TESTS(NULL, NULL)
