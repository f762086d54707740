// The link to the recorder, whose part the test plays on a socket: questions get their answers or
// learn that there are none, and a recorder that goes, lies or is of another version is replaced.

#include "daemon/front/supervise/process.h"
#include "daemon/front/supervise/recorder.h"
#include "tests/unit/caught_stderr.h"
#include "tests/unit/stopwatch.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <glib.h>
#include <sys/socket.h>
#include <sys/un.h>

struct fixture {
    char folder[40], socket[64];
    int listening;
    struct link *peer; // the recorder's end
    struct recorder *recorder;
    struct link_header headers[128]; // of messages that the recorder got
    unsigned header_count;
    struct record_storage storage; // it was told
    unsigned connected, writable, clips;
    unsigned answers, refusals; // to questions
    uint64_t last_id;           // of the last clip in an answer
};

static void note_clip(void *context, const struct record_clip *clip)
{
    struct fixture *fixture = context;

    fixture->clips++;
    fixture->last_id = clip->id;
    assert_int_equal(strlen(clip->camera), RECORD_NAME_SIZE - 1);
}

static void note_connected(void *context)
{
    ((struct fixture *)context)->connected++;
}

static void note_writable(void *context)
{
    ((struct fixture *)context)->writable++;
}

static void listen_at(struct fixture *fixture)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    strcpy(address.sun_path, fixture->socket);
    unlink(fixture->socket);
    fixture->listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(fixture->listening, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fixture->listening, 4), 0);
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    const struct recorder_events events = {note_clip, note_connected, note_writable, fixture};
    struct config *config;

    strcpy(fixture->folder, "/tmp/edged-recorder-XXXXXX");
    assert_non_null(mkdtemp(fixture->folder));
    snprintf(fixture->socket, sizeof fixture->socket, "%s/socket", fixture->folder);
    setenv("EDGED_RECORDER", fixture->socket, 1);
    listen_at(fixture);
    fixture->recorder = recorder_new(&events);
    assert_int_equal(config_parse("storage = { path = \"/clips\"; max_size = \"16G\"; "
                                  "max_age_days = 2; };",
                                  "test", stderr, &config),
                     0);
    recorder_configure(fixture->recorder, config);
    config_free(config);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    recorder_free(fixture->recorder);
    link_free(fixture->peer);
    close(fixture->listening);
    unlink(fixture->socket);
    rmdir(fixture->folder);
    free(fixture);
    return 0;
}

static int note_message(void *context, struct link_message *message)
{
    struct fixture *fixture = context;

    assert_true(fixture->header_count < ARRAY_LENGTH(fixture->headers));
    fixture->headers[fixture->header_count++] = message->header;
    if (message->header.type == RECORD_STORAGE) {
        assert_int_equal(message->header.size, sizeof fixture->storage);
        memcpy(&fixture->storage, message->payload, sizeof fixture->storage);
    }
    return 0;
}

static void say(struct fixture *fixture, enum link_type type, const void *bytes, size_t size)
{
    assert_int_equal(link_send_bytes(fixture->peer, type, 0, bytes, size), 0);
}

// Lets the front and the recorder read what is there.
static void go_on(struct fixture *fixture)
{
    for (int i = 0; i < 8; i++) {
        g_main_context_iteration(NULL, FALSE);
        if (fixture->peer) {
            link_receive(fixture->peer, note_message, fixture);
            link_flush(fixture->peer);
        }
    }
}

// Takes the front's connection, and says hello.
static void greet(struct fixture *fixture, const char *version)
{
    int fd = -1;

    for (int64_t end_ns = clock_now_ns() + PATIENCE_NS; fd < 0 && clock_now_ns() < end_ns;) {
        g_main_context_iteration(NULL, FALSE);
        fd = accept(fixture->listening, NULL, NULL);
    }
    assert_true(fd >= 0);
    fixture->header_count = 0;
    assert_int_equal(link_new(fd, 1 << 20, &fixture->peer), 0);
    say(fixture, RECORD_HELLO, version, strlen(version));
    go_on(fixture);
}

static void hang_up(struct fixture *fixture)
{
    link_free(TAKE(fixture->peer));
    go_on(fixture);
}

static bool note_answer(void *context, const struct link_message *message)
{
    struct fixture *fixture = context;

    if (!message) {
        fixture->refusals++;
        return false;
    }
    fixture->answers++;
    if (message->header.type == RECORD_CLIPS) {
        const struct record_clips *clips = (const void *)message->payload;

        fixture->last_id = ((const struct record_clip *)(clips + 1))->id;
        return clips->more != 0;
    }
    return false;
}

static uint32_t ask_for_list(struct fixture *fixture)
{
    struct record_list question = {.count = 10};
    uint32_t request = recorder_ask(fixture->recorder, RECORD_LIST, 0, &question, sizeof question,
                                    note_answer, fixture);

    assert_int_equal(question.request, request ? request : question.request);
    return request;
}

static void answer_with_clip(struct fixture *fixture, uint32_t request, uint64_t id, bool more)
{
    struct {
        struct record_clips head;
        struct record_clip clip;
    } answer = {{request, 1, more}, {.id = id}};

    say(fixture, RECORD_CLIPS, &answer, sizeof answer);
    go_on(fixture);
}

TEST(test_a_recorder_that_is_wanted_is_told_the_storage_first, set_up, tear_down)
{
    struct fixture *fixture = *state;

    recorder_want(fixture->recorder, true);
    greet(fixture, EDGED_VERSION);
    assert_int_equal(fixture->connected, 1);
    assert_true(fixture->header_count >= 2);
    assert_int_equal(fixture->headers[0].type, RECORD_HELLO);
    assert_int_equal(fixture->headers[1].type, RECORD_STORAGE);
    assert_string_equal(fixture->storage.path, "/clips");
    assert_int_equal(fixture->storage.max_bytes, UINT64_C(16000000000));
    assert_int_equal(fixture->storage.min_free_bytes, 0);
    assert_int_equal(fixture->storage.max_age_ns, INT64_C(172800) * NS_PER_S);
    assert_string_equal(recorder_fault(fixture->recorder), "");
}

TEST(test_a_question_connects_and_gets_its_own_answer_in_parts, set_up, tear_down)
{
    struct fixture *fixture = *state;
    uint32_t first = ask_for_list(fixture), second = ask_for_list(fixture);

    assert_true(first > 0 && second > first);
    greet(fixture, EDGED_VERSION);
    answer_with_clip(fixture, second, 7, false);
    assert_int_equal(fixture->last_id, 7);
    answer_with_clip(fixture, first, 5, true);
    answer_with_clip(fixture, first, 4, false);
    answer_with_clip(fixture, first, 3, false); // it is over
    assert_int_equal(fixture->answers, 3);
    assert_int_equal(fixture->last_id, 4);
}

TEST(test_a_question_that_is_forgotten_hears_nothing, set_up, tear_down)
{
    struct fixture *fixture = *state;
    uint32_t request = ask_for_list(fixture);

    greet(fixture, EDGED_VERSION);
    recorder_forget(fixture->recorder, request);
    answer_with_clip(fixture, request, 5, false);
    hang_up(fixture);
    assert_int_equal(fixture->answers + fixture->refusals, 0);
}

TEST(test_of_65_questions_one_is_refused_and_all_learn_that_the_recorder_has_gone, set_up,
     tear_down)
{
    struct fixture *fixture = *state;

    for (unsigned i = 0; i < 64; i++)
        assert_int_not_equal(ask_for_list(fixture), 0);
    assert_int_equal(ask_for_list(fixture), 0);
    greet(fixture, EDGED_VERSION);
    hang_up(fixture);
    assert_int_equal(fixture->refusals, 64);
    assert_int_equal(ask_for_list(fixture), 0); // a pause comes first
}

TEST(test_a_question_without_an_answer_is_given_up_after_5_s, set_up, tear_down)
{
    struct fixture *fixture = *state;
    int64_t asked_ns = clock_now_ns();

    ask_for_list(fixture);
    greet(fixture, EDGED_VERSION);
    while (!fixture->refusals && clock_now_ns() - asked_ns < PATIENCE_NS)
        g_main_context_iteration(NULL, TRUE);
    assert_int_equal(fixture->refusals, 1);
    assert_lasted(asked_ns, 5 * NS_PER_S - 100 * NS_PER_MS, 7 * NS_PER_S);
}

TEST(test_a_recorder_that_went_is_connected_to_again_and_told_of_once, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct record_state_report report = {.state = RECORD_READY, .clips = 3};
    char text[512];

    recorder_want(fixture->recorder, true);
    greet(fixture, EDGED_VERSION);
    say(fixture, RECORD_STATE, &report, sizeof report);
    go_on(fixture);
    assert_int_equal(recorder_state(fixture->recorder)->clips, 3);

    catch_stderr();
    hang_up(fixture);
    assert_null(recorder_state(fixture->recorder));
    assert_string_equal(recorder_fault(fixture->recorder),
                        "the recorder has closed its connection");
    greet(fixture, EDGED_VERSION);
    rewind(caught);
    text[fread(text, 1, sizeof text - 1, caught)] = 0;
    release_stderr();
    assert_int_equal(fixture->connected, 2);
    assert_non_null(strstr(text, "closed its connection, nothing is recorded, trying again in 0.1 "
                                 "s"));
    assert_non_null(strstr(text, "the recorder is there again"));
}

TEST(test_one_of_another_version_or_that_lies_is_hung_up_on, set_up, tear_down)
{
    static const struct {
        enum link_type type;
        size_t size;
        const char *fault;
    } lies[] = {{RECORD_STATE, 8, "sent a bad state message of 8 bytes"},
                {RECORD_CLIP, 8, "sent a bad clip message of 8 bytes"},
                {RECORD_CLIPS, 40, "sent a bad clips message of 40 bytes"},
                {RECORD_BYTES, sizeof(struct record_bytes) + 1, "sent a bad bytes message of "},
                {RECORD_DONE, 12, "sent a bad done message of 12 bytes"},
                {RECORD_HELLO, 5, "sent a second hello"},
                {LINK_TELEMETRY, 0, "sent a message of type "}};
    static const uint8_t zeros[64];
    struct fixture *fixture = *state;

    catch_stderr();
    recorder_want(fixture->recorder, true);
    greet(fixture, "0.0");
    assert_non_null(strstr(recorder_fault(fixture->recorder), "is of version 0.0 and this "));
    hang_up(fixture);
    for (size_t i = 0; i < ARRAY_LENGTH(lies); i++) {
        greet(fixture, EDGED_VERSION);
        assert_string_equal(recorder_fault(fixture->recorder), "");
        say(fixture, lies[i].type, zeros, lies[i].size);
        go_on(fixture);
        assert_non_null(strstr(recorder_fault(fixture->recorder), lies[i].fault));
        hang_up(fixture);
    }
    release_stderr();
}

TEST(test_a_clip_is_told_with_texts_that_end, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct record_clip clip = {.id = 9};

    memset(clip.camera, 'x', sizeof clip.camera);
    recorder_want(fixture->recorder, true);
    greet(fixture, EDGED_VERSION);
    say(fixture, RECORD_CLIP, &clip, sizeof clip);
    go_on(fixture);
    assert_int_equal(fixture->clips, 1);
    assert_int_equal(fixture->last_id, 9);
}

TEST(test_video_fills_the_queue_and_a_question_finds_room, set_up, tear_down)
{
    static uint8_t video[100000];
    struct iovec piece = {video, sizeof video};
    struct fixture *fixture = *state;
    unsigned sent = 0;

    recorder_want(fixture->recorder, true);
    greet(fixture, EDGED_VERSION);
    while (recorder_send(fixture->recorder, RECORD_UNIT, 1, &piece, 1) == 0)
        sent++;
    assert_in_range(sent, 10, 100);
    assert_int_not_equal(ask_for_list(fixture), 0);
    assert_int_equal(fixture->writable, 0);
    for (int i = 0; i < 10000 && !fixture->writable; i++)
        go_on(fixture);
    assert_int_equal(fixture->writable, 1);
}

RUN_TESTS(NULL, NULL)
