#include "daemon/front/supervise/recorder.h"

#include "daemon/common/log.h"
#include "daemon/common/log_limit.h"
#include "daemon/common/service_files.h"
#include "daemon/front/supervise/process.h"
#include "daemon/link/link_end.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define QUEUE_BYTES (1u << 20)
#define QUESTIONS_MAX 64
#define ANSWER_MS 5000
#define SILENCE_MS 10000
#define BACKOFF_FIRST_MS 100u
#define BACKOFF_LAST_MS 5000u

// One that waits for its answer.
struct recorder_question {
    struct recorder *recorder;
    uint32_t request; // 0: there is none
    recorder_answer *answer;
    void *context;
    guint timer; // when it is given up
};

struct recorder {
    struct recorder_events events;
    struct record_storage storage; // as it is told
    bool wanted, stopping;
    struct link_end end;
    struct process process; // as long as it runs; none where systemd starts it
    char **secrets;         // owned; files that the process must not open; NULL: none
    struct error fault;     // why there is no link
    unsigned backoff_ms;    // the next pause
    struct log_limit log_limit;
    guint retry, kill; // GLib source ids; 0: none
    struct record_state_report state;
    bool has_state;
    uint32_t requests; // numbers given so far
    struct recorder_question questions[QUESTIONS_MAX];
};

// Questions
// ---------------------------------------------------------------------

static struct recorder_question *find_question(struct recorder *recorder, uint32_t request)
{
    for (size_t i = 0; i < QUESTIONS_MAX; i++) {
        if (recorder->questions[i].request == request)
            return &recorder->questions[i];
    }
    return NULL;
}

static void drop_question(struct recorder_question *question)
{
    g_clear_handle_id(&question->timer, g_source_remove);
    question->request = 0;
}

static void give_up_question(struct recorder_question *question)
{
    struct recorder_question asked = *question;

    drop_question(question);
    asked.answer(asked.context, NULL);
}

static gboolean on_late(gpointer data)
{
    struct recorder_question *question = data;

    question->timer = 0;
    give_up_question(question);
    return G_SOURCE_REMOVE;
}

static void await_answer(struct recorder_question *question)
{
    g_clear_handle_id(&question->timer, g_source_remove);
    question->timer = g_timeout_add(ANSWER_MS, on_late, question);
}

// An answer may ask the next question, or forget this one.
static void take_answer(struct recorder *recorder, const struct link_message *message, bool more)
{
    uint32_t request;
    struct recorder_question *question;

    memcpy(&request, message->payload, sizeof request);
    question = request ? find_question(recorder, request) : NULL;
    if (!question) {
        return; // it was forgotten, or given up
    }
    struct recorder_question asked = *question;
    if (more) {
        await_answer(question);
        if (!asked.answer(asked.context, message))
            recorder_forget(recorder, request);
    } else {
        drop_question(question);
        asked.answer(asked.context, message);
    }
}

// The life of the link
// ---------------------------------------------------------------------

static gboolean on_retry(gpointer data)
{
    struct recorder *recorder = data;

    recorder->retry = 0;
    recorder_want(recorder, recorder->wanted);
    return G_SOURCE_REMOVE;
}

// Ends the link, and all that waits for an answer of it.
static void close_link(struct recorder *recorder)
{
    link_end_close(&recorder->end);
    recorder->has_state = false;
    for (size_t i = 0; i < QUESTIONS_MAX; i++) {
        if (recorder->questions[i].request)
            give_up_question(&recorder->questions[i]);
    }
}

// There is no recorder, for the reason in `fault`. The next one is tried after a pause, also where
// somebody asks something meanwhile.
static void try_later(struct recorder *recorder)
{
    unsigned delay_ms = recorder->backoff_ms;

    recorder->backoff_ms = MIN(2 * delay_ms, BACKOFF_LAST_MS);
    g_clear_handle_id(&recorder->retry, g_source_remove);
    recorder->retry = g_timeout_add(delay_ms, on_retry, recorder);
    if (recorder->wanted && log_limit_begin(&recorder->log_limit, clock_now_ns())) {
        log_write(LOG_WARNING, LOG_EVENT_RECORDER, NULL, "gone",
                  "%s, nothing is recorded, trying again in %.1f s", recorder->fault.text,
                  delay_ms / 1e3);
    }
}

static void on_child_exit(GPid pid, gint status, gpointer data)
{
    struct recorder *recorder = data;
    char how[128];

    g_spawn_close_pid(pid);
    g_clear_handle_id(&recorder->kill, g_source_remove);
    recorder->process.pid = 0;
    recorder->process.watch = 0;
    if (recorder->stopping)
        return;
    process_describe_end(status, how, sizeof how);
    error_set(&recorder->fault, 0, "the recorder %s", how);
    try_later(recorder);
    close_link(recorder);
}

static gboolean on_kill(gpointer data)
{
    struct recorder *recorder = data;

    recorder->kill = 0;
    process_kill(&recorder->process);
    return G_SOURCE_REMOVE;
}

// The recorder has closed the link, or is to be given up. on_child_exit() goes on where it is a
// process of ours, which leaves a trace first if it hangs.
static void on_ended(void *context, int reason, const char *sentence)
{
    struct recorder *recorder = context;

    error_set(&recorder->fault, 0, "the recorder %s", sentence);
    if (!recorder->process.pid) {
        try_later(recorder);
    } else if (reason == -ETIME) {
        process_trace(&recorder->process, NULL);
        recorder->kill = g_timeout_add(PROCESS_TRACE_MS, on_kill, recorder);
    } else {
        process_kill(&recorder->process);
    }
    close_link(recorder);
}

static void on_writable(void *context)
{
    const struct recorder *recorder = context;

    recorder->events.writable(recorder->events.context);
}

// Messages of the recorder
// ---------------------------------------------------------------------

static int take_hello(void *context, struct link_message *message)
{
    struct recorder *recorder = context;
    unsigned left_out;

    (void)message;
    recorder->fault.text[0] = 0;
    if (log_limit_end(&recorder->log_limit, clock_now_ns(), &left_out))
        log_write(LOG_NOTICE, LOG_EVENT_RECORDER, NULL, "running", "the recorder is there again");
    return 0;
}

static int take_state(void *context, struct link_message *message)
{
    struct recorder *recorder = context;

    memcpy(&recorder->state, message->payload, sizeof recorder->state);
    recorder->state.sentence[sizeof recorder->state.sentence - 1] = 0;
    recorder->has_state = true;
    link_end_expect(&recorder->end, SILENCE_MS);
    if (recorder->state.state == RECORD_READY)
        recorder->backoff_ms = BACKOFF_FIRST_MS;
    return recorder->state.state <= RECORD_STOPPED ? 0 : -EPROTO;
}

#define LEAVE_VALUE(...)
#define END_TEXT(size, member, ...) clip->member[(size)-1] = 0;
static void end_texts(struct record_clip *clip)
{
    CLIP_FACTS(LEAVE_VALUE, END_TEXT)
}

static int take_clip(void *context, struct link_message *message)
{
    const struct recorder *recorder = context;
    struct record_clip *clip = (struct record_clip *)message->payload;

    end_texts(clip);
    recorder->events.clip(recorder->events.context, clip);
    return 0;
}

static int take_clips(void *context, struct link_message *message)
{
    struct record_clips *head = (struct record_clips *)message->payload;
    struct record_clip *clips = (struct record_clip *)(message->payload + sizeof *head);

    if (head->count > RECORD_CLIPS_MAX ||
        message->header.size != sizeof *head + head->count * sizeof *clips) {
        return -EPROTO;
    }
    for (size_t i = 0; i < head->count; i++)
        end_texts(&clips[i]);
    take_answer(context, message, head->more != 0);
    return 0;
}

static int take_lane(void *context, struct link_message *message)
{
    struct record_lane *head = (struct record_lane *)message->payload;

    if (message->header.size > sizeof *head + RECORD_STEPS_MAX + RECORD_DAYS_MAX)
        return -EPROTO;
    head->camera[sizeof head->camera - 1] = 0;
    head->view[sizeof head->view - 1] = 0;
    take_answer(context, message, head->more != 0);
    return 0;
}

static int take_bytes(void *context, struct link_message *message)
{
    const struct record_bytes *head = (const struct record_bytes *)message->payload;

    if (head->size > RECORD_BYTES_MAX || message->header.size != sizeof *head + head->size)
        return -EPROTO;
    take_answer(context, message, false);
    return 0;
}

static int take_done(void *context, struct link_message *message)
{
    struct record_done *done = (struct record_done *)message->payload;

    done->sentence[sizeof done->sentence - 1] = 0;
    take_answer(context, message, false);
    return 0;
}

static const struct link_protocol protocol = {
    .kinds =
        {
            [RECORD_HELLO] = {"hello", take_hello, 0, true},
            [RECORD_STATE] = {"state", take_state, sizeof(struct record_state_report), false},
            [RECORD_CLIP] = {"clip", take_clip, sizeof(struct record_clip), false},
            [RECORD_CLIPS] = {"clips", take_clips, sizeof(struct record_clips), true},
            [RECORD_LANE] = {"lane", take_lane, sizeof(struct record_lane), true},
            [RECORD_BYTES] = {"bytes", take_bytes, sizeof(struct record_bytes), true},
            [RECORD_DONE] = {"done", take_done, sizeof(struct record_done), false},
        },
    .hello = RECORD_HELLO,
    .queue_bytes = QUEUE_BYTES,
    .ended = on_ended,
    .writable = on_writable,
};

// To connect
// ---------------------------------------------------------------------

static int start_process(struct recorder *recorder, int *ret_fd)
{
    const char *const arguments[] = {"edged-recorder", "--fd", "3", recorder->storage.path, NULL};
    _cleanup_(cleanup_free) char *program = NULL;
    int r =
        process_find_program(arguments[0], "EDGED_RECORDER_PROGRAM", &recorder->fault, &program);

    return r < 0 ? r
                 : process_spawn(&recorder->process, program, arguments, recorder->secrets,
                                 on_child_exit, recorder, &recorder->fault, ret_fd);
}

// As a service the recorder listens already; otherwise it is started.
static int reach(struct recorder *recorder, int *ret_fd)
{
    const char *path = getenv("EDGED_RECORDER");

    if (!*recorder->storage.path) {
        return error_set(&recorder->fault, -ENOENT,
                         "no place for clips: set storage.path, STATE_DIRECTORY, XDG_STATE_HOME or "
                         "HOME");
    }
    if (!path || !*path)
        return start_process(recorder, ret_fd);
    int r = process_connect(path, ret_fd);
    return r < 0 ? error_set(&recorder->fault, r, "the recorder cannot be reached at %s: %s", path,
                             strerror(-r))
                 : 0;
}

// Connects to the recorder, unless it is connected, or a pause is not over.
static void open_link(struct recorder *recorder)
{
    const struct iovec storage = {&recorder->storage, sizeof recorder->storage};
    int fd;

    if (recorder->end.link || recorder->retry || recorder->process.pid || recorder->stopping)
        return;
    if (reach(recorder, &fd) < 0) {
        try_later(recorder);
        return;
    }
    if (link_end_open(&recorder->end, fd, &protocol, recorder) < 0) {
        g_error("no memory for a link"); // ends edged, as GLib does without memory
    }
    link_end_expect(&recorder->end, SILENCE_MS);
    link_end_send_hello(&recorder->end);
    recorder_send(recorder, RECORD_STORAGE, 0, &storage, 1);
    recorder->events.connected(recorder->events.context);
}

int recorder_send(struct recorder *recorder, enum link_type type, uint32_t view,
                  const struct iovec *pieces, int count)
{
    return link_end_send(&recorder->end, type, view, pieces, count);
}

bool recorder_is_behind(const struct recorder *recorder)
{
    return recorder->end.link && link_wants_write(recorder->end.link);
}

uint32_t recorder_ask(struct recorder *recorder, enum link_type type, uint32_t view, void *question,
                      size_t size, recorder_answer *answer, void *context)
{
    struct recorder_question *free_one = find_question(recorder, 0);
    const struct iovec piece = {question, size};
    uint32_t request = recorder->requests + 1 ? recorder->requests + 1 : 1;

    open_link(recorder);
    memcpy(question, &request, sizeof request);
    if (!free_one || recorder_send(recorder, type, view, &piece, 1) < 0)
        return 0;
    recorder->requests = request;
    *free_one = (struct recorder_question){recorder, request, answer, context, 0};
    await_answer(free_one);
    return request;
}

void recorder_forget(struct recorder *recorder, uint32_t request)
{
    struct recorder_question *question = request ? find_question(recorder, request) : NULL;

    if (question)
        drop_question(question);
}

// Its life
// ---------------------------------------------------------------------

struct recorder *recorder_new(const struct recorder_events *events)
{
    struct recorder *recorder = g_new0(struct recorder, 1);

    recorder->events = *events;
    recorder->backoff_ms = BACKOFF_FIRST_MS;
    process_init(&recorder->process);
    return recorder;
}

void recorder_stop(struct recorder *recorder)
{
    recorder->stopping = true;
    g_clear_handle_id(&recorder->retry, g_source_remove);
    close_link(recorder);
}

bool recorder_is_stopped(const struct recorder *recorder)
{
    return !recorder->process.pid;
}

void recorder_free(struct recorder *recorder)
{
    if (!recorder)
        return;
    recorder_stop(recorder);
    g_clear_handle_id(&recorder->kill, g_source_remove);
    process_finish(&recorder->process);
    g_strfreev(recorder->secrets);
    g_free(recorder);
}

static void read_size(const char *text, uint64_t *ret_bytes)
{
    *ret_bytes = 0;
    if (*text) {
        config_read_size(text, ret_bytes); // the configuration has only those that can be read
    }
}

void recorder_set_secrets(struct recorder *recorder, char **secrets)
{
    g_strfreev(recorder->secrets);
    recorder->secrets = secrets;
}

void recorder_configure(struct recorder *recorder, const struct config *config)
{
    struct record_storage *storage = &recorder->storage;
    _cleanup_(cleanup_free) char *usual = NULL;
    const char *path = config->storage.path;

    if (!*path && state_path("clips", &usual) == 0)
        path = usual;
    snprintf(storage->path, sizeof storage->path, "%s", path);
    read_size(config->storage.max_size, &storage->max_bytes);
    read_size(config->storage.min_free, &storage->min_free_bytes);
    storage->max_age_ns = config->storage.max_age_days * (24 * 3600 * NS_PER_S);
}

const struct record_storage *recorder_storage(const struct recorder *recorder)
{
    return &recorder->storage;
}

bool recorder_is_wanted(const struct recorder *recorder)
{
    return recorder->wanted;
}

void recorder_want(struct recorder *recorder, bool wanted)
{
    recorder->wanted = wanted;
    if (wanted)
        open_link(recorder);
}

const struct record_state_report *recorder_state(const struct recorder *recorder)
{
    return recorder->has_state ? &recorder->state : NULL;
}

const char *recorder_fault(const struct recorder *recorder)
{
    return recorder->end.greeted ? "" : recorder->fault.text;
}
