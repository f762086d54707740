// A request about clips, whose connection is suspended until edged-recorder answers (recorder.h).
// Its route is called again with each answer, and goes on where it was: it asks the next question,
// or replies.
//
// A clip is shown to those who may watch its view; if that view is no longer configured, to
// administrators. For all others it does not exist.
#pragma once

#include "daemon/front/http/http_call.h"
#include "daemon/front/model/tracks.h"
#include "daemon/front/supervise/recorder.h"

struct clip_request;

// Replies, or asks the next question. Takes over `asked`.
typedef HTTP_RESULT clip_step(const struct http_call *call, struct clip_request *asked);

struct clip_request {
    struct recorder *recorder;  // borrowed
    struct http_server *server; // borrowed
    uint32_t question;          // under way; 0: none
    struct http_stream *waiter; // borrowed
    clip_step *next;            // what is done with the answer
    clip_step *found;           // what is done with the clip that was to be found
    bool is_answered;

    struct record_clip clip;  // the last one of RECORD_CLIPS
    unsigned count;           // of clips in RECORD_CLIPS
    struct record_done done;  // RECORD_DONE
    struct record_bytes told; // RECORD_BYTES
    GByteArray *bytes;        // what came with it; owned

    // Called for each clip; NULL: nobody asks for a list.
    void (*take)(struct clip_request *asked);
    // Called for each lane of a timeline, whose steps are `size` bytes; NULL: nobody asks for one.
    void (*take_lane)(struct clip_request *asked, const struct record_lane *lane,
                      const uint8_t *steps, size_t size);
    GPtrArray *lanes;          // what it makes of them; owned; NULL: none
    GString *list;             // what `take` makes of the clips; owned
    unsigned shown, limit;     // how many it made, and may make
    const struct model *model; // borrowed
    enum config_role role;     // of who asks

    // The question as it was read, of one kind.
    struct record_list query;
    struct record_timeline timeline; // up to `to_wall_ns`
    int64_t to_wall_ns;
    int64_t utc_offset_ns; // by how much the client's clock is ahead of UTC
    struct record_change change;
    struct record_trigger trigger; // of the track with this number
    uint32_t track;
    int64_t until_ns;         // the end of clip_request_wait()
    guint timer;              // GLib source id of that end; 0: it does not wait for it
    struct clip_waiter begun; // of a clip that is to begin
    uint64_t first, total;    // of a file: the byte that is asked for, and how many there are
};

struct clip_request *clip_request_new(const struct http_call *call);
void clip_request_free(void *asked);
// Goes on with a request that has waited. False: the request is new.
bool clip_request_continue(const struct http_call *call, HTTP_RESULT *ret_result);

// Asks the recorder as recorder_ask(), waits for the answer and has `next` called. Where the
// recorder cannot be asked or does not answer it replies 503. Takes over `asked`.
HTTP_RESULT clip_request_ask(const struct http_call *call, struct clip_request *asked,
                             enum link_type type, uint32_t view, void *question, size_t size,
                             clip_step *next);
// Has `next` called when a clip has begun or ended, and at `asked->until_ns`. Takes over `asked`.
HTTP_RESULT clip_request_wait(const struct http_call *call, struct clip_request *asked,
                              clip_step *next);
// Goes on with a request that has waited, or begins one about the clip whose id is the path's first
// parameter: has `found` called with that. Replies 404 where the client is shown none.
HTTP_RESULT clip_request_find(const struct http_call *call, clip_step *found);
// Whether the client is shown clips of a view.
bool clip_request_shows(const struct clip_request *asked, const char *camera, const char *view);
// Why the recorder cannot do now what it is asked.
const char *clip_request_explain(const struct clip_request *asked);
// Replies that something is wrong, and frees `asked`.
HTTP_RESULT clip_request_refuse(const struct http_call *call, struct clip_request *asked,
                                unsigned status, const char *sentence);
