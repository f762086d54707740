// A control server on a socket of its own, and clients of it that share its main loop.
#pragma once

#include "tests/unit/unit.h"

#include "daemon/front/http/control.h"
#include "daemon/front/model/model.h"

#include <glib-unix.h>
#include <glib/gstdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#define GUARD_MS 60000 // a client that is never answered fails its test instead of hanging it

struct fixture {
    char *folder, *path;
    struct model model; // of one camera, whose process is not started
    struct control *control;
};

static inline void refuse_reload(void *context)
{
    struct model *model = context;
    struct config_problems problems = {0};

    config_problems_tell(&problems, true, "e.conf:1", "a");
    config_problems_tell(&problems, true, "e.conf:2", "b");
    model_set_verdict(model, true, &problems);
}

static inline void ignore(void *context)
{
    (void)context;
}

static inline void make_model(struct model *model)
{
    const struct model_events events = {refuse_reload, ignore, ignore, model};
    struct config *config = NULL;

    assert_int_equal(config_parse("cameras = ( { name = \"front\"; source = \"pattern\"; } );",
                                  "test", stderr, &config),
                     0);
    model_init(model, config, &(struct live){0}, NULL, NULL, &events);
}

static inline int setup(void **state)
{
    struct fixture *fixture = g_new0(struct fixture, 1);
    struct error error = {0};

    fixture->folder = g_dir_make_tmp("edged-XXXXXX", NULL);
    fixture->path = g_build_filename(fixture->folder, "control.sock", NULL);
    make_model(&fixture->model);
    assert_int_equal(control_new(fixture->path, &fixture->model, &error, &fixture->control), 0);
    *state = fixture;
    return 0;
}

static inline int teardown(void **state)
{
    struct fixture *fixture = *state;

    control_free(fixture->control);
    model_finish(&fixture->model);
    assert_int_equal(access(fixture->path, F_OK), -1);
    assert_int_equal(g_rmdir(fixture->folder), 0);
    g_free(fixture->path);
    g_free(fixture->folder);
    g_free(fixture);
    return 0;
}

static inline int client_connect(const struct fixture *fixture)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    snprintf(address.sun_path, sizeof address.sun_path, "%s", fixture->path);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static inline void client_send(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

struct reply {
    GString *text;
    bool ended;
};

static inline gboolean receive(int fd, GIOCondition condition, void *context)
{
    struct reply *reply = context;
    char bytes[65536];
    ssize_t count = recv(fd, bytes, sizeof bytes, 0);

    (void)condition;
    if (count > 0) {
        g_string_append_len(reply->text, bytes, count);
        return G_SOURCE_CONTINUE;
    }
    reply->ended = true;
    return G_SOURCE_REMOVE;
}

static inline gboolean give_up(void *context)
{
    (void)context;
    fail_msg("the server left a client waiting");
    return G_SOURCE_REMOVE;
}

// Runs the main loop until the server closes `fd`, or until `until` stands in the reply.
static inline char *receive_reply(int fd, const char *until)
{
    struct reply reply = {.text = g_string_new(NULL)};
    unsigned guard = g_timeout_add(GUARD_MS, give_up, NULL);
    unsigned watch = g_unix_fd_add(fd, G_IO_IN | G_IO_HUP, receive, &reply);

    while (!reply.ended && !(until && strstr(reply.text->str, until)))
        g_main_context_iteration(NULL, TRUE);
    if (!reply.ended)
        g_source_remove(watch);
    g_source_remove(guard);
    return g_string_free(reply.text, FALSE);
}

// One request on a connection of its own.
static inline char *ask(const struct fixture *fixture, const char *request)
{
    _cleanup_(cleanup_close) int fd = client_connect(fixture);

    client_send(fd, request);
    return receive_reply(fd, NULL);
}

static inline const char *body_of(const char *reply)
{
    const char *end = strstr(reply, "\r\n\r\n");

    assert_non_null(end);
    return end + 4;
}
