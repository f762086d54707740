// The socket file under the control server: where it is, its mode, and what may stand in its way.
#include "tests/unit/unit.h"

#include "daemon/common/service_files.h"
#include "daemon/front/http/control_socket.h"

#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

struct fixture {
    char *folder, *path;
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

    unlink(fixture->path);
    assert_int_equal(g_rmdir(fixture->folder), 0);
    g_free(fixture->path);
    g_free(fixture->folder);
    g_free(fixture);
    return 0;
}

static void open_socket(struct control_socket *socket, const char *path)
{
    struct error error = {0};

    if (control_socket_open(socket, path, &error) < 0)
        fail_msg("%s", error.text);
}

static void close_socket(struct control_socket *socket)
{
    control_socket_remove(socket);
    close(socket->fd);
}

static void refuse_socket(const char *path, int expected, const char *sentence)
{
    struct control_socket socket;
    struct error error = {0};

    assert_int_equal(control_socket_open(&socket, path, &error), expected);
    assert_non_null(strstr(error.text, sentence));
}

TEST(test_the_mode_is_0660_whatever_the_umask, setup, teardown)
{
    static const mode_t masks[] = {0, 022, 077, 0777};
    struct fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_LENGTH(masks); i++) {
        mode_t before = umask(masks[i]);
        struct control_socket socket;
        struct stat status;

        open_socket(&socket, fixture->path);
        umask(before);
        assert_int_equal(stat(fixture->path, &status), 0);
        assert_int_equal(status.st_mode, S_IFSOCK | 0660);
        close_socket(&socket);
        assert_int_equal(access(fixture->path, F_OK), -1);
    }
}

TEST(test_missing_folders_are_made, setup, teardown)
{
    struct fixture *fixture = *state;
    g_autofree char *folder = g_build_filename(fixture->folder, "run", NULL);
    g_autofree char *path = g_build_filename(folder, "control.sock", NULL);
    mode_t before = umask(022);
    struct control_socket socket;
    struct stat status;

    open_socket(&socket, path);
    umask(before);
    assert_int_equal(stat(folder, &status), 0);
    assert_int_equal(status.st_mode, S_IFDIR | 0755);
    close_socket(&socket);
    assert_int_equal(g_rmdir(folder), 0);
}

TEST(test_a_stale_socket_is_replaced, setup, teardown)
{
    struct fixture *fixture = *state;
    struct control_socket dead, socket;

    open_socket(&dead, fixture->path);
    close(dead.fd); // as after kill -9: the file stays, nobody listens
    open_socket(&socket, fixture->path);
    close_socket(&socket);
}

TEST(test_a_live_socket_is_left_alone, setup, teardown)
{
    struct fixture *fixture = *state;
    struct control_socket socket;
    struct stat status;

    open_socket(&socket, fixture->path);
    refuse_socket(fixture->path, -EADDRINUSE, "another edged listens there");
    assert_int_equal(lstat(fixture->path, &status), 0);
    assert_int_equal(status.st_ino, socket.identity.st_ino);
    close_socket(&socket);
}

TEST(test_a_file_in_the_way_is_left_alone, setup, teardown)
{
    struct fixture *fixture = *state;
    g_autofree char *text = NULL;

    assert_true(g_file_set_contents(fixture->path, "precious", -1, NULL));
    refuse_socket(fixture->path, -EEXIST, "is no socket");
    assert_true(g_file_get_contents(fixture->path, &text, NULL, NULL));
    assert_string_equal(text, "precious");
}

TEST(test_a_socket_made_by_another_is_not_removed, setup, teardown)
{
    struct fixture *fixture = *state;
    struct control_socket first, second;

    open_socket(&first, fixture->path);
    assert_int_equal(unlink(fixture->path), 0);
    open_socket(&second, fixture->path);
    close_socket(&first);
    assert_int_equal(access(fixture->path, F_OK), 0);
    close_socket(&second);
}

TEST(test_a_path_takes_107_bytes_and_no_more, setup, teardown)
{
    struct fixture *fixture = *state;
    g_autofree char *path =
        g_strdup_printf("%s/%0*d", fixture->folder, (int)(106 - strlen(fixture->folder)), 0);
    g_autofree char *longer = g_strconcat(path, "0", NULL);
    struct control_socket socket;

    assert_int_equal(strlen(path), 107);
    open_socket(&socket, path);
    close_socket(&socket);
    refuse_socket(longer, -EINVAL, "at most 107");
}

TEST(test_a_folder_that_cannot_be_written_is_named, setup, teardown)
{
    struct fixture *fixture = *state;
    bool root = geteuid() == 0;

    assert_int_equal(chmod(fixture->folder, 0555), 0);
    if (root) // whom no mode stops
        assert_int_equal(seteuid(65534), 0);
    refuse_socket(fixture->path, -EACCES, fixture->path);
    if (root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod(fixture->folder, 0755), 0);
}

static void assert_path(const char *configured, const char *expected)
{
    _cleanup_(cleanup_free) char *path = NULL;
    struct error error = {0};

    assert_int_equal(control_path_find(configured, &error, &path), 0);
    assert_string_equal(path, expected);
}

TEST(test_the_path_is_the_configured_one_then_the_services_then_the_users)
{
    setenv("RUNTIME_DIRECTORY", "/run/edged-test:/run/other", 1);
    setenv("XDG_RUNTIME_DIR", "/run/user/4711", 1);
    assert_path("/srv/control.sock", "/srv/control.sock");
    assert_path("", "/run/edged-test/control.sock");
    unsetenv("RUNTIME_DIRECTORY");
    assert_path("",
                getuid() == 0 ? "/run/edged/control.sock" : "/run/user/4711/edged/control.sock");
    unsetenv("XDG_RUNTIME_DIR");
    assert_path("", "/run/edged/control.sock");
}

TEST(test_a_configured_path_that_is_too_long_is_refused)
{
    g_autofree char *path = g_strnfill(108, '/');
    struct error error = {0};
    char *result = NULL;

    assert_int_equal(control_path_find(path, &error, &result), -EINVAL);
    assert_null(result);
    assert_non_null(strstr(error.text, "control.socket: "));
}

RUN_TESTS(NULL, NULL)
