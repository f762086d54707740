// Builds what a channel works with, its view and its encoder: in place of those it has, or beside
// them (staged) until a whole change of settings is ready.
#include "daemon/camera/channel_private.h"

#include "config/diff.h"
#include "daemon/common/log.h"
#include "kernels/gpu/gpu_surfaces.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static unsigned keyframe_distance(const struct config_view *settings, unsigned fps_numerator,
                                  unsigned fps_denominator)
{
    long frames = lround(settings->keyframe_s * fps_numerator / fps_denominator);

    return frames < 1 ? 1 : (unsigned)frames;
}

static struct encoder_settings describe_encoder(const struct channel *channel,
                                                const struct config_view *settings,
                                                const struct view *view,
                                                const struct channel_setup *setup)
{
    const struct frame_layout *output = view_output_layout(view);

    // Encoders take even sizes alone: as in edgectl process, the last odd row and column are left
    // out.
    return (struct encoder_settings){
        .width = output->width & ~1U,
        .height = output->height & ~1U,
        .range = output->range,
        .colour = output->colour,
        .fps_numerator = setup->fps_numerator,
        .fps_denominator = setup->fps_denominator,
        .bitrate_kbps = settings->bitrate_kbps,
        .keyframe_frames =
            keyframe_distance(settings, setup->fps_numerator, setup->fps_denominator),
        .codec = settings->codec,
        .governor = settings->governor,
        .element = settings->encoder,
        .without = channel->environment->board->without,
        .surfaces = view_makes_surfaces(view),
    };
}

// Whether the existing encoder can be changed to the wanted settings while it runs.
static bool encoder_fits(const struct channel_parts *parts, const struct encoder_settings *wanted)
{
    struct encoder_settings have;

    if (!parts->encoder) {
        return false;
    }
    have = *encoder_get_settings(parts->encoder);
    if (encoder_can_retune(parts->encoder)) {
        have.bitrate_kbps = wanted->bitrate_kbps;
    }
    if (parts->lacks_surfaces) {
        have.surfaces = wanted->surfaces;
    }
    have.keyframe_frames = wanted->keyframe_frames;
    return memcmp(&have, wanted, sizeof have) == 0;
}

// Whether no encoder worked with these settings. Another try would hold up the camera's other
// views, with each frame.
static bool is_refused(const struct channel_parts *parts, const struct encoder_settings *wanted)
{
    return !parts->encoder && memcmp(&parts->refused, wanted, sizeof *wanted) == 0;
}

static void drop_encoder(struct channel_parts *parts)
{
    encoder_free(TAKE(parts->encoder));
    frame_pool_unref(TAKE(parts->slate_pool));
}

static void begin_encoder(struct channel *channel)
{
    channel->encoder_name =
        channel->now.encoder ? encoder_name(channel->now.encoder) : CHANNEL_WITHOUT_ENCODER;
    channel->governed = "";
    channel->key_frame_wanted = true;
}

// Makes a new encoder if the picture has changed in size, range, colour or rate.
static int prepare_encoder(struct channel *channel, const struct channel_setup *setup,
                           struct error *error)
{
    struct channel_parts *now = &channel->now;
    struct encoder_settings wanted = describe_encoder(channel, now->settings, now->view, setup);

    if (encoder_fits(now, &wanted)) {
        encoder_retune(now->encoder, wanted.bitrate_kbps, wanted.keyframe_frames);
        return 0;
    }
    if (is_refused(now, &wanted)) {
        *error = now->refusal;
        return -ENOSYS;
    }
    drop_encoder(now);
    int r = channel_make_encoder(channel, &wanted, now, error);
    begin_encoder(channel);
    return r;
}

// The camera and the view that a mask is read for.
struct mask_reader {
    struct channel *channel;
    const char *view; // its name
};

// Reads a mask. One that cannot be read is taken for black, because to show what it should hide is
// worse than to show nothing.
static int read_mask(void *context, const char *path, struct error *error,
                     struct region_picture *ret_picture)
{
    const struct mask_reader *reader = context;
    struct error *told = &reader->channel->mask_error, why = {0};

    if (mask_file_read(NULL, path, &why, ret_picture) == 0) {
        told->text[0] = 0;
        return 0;
    }
    if (strcmp(told->text, why.text) != 0) {
        log_write(LOG_WARNING, LOG_EVENT_NONE, reader->channel->environment->camera, NULL,
                  "view \"%s\": cannot read its mask: %s, taking it for all black until it is "
                  "mended and edged reloaded",
                  reader->view, why.text);
        *told = why;
    }
    *ret_picture = (struct region_picture){calloc(1, 1), 1, 1, 1};
    return ret_picture->gray ? 0 : error_set(error, -ENOMEM, "no memory for a view's mask");
}

// Notes which mask pictures the view has and, for a split, the views that it shows.
static void take_masks(const struct config_view *settings, struct mask_stamp ret_masks[3])
{
    const struct config_view *const views[3] = {settings, settings->left_view,
                                                settings->right_view};

    for (unsigned i = 0; i < 3; i++) {
        mask_file_stamp(views[i] ? views[i]->mask : "", &ret_masks[i]);
    }
}

// Whether the view's encoder may be one that takes surfaces.
static bool wants_surfaces(const struct channel *channel, const struct config_view *settings)
{
    const struct channel_environment *environment = channel->environment;
    enum config_encoder encoder =
        settings->codec == CONFIG_CODEC_H264 ? CONFIG_ENCODER_NVV4L2 : CONFIG_ENCODER_NVV4L2_H265;
    unsigned without = environment->board->without | environment->encoders->passed_over;

    return settings->encoder == encoder ||
           (settings->encoder == CONFIG_ENCODER_AUTO && !(without >> encoder & 1));
}

// A view whose pictures are surfaces. NULL: there are none for it, as the log then says.
static struct view *make_surface_view(struct channel *channel, const struct channel_setup *setup,
                                      const struct view_setup *plain)
{
    const struct channel_parts *now = &channel->now;
    bool same = now->surfaces == setup->surfaces && now->view && view_makes_surfaces(now->view);
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
    struct mask_reader reader = {channel, parts->settings->name};
    bool same = now->allocator == setup->allocator && now->view && !view_makes_surfaces(now->view);
    struct view_setup view = {.settings = parts->settings,
                              .input = setup->input,
                              .input_surfaces = setup->input_surfaces,
                              .frames = ENCODER_PICTURES,
                              .allocator = setup->allocator,
                              .gpu = setup->gpu,
                              .pool = setup->pool,
                              .graph = channel->environment->graph,
                              .read_mask = read_mask,
                              .read_context = &reader,
                              .before = same ? now->view : NULL};
    struct view *made = NULL;
    int r = 0;

    take_masks(parts->settings, parts->masks);
    if (setup->surfaces && wants_surfaces(channel, parts->settings)) {
        made = make_surface_view(channel, setup, &view);
    }
    if (!made) {
        r = view_new(&view, error, &made);
    }
    if (!r) {
        parts->view = made;
        parts->input = *setup->input;
        parts->input_surfaces = setup->input_surfaces;
        parts->gpu = setup->gpu;
        parts->allocator = setup->allocator;
        parts->surfaces = setup->surfaces;
    }
    return r;
}

// Logs, once for each GPU, that the CPU computes the view.
static void tell_computed_by_cpu(const struct channel *channel, const struct gpu *before)
{
    const struct channel_parts *now = &channel->now;
    const struct config_view *view = now->settings;

    if (now->gpu && now->gpu != before && strcmp(view_backend(now->view), "CPU") == 0) {
        log_write(LOG_INFO, LOG_EVENT_NONE, channel->environment->camera, NULL,
                  "view \"%s\": %s with these keys has no CUDA kernel, the CPU computes it",
                  view->name, config_view_kind_name(view->view));
    }
}

int channel_prepare(struct channel *channel, const struct channel_setup *setup, struct error *error)
{
    struct channel_parts *now = &channel->now;

    if (!now->view || !frame_layout_equal(&now->input, setup->input) ||
        now->input_surfaces != setup->input_surfaces || now->gpu != setup->gpu ||
        now->allocator != setup->allocator || now->surfaces != setup->surfaces) {
        const struct gpu *before = now->gpu;

        view_free(TAKE(now->view));
        int r = make_view(channel, setup, now, error);
        if (r) {
            return r;
        }
        tell_computed_by_cpu(channel, before);
    }
    return prepare_encoder(channel, setup, error);
}

bool channel_take_refusal(struct channel *channel, struct error *ret_why)
{
    const struct channel_parts *now = &channel->now;

    if (now->encoder) {
        channel->told.text[0] = 0;
        return false;
    }
    if (strcmp(channel->told.text, now->refusal.text) == 0) {
        return false;
    }
    *ret_why = channel->told = now->refusal;
    return true;
}

void channel_reset(struct channel *channel)
{
    drop_encoder(&channel->now);
    channel->encoder_name = "";
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

    take_masks(settings, masks);
    return now->view && config_views_look_equal(now->settings, settings) &&
           memcmp(masks, now->masks, sizeof masks) == 0;
}

int channel_stage(struct channel *channel, const struct config_view *settings,
                  const struct channel_setup *setup, struct error *error)
{
    struct channel_parts *next = &channel->next;
    int r = 0;

    *next = (struct channel_parts){.settings = settings, .surfaces = channel->now.surfaces};
    channel->staged = true;
    if (!view_stays(channel, settings)) {
        r = make_view(channel, setup, next, error);
    }
    if (!r) {
        const struct view *view = next->view ? next->view : channel->now.view;

        channel->next_encoder = describe_encoder(channel, settings, view, setup);
        channel->encoder_wanted = !encoder_fits(&channel->now, &channel->next_encoder) &&
                                  !is_refused(&channel->now, &channel->next_encoder);
    }
    return r;
}

bool channel_wants_encoder(const struct channel *channel)
{
    return channel->staged && channel->encoder_wanted;
}

int channel_stage_encoder(struct channel *channel, struct error *error)
{
    return channel_make_encoder(channel, &channel->next_encoder, &channel->next, error);
}

// The encoder sends nothing more from now on; channel_end_old_encoder() ends it.
static void retire_encoder(struct channel *channel, struct channel_parts *parts)
{
    encoder_mute(parts->encoder);
    channel->old.encoder = TAKE(parts->encoder);
    channel->old.slate_pool = TAKE(parts->slate_pool);
}

void channel_commit(struct channel *channel)
{
    struct channel_parts *now = &channel->now, *next = &channel->next;
    const struct gpu *before = now->gpu;

    now->settings = next->settings;
    if (next->view) {
        view_free(now->view);
        now->view = next->view;
        now->input = next->input;
        now->input_surfaces = next->input_surfaces;
        now->gpu = next->gpu;
        now->allocator = next->allocator;
        now->surfaces = next->surfaces;
        memcpy(now->masks, next->masks, sizeof now->masks);
        tell_computed_by_cpu(channel, before);
    }
    if (next->encoder) {
        retire_encoder(channel, now);
        now->encoder = next->encoder;
        now->slate_pool = next->slate_pool;
        now->lacks_surfaces = next->lacks_surfaces;
        begin_encoder(channel);
    } else if (next->refused.width) {
        now->refused = next->refused;
        now->refusal = next->refusal;
    }
    *next = (struct channel_parts){0};
    channel->staged = false;
}

void channel_abort(struct channel *channel)
{
    if (channel->staged) {
        view_free(channel->next.view);
        retire_encoder(channel, &channel->next);
        channel->next = (struct channel_parts){0};
        channel->staged = false;
    }
}

void channel_close(struct channel *channel)
{
    view_free(TAKE(channel->now.view));
    retire_encoder(channel, &channel->now);
}

bool channel_has_old_encoder(const struct channel *channel)
{
    return channel->old.slate_pool;
}

void channel_end_old_encoder(struct channel *channel)
{
    drop_encoder(&channel->old);
}
