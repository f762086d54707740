// An end of a link on the main loop, with a peer of the test's own: which messages it takes, and
// how it says that the link has ended.
#include "tests/unit/unit.h"

#include "daemon/link/link_end.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

struct fixture {
    struct link_end end;
    int peer;
    unsigned taken, writable, ended;
    int reason;
    char sentence[512];
};

static int take(void *context, struct link_message *message)
{
    struct fixture *fixture = context;

    fixture->taken++;
    return message->payload[0] == '!' ? -EPROTO : 0;
}

static int take_last(void *context, struct link_message *message)
{
    struct fixture *fixture = context;

    return error_set(&fixture->end.error, -ENODEV, "says: %s", (const char *)message->payload);
}

static int take_sign_of_life(void *context, struct link_message *message)
{
    struct fixture *fixture = context;

    (void)message;
    link_end_expect(&fixture->end, 60000);
    return 0;
}

static void on_ended(void *context, int reason, const char *sentence)
{
    struct fixture *fixture = context;

    fixture->ended++;
    fixture->reason = reason;
    g_strlcpy(fixture->sentence, sentence, sizeof fixture->sentence);
    link_end_close(&fixture->end);
}

static void on_writable(void *context)
{
    struct fixture *fixture = context;

    fixture->writable++;
}

static const struct link_protocol protocol = {
    .kinds =
        {
            [LINK_HELLO] = {"hello", NULL, 0, true},
            [LINK_SLATE] = {"slate", take, 3, true},
            [LINK_EVENT] = {"motion", take, 3, false},
            [LINK_FATAL] = {"fatal", take_last, 0, true},
            [LINK_TELEMETRY] = {"telemetry", take_sign_of_life, 0, false},
        },
    .hello = LINK_HELLO,
    .queue_bytes = 1000,
    .ended = on_ended,
    .writable = on_writable,
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(link_end_open(&fixture->end, fds[0], &protocol, fixture), 0);
    fixture->peer = fds[1];
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    link_end_close(&fixture->end);
    close(fixture->peer);
    free(fixture);
    return 0;
}

static void say(struct fixture *fixture, enum link_type type, const char *text)
{
    const struct link_header header = {.type = type, .size = (uint32_t)strlen(text)};

    assert_int_equal(write(fixture->peer, &header, sizeof header), sizeof header);
    assert_int_equal(write(fixture->peer, text, header.size), header.size);
}

static void hear(struct fixture *fixture)
{
    while (!fixture->ended && g_main_context_iteration(NULL, FALSE)) {
    }
}

TEST(test_each_message_is_held_against_the_table)
{
    static const struct {
        enum link_type type;
        const char *text, *sentence;
    } cases[] = {
        {LINK_SLATE, "123", NULL},
        {LINK_SLATE, "12345", NULL},
        {LINK_SLATE, "12", "sent a bad slate message of 2 bytes"},
        {LINK_EVENT, "123", NULL},
        {LINK_EVENT, "1234", "sent a bad motion message of 4 bytes"},
        {LINK_EVENT, "!23", "sent a bad motion message of 3 bytes"},
        {LINK_FATAL, "it is over", "says: it is over"},
        {LINK_HELLO, EDGED_VERSION, "sent a second hello"},
        {LINK_TUNE, "", "sent a message of type 8"},
        {LINK_TYPE_COUNT, "", "sent what is no message"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        set_up(state);
        struct fixture *fixture = *state;
        say(fixture, LINK_HELLO, EDGED_VERSION);
        say(fixture, cases[i].type, cases[i].text);
        hear(fixture);
        assert_string_equal(fixture->sentence, cases[i].sentence ? cases[i].sentence : "");
        assert_int_equal(fixture->ended, cases[i].sentence != NULL);
        tear_down(state);
    }
}

TEST(test_the_first_message_is_a_hello_of_this_version)
{
    set_up(state);
    struct fixture *fixture = *state;
    say(fixture, LINK_SLATE, "123");
    hear(fixture);
    assert_int_equal(fixture->reason, -EPROTO);
    assert_string_equal(fixture->sentence, "sent no hello first");
    assert_int_equal(fixture->taken, 0);
    tear_down(state);

    set_up(state);
    fixture = *state;
    say(fixture, LINK_HELLO, "0.0");
    hear(fixture);
    assert_int_equal(fixture->reason, -EPROTO);
    assert_string_equal(fixture->sentence, "is of version 0.0 and this program of " EDGED_VERSION);
    tear_down(state);
}

TEST(test_one_that_hangs_up_is_told_apart_from_one_that_is_silent, set_up, tear_down)
{
    struct fixture *fixture = *state;

    shutdown(fixture->peer, SHUT_RDWR);
    hear(fixture);
    assert_int_equal(fixture->reason, -EPIPE);
    assert_string_equal(fixture->sentence, "has closed its connection");
}

TEST(test_silence_ends_it_once_its_time_is_over, set_up, tear_down)
{
    struct fixture *fixture = *state;
    int64_t begin_ns = clock_now_ns();

    link_end_expect(&fixture->end, 1000);
    while (!fixture->ended)
        g_main_context_iteration(NULL, TRUE);
    assert_true(clock_now_ns() - begin_ns >= 990 * NS_PER_MS);
    assert_int_equal(fixture->reason, -ETIME);
    assert_string_equal(fixture->sentence, "has said nothing for 1 s");
}

// The loop stands still for longer than the other end may be silent, which has spoken meanwhile,
// and more than is read in one turn.
TEST(test_a_loop_that_stood_still_reads_before_it_calls_the_other_end_silent, set_up, tear_down)
{
    struct fixture *fixture = *state;

    say(fixture, LINK_HELLO, EDGED_VERSION);
    for (int i = 0; i < LINK_TURN_MESSAGES; i++)
        say(fixture, LINK_SLATE, "123");
    say(fixture, LINK_TELEMETRY, "");
    link_end_expect(&fixture->end, 1);
    usleep(20000);
    for (int i = 0; i < 100; i++)
        g_main_context_iteration(NULL, FALSE);
    assert_int_equal(fixture->ended, 0);
}

TEST(test_room_is_told_of_once_something_was_not_sent, set_up, tear_down)
{
    static uint8_t bytes[4000];
    const struct iovec piece = {bytes, sizeof bytes};
    struct fixture *fixture = *state;

    while (link_end_send(&fixture->end, LINK_SLATE, 1, &piece, 1) == 0) {
    }
    hear(fixture);
    assert_int_equal(fixture->writable, 0);
    while (recv(fixture->peer, bytes, sizeof bytes, MSG_DONTWAIT) > 0) {
    }
    for (int i = 0; i < 100 && !fixture->writable; i++)
        g_main_context_iteration(NULL, FALSE);
    assert_int_equal(fixture->writable, 1);
}

TEST(test_a_closed_end_sends_nothing)
{
    const struct iovec piece = {"1", 1};
    struct link_end end = {0};

    assert_int_equal(link_end_send(&end, LINK_SLATE, 1, &piece, 1), -ENOTCONN);
    link_end_close(&end);
}

RUN_TESTS(NULL, NULL)
