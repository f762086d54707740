#include "daemon/front/account/sessions.h"

#include "daemon/front/account/authorization.h"

#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

// One that has logged in.
struct browser {
    char secret[SESSION_SECRET_SIZE];
    struct account_login login;
    int64_t ends_ns;
    int64_t used_ns; // when it last asked for something
};

struct sessions {
    char link[SESSION_SECRET_SIZE];
    GArray *list;   // of struct browser, the oldest first
    uint64_t begun; // so many since the start
};

static int draw(char ret_secret[SESSION_SECRET_SIZE])
{
    uint8_t bytes[(SESSION_SECRET_SIZE - 1) / 2];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return -errno;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(ret_secret + 2 * i, 3, "%02x", bytes[i]);
    explicit_bzero(bytes, sizeof bytes);
    return 0;
}

int sessions_new(struct error *error, struct sessions **ret_sessions)
{
    struct sessions *sessions = g_new0(struct sessions, 1);
    int r = draw(sessions->link);

    sessions->list = g_array_new(FALSE, FALSE, sizeof(struct browser));
    if (r < 0) {
        sessions_free(sessions);
        return error_set(error, r, "random bytes for the page's link: %s", strerror(-r));
    }
    *ret_sessions = sessions;
    return 0;
}

void sessions_free(struct sessions *sessions)
{
    if (sessions) {
        g_array_unref(sessions->list);
        g_free(sessions);
    }
}

// Of a user as long as there are users, and of the link as long as there are none.
static bool is_valid(const struct browser *session, const struct account *account, int64_t now_ns)
{
    return session->ends_ns > now_ns &&
           account_has_users(account) == (session->login.way == ACCOUNT_PASSWORD) &&
           account_is_still_allowed(account, &session->login, session->login.role);
}

static bool is_secret(const char *secret, const char *text)
{
    return text && strlen(text) == SESSION_SECRET_SIZE - 1 &&
           bytes_equal(secret, text, SESSION_SECRET_SIZE);
}

const char *sessions_link(const struct sessions *sessions)
{
    return sessions->link;
}

bool sessions_is_link(const struct sessions *sessions, const char *text)
{
    return is_secret(sessions->link, text);
}

// Makes room for one more session of the user: those whose time is over go, and of too many the one
// that has asked for nothing for longest.
static void make_room(struct sessions *sessions, const char *name, int64_t now_ns)
{
    unsigned of_user = 0, idlest = 0;
    int64_t used_ns = INT64_MAX;

    for (guint i = sessions->list->len; i-- > 0;) {
        if (g_array_index(sessions->list, struct browser, i).ends_ns <= now_ns)
            g_array_remove_index(sessions->list, i);
    }
    for (guint i = 0; i < sessions->list->len; i++) {
        const struct browser *session = &g_array_index(sessions->list, struct browser, i);

        if (strcmp(session->login.name, name) != 0)
            continue;
        of_user++;
        if (session->used_ns < used_ns) {
            used_ns = session->used_ns;
            idlest = i;
        }
    }
    if (of_user >= SESSIONS_A_USER)
        g_array_remove_index(sessions->list, idlest);
}

int sessions_begin(struct sessions *sessions, const struct account_login *login, int64_t now_ns,
                   char ret_secret[SESSION_SECRET_SIZE])
{
    struct browser session = {
        .login = *login, .ends_ns = now_ns + SESSION_S * NS_PER_S, .used_ns = now_ns};
    int r = draw(session.secret);

    if (r < 0)
        return r;
    session.login.nonce = (struct nonce_use){0};
    session.login.session = ++sessions->begun;
    session.login.failed = true; // who has the cookie may not try passwords without being counted
    make_room(sessions, login->name, now_ns);
    g_array_append_val(sessions->list, session);
    memcpy(ret_secret, session.secret, SESSION_SECRET_SIZE);
    return 0;
}

const struct account_login *sessions_find(struct sessions *sessions, const struct account *account,
                                          const char *secret, int64_t now_ns)
{
    for (guint i = 0; i < sessions->list->len; i++) {
        struct browser *session = &g_array_index(sessions->list, struct browser, i);

        if (!is_secret(session->secret, secret))
            continue;
        if (is_valid(session, account, now_ns)) {
            session->used_ns = now_ns;
            return &session->login;
        }
        g_array_remove_index(sessions->list, i);
        return NULL;
    }
    return NULL;
}

bool sessions_go_on(const struct sessions *sessions, const struct account *account, uint64_t number,
                    int64_t now_ns)
{
    for (guint i = 0; i < sessions->list->len; i++) {
        const struct browser *session = &g_array_index(sessions->list, struct browser, i);

        if (session->login.session == number)
            return is_valid(session, account, now_ns);
    }
    return false;
}

void sessions_end(struct sessions *sessions, const char *secret)
{
    for (guint i = 0; i < sessions->list->len; i++) {
        if (is_secret(g_array_index(sessions->list, struct browser, i).secret, secret)) {
            g_array_remove_index(sessions->list, i);
            return;
        }
    }
}
