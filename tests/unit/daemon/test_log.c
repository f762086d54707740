// The lines that log_write() puts on a terminal and into the journal. Each case runs in a child,
// because the way out is chosen once a process.
#include "tests/unit/unit.h"

#include "config/base.h"
#include "daemon/common/log.h"
#include "daemon/common/log_limit.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

static int journal_answer; // what the journal says to the child

// Stands in for libsystemd's: writes the fields, one a line, to where stderr goes.
int sd_journal_sendv(const struct iovec *fields, int count)
{
    for (int i = 0; i < count && journal_answer == 0; i++)
        dprintf(STDERR_FILENO, "%.*s\n", (int)fields[i].iov_len, (const char *)fields[i].iov_base);
    return journal_answer;
}

// The output of `child` on stderr. With `journal` stderr is what JOURNAL_STREAM names.
static char *output_of(void (*child)(void), bool journal)
{
    static char text[32768];
    size_t used = 0;
    ssize_t count;
    int fds[2], status;
    pid_t pid;

    assert_int_equal(pipe(fds), 0);
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        struct stat stat;
        char stream[64];

        fstat(fds[1], &stat);
        snprintf(stream, sizeof stream, "%ju:%ju", (uintmax_t)stat.st_dev,
                 (uintmax_t)stat.st_ino + (journal ? 0 : 1));
        setenv("JOURNAL_STREAM", stream, 1);
        dup2(fds[1], STDERR_FILENO);
        child();
        _exit(0);
    }
    close(fds[1]);
    while ((count = read(fds[0], text + used, sizeof text - 1 - used)) > 0)
        used += count;
    text[used] = 0;
    close(fds[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    return text;
}

static void write_each_priority(void)
{
    log_write(LOG_ERR, LOG_EVENT_CAMERA_STATE, "front", "no signal", "%s, retrying in %d s",
              "/dev/video0: No such device", 2);
    log_warning("no GPU, using the CPU");
    log_notice("rtsp://127.0.0.1:8554/front/edges");
    log_info("done");
    log_debug("hidden");
}

TEST(test_a_terminal_gets_one_readable_line_a_message)
{
    assert_string_equal(output_of(write_each_priority, false),
                        "edged: error: front: /dev/video0: No such device, retrying in 2 s\n"
                        "edged: warning: no GPU, using the CPU\n"
                        "edged: rtsp://127.0.0.1:8554/front/edges\n"
                        "edged: done\n");
}

static void write_debug(void)
{
    setenv("EDGED_LOG", "debug", 1);
    log_set_program("edged-camera");
    log_debug("frame %d", 7);
}

TEST(test_debug_shows_when_asked_for_under_the_programs_name)
{
    assert_string_equal(output_of(write_debug, false), "edged-camera: debug: frame 7\n");
}

static void write_control_characters(void)
{
    log_info("camera \x1b[2Jcalled\n\"evil\r\x7f\"");
}

TEST(test_control_characters_reach_no_terminal)
{
    assert_string_equal(output_of(write_control_characters, false),
                        "edged: camera  [2Jcalled \"evil  \"\n");
}

static void write_very_long(void)
{
    char text[9000];

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    log_write(LOG_INFO, LOG_EVENT_NONE, text, NULL, "%s", text);
    log_info("next");
}

TEST(test_a_long_message_is_cut_and_stays_a_line)
{
    const char *text = output_of(write_very_long, false), *end = strchr(text, '\n');

    assert_non_null(end);
    assert_in_range(end - text, 1500, 2400);
    assert_string_equal(end + 1, "edged: next\n");
}

static void write_a_flood(void)
{
    for (int i = 0; i < 100000; i++)
        log_write(LOG_INFO, LOG_EVENT_MOTION_STARTED, "front", "moving", "event %d", i);
    log_write(LOG_INFO, LOG_EVENT_MOTION_STARTED, "gate", "moving", "event %d", 1);
    log_write(LOG_INFO, LOG_EVENT_NONE, "front", NULL, "another");
}

TEST(test_a_flood_of_one_kind_of_line_leaves_room_for_others)
{
    const char *text = output_of(write_a_flood, false);
    unsigned lines = 0;

    for (const char *line = text; (line = strstr(line, "edged: front: event ")); line++)
        lines++;
    assert_int_equal(lines, LOG_LIMIT_EACH_A_MINUTE);
    assert_non_null(strstr(text, "\nedged: gate: event 1\nedged: front: another\n"));
}

static void write_state(void)
{
    log_write(LOG_WARNING, LOG_EVENT_CAMERA_STATE, "front", "no signal", "cable pulled");
}

TEST(test_the_journal_gets_fields)
{
    char expected[512];

    snprintf(expected, sizeof expected,
             "MESSAGE=front: cable pulled\nPRIORITY=4\nSYSLOG_IDENTIFIER=edged\nMESSAGE_ID=%s\n"
             "EDGED_CAMERA=front\nEDGED_STATE=no signal\n",
             log_event_id(LOG_EVENT_CAMERA_STATE));
    assert_string_equal(output_of(write_state, true), expected);
}

static void write_to_broken_journal(void)
{
    journal_answer = -EPERM;
    write_state();
}

TEST(test_a_journal_that_refuses_leaves_the_line_on_stderr)
{
    assert_string_equal(output_of(write_to_broken_journal, true),
                        "edged: warning: front: cable pulled\n");
}

TEST(test_message_ids_are_distinct_128_bit_numbers)
{
    assert_null(log_event_id(LOG_EVENT_NONE));
    for (int i = LOG_EVENT_NONE + 1; i < LOG_EVENT_COUNT; i++) {
        assert_non_null(log_event_id(i));
        assert_int_equal(strspn(log_event_id(i), "0123456789abcdef"), 32);
        assert_int_equal(strlen(log_event_id(i)), 32);
        for (int j = LOG_EVENT_NONE + 1; j < i; j++)
            assert_string_not_equal(log_event_id(i), log_event_id(j));
    }
}

static void *write_twenty(void *argument)
{
    for (int i = 0; i < 20; i++)
        log_info("thread %s", (const char *)argument);
    return NULL;
}

static void write_from_threads(void)
{
    pthread_t threads[2];

    pthread_create(&threads[0], NULL, write_twenty, "aaaaaaaaaaaaaaaaaaaaaaaa");
    pthread_create(&threads[1], NULL, write_twenty, "bbbbbbbbbbbbbbbbbbbbbbbb");
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}

TEST(test_lines_of_two_threads_do_not_mix)
{
    char *line, *rest = output_of(write_from_threads, false);
    unsigned a = 0, b = 0;

    while ((line = strsep(&rest, "\n")) && *line) {
        a += strcmp(line, "edged: thread aaaaaaaaaaaaaaaaaaaaaaaa") == 0;
        b += strcmp(line, "edged: thread bbbbbbbbbbbbbbbbbbbbbbbb") == 0;
    }
    assert_int_equal(a, 20);
    assert_int_equal(b, 20);
}

static void write_without_stderr(void)
{
    int pipe_end = dup(STDERR_FILENO);

    close(STDERR_FILENO);
    errno = ENODEV;
    log_info("nowhere to go");
    dprintf(pipe_end, "%s", errno == ENODEV ? "kept" : "lost");
}

TEST(test_errno_survives_a_message_that_cannot_be_written)
{
    assert_string_equal(output_of(write_without_stderr, false), "kept");
}

TEST(test_a_fault_gets_ten_messages_a_minute_and_one_that_counts_the_rest)
{
    struct log_limit limit = {0};
    unsigned said = 0, left_out = 99;

    for (int second = 0; second < 60; second++) // one fault whose text changes
        said += log_limit_begin(&limit, second * NS_PER_S);
    assert_int_equal(said, 10);
    assert_true(log_limit_begin(&limit, 60 * NS_PER_S));
    assert_true(log_limit_end(&limit, 61 * NS_PER_S, &left_out));
    assert_int_equal(left_out, 50);
    assert_false(log_limit_end(&limit, 62 * NS_PER_S, &left_out));

    said = 0;
    for (int second = 120; second < 150; second++) { // one that comes and goes
        said += log_limit_begin(&limit, second * NS_PER_S);
        said += log_limit_end(&limit, second * NS_PER_S, &left_out);
    }
    assert_int_equal(said, 10);
    assert_false(log_limit_end(&limit, 179 * NS_PER_S, &left_out));
    assert_true(log_limit_end(&limit, 180 * NS_PER_S, &left_out));
    assert_int_equal(left_out, 25);
    assert_false(log_limit_end(&limit, 300 * NS_PER_S, &left_out));
}

RUN_TESTS(NULL, NULL)

TEST(test_lines_that_stand_alone_are_thirty_a_minute_and_say_how_many_were_left_out)
{
    struct log_limit limit = {0};
    char suffix[LOG_LIMIT_SUFFIX_SIZE];
    unsigned said = 0;

    for (int i = 0; i < 5000; i++)
        said += log_limit_line(&limit, NS_PER_S + i, suffix);
    assert_int_equal(said, 30);
    assert_true(log_limit_line(&limit, 61 * NS_PER_S, suffix));
    assert_string_equal(suffix, " (4970 such lines were left out)");
    assert_true(log_limit_line(&limit, 61 * NS_PER_S, suffix));
    assert_string_equal(suffix, "");
}
