// The header Authorization of whoever asks, and after a newline the URL of the request: nobody gets
// in by it.
//
// Parsers: daemon/front/account/authorization.c
#include "tests/fuzz/fuzz.h"

#include "config/users.h"
#include "daemon/front/account/account.h"
#include "daemon/front/account/authorization.h"

#include <netinet/in.h>

// One user, whose password nobody knows.
static struct account *make_account(void)
{
    static const char line[] = "vera:viewer:0123456789abcdef0123456789abcdef:"
                               "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n";
    char path[FUZZ_PATH_SIZE];
    int fd = fuzz_file((const uint8_t *)line, strlen(line), path);
    struct config config = {.rtsp.users = path};
    struct account *account;
    struct error error;

    fuzz_claim(account_new(&config, NULL, &error, &account) == 0);
    close(fd);
    return account;
}

static void check_login(const char *header, const char *url)
{
    static struct account *account;
    static int64_t now_ns;
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x0a000005)};
    struct account_request request = {.method = "DESCRIBE",
                                      .uri = url,
                                      .authorization = header,
                                      .peer = (const struct sockaddr *)&peer};
    struct account_answer answer;

    account = account ? account : make_account();
    for (unsigned encrypted = 0; encrypted < 2; encrypted++) {
        now_ns += 100 * NS_PER_S; // nothing is throttled for long
        request.encrypted = encrypted;
        account_check(account, &request, now_ns, NULL, &answer);
        fuzz_claim(answer.verdict != ACCOUNT_ALLOWED);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct authorization authorization;
    char *url = fuzz_text(data, size), *header = strsep(&url, "\n");
    char *text = header;

    url = url ? url : "*";
    if (authorization_parse(header, &authorization) == 0) {
        fuzz_claim(authorization.username || authorization.token);
        if (authorization.scheme == AUTHORIZATION_DIGEST) {
            authorization_uri_matches(authorization.uri, url);
            fuzz_claim(authorization_uri_matches(url, url));
        }
    }
    authorization_finish(&authorization);
    check_login(header, url);
    free(text);
    return 0;
}
