#include "daemon/front/supervise/recorder.h"

#include "daemon/common/log.h"
#include "daemon/common/log_limit.h"
#include "daemon/common/service_files.h"
#include "daemon/front/supervise/process.h"

#include <errno.h>
#include <glib-unix.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

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
    struct link *link;      // owned; NULL: there is none
    bool greeted, blocked;  // it has said hello; something was not sent
    struct process process; // as long as it runs; none where systemd starts it
    char **secrets;         // owned; files that the process must not open; NULL: none
    struct error fault;     // why there is no link
    unsigned backoff_ms;    // the next pause
    struct log_limit log_limit;
    guint read_watch, write_watch, silence, retry; // GLib source ids; 0: none
    bool is_silent;                                // at the first look, which logs where it hangs
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
    g_clear_handle_id(&recorder->read_watch, g_source_remove);
    g_clear_handle_id(&recorder->write_watch, g_source_remove);
    g_clear_handle_id(&recorder->silence, g_source_remove);
    recorder->is_silent = false;
    link_free(TAKE(recorder->link));
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
    recorder->process.pid = 0;
    recorder->process.watch = 0;
    if (recorder->stopping)
        return;
    process_describe_end(status, how, sizeof how);
    error_set(&recorder->fault, 0, "the recorder %s", how);
    try_later(recorder);
    close_link(recorder);
}

// The recorder has closed the link, or is to be given up. on_child_exit() goes on where it is a
// process of ours.
static void lose_link(struct recorder *recorder, const char *why)
{
    error_set(&recorder->fault, 0, "the recorder %s", why);
    if (recorder->process.pid)
        kill(recorder->process.pid, SIGKILL);
    else
        try_later(recorder);
    close_link(recorder);
}

static gboolean on_silence(gpointer data)
{
    struct recorder *recorder = data;

    recorder->silence = 0;
    if (!recorder->is_silent) { // if the loop stood still, the link is read before the next look
        recorder->is_silent = true;
        if (recorder->process.pid)
            process_trace(&recorder->process, NULL);
        recorder->silence = g_timeout_add(PROCESS_TRACE_MS, on_silence, recorder);
        return G_SOURCE_REMOVE;
    }
    lose_link(recorder, "has said nothing for 10 s");
    return G_SOURCE_REMOVE;
}

// Messages of the recorder
// ---------------------------------------------------------------------

static int take_hello(struct recorder *recorder, const struct link_message *message)
{
    unsigned left_out;

    if (recorder->greeted || strcmp((const char *)message->payload, EDGED_VERSION) != 0)
        return -EPROTO;
    recorder->greeted = true;
    recorder->fault.text[0] = 0;
    if (log_limit_end(&recorder->log_limit, clock_now_ns(), &left_out))
        log_write(LOG_NOTICE, LOG_EVENT_RECORDER, NULL, "running", "the recorder is there again");
    return 0;
}

static int take_state(struct recorder *recorder, const struct link_message *message)
{
    if (message->header.size != sizeof recorder->state)
        return -EPROTO;
    memcpy(&recorder->state, message->payload, sizeof recorder->state);
    recorder->state.sentence[sizeof recorder->state.sentence - 1] = 0;
    recorder->has_state = true;
    g_clear_handle_id(&recorder->silence, g_source_remove);
    recorder->is_silent = false;
    recorder->silence = g_timeout_add(SILENCE_MS, on_silence, recorder);
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

static int take_clip(struct recorder *recorder, const struct link_message *message)
{
    struct record_clip clip;

    if (message->header.size != sizeof clip)
        return -EPROTO;
    memcpy(&clip, message->payload, sizeof clip);
    end_texts(&clip);
    recorder->events.clip(recorder->events.context, &clip);
    return 0;
}

static int take_clips(struct recorder *recorder, const struct link_message *message)
{
    struct record_clips *head = (struct record_clips *)message->payload;
    struct record_clip *clips = (struct record_clip *)(message->payload + sizeof *head);

    if (message->header.size < sizeof *head || head->count > RECORD_CLIPS_MAX ||
        message->header.size != sizeof *head + head->count * sizeof *clips) {
        return -EPROTO;
    }
    for (size_t i = 0; i < head->count; i++)
        end_texts(&clips[i]);
    take_answer(recorder, message, head->more != 0);
    return 0;
}

static int take_lane(struct recorder *recorder, const struct link_message *message)
{
    struct record_lane *head = (struct record_lane *)message->payload;

    if (message->header.size < sizeof *head ||
        message->header.size > sizeof *head + RECORD_STEPS_MAX + RECORD_DAYS_MAX) {
        return -EPROTO;
    }
    head->camera[sizeof head->camera - 1] = 0;
    head->view[sizeof head->view - 1] = 0;
    take_answer(recorder, message, head->more != 0);
    return 0;
}

static int take_bytes(struct recorder *recorder, const struct link_message *message)
{
    const struct record_bytes *head = (const struct record_bytes *)message->payload;

    if (message->header.size < sizeof *head || head->size > RECORD_BYTES_MAX ||
        message->header.size != sizeof *head + head->size) {
        return -EPROTO;
    }
    take_answer(recorder, message, false);
    return 0;
}

static int take_done(struct recorder *recorder, const struct link_message *message)
{
    struct record_done *done = (struct record_done *)message->payload;

    if (message->header.size != sizeof *done)
        return -EPROTO;
    done->sentence[sizeof done->sentence - 1] = 0;
    take_answer(recorder, message, false);
    return 0;
}

static int on_message(void *context, struct link_message *message)
{
    struct recorder *recorder = context;

    if (!recorder->greeted && message->header.type != RECORD_HELLO)
        return -EPROTO;
    switch (message->header.type) {
    case RECORD_HELLO:
        return take_hello(recorder, message);
    case RECORD_STATE:
        return take_state(recorder, message);
    case RECORD_CLIP:
        return take_clip(recorder, message);
    case RECORD_CLIPS:
        return take_clips(recorder, message);
    case RECORD_LANE:
        return take_lane(recorder, message);
    case RECORD_BYTES:
        return take_bytes(recorder, message);
    case RECORD_DONE:
        return take_done(recorder, message);
    default:
        return -EPROTO;
    }
}

static gboolean on_readable(gint fd, GIOCondition condition, gpointer data)
{
    struct recorder *recorder = data;
    int r = link_receive(recorder->link, on_message, recorder);

    (void)fd;
    (void)condition;
    if (r < 0) {
        lose_link(recorder, r == -EPIPE    ? "has closed its connection"
                            : r == -EPROTO ? "is of another version, or sent what is no message"
                                           : "cannot be heard");
    }
    return G_SOURCE_CONTINUE;
}

static gboolean on_writable(gint fd, GIOCondition condition, gpointer data)
{
    struct recorder *recorder = data;

    (void)fd;
    (void)condition;
    // A broken pipe shows up on the reading side too, where it is handled.
    if (link_flush(recorder->link) == 0 && link_wants_write(recorder->link))
        return G_SOURCE_CONTINUE;
    recorder->write_watch = 0;
    if (recorder->blocked) {
        recorder->blocked = false;
        recorder->events.writable(recorder->events.context);
    }
    return G_SOURCE_REMOVE;
}

// To connect
// ---------------------------------------------------------------------

static int connect_to(const char *path, struct error *error, int *ret_fd)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    _cleanup_(cleanup_close) int fd = -1;

    if (strlen(path) >= sizeof address.sun_path) {
        return error_set(error, -ENAMETOOLONG, "the recorder's socket %s has too long a path",
                         path);
    }
    strcpy(address.sun_path, path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        return error_set(error, -errno, "the recorder cannot be reached at %s: %s", path,
                         strerror(errno));
    }
    *ret_fd = TAKE_FD(fd);
    return 0;
}

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

static int reach(struct recorder *recorder, int *ret_fd)
{
    const char *path = getenv("EDGED_RECORDER");

    return path && *path ? connect_to(path, &recorder->fault, ret_fd)
                         : start_process(recorder, ret_fd);
}

// Connects to the recorder, unless it is connected, or a pause is not over.
static void open_link(struct recorder *recorder)
{
    const struct iovec version = {EDGED_VERSION, strlen(EDGED_VERSION)};
    const struct iovec storage = {&recorder->storage, sizeof recorder->storage};
    int fd;

    if (recorder->link || recorder->retry || recorder->process.pid || recorder->stopping)
        return;
    if (reach(recorder, &fd) < 0) {
        try_later(recorder);
        return;
    }
    if (link_new(fd, QUEUE_BYTES, &recorder->link) < 0) {
        g_error("no memory for a link"); // ends edged, as GLib does without memory
    }
    recorder->greeted = false;
    recorder->blocked = false;
    recorder->read_watch = g_unix_fd_add(fd, G_IO_IN | G_IO_HUP | G_IO_ERR, on_readable, recorder);
    recorder->silence = g_timeout_add(SILENCE_MS, on_silence, recorder);
    recorder_send(recorder, RECORD_HELLO, 0, &version, 1);
    recorder_send(recorder, RECORD_STORAGE, 0, &storage, 1);
    recorder->events.connected(recorder->events.context);
}

int recorder_send(struct recorder *recorder, enum link_type type, uint32_t view,
                  const struct iovec *pieces, int count)
{
    int r = recorder->link ? link_send(recorder->link, type, view, pieces, count) : -ENOTCONN;

    if (r == -ENOBUFS)
        recorder->blocked = true;
    if (recorder->link && !recorder->write_watch && link_wants_write(recorder->link)) {
        recorder->write_watch =
            g_unix_fd_add(link_fd(recorder->link), G_IO_OUT | G_IO_ERR, on_writable, recorder);
    }
    return r;
}

bool recorder_is_behind(const struct recorder *recorder)
{
    return recorder->link && link_wants_write(recorder->link);
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
    return recorder->link && recorder->greeted ? "" : recorder->fault.text;
}
