// Runs a channel: takes frames through its view and its encoder, and sends the access units over
// the link.
#include "daemon/camera/channel_private.h"

#include "daemon/common/log.h"

#include <errno.h>
#include <string.h>

int channel_new(uint32_t number, const struct channel_environment *environment,
                struct channel **ret_channel)
{
    struct channel *channel = calloc(1, sizeof *channel);

    if (!channel) {
        return -ENOMEM;
    }
    channel->references = 1;
    channel->number = number;
    channel->environment = environment;
    channel->encoder_name = "";
    channel->governed = "";
    *ret_channel = channel;
    return 0;
}

struct channel *channel_ref(struct channel *channel)
{
    channel->references++;
    return channel;
}

void channel_unref(struct channel *channel)
{
    if (channel && --channel->references == 0) {
        channel_abort(channel);
        channel_end_old_encoder(channel);
        channel_close(channel);
        channel_end_old_encoder(channel);
        free(channel);
    }
}

uint32_t channel_number(const struct channel *channel)
{
    return channel->number;
}

// Encoder's thread. A unit that the link cannot take is lost, and so are those after it up to a key
// frame, which need it.
void channel_send_unit(void *context, const struct encoder_unit *unit)
{
    struct channel *channel = context;
    struct iovec pieces[2] = {{(void *)&unit->life, sizeof unit->life},
                              {(void *)unit->bytes, unit->size}};

    if (unit->trial) {
        link_send(channel->environment->link, LINK_SLATE, channel->number, &pieces[1], 1);
        return;
    }
    if (channel->gap && !unit->life.key_frame) {
        channel->dropped++;
        return;
    }
    int r = link_send(channel->environment->link, LINK_ACCESS_UNIT, channel->number, pieces, 2);
    channel->gap = r != 0;
    if (r) {
        channel->dropped++;
        channel->key_frame_wanted = true;
    } else {
        channel->encoded++;
    }
}

// Logs what the governor gives up, each time that it changes.
static void tell_governed(struct channel *channel)
{
    const char *governed = encoder_governed(channel->now.encoder);

    if (governed != channel->governed) {
        channel->governed = governed;
        log_write(LOG_INFO, LOG_EVENT_NONE, channel->environment->camera, NULL,
                  "view \"%s\": %s %s, encoding %s", channel->now.settings->name,
                  channel_encoder_name(channel),
                  governed[0] ? "is slower than the camera" : "keeps up again",
                  governed[0] ? governed : "all of it");
    }
}

static int push(struct channel *channel, struct frame *picture, struct link_access_unit *life)
{
    bool key_frame = atomic_exchange(&channel->key_frame_wanted, false);

    life->computed_ns = clock_now_ns();
    int r = encoder_push(channel->now.encoder, picture, life, key_frame);
    if (r < 0) {
        return r;
    }
    channel->dropped += (uint64_t)r;
    tell_governed(channel);
    encoder_count_copies(channel->now.encoder, channel->environment->copies);
    return 0;
}

bool channel_begin(struct channel *channel)
{
    channel->active = channel->watched && channel->now.encoder;
    view_set_active(channel->now.view, channel->active);
    return channel->active;
}

void channel_forget(struct channel *channel)
{
    channel->now.refused = (struct encoder_settings){0};
    if (channel->now.view) {
        view_forget(channel->now.view);
    }
}

// Any error of a view that the GPU computes means that the GPU is lost.
static int blame(const struct channel *channel, int code)
{
    return code && channel->now.gpu ? -ENOTRECOVERABLE : code;
}

int channel_begin_picture(struct channel *channel, struct frame *frame, struct error *error)
{
    if (!channel->active) {
        return 0;
    }
    int r = view_begin(channel->now.view, frame, error);
    if (r == -ENOBUFS) {
        channel->dropped++;
        return 0;
    }
    channel->begun = r == 0;
    channel->life = (struct link_access_unit){
        .captured_ns = frame->pts_ns, .grabbed_ns = frame->grabbed_ns, .sequence = frame->sequence};
    return blame(channel, r);
}

int channel_end_picture(struct channel *channel, struct error *error)
{
    _cleanup_(cleanup_frame) struct frame *picture = NULL;

    if (!channel->begun) {
        return 0;
    }
    channel->begun = false;
    int r = view_end(channel->now.view, error, &picture);
    if (r) {
        return blame(channel, r);
    }
    r = push(channel, picture, &channel->life);
    return r ? error_set(error, r, "%s failed", channel_encoder_name(channel)) : 0;
}

void channel_drop_picture(struct channel *channel)
{
    channel->begun = false;
    view_drop_picture(channel->now.view);
}

enum channel_maker channel_maker(const struct channel *channel)
{
    const struct view *view = channel->now.view;

    return view_passes_through(view) ? CHANNEL_MAKER_NONE
           : view_is_on_gpu(view)    ? CHANNEL_MAKER_GPU
                                     : CHANNEL_MAKER_CPU;
}

int channel_run_slate(struct channel *channel, int64_t seconds)
{
    _cleanup_(cleanup_frame) struct frame *picture = NULL;
    struct link_access_unit life = {.slate = 1};

    if (!channel->watched || !channel->now.encoder) {
        return 0;
    }
    picture = frame_pool_take(channel->now.slate_pool);
    if (!picture) {
        channel->dropped++;
        return 0;
    }
    if (channel_draw_slate(channel, picture, seconds, NULL)) {
        channel->dropped++;
        return 0;
    }
    life.captured_ns = life.grabbed_ns = clock_now_ns();
    return push(channel, picture, &life);
}

void channel_set_watched(struct channel *channel, bool watched)
{
    channel->key_frame_wanted = true;
    channel->watched = watched;
}

void channel_want_key_frame(struct channel *channel)
{
    channel->key_frame_wanted = true;
}

bool channel_is_watched(const struct channel *channel)
{
    return channel->watched;
}

uint64_t channel_encoded(const struct channel *channel)
{
    return channel->encoded;
}

uint64_t channel_dropped(const struct channel *channel)
{
    return channel->dropped;
}

const char *channel_encoder_name(const struct channel *channel)
{
    return channel->encoder_name;
}

const char *channel_governed(const struct channel *channel)
{
    return channel->governed;
}

const char *channel_memory(const struct channel *channel)
{
    const struct view *view = channel->now.view;

    return view && view_makes_surfaces(view) ? " -> nvmm" : "";
}

const char *channel_backend(const struct channel *channel)
{
    return channel->now.view ? view_backend(channel->now.view) : "";
}
