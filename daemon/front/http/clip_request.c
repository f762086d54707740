#include "daemon/front/http/clip_request.h"

#include "daemon/front/http/http_share.h"

#include <errno.h>

struct clip_request *clip_request_new(const struct http_call *call)
{
    struct clip_request *asked = g_new0(struct clip_request, 1);

    asked->model = call->model;
    asked->recorder = call->model->recorder;
    asked->server = call->server;
    asked->role = call->role;
    asked->bytes = g_byte_array_new();
    asked->list = g_string_new(NULL);
    return asked;
}

void clip_request_free(void *context)
{
    struct clip_request *asked = context;

    recorder_forget(asked->recorder, asked->question);
    g_clear_handle_id(&asked->timer, g_source_remove);
    tracks_leave(&asked->begun);
    g_byte_array_unref(asked->bytes);
    g_string_free(asked->list, TRUE);
    g_clear_pointer(&asked->lanes, g_ptr_array_unref);
    g_free(asked);
}

HTTP_RESULT clip_request_refuse(const struct http_call *call, struct clip_request *asked,
                                unsigned status, const char *sentence)
{
    HTTP_RESULT result = http_refuse_text(call->connection, status, sentence);

    clip_request_free(asked);
    return result;
}

bool clip_request_shows(const struct clip_request *asked, const char *camera, const char *view)
{
    return asked->role >= CONFIG_ROLE_ADMIN ||
           lookup_view(asked->model->cameras, asked->role, camera, view, NULL);
}

// Answers of the recorder
// ---------------------------------------------------------------------

// Whether more is to come.
static bool take_clips(struct clip_request *asked, const struct record_clips *head)
{
    const struct record_clip *clips = (const struct record_clip *)(head + 1);

    for (unsigned i = 0; i < head->count; i++) {
        asked->clip = clips[i];
        asked->count++;
        if (asked->take)
            asked->take(asked);
    }
    return head->more;
}

static bool take_lane(struct clip_request *asked, const struct link_message *message)
{
    const struct record_lane *head = (const struct record_lane *)message->payload;

    if (asked->take_lane) {
        asked->take_lane(asked, head, message->payload + sizeof *head,
                         message->header.size - sizeof *head);
    }
    return head->more;
}

static bool take_message(struct clip_request *asked, const struct link_message *message)
{
    const void *payload = message->payload;

    if (message->header.type == RECORD_CLIPS)
        return take_clips(asked, payload);
    if (message->header.type == RECORD_LANE)
        return take_lane(asked, message);
    if (message->header.type == RECORD_DONE) {
        asked->done = *(const struct record_done *)payload;
    } else {
        asked->told = *(const struct record_bytes *)payload;
        g_byte_array_set_size(asked->bytes, 0);
        g_byte_array_append(asked->bytes, message->payload + sizeof asked->told, asked->told.size);
    }
    return false;
}

// The link calls it, so the time that it takes is counted as the HTTP server's.
static bool on_answer(void *context, const struct link_message *message)
{
    struct clip_request *asked = context;
    int64_t begin_ns = http_share_computed_ns();
    bool goes_on = message && take_message(asked, message);

    http_server_charge(asked->server, http_share_computed_ns() - begin_ns);
    asked->is_answered = message; // of a list: also the last part of it
    if (goes_on)
        return true;
    asked->question = 0;
    http_stream_wake(asked->waiter);
    return false;
}

// Asking
// ---------------------------------------------------------------------

HTTP_RESULT clip_request_ask(const struct http_call *call, struct clip_request *asked,
                             enum link_type type, uint32_t view, void *question, size_t size,
                             clip_step *next)
{
    const struct http_stream_source source = {.release = clip_request_free, .context = asked};

    asked->next = next;
    asked->is_answered = false;
    asked->count = 0;
    asked->question = recorder_ask(asked->recorder, type, view, question, size, on_answer, asked);
    if (!asked->question) {
        return clip_request_refuse(call, asked, MHD_HTTP_SERVICE_UNAVAILABLE,
                                   "the recorder cannot be asked now; try again later");
    }
    return http_wait(call->server, call->request, &source, &asked->waiter);
}

static void on_clip(void *context)
{
    const struct clip_request *asked = context;

    http_stream_wake(asked->waiter);
}

static gboolean on_late(gpointer data)
{
    struct clip_request *asked = data;

    asked->timer = 0;
    http_stream_wake(asked->waiter);
    return G_SOURCE_REMOVE;
}

HTTP_RESULT clip_request_wait(const struct http_call *call, struct clip_request *asked,
                              clip_step *next)
{
    const struct http_stream_source source = {.release = clip_request_free, .context = asked};
    int64_t left_ms = MAX((asked->until_ns - clock_now_ns()) / NS_PER_MS, 0);

    asked->next = next;
    asked->is_answered = true;
    if (!asked->timer)
        asked->timer = g_timeout_add((guint)left_ms, on_late, asked);
    if (!asked->begun.tracks) {
        asked->begun = (struct clip_waiter){.wake = on_clip, .context = asked};
        tracks_wait(call->model->tracks, &asked->begun);
    }
    return http_wait(call->server, call->request, &source, &asked->waiter);
}

// The number in a path; 0: it is none.
static uint64_t read_id(const char *text)
{
    guint64 id = 0;

    return g_ascii_string_to_unsigned(text, 10, 1, G_MAXINT64, &id, NULL) ? id : 0;
}

static HTTP_RESULT take_found(const struct http_call *call, struct clip_request *asked)
{
    const struct record_clip *clip = &asked->clip;

    if (asked->count == 0 || !clip_request_shows(asked, clip->camera, clip->view))
        return clip_request_refuse(call, asked, MHD_HTTP_NOT_FOUND, "there is no such clip");
    return asked->found(call, asked);
}

const char *clip_request_explain(const struct clip_request *asked)
{
    const struct recorder *recorder = asked->recorder;
    const struct record_state_report *state = recorder_state(recorder);

    if (state && state->state == RECORD_STOPPED)
        return state->sentence;
    return recorder_is_wanted(recorder)
               ? "the recorder is not ready yet; try again"
               : "no camera records (record.mode is \"off\"), and the recorder has just been "
                 "started to look for earlier clips; try again";
}

bool clip_request_continue(const struct http_call *call, HTTP_RESULT *ret_result)
{
    struct clip_request *asked = http_take_waiting(call->request);

    if (!asked)
        return false;
    recorder_forget(asked->recorder, asked->question); // the server ends before the answer
    asked->question = 0;
    if (!asked->is_answered) {
        *ret_result = clip_request_refuse(call, asked, MHD_HTTP_SERVICE_UNAVAILABLE,
                                          "the recorder does not answer; try again later");
    } else if (asked->done.error == -EAGAIN) { // in place of any answer
        *ret_result = clip_request_refuse(call, asked, MHD_HTTP_SERVICE_UNAVAILABLE,
                                          clip_request_explain(asked));
    } else {
        *ret_result = asked->next(call, asked);
    }
    return true;
}

HTTP_RESULT clip_request_find(const struct http_call *call, clip_step *found)
{
    struct record_find find = {.id = read_id(call->parameters[0])};
    struct clip_request *asked;
    HTTP_RESULT result;

    if (clip_request_continue(call, &result))
        return result;
    if (!find.id)
        return http_refuse_text(call->connection, MHD_HTTP_NOT_FOUND, "there is no such clip");
    asked = clip_request_new(call);
    asked->found = found;
    return clip_request_ask(call, asked, RECORD_FIND, 0, &find, sizeof find, take_found);
}
