// Everything but the atomics belongs to the lane thread; but while encoders are made for staged
// settings, `next.encoder` belongs to the thread that makes it.
#include "daemon/camera/channel.h"

#include "config/diff.h"
#include "daemon/camera/slate.h"
#include "daemon/camera/snapshots.h"
#include "daemon/common/log.h"
#include "daemon/common/mask_file.h"
#include "kernels/gpu/gpu_surfaces.h"
#include "kernels/graph/view.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

// An encoder that fails twice within so long is passed over.
#define FAILURES_NS (60 * NS_PER_S)

// The parts that a channel works with; all owned but settings and what the setup points to.
struct channel_parts {
    const struct config_view *settings;
    struct view *view;
    struct channel_setup setup; // that the view was made for, with this input
    struct frame_layout input;
    struct mask_stamp masks[3]; // of the pictures that limit the view and the sides of a split
    struct slated_encoder encoder;
};

struct channel {
    atomic_uint references;
    uint32_t number;
    const struct channel_environment *environment;

    bool active;                  // as this frame began: for an encoder, or for snapshots of late
    bool computing;               // this frame's picture
    bool encoding;                // somebody watches
    bool begun;                   // a picture is being made
    bool slate_shown;             // by the newest picture that went to the encoder
    struct link_access_unit life; // of the picture that was begun
    struct channel_parts now;
    struct channel_parts next; // staged; without a view or an encoder the one that is there stays
    struct encoder_settings next_encoder; // of the encoder to be made
    bool encoder_wanted;                  // by what is staged
    struct slated_encoder old_encoder;    // to be ended
    struct mask_reader mask_reader;
    struct error told; // why no encoder works, as last taken

    bool lost;                   // the encoder has failed: another is to be staged
    enum config_encoder suspect; // the one that failed last
    int64_t failed_ns;           // when
    unsigned failed;             // passed over, a bit for each

    atomic_bool watched, key_frame_wanted;
    struct snapshot_wishes snapshots;
    atomic_bool gap; // a unit was lost on the link: nothing decodes until a key frame
    _Atomic uint64_t encoded, dropped;
    _Atomic(const char *) encoder_name; // a literal
    _Atomic(const char *) governed;     // a literal
};

int channel_new(uint32_t number, const struct channel_environment *environment,
                struct channel **ret_channel)
{
    struct channel *channel = calloc(1, sizeof *channel);

    if (!channel)
        return -ENOMEM;
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
        view_free(channel->next.view);
        view_free(channel->now.view);
        slated_encoder_end(&channel->next.encoder);
        slated_encoder_end(&channel->now.encoder);
        slated_encoder_end(&channel->old_encoder);
        free(channel);
    }
}

uint32_t channel_number(const struct channel *channel)
{
    return channel->number;
}

// Views and encoders
// ---------------------------------------------------------------------

// Encoder's thread. A unit that the link cannot take is lost, and so are those after it up to a key
// frame, which need it.
static void send_unit(void *context, const struct encoder_unit *unit)
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

static struct encoder_settings describe_encoder(const struct channel *channel,
                                                const struct config_view *settings,
                                                const struct view *view,
                                                const struct channel_setup *setup)
{
    const struct frame_layout *output = view_output_layout(view);
    bool mjpeg = settings->codec == CONFIG_CODEC_MJPEG;
    long keyframe_frames =
        lround(settings->keyframe_s * setup->fps_numerator / setup->fps_denominator);

    // Encoders take even sizes alone: as in edgectl process, the last odd row and column are left
    // out.
    return (struct encoder_settings){
        .width = output->width & ~1U,
        .height = output->height & ~1U,
        .range = output->range,
        .colour = output->colour,
        .fps_numerator = setup->fps_numerator,
        .fps_denominator = setup->fps_denominator,
        .bitrate_kbps = mjpeg ? 0 : settings->bitrate_kbps,
        .jpeg_quality = mjpeg ? settings->jpeg_quality : 0,
        .keyframe_frames = keyframe_frames < 1 ? 1 : (unsigned)keyframe_frames,
        .codec = settings->codec,
        .governor = settings->governor,
        .element = settings->encoder,
        .without = channel->environment->board->without,
        .failed = channel->failed,
        .surfaces = view_makes_surfaces(view),
    };
}

static int make_encoder(struct channel *channel, const struct encoder_settings *wanted,
                        struct channel_parts *parts, struct error *error)
{
    const struct slated_encoder_setup setup = {.settings = wanted,
                                               .surfaces = parts->setup.surfaces,
                                               .camera = channel->environment->camera,
                                               .watches = channel->environment->encoders,
                                               .expected =
                                                   board_encoders(channel->environment->board),
                                               .output = send_unit,
                                               .context = channel};

    return slated_encoder_make(&parts->encoder, &setup, error);
}

static void begin_encoder(struct channel *channel)
{
    channel->encoder_name = channel->now.encoder.encoder
                                ? encoder_name(channel->now.encoder.encoder)
                                : LINK_WITHOUT_ENCODER;
    channel->governed = "";
    channel->key_frame_wanted = true;
}

// Makes a new encoder if the picture has changed in size, range, colour or rate.
static int prepare_encoder(struct channel *channel, const struct channel_setup *setup,
                           struct error *error)
{
    struct channel_parts *now = &channel->now;
    struct encoder_settings wanted = describe_encoder(channel, now->settings, now->view, setup);

    if (channel->lost) {
        return 0; // the lane does not wait for the next one
    }
    if (slated_encoder_fits(&now->encoder, &wanted)) {
        encoder_retune(now->encoder.encoder, &wanted);
        return 0;
    }
    if (slated_encoder_is_refused(&now->encoder, &wanted)) {
        *error = now->encoder.refusal;
        return -ENOSYS;
    }
    slated_encoder_end(&now->encoder);
    int r = make_encoder(channel, &wanted, now, error);
    begin_encoder(channel);
    return r;
}

// Whether the view's encoder may be one that takes surfaces.
static bool wants_surfaces(const struct channel *channel, const struct config_view *settings)
{
    const struct channel_environment *environment = channel->environment;
    enum config_encoder encoder =
        settings->codec == CONFIG_CODEC_H264 ? CONFIG_ENCODER_NVV4L2 : CONFIG_ENCODER_NVV4L2_H265;
    unsigned without = environment->board->without | environment->encoders->passed_over;

    return settings->codec != CONFIG_CODEC_MJPEG &&
           (settings->encoder == encoder ||
            (settings->encoder == CONFIG_ENCODER_AUTO && !(without >> encoder & 1)));
}

// A view whose pictures are surfaces. NULL: there are none for it, as the log then says.
static struct view *make_surface_view(struct channel *channel, const struct channel_setup *setup,
                                      const struct view_setup *plain)
{
    const struct channel_parts *now = &channel->now;
    bool same =
        now->setup.surfaces == setup->surfaces && now->view && view_makes_surfaces(now->view);
    struct view_setup surfaces = *plain;
    struct error why = {0};
    struct view *made = NULL;

    surfaces.allocator = gpu_surfaces_allocator(setup->surfaces);
    surfaces.before = same ? now->view : NULL;
    if (view_new(&surfaces, &why, &made) < 0) {
        gpu_surfaces_take_failure(setup->surfaces, &why);
        log_write(LOG_NOTICE, LOG_EVENT_NONE, channel->environment->camera, NULL,
                  "view \"%s\": %s memory: %s, using %s memory", plain->settings->name,
                  surfaces.allocator->kind, why.text, setup->allocator->kind);
    }
    return made;
}

static int make_view(struct channel *channel, const struct channel_setup *setup,
                     struct channel_parts *parts, struct error *error)
{
    const struct channel_parts *now = &channel->now;
    bool same =
        now->setup.allocator == setup->allocator && now->view && !view_makes_surfaces(now->view);
    struct view_setup view = {.settings = parts->settings,
                              .camera = channel->environment->camera,
                              .input = setup->input,
                              .input_surfaces = setup->input_surfaces,
                              .frames = ENCODER_PICTURES,
                              .allocator = setup->allocator,
                              .gpu = setup->gpu,
                              .pool = setup->pool,
                              .graph = channel->environment->graph,
                              .read_mask = mask_reader_read,
                              .read_context = &channel->mask_reader,
                              .before = same ? now->view : NULL};
    struct view *made = NULL;
    int r = 0;

    channel->mask_reader.camera = channel->environment->camera;
    channel->mask_reader.view = parts->settings->name;
    mask_file_stamp_view(parts->settings, parts->masks);
    if (setup->surfaces && wants_surfaces(channel, parts->settings))
        made = make_surface_view(channel, setup, &view);
    if (!made)
        r = view_new(&view, error, &made);
    if (!r) {
        parts->view = made;
        parts->setup = *setup;
        parts->input = *setup->input;
    }
    return r;
}

// Logs, once for each GPU, that the CPU computes the view.
static void tell_computed_by_cpu(const struct channel *channel, const struct gpu *before)
{
    const struct channel_parts *now = &channel->now;
    const struct config_view *view = now->settings;

    if (now->setup.gpu && now->setup.gpu != before && strcmp(view_backend(now->view), "CPU") == 0) {
        log_write(LOG_INFO, LOG_EVENT_NONE, channel->environment->camera, NULL,
                  "view \"%s\": %s with these keys has no CUDA kernel, the CPU computes it",
                  view->name, config_view_kind_name(view->view));
    }
}

int channel_prepare(struct channel *channel, const struct channel_setup *setup, struct error *error)
{
    struct channel_parts *now = &channel->now;
    const struct channel_setup *have = &now->setup;

    if (!now->view || !frame_layout_equal(&now->input, setup->input) ||
        have->input_surfaces != setup->input_surfaces || have->gpu != setup->gpu ||
        have->allocator != setup->allocator || have->surfaces != setup->surfaces) {
        const struct gpu *before = have->gpu;

        view_free(TAKE(now->view));
        int r = make_view(channel, setup, now, error);
        if (r)
            return r;
        tell_computed_by_cpu(channel, before);
    }
    return prepare_encoder(channel, setup, error);
}

bool channel_take_refusal(struct channel *channel, struct error *ret_why)
{
    const struct slated_encoder *now = &channel->now.encoder;

    if (now->encoder) {
        channel->told.text[0] = 0;
        return false;
    }
    if (strcmp(channel->told.text, now->refusal.text) == 0)
        return false;
    *ret_why = channel->told = now->refusal;
    return true;
}

// The encoder has failed. It stays until another takes its place.
static void lose_encoder(struct channel *channel)
{
    struct encoder *encoder = channel->now.encoder.encoder;
    enum config_encoder element = encoder_element(encoder);
    int64_t now_ns = clock_now_ns();
    bool again = channel->suspect == element && now_ns - channel->failed_ns < FAILURES_NS;
    struct error why = {0};

    encoder_take_error(encoder, &why);
    channel->lost = true;
    channel->suspect = element;
    channel->failed_ns = now_ns;
    channel->failed |= again ? 1U << element : 0;
    log_write(LOG_WARNING, LOG_EVENT_NONE, channel->environment->camera, NULL,
              "view \"%s\": %s failed: %s, %s", channel->now.settings->name, encoder_name(encoder),
              why.text, again ? "trying the next encoder" : "making it anew");
}

void channel_begin_settings(struct channel *channel, const struct config_view *settings)
{
    channel->now.settings = settings;
}

// Whether the existing view shows what the settings ask for.
static bool view_stays(const struct channel *channel, const struct config_view *settings)
{
    const struct channel_parts *now = &channel->now;
    struct mask_stamp masks[3];

    if (!now->view || now->settings == settings)
        return now->view;
    mask_file_stamp_view(settings, masks);
    return config_views_look_equal(now->settings, settings) &&
           memcmp(masks, now->masks, sizeof masks) == 0;
}

int channel_stage(struct channel *channel, const struct config_view *settings,
                  const struct channel_setup *setup, struct error *error)
{
    struct channel_parts *next = &channel->next;
    int r = 0;

    *next = (struct channel_parts){.settings = settings, .setup = channel->now.setup};
    if (!view_stays(channel, settings))
        r = make_view(channel, setup, next, error);
    if (!r) {
        const struct view *view = next->view ? next->view : channel->now.view;

        channel->next_encoder = describe_encoder(channel, settings, view, setup);
        channel->encoder_wanted =
            channel->lost ||
            (!slated_encoder_fits(&channel->now.encoder, &channel->next_encoder) &&
             !slated_encoder_is_refused(&channel->now.encoder, &channel->next_encoder));
    }
    return r;
}

bool channel_has_lost_encoder(const struct channel *channel)
{
    return channel->lost && channel->now.view;
}

bool channel_wants_encoder(const struct channel *channel)
{
    return channel->encoder_wanted;
}

int channel_stage_encoder(struct channel *channel, struct error *error)
{
    return make_encoder(channel, &channel->next_encoder, &channel->next, error);
}

// The encoder sends nothing more from now on; channel_end_old_encoder() ends it.
static void retire_encoder(struct channel *channel, struct channel_parts *parts)
{
    encoder_mute(parts->encoder.encoder);
    channel->old_encoder = parts->encoder;
    parts->encoder = (struct slated_encoder){0};
}

void channel_commit(struct channel *channel)
{
    struct channel_parts *now = &channel->now, *next = &channel->next;
    const struct gpu *before = now->setup.gpu;

    now->settings = next->settings;
    if (next->view) {
        view_free(now->view);
        now->view = next->view;
        now->setup = next->setup;
        now->input = next->input;
        memcpy(now->masks, next->masks, sizeof now->masks);
        tell_computed_by_cpu(channel, before);
    }
    if (channel->encoder_wanted) {
        retire_encoder(channel, now);
        now->encoder = next->encoder;
        channel->lost = channel->encoder_wanted = false;
        begin_encoder(channel);
    }
    *next = (struct channel_parts){0};
}

void channel_abort(struct channel *channel)
{
    view_free(channel->next.view);
    retire_encoder(channel, &channel->next);
    channel->next = (struct channel_parts){0};
    channel->encoder_wanted = false;
}

void channel_close(struct channel *channel)
{
    view_free(TAKE(channel->now.view));
    retire_encoder(channel, &channel->now);
}

bool channel_has_old_encoder(const struct channel *channel)
{
    return channel->old_encoder.slate_pool;
}

void channel_end_old_encoder(struct channel *channel)
{
    slated_encoder_end(&channel->old_encoder);
}

// Frames
// ---------------------------------------------------------------------

// Logs what the governor gives up, each time that it changes.
static void tell_governed(struct channel *channel)
{
    const char *governed = encoder_governed(channel->now.encoder.encoder);

    if (governed != channel->governed) {
        channel->governed = governed;
        log_write(LOG_INFO, LOG_EVENT_NONE, channel->environment->camera, NULL,
                  "view \"%s\": %s %s, encoding %s", channel->now.settings->name,
                  channel_encoder_name(channel),
                  governed[0] ? "is slower than the camera" : "keeps up again",
                  governed[0] ? governed : "all of it");
    }
}

static void push(struct channel *channel, struct frame *picture, struct link_access_unit *life)
{
    bool key_frame = atomic_exchange(&channel->key_frame_wanted, false);

    // A recorder leaves slates out, and goes on with a key frame.
    key_frame |= channel->slate_shown && !life->slate;
    channel->slate_shown = life->slate;
    life->computed_ns = clock_now_ns();
    int r = encoder_push(channel->now.encoder.encoder, picture, life, key_frame);
    if (r < 0) {
        channel->dropped++;
        lose_encoder(channel);
        return;
    }
    channel->dropped += (uint64_t)r;
    tell_governed(channel);
    encoder_count_copies(channel->now.encoder.encoder, channel->environment->copies);
}

bool channel_begin(struct channel *channel)
{
    bool snapshots =
        snapshot_wishes_begin(&channel->snapshots, channel->now.settings, channel->active);

    channel->encoding = channel->watched && channel->now.encoder.encoder && !channel->lost;
    channel->active = channel->encoding || snapshots;
    channel->computing =
        channel->encoding || snapshot_wishes_compute(&channel->snapshots, channel->now.settings);
    view_set_active(channel->now.view, channel->active);
    return channel->active;
}

void channel_forget(struct channel *channel)
{
    channel->now.encoder.refused = (struct encoder_settings){0};
    channel->failed = 0;
    if (channel->now.view)
        view_forget(channel->now.view);
}

// Any error of a view that the GPU computes means that the GPU is lost.
static int blame(const struct channel *channel, int code)
{
    return code && channel->now.setup.gpu ? -ENOTRECOVERABLE : code;
}

int channel_begin_picture(struct channel *channel, struct frame *frame, struct error *error)
{
    if (!channel->computing)
        return 0;
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

    if (!channel->begun)
        return 0;
    channel->begun = false;
    int r = view_end(channel->now.view, error, &picture);
    if (r)
        return blame(channel, r);
    snapshot_wishes_serve(&channel->snapshots, channel->environment->snapshots, channel->number,
                          picture, channel->now.settings->jpeg_quality);
    if (channel->encoding)
        push(channel, picture, &channel->life);
    return 0;
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

void channel_run_slate(struct channel *channel, int64_t seconds)
{
    _cleanup_(cleanup_frame) struct frame *picture = NULL;
    struct link_access_unit life = {.slate = 1};

    if (!channel->watched || !channel->now.encoder.encoder || channel->lost)
        return;
    picture = frame_pool_take(channel->now.encoder.slate_pool);
    if (!picture || slate_draw(picture, channel->environment->camera, seconds, NULL)) {
        channel->dropped++;
        return;
    }
    life.captured_ns = life.grabbed_ns = clock_now_ns();
    push(channel, picture, &life);
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

void channel_want_snapshot(struct channel *channel, unsigned scale)
{
    snapshot_wishes_add(&channel->snapshots, scale);
}

void channel_wait_for_room(struct channel *channel, int64_t deadline_ns)
{
    if (channel->watched && channel->now.encoder.encoder && !channel->lost)
        encoder_wait_for_room(channel->now.encoder.encoder, deadline_ns);
}

bool channel_is_watched(const struct channel *channel)
{
    return channel->watched;
}

void channel_describe(const struct channel *channel, struct link_telemetry *telemetry, size_t index)
{
    telemetry->views[index].view = channel->number;
    telemetry->views[index].encoded = channel->encoded;
    telemetry->views[index].dropped = channel->dropped;
    telemetry->views[index].watched = channel->watched;
    snprintf(telemetry->views[index].encoder, sizeof telemetry->views[index].encoder, "%s",
             channel->encoder_name);
    snprintf(telemetry->views[index].governor, sizeof telemetry->views[index].governor, "%s",
             channel->governed);
}

const char *channel_encoder_name(const struct channel *channel)
{
    return channel->encoder_name;
}

void channel_describe_path(const struct channel *channel, char *ret_text, size_t size)
{
    const struct view *view = channel->now.view;

    snprintf(ret_text, size, "%s%s -> %s", view ? view_backend(view) : "",
             view && view_makes_surfaces(view) ? " -> nvmm" : "", channel->encoder_name);
}
