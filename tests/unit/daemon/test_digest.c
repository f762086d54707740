// The header Authorization: the RFCs' own examples, what real clients send, and what only an
// attacker would.
#include "config/base.h"
#include "daemon/front/account/authorization.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define RFC_2617_NONCE "nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\", "
#define NONCE "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define MD5_RESPONSE "00000000000000000000000000000000"
#define GOOD                                                                                       \
    "Digest username=\"a\", realm=\"edged\", nonce=\"n\", uri=\"/\", response=\"" MD5_RESPONSE "\""

static void hash_password(enum digest_algorithm algorithm, const char *name, const char *realm,
                          const char *password, char ret_ha1[DIGEST_HEX_SIZE])
{
    const char *const fields[] = {name, realm, password};

    digest_hash(algorithm, fields, 3, ret_ha1);
}

// Whether the header's response is the one that the password has.
static void check_response(const char *header, const char *method, enum digest_algorithm algorithm,
                           const char *name, const char *realm, const char *password)
{
    char ha1[DIGEST_HEX_SIZE], expected[DIGEST_HEX_SIZE];
    struct authorization authorization;

    assert_int_equal(authorization_parse(header, &authorization), 0);
    assert_int_equal(authorization.scheme, AUTHORIZATION_DIGEST);
    assert_int_equal(authorization.algorithm, algorithm);
    assert_string_equal(authorization.username, name);
    assert_string_equal(authorization.realm, realm);
    hash_password(algorithm, name, realm, password, ha1);
    authorization_response(&authorization, method, ha1, expected);
    assert_string_equal(authorization.response, expected);
    authorization_finish(&authorization);
}

static void refuse(const char *header)
{
    struct authorization authorization;

    assert_int_equal(authorization_parse(header, &authorization), -EINVAL);
    authorization_finish(&authorization);
}

TEST(test_the_examples_of_rfc_7616_are_right)
{
    check_response("Digest username=\"Mufasa\", realm=\"http-auth@example.org\", "
                   "uri=\"/dir/index.html\", algorithm=MD5, "
                   "nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", nc=00000001, "
                   "cnonce=\"f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ\", qop=auth, "
                   "response=\"8ca523f5e9506fed4657c9700eebdbec\", "
                   "opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\"",
                   "GET", DIGEST_MD5, "Mufasa", "http-auth@example.org", "Circle of Life");
    check_response("Digest username=\"Mufasa\", realm=\"http-auth@example.org\", "
                   "uri=\"/dir/index.html\", algorithm=SHA-256, "
                   "nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", nc=00000001, "
                   "cnonce=\"f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ\", qop=auth, "
                   "response=\"753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1\", "
                   "opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\"",
                   "GET", DIGEST_SHA256, "Mufasa", "http-auth@example.org", "Circle of Life");
}

TEST(test_the_example_of_rfc_2617_is_right)
{
    check_response("Digest username=\"Mufasa\", realm=\"testrealm@host.com\", " RFC_2617_NONCE
                   "uri=\"/dir/index.html\", qop=auth, nc=00000001, cnonce=\"0a4f113b\", "
                   "response=\"6629fae49393a05397450978507c4ef1\", "
                   "opaque=\"5ccc069c403ebaf9f0171e9517f40e41\"",
                   "GET", DIGEST_MD5, "Mufasa", "testrealm@host.com", "Circle Of Life");
}

// Section 2.4, with the response of its erratum 749.
TEST(test_the_example_of_rfc_2069_is_right)
{
    check_response("Digest username=\"Mufasa\", realm=\"testrealm@host.com\", " RFC_2617_NONCE
                   "uri=\"/dir/index.html\", response=\"1949323746fe6a43ef61f9606e7febea\", "
                   "opaque=\"5ccc069c403ebaf9f0171e9517f40e41\"",
                   "GET", DIGEST_MD5, "Mufasa", "testrealm@host.com", "CircleOfLife");
}

// ffmpeg 5.1 in the first two, rtspsrc 1.22 in the others, as recorded: the challenges offered
// SHA-256 and MD5, with qop=auth.
TEST(test_what_rtsp_clients_send_is_right)
{
    static const struct {
        const char *method, *header;
    } recorded[] = {
        {"DESCRIBE", "Digest username=\"alice\", realm=\"edged\", nonce=\"" NONCE
                     "\", uri=\"rtsp://127.0.0.1:18554/front/edges?x=1\", "
                     "response=\"93dbb85ef0831cda82d5a4befa3fe3bc\", algorithm=\"MD5\", "
                     "qop=\"auth\", cnonce=\"653c52e17dbddd8f\", nc=00000001"},
        {"SETUP", "Digest username=\"alice\", realm=\"edged\", nonce=\"" NONCE
                  "\", uri=\"rtsp://127.0.0.1:18554/front/edges?x=1/stream=0\", "
                  "response=\"1ef3798d1221cc4f773734828b404fdb\", algorithm=\"MD5\", "
                  "qop=\"auth\", cnonce=\"be92f89b99da7579\", nc=00000002"},
        {"DESCRIBE", "Digest username=\"alice\", realm=\"edged\", nonce=\"" NONCE
                     "\", uri=\"rtsp://127.0.0.1:18554/front/edges?x=1\", "
                     "response=\"a9bf3e9fd584aceb487b84f5c836fc91\""},
        {"PLAY", "Digest username=\"alice\", realm=\"edged\", nonce=\"" NONCE
                 "\", uri=\"rtsp://127.0.0.1:18554/front/edges?x=1/\", "
                 "response=\"7e49b1a8db331fa586e55c73bfeff40f\""},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(recorded); i++) {
        check_response(recorded[i].header, recorded[i].method, DIGEST_MD5, "alice", "edged",
                       "correct horse");
    }
}

// aiortsp 1.4.
TEST(test_an_answer_without_an_algorithm_tells_it_by_its_digits)
{
    check_response("Digest username=\"jan\", realm=\"edged\", nonce=\""
                   "4fb5152be3753d74825106f9801100004f2effb6b623e14ebd149d514d450c32\", "
                   "uri=\"rtsp://127.0.0.1:18556/front/gray\", "
                   "response=\"08ac4e426bbd9c6ec2abf0392aceb93d886311377ecd66a1f39b28b613ae1335\"",
                   "DESCRIBE", DIGEST_SHA256, "jan", "edged", "correct horse");
}

// curl 7.88.
TEST(test_what_an_http_client_sends_is_right)
{
    check_response("Digest username=\"alice\", realm=\"edged\", nonce=\"" NONCE
                   "\", uri=\"/v1/status?x=1\", "
                   "cnonce=\"MmQyNzVlZDI5ZTY1MzkwNjQ2NDcyNDgwNDA2ODc5NzA=\", nc=00000001, "
                   "qop=auth, "
                   "response=\"016ee465f9251e8445e0afba760a535c27091ae28c7cb1647ae4514db86f5693\", "
                   "algorithm=SHA-256",
                   "GET", DIGEST_SHA256, "alice", "edged", "correct horse");
}

TEST(test_fields_come_in_any_order_and_quoting)
{
    struct authorization authorization;

    assert_int_equal(authorization_parse(" digest response=" MD5_RESPONSE
                                         " ,URI = \"/a\\\"b\\\\\",, username=\"\",x=\"y,z=\", "
                                         "realm=r,nonce=\"n\" ",
                                         &authorization),
                     0);
    assert_string_equal(authorization.uri, "/a\"b\\");
    assert_string_equal(authorization.username, "");
    assert_string_equal(authorization.realm, "r");
    assert_string_equal(authorization.nonce, "n");
    assert_int_equal(authorization.algorithm, DIGEST_MD5);
    assert_int_equal(authorization.count, 0);
    authorization_finish(&authorization);
}

TEST(test_broken_headers_are_refused)
{
    static const char *const broken[] = {
        "",
        " ",
        "Digest",
        "Digest ",
        "Digest ,,,",
        "Bearer abc",
        "NTLM TlRMTVNTUAAB",
        "Digestusername=\"a\"",
        "Digest username",
        "Digest username=",
        "Digest =\"a\"",
        "Digest \"a\"",
        "Digest username=\"a",
        "Digest username=\"a\\",
        "Digest username=\"a\\\"",
        "Digest username=\"a\" realm=\"edged\"",
        "Digest username=\"a\"realm=\"edged\"",
        GOOD ", username=\"b\"",
        GOOD ", Username=\"a\"",
        GOOD ", algorithm=MD5, algorithm=MD5",
    };

    for (size_t i = 0; i < ARRAY_LENGTH(broken); i++) {
        refuse(broken[i]);
    }
}

TEST(test_a_field_that_is_missing_is_missed)
{
    static const char *const fields[] = {"username=\"a\"", "realm=\"edged\"", "nonce=\"n\"",
                                         "uri=\"/\"", "response=\"" MD5_RESPONSE "\""};

    for (size_t without = 0; without <= ARRAY_LENGTH(fields); without++) {
        struct authorization authorization;
        char header[256] = "Digest ";

        for (size_t i = 0; i < ARRAY_LENGTH(fields); i++) {
            if (i != without) {
                strcat(strcat(header, fields[i]), ", ");
            }
        }
        assert_int_equal(authorization_parse(header, &authorization),
                         without == ARRAY_LENGTH(fields) ? 0 : -EINVAL);
    }
}

TEST(test_what_the_challenges_do_not_offer_is_refused)
{
    static const char *const refused[] = {
        GOOD ", algorithm=MD5-sess",
        GOOD ", algorithm=SHA-256-sess",
        GOOD ", algorithm=SHA-512-256",
        GOOD ", algorithm=SHA-256", // with as many digits as MD5 has
        GOOD ", userhash=true",
        GOOD ", qop=auth-int, nc=00000001, cnonce=\"c\"",
        GOOD ", qop=auth, nc=00000001",
        GOOD ", qop=auth, cnonce=\"c\"",
        GOOD ", qop=auth, nc=1, cnonce=\"c\"",
        GOOD ", qop=auth, nc=000000001, cnonce=\"c\"",
        GOOD ", qop=auth, nc=0000000g, cnonce=\"c\"",
        GOOD ", qop=auth, nc=00000000, cnonce=\"c\"",
        GOOD ", nc=00000001, cnonce=\"c\"",
    };
    struct authorization authorization;

    for (size_t i = 0; i < ARRAY_LENGTH(refused); i++) {
        refuse(refused[i]);
    }
    assert_int_equal(authorization_parse(GOOD
                                         ", qop=auth, nc=fFfFfFfF, cnonce=\"\", userhash=false",
                                         &authorization),
                     0);
    assert_true(authorization.count == UINT32_MAX);
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

// RFC 7617, section 2.
TEST(test_the_example_of_basic_is_right)
{
    static const char *const broken[] = {
        "Basic",          "Basic ", "Basic  ", "Basic =", "Basic QWxhZGRpbg==", // "Aladdin"
        "Basic AGE6Yg==",                                                       // "\0a:b"
        "Basic YTpiAGM=",                                                       // "a:b\0c"
    };
    struct authorization authorization;

    assert_int_equal(authorization_parse("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", &authorization), 0);
    assert_int_equal(authorization.scheme, AUTHORIZATION_BASIC);
    assert_string_equal(authorization.username, "Aladdin");
    assert_string_equal(authorization.password, "open sesame");
    authorization_finish(&authorization);
    for (size_t i = 0; i < ARRAY_LENGTH(broken); i++) {
        refuse(broken[i]);
    }
}

TEST(test_nothing_of_a_header_is_left_in_memory)
{
    struct authorization authorization;

    assert_int_equal(authorization_parse("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", &authorization), 0);
    authorization_finish(&authorization);
    for (size_t i = 0; i < sizeof authorization; i++) {
        assert_int_equal(((const unsigned char *)&authorization)[i], 0);
    }
}

TEST(test_the_uri_is_that_of_the_request_as_clients_sign_it)
{
    static const char base[] = "rtsp://10.0.0.5:8554/front/edges";
    static const struct {
        const char *uri, *request;
        bool matches;
    } pairs[] = {
        {base, base, true},
        {base, "rtsp://10.0.0.5:8554/front/edges/", true},
        {"rtsp://10.0.0.5:8554/front/edges/", base, true},
        {base, "rtsp://10.0.0.5:8554/front/edges/stream=0", true}, // live555
        {"rtsp://10.0.0.5:8554/front/edges/", "rtsp://10.0.0.5:8554/front/edges/stream=0", true},
        {"rtsp://10.0.0.5:8554/front/edges?x=1", base, true},
        {base, "rtsp://10.0.0.5:8554/front/edges?x=1/stream=0", true},
        {"rtsp://camera.local/front/edges", base, true}, // behind a forwarded port
        {"rtsps://10.0.0.5:8322/front/edges", base, true},
        {"/front/edges", base, true},
        {"rtsp://10.0.0.5:8554/front/edges/stream=0", base, false},
        {"rtsp://10.0.0.5:8554/front/edge", base, false},
        {"rtsp://10.0.0.5:8554/front/edgesx", base, false},
        {"rtsp://10.0.0.5:8554/back/edges", base, false},
        {"rtsp://10.0.0.5:8554/front", "rtsp://10.0.0.5:8554/front/edges/stream=0", false},
        {"rtsp://10.0.0.5:8554/", "rtsp://10.0.0.5:8554/edges", false},
        {"rtsp://10.0.0.5:8554", "rtsp://10.0.0.5:8554/", true},
        {"", base, false},
        {"*", base, false},
        {"http://10.0.0.5:8554/front/edges", base, false},
        {"*", "*", true},
        {base, "*", false},
        {"/v1/status?x=1", "/v1/status?x=1", true},
        {"/v1/status", "/v1/status?x=1", false},
        {"/v1/status/", "/v1/status", false},
        {"/v1", "/v1/status", false},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(pairs); i++) {
        if (authorization_uri_matches(pairs[i].uri, pairs[i].request) != pairs[i].matches) {
            fail_msg("\"%s\" for \"%s\"", pairs[i].uri, pairs[i].request);
        }
    }
}

RUN_TESTS(NULL, NULL)
