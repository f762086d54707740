// A motion event as JSON, in the journal and on a terminal.
#include "tests/unit/unit.h"

#include "config/base.h"
#include "daemon/common/log.h"
#include "daemon/front/events/motion.h"
#include "tests/unit/caught_stderr.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

// `date -u -d @1795252683` says Sat Nov 21 09:18:03 UTC 2026.
static const struct motion_event start = {
    .kind = MOTION_STARTED,
    .camera = "front",
    .region = "door",
    .number = 3,
    .started_ns = 100 * NS_PER_S,
    .at_ns = 101 * NS_PER_S + 500 * NS_PER_MS,
    .wall_ns = 1795252683 * NS_PER_S + 123456789,
    .share = 0.1f,
    .peak = 0.25,
    .box = {8, 16, 64, 48},
    .clip = 17,
};

static struct motion_event end_for(enum motion_reason reason)
{
    struct motion_event event = start;

    event.kind = MOTION_ENDED;
    event.reason = reason;
    event.at_ns = 104 * NS_PER_S + 250 * NS_PER_MS;
    event.share = 0;
    return event;
}

// Stands in for libsystemd's: writes the fields, one a line, to where stderr goes.
int sd_journal_sendv(const struct iovec *fields, int count)
{
    for (int i = 0; i < count; i++)
        dprintf(STDERR_FILENO, "%.*s\n", (int)fields[i].iov_len, (const char *)fields[i].iov_base);
    return 0;
}

// The log of `event`, from a child, because its way out is chosen once a process.
static char *logged(const struct motion_event *event, bool journal)
{
    static char text[4096];
    struct stat status;
    char stream[64];
    int exit_status;

    catch_stderr();
    assert_int_equal(fstat(STDERR_FILENO, &status), 0);
    snprintf(stream, sizeof stream, "%ju:%ju", (uintmax_t)status.st_dev,
             (uintmax_t)status.st_ino + (journal ? 0 : 1));
    setenv("JOURNAL_STREAM", stream, 1);
    pid_t pid = fork();
    if (pid == 0) {
        motion_log(event);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &exit_status, 0), pid);
    assert_int_equal(exit_status, 0);
    rewind(caught);
    text[fread(text, 1, sizeof text - 1, caught)] = 0;
    release_stderr();
    return text;
}

TEST(test_a_start_is_one_line_of_json)
{
    g_autofree char *json = motion_json(&start);

    assert_string_equal(json,
                        "{\"event\":\"motion_started\",\"camera\":\"front\",\"region\":\"door\","
                        "\"number\":3,\"time\":\"2026-11-21T09:18:03.123456Z\","
                        "\"time_ns\":1795252683123456789,"
                        "\"started\":\"2026-11-21T09:18:01.623456Z\","
                        "\"share\":0.1,\"peak\":0.25,"
                        "\"box\":{\"x\":8,\"y\":16,\"width\":64,\"height\":48},"
                        "\"clip\":\"/v1/clips/17.mp4\"}");
}

TEST(test_an_end_says_how_long_it_was_and_why)
{
    struct motion_event event = end_for(MOTION_STILL);
    g_autofree char *json = motion_json(&event);

    assert_non_null(strstr(json, "{\"event\":\"motion_ended\",\"camera\":\"front\""));
    assert_non_null(strstr(json, ",\"duration_s\":4.25,\"reason\":\"still\"}"));
}

TEST(test_the_journal_has_a_record_of_a_start)
{
    assert_string_equal(
        logged(&start, true),
        "MESSAGE=front: motion in door began: 10.0% of it, 64x48 pixels at 8,16 (event 3)\n"
        "PRIORITY=6\nSYSLOG_IDENTIFIER=edged\nMESSAGE_ID=46820a6b72f64345add212fd1b5c3727\n"
        "EDGED_CAMERA=front\nEDGED_STATE=moving\nEDGED_REGION=door\nEDGED_EVENT=3\n"
        "EDGED_SHARE=0.100000\nEDGED_PEAK=0.250000\nEDGED_BOX=8,16,64,48\n");
}

TEST(test_the_journal_has_a_record_of_an_end)
{
    struct motion_event event = end_for(MOTION_PROCESS_ENDED);

    assert_string_equal(
        logged(&event, true),
        "MESSAGE=front: motion in door ended after 4.2 s, at most 25.0% of it (event 3), because "
        "the camera process ended\n"
        "PRIORITY=6\nSYSLOG_IDENTIFIER=edged\nMESSAGE_ID=b73060563b314ac080d4318b30856d9e\n"
        "EDGED_CAMERA=front\nEDGED_STATE=process-ended\nEDGED_REGION=door\nEDGED_EVENT=3\n"
        "EDGED_SHARE=0.000000\nEDGED_PEAK=0.250000\nEDGED_BOX=8,16,64,48\n"
        "EDGED_DURATION_S=4.250\n");
}

TEST(test_a_terminal_has_one_line_an_event)
{
    struct motion_event event = end_for(MOTION_STILL);

    assert_string_equal(logged(&start, false), "edged: front: motion in door began: 10.0% of it, "
                                               "64x48 pixels at 8,16 (event 3)\n");
    assert_string_equal(
        logged(&event, false),
        "edged: front: motion in door ended after 4.2 s, at most 25.0% of it (event 3)\n");
}

RUN_TESTS(NULL, NULL)
