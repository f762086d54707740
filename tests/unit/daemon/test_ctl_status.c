// `edgectl status` against a control server in the same process: what it prints, and what it says
// when nobody answers.
#include "tests/unit/unit.h"

#include "daemon/ctl/client.h"
#include "daemon/ctl/commands.h"
#include "daemon/front/http/control.h"
#include "daemon/front/http/routes.h"
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

struct call {
    char **argv;
    int result;
    gint done; // atomic
};

static void *run_call(void *context)
{
    struct call *call = context;

    call->result = ctl_status((int)g_strv_length(call->argv), call->argv);
    fflush(NULL);
    g_atomic_int_set(&call->done, 1);
    g_main_context_wakeup(NULL);
    return NULL;
}

// Runs `edgectl` with words split at spaces, while the main loop serves; its exit status.
static int call_status(struct fixture *fixture, const char *arguments)
{
    g_auto(GStrv) argv = g_strsplit(arguments, " ", -1);
    struct call call = {.argv = argv};
    FILE *output = tmpfile(), *errors = tmpfile();
    int stdout_before, stderr_before;
    GThread *thread;

    fflush(NULL);
    stdout_before = redirect(STDOUT_FILENO, output);
    stderr_before = redirect(STDERR_FILENO, errors);
    thread = g_thread_new("edgectl", run_call, &call);
    while (!g_atomic_int_get(&call.done)) {
        g_main_context_iteration(NULL, TRUE);
    }
    g_thread_join(thread);
    g_free(fixture->output);
    g_free(fixture->errors);
    fixture->output = restore(STDOUT_FILENO, stdout_before, output);
    fixture->errors = restore(STDERR_FILENO, stderr_before, errors);
    return call.result;
}

static int call_at_path(struct fixture *fixture, const char *options)
{
    g_autofree char *arguments =
        g_strconcat("status --socket ", fixture->path, options[0] ? " " : "", options, NULL);

    return call_status(fixture, arguments);
}

static char *write_status(void *context, enum facts_format format, enum config_role role)
{
    (void)context, (void)role;
    return filled_text(format, "back", true);
}

static char *describe_config(void *context, enum control_config what, enum config_role role)
{
    (void)context, (void)role;
    assert_int_equal(what, CONTROL_CONFIG_SETTINGS);
    return g_strdup("{\"settings\":[{\"key\":\"cameras.front.fps\",\"file\":30,\"running\":25,"
                    "\"kept\":true,\"from\":\"kept\",\"file_from\":\"edged.conf:7\"}]}");
}

static struct control *serve(struct fixture *fixture)
{
    const struct control_front front = {.status = write_status, .describe_config = describe_config};
    struct control *control = NULL;

    assert_int_equal(control_new(fixture->path, &front, NULL, NULL, &control), 0);
    return control;
}

TEST(test_tables_show_cameras_errors_and_mounts, setup, teardown)
{
    struct fixture *fixture = *state;
    struct control *control = serve(fixture);

    assert_int_equal(call_at_path(fixture, ""), 0);
    control_free(control);
    assert_string_equal(
        fixture->output,
        "edged " EDGED_VERSION ", cpu, up 1 h 02 min, 2 viewers, rtsp://127.0.0.1:8554\n"
        "inside TLS: rtsps://127.0.0.1:8322\n"
        "status and metrics: https://127.0.0.1:9854\n"
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
    struct control *control = serve(fixture);
    g_autoptr(JsonParser) parser = json_parser_new();
    JsonObject *root;

    assert_int_equal(call_at_path(fixture, "--json"), 0);
    control_free(control);
    assert_true(json_parser_load_from_data(parser, fixture->output, -1, NULL));
    root = json_node_get_object(json_parser_get_root(parser));
    assert_int_equal(json_object_get_int_member(root, "viewers"), 2);
}

TEST(test_without_a_daemon_it_says_how_to_start_one, setup, teardown)
{
    struct fixture *fixture = *state;
    g_autofree char *expected = g_strdup_printf(
        "edgectl: no edged listens on %s: start it with `systemctl start edged`\n", fixture->path);

    assert_int_equal(call_at_path(fixture, ""), 1);
    assert_string_equal(fixture->errors, expected);
    assert_string_equal(fixture->output, "");
}

struct peer {
    int fd;
    const char *reply;
};

// A server of the test's: reads one request and writes `reply` whatever it says.
static void *answer(void *context)
{
    struct peer *peer = context;
    int fd = accept(peer->fd, NULL, NULL);
    char request[1024];

    if (recv(fd, request, sizeof request, 0) > 0) {
        send(fd, peer->reply, strlen(peer->reply), MSG_NOSIGNAL);
    }
    close(fd);
    return NULL;
}

static int get_from_peer(const struct fixture *fixture, const char *reply, struct error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct peer peer = {.fd = socket(AF_UNIX, SOCK_STREAM, 0), .reply = reply};
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
    if (result == 0) {
        assert_string_equal(body, "{}");
    }
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
        {"HTTP/1.1 404 Not Found\r\n\r\n{\"error\": \"no such page\"}", "answers: no such page",
         -EINVAL},
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

    if (connect(fd, (const struct sockaddr *)address, sizeof *address) == 0) {
        return fd;
    }
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
    while (count > 0) {
        close(waiting[--count]);
    }
    close(server);
    unlink(fixture->path);
    assert_string_equal(fixture->errors, expected);
    assert_string_equal(fixture->output, "");
}

RUN_TESTS(NULL, NULL)
