// `edgectl status` against a server of the test's: what it prints, and what it says when nobody
// answers.
#include "tests/unit/unit.h"

#include "daemon/client/client.h"
#include "daemon/ctl/commands.h"
#include "tests/unit/daemon/filled_facts.h"

#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <sys/socket.h>
#include <sys/un.h>

struct fixture {
    char *folder, *path;
    char *output, *errors; // of the last call
};

static int setup(void **state)
{
    struct fixture *fixture = g_new0(struct fixture, 1);

    fixture->folder = g_dir_make_tmp("edged-XXXXXX", NULL);
    fixture->path = g_build_filename(fixture->folder, "control.sock", NULL);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(g_rmdir(fixture->folder), 0);
    g_free(fixture->path);
    g_free(fixture->folder);
    g_free(fixture->output);
    g_free(fixture->errors);
    g_free(fixture);
    return 0;
}

// Redirects `fd` into an unnamed file; returns where it went before.
static int redirect(int fd, FILE *file)
{
    int before = dup(fd);

    dup2(fileno(file), fd);
    return before;
}

static char *restore(int fd, int before, FILE *file)
{
    char *text = g_malloc0(65536);

    dup2(before, fd);
    close(before);
    rewind(file);
    text[fread(text, 1, 65535, file)] = 0;
    fclose(file);
    return text;
}

// Runs `edgectl` with words split at spaces; its exit status.
static int call_status(struct fixture *fixture, const char *arguments)
{
    g_auto(GStrv) argv = g_strsplit(arguments, " ", -1);
    FILE *output = tmpfile(), *errors = tmpfile();
    int stdout_before, stderr_before, result;

    fflush(NULL);
    stdout_before = redirect(STDOUT_FILENO, output);
    stderr_before = redirect(STDERR_FILENO, errors);
    result = ctl_status((int)g_strv_length(argv), argv);
    fflush(NULL);
    g_free(fixture->output);
    g_free(fixture->errors);
    fixture->output = restore(STDOUT_FILENO, stdout_before, output);
    fixture->errors = restore(STDERR_FILENO, stderr_before, errors);
    return result;
}

static int call_at_path(struct fixture *fixture, const char *options)
{
    g_autofree char *arguments =
        g_strconcat("status --socket ", fixture->path, options[0] ? " " : "", options, NULL);

    return call_status(fixture, arguments);
}

#define SETTINGS                                                                                   \
    "{\"settings\":[{\"key\":\"cameras.front.fps\",\"file\":30,\"running\":25,\"kept\":true,"      \
    "\"from\":\"kept\",\"file_from\":\"edged.conf:7\"}]}"

struct test_server {
    int fd;
    GThread *thread;
};

// Reads one request up to the end of its head. False: the client has hung up.
static bool read_request(int fd, char *request, size_t size)
{
    size_t length = 0;

    for (ssize_t count; (count = recv(fd, request + length, size - 1 - length, 0)) > 0;) {
        length += (size_t)count;
        request[length] = 0;
        if (strstr(request, "\r\n\r\n"))
            return true;
    }
    return false;
}

// Answers requests for the status and for the settings until nobody listens any more.
static void *answer_all(void *context)
{
    const struct test_server *server = context;
    g_autofree char *status = filled_text(FACTS_JSON, (char[]){"back"});
    char request[4096];
    int fd;

    while ((fd = accept(server->fd, NULL, NULL)) >= 0) {
        while (read_request(fd, request, sizeof request)) {
            const char *body = strstr(request, "/v1/status") ? status : SETTINGS;
            g_autofree char *reply = g_strdup_printf(
                "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(body), body);

            send(fd, reply, strlen(reply), MSG_NOSIGNAL);
        }
        close(fd);
    }
    return NULL;
}

static void serve(const struct fixture *fixture, struct test_server *server)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    snprintf(address.sun_path, sizeof address.sun_path, "%s", fixture->path);
    server->fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(server->fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(server->fd, 4), 0);
    server->thread = g_thread_new("server", answer_all, server);
}

static void end_server(const struct fixture *fixture, const struct test_server *server)
{
    shutdown(server->fd, SHUT_RDWR);
    g_thread_join(server->thread);
    close(server->fd);
    unlink(fixture->path);
}

TEST(test_tables_show_cameras_errors_and_mounts, setup, teardown)
{
    struct fixture *fixture = *state;
    struct test_server server;

    serve(fixture, &server);
    assert_int_equal(call_at_path(fixture, ""), 0);
    end_server(fixture, &server);
    assert_string_equal(
        fixture->output,
        "edged " EDGED_VERSION ", cpu, up 1 h 02 min, 2 viewers, rtsp://127.0.0.1:8554\n"
        "inside TLS: rtsps://127.0.0.1:8322\n"
        "page, status and metrics: https://127.0.0.1:9854\n"
        "certificate: SHA-256 3F:A0, until 2033-05-18\n"
        "board: GPU-therm 98.5 C, power mode 15W, GPU 84% at 306 of 612 MHz, slowed down by "
        "gpu-throttle-alert\n"
        "recorder: ready, 1234 clips and 2 being written, 56.8\u00a0GB, 98.8\u00a0GB free\n"
        "\n"
        "CAMERA  STATE      BACKEND     FPS   FRAMES  DROPPED  PATH\n"
        "front   live       CUDA sm_87  29.5  1000    3        "
        "front: V4L2 MMAP YUYV 1280x720@30 -> registered -> CUDA sm_87 -> x264enc, 1 copy a frame\n"
        "back    no signal              0.0   0       0\n"
        "front: v4l2h264enc hung and is tried last\n"
        "front: encoder nvv4l2h264enc by descriptor failed its trial after 105 ms: no frame came "
        "out\n"
        "front: GPU: Orin, 3 faults since the start\n"
        "front: stages computed (shared): gray 900 (2700), canny 450 (0)\n"
        "back: /dev/video9: No such device\n"
        "\n"
        "REGION      STATE   SHARE  EVENTS            BOX\n"
        "front/door  moving  10.0%  9007199254740992  64x48 at 8,16\n"
        "front/yard  still   0.0%   0                 -\n"
        "\n"
        "MOUNT                                      VIEWERS  KBPS  P50 MS  P95 MS\n"
        "rtsp://127.0.0.1:8554/front/edges, /edges  2        3900  4.9     5.5\n"
        "/front/edges is recorded (events), so it is computed all the time\n"
        "kept: cameras.front.fps = 25, over 30 (edged.conf:7)\n");
    assert_string_equal(fixture->errors, "");
}

TEST(test_json_is_the_servers_status, setup, teardown)
{
    struct fixture *fixture = *state;
    struct test_server server;
    g_autoptr(JsonParser) parser = json_parser_new();
    JsonObject *root;

    serve(fixture, &server);
    assert_int_equal(call_at_path(fixture, "--json"), 0);
    end_server(fixture, &server);
    assert_true(json_parser_load_from_data(parser, fixture->output, -1, NULL));
    root = json_node_get_object(json_parser_get_root(parser));
    assert_int_equal(json_object_get_int_member(root, "viewers"), 2);
}

TEST(test_without_a_daemon_it_says_how_to_start_one, setup, teardown)
{
    struct fixture *fixture = *state;
    g_autofree char *expected = g_strdup_printf(
        "edgectl: no edged listens on %s: start it with `systemctl start edged`; if it has ended, "
        "`journalctl -u edged` says why\n",
        fixture->path);

    assert_int_equal(call_at_path(fixture, ""), 1);
    assert_string_equal(fixture->errors, expected);
    assert_string_equal(fixture->output, "");
}

struct test_peer {
    int fd;
    const char *reply;
};

// A server of the test's: reads one request and writes `reply` whatever it says.
static void *answer(void *context)
{
    struct test_peer *peer = context;
    int fd = accept(peer->fd, NULL, NULL);
    char request[1024];

    if (recv(fd, request, sizeof request, 0) > 0)
        send(fd, peer->reply, strlen(peer->reply), MSG_NOSIGNAL);
    close(fd);
    return NULL;
}

static int get_from_peer(const struct fixture *fixture, const char *reply, struct error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct test_peer peer = {.fd = socket(AF_UNIX, SOCK_STREAM, 0), .reply = reply};
    const struct client_options options = {.socket = fixture->path};
    _cleanup_(client_cleanup) struct client *client = NULL;
    _cleanup_(cleanup_free) char *body = NULL;
    GThread *thread;
    int result;

    snprintf(address.sun_path, sizeof address.sun_path, "%s", fixture->path);
    assert_int_equal(bind(peer.fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(peer.fd, 1), 0);
    thread = g_thread_new("peer", answer, &peer);
    result = client_new(&options, error, &client);
    result = result < 0 ? result : client_get(client, "/v1/status", error, &body);
    g_thread_join(thread);
    close(peer.fd);
    unlink(fixture->path);
    if (result == 0)
        assert_string_equal(body, "{}");
    return result;
}

TEST(test_replies_that_are_no_good_are_told_apart, setup, teardown)
{
    static const struct {
        const char *reply, *sentence;
        int result;
    } bad[] = {
        {"", "speaks no HTTP", -EPROTO},
        {"SSH-2.0-OpenSSH_9.2\r\n\r\n", "speaks no HTTP", -EPROTO},
        {"HTTP/1.1 404 Not Found\r\n\r\n{\"error\": \"no such page\"}", "no such page", -EINVAL},
        {"HTTP/1.1 404 Not Found\r\n\r\nnowhere", "status 404: nowhere", -EINVAL},
        {"HTTP/1.1 503 Service Unavailable\r\n\r\nfull", "status 503: full", -EAGAIN},
        {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}", "cut short", -EPROTO},
    };
    struct fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
        struct error error = {0};

        assert_int_equal(get_from_peer(fixture, bad[i].reply, &error), bad[i].result);
        assert_non_null(strstr(error.text, bad[i].sentence));
    }
    assert_int_equal(get_from_peer(fixture, "HTTP/1.1 200 OK\r\n\r\n{}", NULL), 0);
    assert_int_equal(get_from_peer(fixture, "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", NULL),
                     0);
}

static int connect_at_once(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

    if (connect(fd, (const struct sockaddr *)address, sizeof *address) == 0)
        return fd;
    assert_int_equal(errno, EAGAIN);
    close(fd);
    return -1;
}

// As an edged that is stopped while others ask, too.
TEST(test_a_full_queue_is_a_daemon_that_does_not_answer, setup, teardown)
{
    struct fixture *fixture = *state;
    g_autofree char *expected =
        g_strdup_printf("edgectl: %s: edged does not answer\n", fixture->path);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int server = socket(AF_UNIX, SOCK_STREAM, 0), waiting[8], count = 0;

    snprintf(address.sun_path, sizeof address.sun_path, "%s", fixture->path);
    assert_int_equal(bind(server, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(server, 1), 0);
    while ((waiting[count] = connect_at_once(&address)) >= 0) {
        count++;
        assert_true(count < (int)ARRAY_LENGTH(waiting));
    }
    assert_int_equal(call_at_path(fixture, ""), 1);
    while (count > 0)
        close(waiting[--count]);
    close(server);
    unlink(fixture->path);
    assert_string_equal(fixture->errors, expected);
    assert_string_equal(fixture->output, "");
}

RUN_TESTS(NULL, NULL)
