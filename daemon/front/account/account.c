#include "daemon/front/account/account.h"

#include "daemon/common/log.h"
#include "daemon/common/log_limit.h"
#include "daemon/front/account/authorization.h"
#include "daemon/front/account/throttle.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct account {
    bool is_open;         // auth = "none"
    struct users *users;  // owned; NULL: there are none
    struct users *tokens; // owned; NULL: there are none
    struct users *onvif;  // owned; NULL: there are none
    struct user nobody;   // checked in place of an unknown user, so that the answer takes as long
    struct nonces nonces;
    struct username_tokens username_tokens;
    struct throttle throttle;
    struct account_counters counters;
    struct log_limit limit;
};

// A request that is being checked.
struct check {
    struct account *account;
    const struct account_request *request;
    struct peer peer;
    int64_t now_ns;
    struct account_login *login;   // of the connection, or of this request alone
    struct account_answer *answer; // its verdict is set last
};

// Of the list, NULL: there is none; `nobody` where there is no such user.
static const struct user *find_user(const struct account *account, const struct users *users,
                                    const char *name)
{
    const struct user *found = &account->nobody;

    // Compared with all users, so that the time tells nothing about names.
    for (size_t i = 0; users && i < users->count; i++) {
        const struct user *user = &users->list[i];

        found = strcmp(user->name, name) == 0 ? user : found;
    }
    return found;
}

// A number that differs when the password differs, and from which its hashes cannot be found.
static uint64_t secret_of(const struct user *user)
{
    const char *const fields[] = {user->ha1[DIGEST_SHA256], user->ha1[DIGEST_MD5]};
    char hex[DIGEST_HEX_SIZE];

    digest_hash(DIGEST_SHA256, fields, ARRAY_LENGTH(fields), hex);
    hex[2 * sizeof(uint64_t)] = '\0';
    return strtoull(hex, NULL, 16);
}

// Fields are in the order that live555 wants them in: realm, nonce, stale (RTSPClient.cpp).
static void challenge(const struct check *check, bool stale)
{
    static const char *const algorithms[] = {[DIGEST_SHA256] = "SHA-256", [DIGEST_MD5] = "MD5"};
    struct account_answer *answer = check->answer;
    char nonce[NONCE_TEXT_SIZE];

    // Both challenges have the same nonce: GStreamer puts the fields of all challenges into one
    // table, and some clients take the first challenge for MD5's, whatever it says.
    nonce_make(&check->account->nonces, check->peer.address, check->now_ns, nonce);
    for (unsigned i = 0; i < DIGEST_ALGORITHM_COUNT; i++) {
        snprintf(answer->challenges[i], sizeof answer->challenges[i],
                 "Digest realm=\"" USERS_REALM "\", nonce=\"%s\"%s, algorithm=%s, qop=\"auth\"",
                 nonce, stale ? ", stale=true" : "", algorithms[i]);
    }
    answer->challenge_count = DIGEST_ALGORITHM_COUNT;
    if (check->request->encrypted) {
        snprintf(answer->challenges[answer->challenge_count++], sizeof answer->challenges[0],
                 "Basic realm=\"" USERS_REALM "\"");
    }
    answer->verdict = ACCOUNT_CHALLENGE;
}

// The name that was given stays out of the log, because some people type their password there.
static void log_failure(const struct check *check, enum throttle_news news)
{
    struct account *account = check->account;
    const struct peer network = peer_network(&check->peer);
    struct log_field field = {"EDGED_ADDRESS", NULL};
    char address[PEER_TEXT_SIZE], before[64] = "";

    if (news == THROTTLE_MORE_OF_IT || !log_limit_begin(&account->limit, check->now_ns))
        return;
    peer_format(&network, address);
    field.value = address;
    if (account->limit.left_out) {
        snprintf(before, sizeof before, "; %u messages of others were left out before",
                 account->limit.left_out);
        account->limit.left_out = 0;
    }
    if (news == THROTTLE_WAITS) {
        log_write_fields(LOG_WARNING, LOG_EVENT_LOGIN, NULL, "throttled", &field, 1,
                         "%d wrong passwords from %s, taking one try a second from there%s",
                         THROTTLE_TRIES, address, before);
    } else {
        log_write_fields(LOG_NOTICE, LOG_EVENT_LOGIN, NULL, "failed", &field, 1,
                         "wrong user or password from %s, asking again; more from there within a "
                         "minute are only counted%s",
                         address, before);
    }
}

static void fail(const struct check *check)
{
    struct account *account = check->account;

    account->counters.failed++;
    check->login->failed = true;
    log_failure(check, throttle_count_failure(&account->throttle, &check->peer, check->now_ns));
    challenge(check, false);
}

static void allow(const struct check *check, enum account_way way)
{
    check->login->allowed = true;
    check->login->way = way;
    check->login->is_local = peer_is_loopback(&check->peer);
    check->answer->verdict = ACCOUNT_ALLOWED;
}

// The password, or the token, is right.
static void admit(const struct check *check, const struct user *user, enum account_way way)
{
    struct account_login *login = check->login;

    memcpy(login->name, user->name, sizeof login->name);
    login->role = user->role;
    login->secret = secret_of(user);
    login->failed = false;
    throttle_trust(&check->account->throttle, &check->peer, check->now_ns);
    if (user->role < check->request->role)
        check->answer->verdict = ACCOUNT_FORBIDDEN;
    else
        allow(check, way);
}

static bool is_right(const struct check *check, const struct authorization *authorization,
                     const struct user *user)
{
    enum digest_algorithm algorithm = authorization->algorithm;
    char given[DIGEST_HEX_SIZE];
    bool right;

    if (authorization->scheme == AUTHORIZATION_BASIC) {
        struct user claimed;

        user_init(&claimed, user->name, user->role, authorization->password);
        right = bytes_equal(claimed.ha1, user->ha1, sizeof claimed.ha1);
        explicit_bzero(&claimed, sizeof claimed);
    } else {
        authorization_response(authorization, check->request->method, user->ha1[algorithm], given);
        right = bytes_equal(given, authorization->response, digest_hex_length(algorithm));
    }
    return right && user != &check->account->nobody;
}

// Checks a password, or the answer that was made from one.
static void try(const struct check *check, const struct authorization *authorization)
{
    const struct account_request *request = check->request;
    const struct user *user =
        find_user(check->account, check->account->users, authorization->username);
    bool digest = authorization->scheme == AUTHORIZATION_DIGEST;

    if (!is_right(check, authorization, user)) {
        fail(check);
    } else if (digest && (strcmp(authorization->realm, USERS_REALM) != 0 ||
                          !authorization_uri_matches(authorization->uri, request->uri))) {
        challenge(check, false);
    } else if (digest &&
               !nonce_take(&check->account->nonces, authorization->nonce, check->peer.address,
                           authorization->count, check->now_ns, &check->login->nonce)) {
        challenge(check, true);
    } else {
        admit(check, user, ACCOUNT_PASSWORD);
    }
}

// Whether the request has to wait. Not on a connection that has already proved the password of the
// user `name`; NULL: it names none.
static bool is_throttled(const struct check *check, const char *name)
{
    const struct account_login *login = check->login;
    bool known = name && login->allowed && !login->failed && login->way == ACCOUNT_PASSWORD &&
                 strcmp(login->name, name) == 0;
    int64_t wait_ns =
        known ? 0 : throttle_wait_ns(&check->account->throttle, &check->peer, check->now_ns);

    if (wait_ns == 0)
        return false;
    check->account->counters.throttled++;
    check->answer->retry_after_s = (int)((wait_ns + NS_PER_S - 1) / NS_PER_S);
    check->answer->verdict = ACCOUNT_THROTTLED;
    return true;
}

static const struct user *find_token(const struct account *account, const char *token)
{
    const struct user *found = NULL;
    struct user claimed;

    user_init_token(&claimed, "", CONFIG_ROLE_VIEWER, token);
    for (size_t i = 0; account->tokens && i < account->tokens->count; i++) {
        const struct user *each = &account->tokens->list[i];

        if (bytes_equal(each->ha1[DIGEST_SHA256], claimed.ha1[DIGEST_SHA256], DIGEST_HEX_SIZE))
            found = each;
    }
    return found;
}

// Nobody guesses 256 bits, so a right token never waits for wrong ones.
static void check_token(const struct check *check, const char *token)
{
    const struct user *program = find_token(check->account, token);

    if (program)
        admit(check, program, ACCOUNT_TOKEN);
    else if (!is_throttled(check, NULL))
        fail(check);
}

// Whether requests need a user.
static bool asks(const struct account *account)
{
    return account->users && !account->is_open;
}

static void check_request(const struct check *check)
{
    const struct account_request *request = check->request;
    bool local = peer_is_loopback(&check->peer);
    struct authorization authorization;
    int r = request->authorization ? authorization_parse(request->authorization, &authorization)
                                   : -ENOENT;

    if (r == 0 && authorization.scheme == AUTHORIZATION_BEARER) {
        if (request->encrypted || local) {
            check_token(check, authorization.token);
        } else {
            challenge(check, false); // nothing was tried
        }
    } else if (!asks(check->account) && !check->account->is_open && !local) {
        check->answer->verdict = ACCOUNT_FORBIDDEN;
    } else if (!asks(check->account)) {
        allow(check, ACCOUNT_UNASKED);
    } else if (r < 0 || (authorization.scheme == AUTHORIZATION_BASIC && !request->encrypted)) {
        challenge(check, false); // no password was tried
    } else if (!is_throttled(check, authorization.username)) {
        try(check, &authorization);
    }
    if (request->authorization)
        authorization_finish(&authorization);
}

static struct check begin(struct account *account, const struct account_request *request,
                          int64_t now_ns, struct account_login *login,
                          struct account_answer *answer)
{
    answer->challenge_count = 0;
    answer->retry_after_s = 0;
    answer->clock_ahead_s = 0;
    return (struct check){
        .account = account,
        .request = request,
        .peer = peer_of(request->peer),
        .now_ns = now_ns,
        .login = login,
        .answer = answer,
    };
}

void account_check(struct account *account, const struct account_request *request, int64_t now_ns,
                   struct account_login *login, struct account_answer *ret_answer)
{
    struct account_login passing = {0};
    const struct check check =
        begin(account, request, now_ns, login ? login : &passing, ret_answer);

    check_request(&check);
}

void account_check_password(struct account *account, const struct account_request *request,
                            const char *name, const char *password, int64_t now_ns,
                            struct account_login *login, struct account_answer *ret_answer)
{
    const struct authorization authorization = {
        .scheme = AUTHORIZATION_BASIC, .username = name, .password = password};
    const struct check check = begin(account, request, now_ns, login, ret_answer);

    if (!asks(account))
        ret_answer->verdict = ACCOUNT_FORBIDDEN;
    else if (!is_throttled(&check, name))
        try(&check, &authorization);
}

void account_check_secret(struct account *account, const struct sockaddr *from, bool is_right,
                          int64_t now_ns, struct account_answer *ret_answer)
{
    const struct account_request request = {.peer = from};
    struct account_login login = {0};
    const struct check check = begin(account, &request, now_ns, &login, ret_answer);

    if (is_right) {
        ret_answer->verdict = ACCOUNT_ALLOWED;
    } else if (!is_throttled(&check, NULL)) {
        fail(&check);
        ret_answer->verdict = ACCOUNT_FORBIDDEN;
    }
}

// The digest is right. By how much the clocks may differ, and that it is new, is left.
static void take_username_token(const struct check *check, const struct username_token *token,
                                const struct user *user)
{
    int64_t created_s, ahead_s;

    if (username_token_created(token, &created_s) < 0) {
        challenge(check, false);
        return;
    }
    ahead_s = created_s - (int64_t)time(NULL);
    if (llabs(ahead_s) > USERNAME_TOKEN_LIFE_S) {
        check->answer->clock_ahead_s = ahead_s;
        challenge(check, false);
    } else if (!username_tokens_take(&check->account->username_tokens, token, created_s,
                                     &check->peer, check->now_ns)) {
        challenge(check, false);
    } else {
        admit(check, user, ACCOUNT_PASSWORD);
    }
}

void account_check_username_token(struct account *account, const struct account_request *request,
                                  const struct username_token *token, int64_t now_ns,
                                  struct account_login *login, struct account_answer *ret_answer)
{
    const struct check check = begin(account, request, now_ns, login, ret_answer);
    const char *name = token->name ? token->name : "";
    const struct user *user, *plain;
    bool matches;

    if (!asks(account)) {
        check_request(&check);
    } else if (token->is_text && request->encrypted) {
        account_check_password(account, request, name, token->password ? token->password : "",
                               now_ns, login, ret_answer);
    } else if (token->is_text || !token->password) {
        challenge(&check, false); // no password was tried
    } else if (!is_throttled(&check, name)) {
        user = find_user(account, account->users, name);
        plain = find_user(account, account->onvif, name);
        matches = username_token_matches(token, plain->plain) &&
                  bytes_equal(plain->ha1, user->ha1, sizeof user->ha1);
        if (matches && user != &account->nobody && plain != &account->nobody)
            take_username_token(&check, token, user);
        else
            fail(&check);
    }
}

bool account_is_still_allowed(const struct account *account, const struct account_login *login,
                              enum config_role role)
{
    const struct user *user;

    if (!asks(account))
        return login->allowed && (account->is_open || login->is_local);
    user = find_user(account, login->way == ACCOUNT_TOKEN ? account->tokens : account->users,
                     login->name);
    return login->allowed && user != &account->nobody && user->role >= role &&
           secret_of(user) == login->secret;
}

int account_read_users(enum users_kind kind, const struct config *config, const char *config_path,
                       struct error *error, struct users **ret_users)
{
    _cleanup_(cleanup_free) char *path = users_path(kind, config, config_path);
    int r = path ? users_read(kind, path, error, ret_users) : 0;

    if (!path)
        *ret_users = NULL;
    return r < 0 ? error_prefix(error, r, "%s", users_key(kind)) : 0;
}

void account_take_users(struct account *account, const struct config *config, struct users *users)
{
    users_free(account->users);
    account->users = users;
    account->is_open = config->rtsp.auth == CONFIG_AUTH_NONE;
}

void account_take_tokens(struct account *account, struct users *tokens)
{
    users_free(account->tokens);
    account->tokens = tokens;
}

void account_take_onvif(struct account *account, struct users *onvif)
{
    users_free(account->onvif);
    account->onvif = onvif;
}

bool account_has(const struct account *account, enum users_kind kind, const struct users *users)
{
    const struct users *own = kind == USERS_PASSWORDS ? account->users
                              : kind == USERS_TOKENS  ? account->tokens
                                                      : account->onvif;

    if (!users || !own)
        return users == own;
    if (users->count != own->count)
        return false;
    for (size_t i = 0; i < users->count; i++) {
        const struct user *a = &users->list[i], *b = &own->list[i];

        if (strcmp(a->name, b->name) != 0 || a->role != b->role ||
            memcmp(a->ha1, b->ha1, sizeof a->ha1) != 0) {
            return false;
        }
    }
    return true;
}

// A user with a random password that nobody knows.
static void init_nobody(struct account *account)
{
    char password[NONCE_TEXT_SIZE];

    nonce_make(&account->nonces, (const uint8_t[NONCE_ADDRESS_SIZE]){0}, 0, password);
    password[USERS_PLAIN_MAX] = '\0';
    user_init_onvif(&account->nobody, "", password);
}

int account_new(const struct config *config, const char *config_path, struct error *error,
                struct account **ret_account)
{
    struct account *account = calloc(1, sizeof *account);
    struct users *users = NULL, *tokens = NULL, *onvif = NULL;
    int r = account ? nonces_init(&account->nonces) : -ENOMEM;

    if (r < 0) {
        error_set(error, r, "rtsp.users: %s", strerror(-r));
    } else {
        r = account_read_users(USERS_PASSWORDS, config, config_path, error, &users);
        r = r < 0 ? r : account_read_users(USERS_TOKENS, config, config_path, error, &tokens);
        r = r < 0 ? r : account_read_users(USERS_ONVIF, config, config_path, error, &onvif);
    }
    if (r < 0) {
        users_free(users);
        users_free(tokens);
        account_free(account);
        return r;
    }
    if (users && users->count == 0) {
        log_warning("rtsp.users: the file has no user, so nobody can log in; `edgectl passwd NAME` "
                    "makes one");
    }
    account_take_users(account, config, users);
    account_take_tokens(account, tokens);
    account_take_onvif(account, onvif);
    init_nobody(account);
    *ret_account = account;
    return 0;
}

void account_free(struct account *account)
{
    if (account) {
        users_free(account->users);
        users_free(account->tokens);
        users_free(account->onvif);
        nonces_finish(&account->nonces);
        username_tokens_finish(&account->username_tokens);
        free(account);
    }
}

enum config_role account_role(const struct account *account, const struct account_login *login)
{
    return asks(account) ? login->role : CONFIG_ROLE_ADMIN;
}

bool account_has_users(const struct account *account)
{
    return account->users;
}

bool account_is_open(const struct account *account)
{
    return account->is_open;
}

void account_count(const struct account *account, struct account_counters *ret_counters)
{
    *ret_counters = account->counters;
}
