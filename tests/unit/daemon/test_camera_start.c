// The start of a camera process by systemd, and the line on which it says hello and how it ends.

#include "daemon/link/camera_start.h"

#include "daemon/front/supervise/process.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <glib.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

struct bed {
    char folder[32];
    char path[64]; // of the socket at which systemd would listen
    int listener;
    struct process process;
    int link_fd;
    bool ended;
    int status;
    pid_t pid; // as it was told at the end
};

static int set_up(void **state)
{
    struct bed *bed = calloc(1, sizeof *bed);
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    strcpy(bed->folder, "/tmp/edged-start-XXXXXX");
    assert_non_null(mkdtemp(bed->folder));
    snprintf(bed->path, sizeof bed->path, "%s/socket", bed->folder);
    strcpy(address.sun_path, bed->path);
    bed->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(bed->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(bed->listener, 1), 0);
    bed->link_fd = -1;
    process_init(&bed->process);
    *state = bed;
    return 0;
}

static int tear_down(void **state)
{
    struct bed *bed = *state;

    process_finish(&bed->process);
    while (g_main_context_iteration(NULL, FALSE)) {
    }
    cleanup_close(&bed->link_fd);
    close(bed->listener);
    unlink(bed->path);
    rmdir(bed->folder);
    free(bed);
    return 0;
}

static void on_end(GPid pid, gint status, gpointer data)
{
    struct bed *bed = data;

    bed->ended = true;
    bed->pid = pid;
    bed->status = status;
    bed->process.pid = 0;
    bed->process.watch = 0;
}

static void wait_for_end(const struct bed *bed)
{
    while (!bed->ended)
        g_main_context_iteration(NULL, TRUE);
}

static void summon(struct bed *bed, const char *const *paths, const int *fds)
{
    static const char *const hidden[] = {"/etc/edged/edged.conf", "/a folder/key", NULL};
    static const char *const variables[] = {"EDGED_LOG=debug", NULL};
    struct camera_start start = {
        .name = "front", .hidden = hidden, .variables = variables, .file_paths = paths};
    struct error error = {0};

    for (size_t i = 0; paths && paths[i]; i++)
        start.file_fds[i] = fds[i];
    assert_int_equal(
        process_summon(&bed->process, bed->path, &start, on_end, bed, &error, &bed->link_fd), 0);
}

// Has what systemd would start do something with its line, in a process of its own.
static pid_t play(const struct bed *bed, void (*part)(int line_fd))
{
    int line_fd = accept(bed->listener, NULL, NULL);
    pid_t pid = fork();

    assert_true(line_fd >= 0);
    if (pid == 0) {
        part(line_fd);
        _exit(0);
    }
    close(line_fd);
    return pid;
}

static void say(int line_fd, int32_t word)
{
    if (write(line_fd, &word, sizeof word) < 0)
        _exit(1);
}

static void say_hello(int line_fd)
{
    say(line_fd, CAMERA_LINE_HELLO);
}

static void say_hello_and_end(int line_fd)
{
    say_hello(line_fd);
    say(line_fd, W_EXITCODE(3, 0));
}

static void say_hello_and_crash(int line_fd)
{
    say_hello(line_fd);
    say(line_fd, SIGSEGV);
}

static void say_nothing(int line_fd)
{
    (void)line_fd;
}

static void say_hello_and_hide(int line_fd)
{
    say_hello(line_fd);
    shutdown(line_fd, SHUT_WR);
    pause();
}

static void babble(int line_fd)
{
    for (;;)
        say(line_fd, CAMERA_LINE_HELLO);
}

TEST(test_a_start_brings_its_lists_the_link_and_open_files, set_up, tear_down)
{
    struct bed *bed = *state;
    int file = open(bed->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fds[] = {file, file};
    struct camera_start_received received;
    struct error error = {0};
    char byte;

    summon(bed, (const char *const[]){"/etc/edged/a", "/etc/edged/b", NULL}, fds);
    int line_fd = accept(bed->listener, NULL, NULL);
    assert_int_equal(camera_start_receive(line_fd, &error, &received), 0);
    assert_string_equal(received.start.name, "front");
    assert_string_equal(received.start.hidden[0], "/etc/edged/edged.conf");
    assert_string_equal(received.start.hidden[1], "/a folder/key");
    assert_null(received.start.hidden[2]);
    assert_string_equal(received.start.variables[0], "EDGED_LOG=debug");
    assert_null(received.start.variables[1]);
    assert_int_equal(received.file_count, 2);
    assert_string_equal(received.start.file_paths[1], "/etc/edged/b");
    assert_true(fcntl(received.start.file_fds[1], F_GETFD) & FD_CLOEXEC);
    assert_int_equal(write(bed->link_fd, "x", 1), 1);
    assert_int_equal(read(received.start.link_fd, &byte, 1), 1);
    for (size_t i = 0; i < received.file_count; i++)
        close(received.start.file_fds[i]);
    close(received.start.link_fd);
    camera_start_finish(&received);
    close(line_fd);
    close(file);
    wait_for_end(bed);
}

TEST(test_a_process_is_known_by_the_kernels_word_and_says_how_it_ends)
{
    static const struct {
        void (*part)(int line_fd);
        const char *how;
        bool is_known;
    } cases[] = {{say_hello_and_end, "exited with status 3", true},
                 {say_hello_and_crash, "was killed by signal 11 (Segmentation fault)", true},
                 {say_hello, "was killed by signal 9 (Killed)", true},
                 {say_nothing, "was not started by systemd", false}};

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct bed *bed;
        char how[128];

        set_up(state);
        bed = *state;
        summon(bed, NULL, NULL);
        pid_t pid = play(bed, cases[i].part);
        wait_for_end(bed);
        process_describe_end(bed->status, how, sizeof how);
        assert_ptr_equal(strstr(how, cases[i].how), how);
        assert_int_equal(bed->pid, cases[i].is_known ? pid : 0);
        waitpid(pid, NULL, 0);
        tear_down(state);
    }
}

static void check_killed(struct bed *bed, void (*part)(int line_fd))
{
    int status;

    summon(bed, NULL, NULL);
    pid_t pid = play(bed, part);
    wait_for_end(bed);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

TEST(test_a_process_that_floods_its_line_is_killed, set_up, tear_down)
{
    check_killed(*state, babble);
}

TEST(test_a_process_that_shuts_its_line_and_goes_on_is_killed, set_up, tear_down)
{
    check_killed(*state, say_hello_and_hide);
}

TEST(test_a_process_that_is_left_behind_counts_until_its_line_ends, set_up, tear_down)
{
    struct bed *bed = *state;

    summon(bed, NULL, NULL);
    int line_fd = accept(bed->listener, NULL, NULL);
    process_abandon(&bed->process);
    assert_int_equal(bed->process.watch, 0);
    assert_int_equal(*bed->process.left_behind, 1);
    close(line_fd);
    while (*bed->process.left_behind)
        g_main_context_iteration(NULL, TRUE);
    assert_false(bed->ended);
}

TEST(test_where_systemd_does_not_listen_that_is_said, set_up, tear_down)
{
    struct bed *bed = *state;
    struct camera_start start = {.name = "front"};
    struct error error = {0};

    assert_int_equal(process_summon(&bed->process, "/nowhere/socket", &start, on_end, bed, &error,
                                    &bed->link_fd),
                     -ENOENT);
    assert_string_equal(error.text, "systemd cannot be asked for a camera process at "
                                    "/nowhere/socket: No such file or directory");
    assert_int_equal(bed->process.watch, 0);
}

// Sends bytes in the place of a start, with one descriptor if it is not -1.
static void check_refused(const void *bytes, size_t size, int fd, const char *sentence)
{
    struct camera_start_received received;
    struct error error = {0};
    struct iovec piece = {(void *)bytes, size};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    int fds[2];

    if (fd >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        control.head = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
    }
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(sendmsg(fds[0], &message, 0), (ssize_t)size);
    close(fds[0]);
    assert_int_equal(camera_start_receive(fds[1], &error, &received), -EPROTO);
    assert_non_null(strstr(error.text, sentence));
    close(fds[1]);
}

TEST(test_what_is_no_start_is_refused)
{
    struct {
        char version[64];
        uint32_t size, files;
        char text[64];
    } wrong = {.version = EDGED_VERSION, .size = 10, .text = "front\0\0\0\0\0"};
    static const char no_start[] = "no start of a camera process";
    size_t head = offsetof(__typeof__(wrong), text);

    (void)state;
    check_refused(&wrong, 20, 0, no_start);         // cut off
    check_refused(&wrong, head + 10, -1, no_start); // without a link
    check_refused(&wrong, head + 5, 0, no_start);   // fewer texts than it says
    wrong.size = 6;
    check_refused(&wrong, head + 6, 0, no_start); // a list is missing
    wrong.size = UINT32_MAX;
    check_refused(&wrong, head + 10, 0, no_start);
    wrong.size = 10;
    wrong.files = 3;
    check_refused(&wrong, head + 10, 0, no_start); // fewer files than it says
    strcpy(wrong.version, "0.0");
    check_refused(&wrong, head + 10, 0, "edged is of version 0.0 and this is " EDGED_VERSION);
}

RUN_TESTS(NULL, NULL)
