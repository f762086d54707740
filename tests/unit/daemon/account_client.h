// An account over a file of users, and a client that answers its challenges, by GLib's hashes
// alone.
#pragma once

#include "config/config.h"
#include "daemon/front/account/account.h"
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <glib.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define URI "rtsp://10.0.0.5:8554/front/edges"

struct account_bed {
    struct config *config;
    struct account *account;
    char path[64]; // of the users
    int64_t now_ns;
};

static inline void bed_write_users(const struct account_bed *bed, const char *text)
{
    FILE *file = fopen(bed->path, "w");

    assert_non_null(file);
    assert_int_equal(fchmod(fileno(file), 0600), 0);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

// The line of a user, hashed here.
static inline char *user_line(const char *name, const char *role, const char *password)
{
    g_autofree char *text = g_strdup_printf("%s:edged:%s", name, password);
    g_autofree char *md5 = g_compute_checksum_for_string(G_CHECKSUM_MD5, text, -1);
    g_autofree char *sha256 = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);

    return g_strdup_printf("%s:%s:%s:%s\n", name, role, md5, sha256);
}

// `settings` of the group rtsp; with the users vera, otto and anna, a role each, whose passwords
// are their names twice.
static inline void bed_init(struct account_bed *bed, const char *settings)
{
    g_autofree char *vera = user_line("vera", "viewer", "veravera");
    g_autofree char *otto = user_line("otto", "operator", "ottootto");
    g_autofree char *anna = user_line("anna", "admin", "annaanna");
    g_autofree char *users = g_strconcat(vera, otto, anna, NULL);
    g_autofree char *text = NULL;
    struct error error;

    *bed = (struct account_bed){.now_ns = 1000 * NS_PER_S};
    snprintf(bed->path, sizeof bed->path, "/tmp/edged-users-%d", (int)getpid());
    bed_write_users(bed, users);
    text = settings ? g_strdup_printf("rtsp = { %s };", settings)
                    : g_strdup_printf("rtsp = { users = \"%s\"; };", bed->path);
    assert_int_equal(config_parse(text, "t.conf", stderr, &bed->config), 0);
    if (account_new(bed->config, NULL, &error, &bed->account) < 0)
        fail_msg("%s", error.text);
}

static inline void bed_finish(struct account_bed *bed)
{
    account_free(bed->account);
    config_free(bed->config);
    unlink(bed->path);
}

// An address as text, as accept() has it.
static inline const struct sockaddr *address(const char *text)
{
    static struct sockaddr_in v4;
    static struct sockaddr_in6 v6;

    v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(40000)};
    v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(40000)};
    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
        return (const struct sockaddr *)&v4;
    assert_int_equal(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
    return (const struct sockaddr *)&v6;
}

// One that asks; what is not set is asked without.
struct client {
    const char *from, *method, *uri;
    enum config_role role;
    bool encrypted;
    struct account_login *login;
    const char *name, *password;
    GChecksumType hash;
    const char *nonce; // that it answers; NULL: asks without an answer
    char taken[NONCE_TEXT_SIZE];
    unsigned count; // 0: without qop
};
#define CLIENT                                                                                     \
    .from = "10.0.0.9", .method = "DESCRIBE", .uri = URI, .hash = G_CHECKSUM_MD5, .name = "vera",  \
    .password = "veravera"

static inline char *client_answer(const struct client *client)
{
    g_autofree char *a1 = g_strdup_printf("%s:edged:%s", client->name, client->password);
    g_autofree char *a2 = g_strdup_printf("%s:%s", client->method, client->uri);
    g_autofree char *ha1 = g_compute_checksum_for_string(client->hash, a1, -1);
    g_autofree char *ha2 = g_compute_checksum_for_string(client->hash, a2, -1);
    g_autofree char *middle = client->count
                                  ? g_strdup_printf("%s:%08x:c:auth", client->nonce, client->count)
                                  : g_strdup(client->nonce);
    g_autofree char *all = g_strdup_printf("%s:%s:%s", ha1, middle, ha2);
    g_autofree char *response = g_compute_checksum_for_string(client->hash, all, -1);
    g_autofree char *qop = client->count
                               ? g_strdup_printf(", qop=auth, nc=%08x, cnonce=\"c\"", client->count)
                               : g_strdup("");

    return g_strdup_printf("Digest username=\"%s\", realm=\"edged\", nonce=\"%s\", uri=\"%s\", "
                           "response=\"%s\", algorithm=%s%s",
                           client->name, client->nonce, client->uri, response,
                           client->hash == G_CHECKSUM_MD5 ? "MD5" : "SHA-256", qop);
}

static inline enum account_verdict send_header(struct account_bed *bed, const struct client *client,
                                               const char *header, struct account_answer *answer)
{
    const struct account_request request = {
        .method = client->method,
        .uri = client->uri,
        .authorization = header,
        .peer = address(client->from),
        .encrypted = client->encrypted,
        .role = client->role,
    };

    account_check(bed->account, &request, bed->now_ns, client->login, answer);
    return answer->verdict;
}

static inline enum account_verdict ask(struct account_bed *bed, const struct client *client,
                                       struct account_answer *answer)
{
    g_autofree char *header = client->nonce ? client_answer(client) : NULL;

    return send_header(bed, client, header, answer);
}

static inline enum account_verdict verdict(struct account_bed *bed, const struct client *client)
{
    struct account_answer answer;

    return ask(bed, client, &answer);
}

// From now on the client answers the nonce that it is challenged with.
static inline void take_nonce(struct account_bed *bed, struct client *client)
{
    struct account_answer answer;

    client->nonce = NULL;
    assert_int_equal(ask(bed, client, &answer), ACCOUNT_CHALLENGE);
    const char *begin = strstr(answer.challenges[0], "nonce=\"");
    assert_non_null(begin);
    g_strlcpy(client->taken, begin + strlen("nonce=\""), sizeof client->taken);
    client->nonce = client->taken;
}
