#include "daemon/camera/channel.h"

#include "daemon/camera/encoder.h"
#include "daemon/camera/slate.h"
#include "daemon/log.h"
#include "daemon/mask_file.h"
#include "kernels/view.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

// Output frames: those in the encoder, 1 being computed, 1 to spare.
#define VIEW_FRAMES (ENCODER_QUEUE_LENGTH + ENCODER_FRAMES_INSIDE + 2)
#define SLATE_FRAMES 6

struct channel {
    uint32_t index;
    const struct config_view *settings; // the configuration outlives the channel
    const struct channel_environment *environment;
    struct shared *shared; // not owned

    // Lane thread only.
    bool active;       // watched as this frame began
    struct view *view; // owned, made for the next three
    struct frame_layout input;
    struct gpu *gpu;
    const struct frame_allocator *allocator;
    struct config_block blocks[CONFIG_KERNEL_COUNT], blocks_before[CONFIG_KERNEL_COUNT];
    bool refused; // a block size, as told by `refusal`
    struct error refusal;
    struct error mask_error;       // of the view's mask, as told last
    struct encoder *encoder;       // owned
    struct frame_pool *slate_pool; // owned; the encoder's size and range

    atomic_bool watched, key_frame_wanted;
    atomic_bool gap; // a unit was lost on the link: nothing decodes until a key frame
    _Atomic uint64_t encoded, dropped;
};

int channel_new(uint32_t index, const struct config_view *settings,
                const struct channel_environment *environment, struct shared *shared,
                struct channel **ret_channel)
{
    struct channel *channel = calloc(1, sizeof *channel);

    if (!channel) {
        return -ENOMEM;
    }
    channel->index = index;
    channel->settings = settings;
    channel->environment = environment;
    channel->shared = shared;
    *ret_channel = channel;
    return 0;
}

void channel_reset(struct channel *channel)
{
    encoder_free(TAKE(channel->encoder));
    frame_pool_unref(TAKE(channel->slate_pool));
}

void channel_free(struct channel *channel)
{
    if (!channel) {
        return;
    }
    channel_reset(channel);
    view_free(channel->view);
    free(channel);
}

// Encoder's thread. A unit that the link cannot take is lost, and with it all up to a key frame.
static void send_unit(void *context, const struct encoder_unit *unit)
{
    struct channel *channel = context;
    struct iovec pieces[2] = {{(void *)&unit->life, sizeof unit->life},
                              {(void *)unit->bytes, unit->size}};

    if (unit->trial) {
        link_send(channel->environment->link, LINK_SLATE, channel->index, &pieces[1], 1);
        return;
    }
    if (channel->gap && !unit->life.key_frame) {
        channel->dropped++;
        return;
    }
    int r = link_send(channel->environment->link, LINK_ACCESS_UNIT, channel->index, pieces, 2);
    channel->gap = r != 0;
    if (r) {
        channel->dropped++;
        channel->key_frame_wanted = true;
    } else {
        channel->encoded++;
    }
}

static unsigned keyframe_distance(const struct config_view *settings, unsigned fps_numerator,
                                  unsigned fps_denominator)
{
    long frames = lround(settings->keyframe_s * fps_numerator / fps_denominator);

    return frames < 1 ? 1 : (unsigned)frames;
}

static int make_encoder(struct channel *channel, const struct encoder_settings *settings,
                        const struct frame_layout *layout, struct error *error)
{
    struct frame *trial = NULL;
    int r = frame_pool_new(layout, SLATE_FRAMES, frame_allocator_host(), &channel->slate_pool);

    if (r) {
        return error_set(error, r, "no memory for %ux%u pictures", layout->width, layout->height);
    }
    trial = frame_pool_take(channel->slate_pool);
    slate_draw(trial, channel->environment->camera, -1);
    r = encoder_new(settings, trial, send_unit, channel, error, &channel->encoder);
    channel->key_frame_wanted = true;
    frame_unref(trial);
    return r;
}

// A new encoder when the picture has changed in size, range, colour or rate.
static int prepare_encoder(struct channel *channel, unsigned fps_numerator,
                           unsigned fps_denominator, struct error *error)
{
    const struct frame_layout *output = view_output_layout(channel->view);
    const struct config_view *view = channel->settings;
    struct encoder_settings settings = {
        .width = output->width,
        .height = output->height,
        .range = output->range,
        .colour = output->colour,
        .fps_numerator = fps_numerator,
        .fps_denominator = fps_denominator,
        .bitrate_kbps = view->bitrate_kbps,
        .keyframe_frames = keyframe_distance(view, fps_numerator, fps_denominator),
        .element = view->encoder,
    };
    struct frame_layout slate;

    if (channel->encoder &&
        !memcmp(encoder_get_settings(channel->encoder), &settings, sizeof settings)) {
        return 0;
    }
    channel_reset(channel);
    frame_layout_init(&slate, output->format, output->width, output->height, 64);
    slate.range = output->range;
    slate.colour = output->colour;
    return make_encoder(channel, &settings, &slate, error);
}

// A mask that cannot be read is black: a view of what it leaves out is worse than none.
static int read_mask(void *context, const char *path, struct error *error,
                     struct region_picture *ret_picture)
{
    struct channel *channel = context;
    struct error why = {0};

    if (mask_file_read(NULL, path, &why, ret_picture) == 0) {
        channel->mask_error.text[0] = 0;
        return 0;
    }
    if (strcmp(channel->mask_error.text, why.text) != 0) {
        log_write(
            LOG_WARNING, LOG_EVENT_NONE, channel->environment->camera, NULL,
            "view \"%s\": cannot read its mask: %s, taking it for all black until it is mended and "
            "edged reloaded",
            channel->settings->name, why.text);
        channel->mask_error = why;
    }
    *ret_picture = (struct region_picture){calloc(1, 1), 1, 1, 1};
    return ret_picture->gray ? 0 : error_set(error, -ENOMEM, "no memory for a view's mask");
}

// A block size that the GPU does not take gives way to the one that is good for it.
static int make_view(struct channel *channel, const struct channel_setup *setup,
                     struct error *error)
{
    struct view_setup view = {.settings = channel->settings,
                              .input = setup->input,
                              .frames = VIEW_FRAMES,
                              .allocator = setup->allocator,
                              .gpu = setup->gpu,
                              .pool = setup->pool,
                              .blocks = channel->blocks,
                              .shared = channel->shared,
                              .read_mask = read_mask,
                              .read_context = channel};
    int r = view_new(&view, error, &channel->view);

    if (r == -EINVAL && setup->gpu) {
        channel->refused = true;
        error_set(&channel->refusal, 0, "%s, using the one chosen for this GPU", error->text);
        memset(channel->blocks, 0, sizeof channel->blocks);
        r = view_new(&view, error, &channel->view);
    }
    return r;
}

// Once for each GPU.
static void tell_computed_by_cpu(const struct channel *channel, const struct channel_setup *setup)
{
    const struct config_view *view = channel->settings;

    if (setup->gpu && setup->gpu != channel->gpu && strcmp(channel_backend(channel), "CPU") == 0) {
        log_write(LOG_INFO, LOG_EVENT_NONE, channel->environment->camera, NULL,
                  "view \"%s\": %s with these keys has no CUDA kernel, the CPU computes it",
                  view->name, config_view_kind_name(view->view));
    }
}

int channel_prepare(struct channel *channel, const struct channel_setup *setup, struct error *error)
{
    if (!channel->view || !frame_layout_equal(&channel->input, setup->input) ||
        channel->gpu != setup->gpu || channel->allocator != setup->allocator) {
        view_free(TAKE(channel->view));
        int r = make_view(channel, setup, error);

        if (r) {
            return r;
        }
        tell_computed_by_cpu(channel, setup);
        channel->input = *setup->input;
        channel->gpu = setup->gpu;
        channel->allocator = setup->allocator;
    }
    return prepare_encoder(channel, setup->fps_numerator, setup->fps_denominator, error);
}

static int push(struct channel *channel, struct frame *picture, struct link_access_unit *life)
{
    bool key_frame = atomic_exchange(&channel->key_frame_wanted, false);

    life->computed_ns = clock_now_ns();
    int r = encoder_push(channel->encoder, picture, life, key_frame);
    if (r < 0) {
        return r;
    }
    channel->dropped += (uint64_t)r;
    if (encoder_converts(channel->encoder)) {
        copies_count(channel->environment->copies, COPY_ENCODER_CONVERT);
    }
    return 0;
}

static int compute(struct channel *channel, struct frame *frame, struct error *error,
                   struct frame **ret_picture)
{
    int r = view_run(channel->view, frame, error, ret_picture);

    if (view_take_refusal(channel->view, &channel->refusal)) {
        channel->refused = true;
        memcpy(channel->blocks, channel->blocks_before, sizeof channel->blocks);
    }
    return r && r != -ENOBUFS && channel->gpu ? -ENOTRECOVERABLE : r;
}

void channel_begin(struct channel *channel)
{
    channel->active = channel->watched;
    view_set_active(channel->view, channel->active);
}

void channel_forget(struct channel *channel)
{
    if (channel->view) {
        view_forget(channel->view);
    }
}

int channel_run(struct channel *channel, struct frame *frame, struct error *error)
{
    _cleanup_(cleanup_frame) struct frame *picture = NULL;
    struct link_access_unit life = {
        .captured_ns = frame->pts_ns, .grabbed_ns = frame->grabbed_ns, .sequence = frame->sequence};

    if (!channel->active) {
        return 0;
    }
    int r = compute(channel, frame, error, &picture);
    if (r == -ENOBUFS) {
        channel->dropped++;
        return 0;
    }
    if (r) {
        return r;
    }
    r = push(channel, picture, &life);
    return r ? error_set(error, r, "%s failed", channel_encoder_name(channel)) : 0;
}

bool channel_passes_through(const struct channel *channel)
{
    return view_passes_through(channel->view);
}

void channel_set_blocks(struct channel *channel, const struct config_block *blocks)
{
    struct error why = {0};

    if (channel->view && view_set_blocks(channel->view, blocks, &why)) {
        error_set(&channel->refusal, 0, "%s, keeping the one before", why.text);
        channel->refused = true;
        return;
    }
    memcpy(channel->blocks_before, channel->blocks, sizeof channel->blocks);
    memcpy(channel->blocks, blocks, sizeof channel->blocks);
}

bool channel_take_complaint(struct channel *channel, struct error *ret_text)
{
    if (channel->refused) {
        *ret_text = channel->refusal;
        channel->refused = false;
        return true;
    }
    return channel->view && view_take_warning(channel->view, ret_text);
}

int channel_run_slate(struct channel *channel, int64_t seconds)
{
    _cleanup_(cleanup_frame) struct frame *picture = NULL;
    struct link_access_unit life = {.slate = 1};

    if (!channel->watched || !channel->encoder) {
        return 0;
    }
    picture = frame_pool_take(channel->slate_pool);
    if (!picture) {
        channel->dropped++;
        return 0;
    }
    slate_draw(picture, channel->environment->camera, seconds);
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
    return channel->encoder ? encoder_name(channel->encoder) : "";
}

const char *channel_backend(const struct channel *channel)
{
    return channel->view ? view_backend(channel->view) : "";
}
