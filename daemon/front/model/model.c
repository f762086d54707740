#include "daemon/front/model/model.h"

#include "config/diff.h"
#include "daemon/common/log.h"
#include "daemon/front/model/lookup.h"
#include "daemon/front/supervise/camera_link.h"
#include "daemon/front/supervise/secret_files.h"

#include <errno.h>
#include <string.h>

// Reports of cameras and of the recorder
// ---------------------------------------------------------------------

void model_set_verdict(struct model *model, bool refused, struct config_problems *problems)
{
    struct reload_verdict *verdict = &model->verdict;

    verdict->refused = refused;
    verdict->at_ns = g_get_real_time() * NS_PER_US;
    if (!refused)
        verdict->applied_at_ns = verdict->at_ns;
    config_problems_finish(&verdict->problems);
    verdict->problems = *problems;
    *problems = (struct config_problems){0};
}

// Adds that a camera goes on with its settings before, for this reason; once, however often it is
// said.
static void add_refusal(struct reload_verdict *verdict, const char *camera, const char *reason)
{
    g_autofree char *sentence =
        g_strdup_printf("camera %s: %s, keeping its settings before", camera, reason);

    for (size_t i = 0; i < verdict->problems.count; i++) {
        if (strcmp(verdict->problems.list[i].sentence, sentence) == 0)
            return;
    }
    config_problems_tell(&verdict->problems, true, NULL, "%s", sentence);
    verdict->refused = true;
}

// Adds to the verdict which cameras could not have what a reload has changed: their processes learn
// it only when they build it.
static void note_refusals(struct model *model)
{
    for (guint i = 0; i < model->cameras->len; i++) {
        const struct front_camera *camera = g_ptr_array_index(model->cameras, i);
        const char *refusal = supervisor_refusal(front_camera_supervisor(camera));

        if (*refusal)
            add_refusal(&model->verdict, front_camera_name(camera), refusal);
    }
}

static void note_states(const struct model *model)
{
    for (guint i = 0; i < model->cameras->len; i++) {
        const struct front_camera *camera = g_ptr_array_index(model->cameras, i);
        const char *name = front_camera_name(camera);
        struct supervisor_report report;

        supervisor_describe(front_camera_supervisor(camera), &report);
        event_feed_note_camera(model->feed, name, lookup_role(model->config, name), report.state,
                               report.error);
    }
}

static void on_camera_changed(void *context)
{
    struct model *model = context;

    note_refusals(model);
    note_states(model);
    for (guint i = 0; i < model->cameras->len; i++) {
        const struct front_camera *camera = g_ptr_array_index(model->cameras, i);

        tracks_note_regions(model->tracks, supervisor_regions(front_camera_supervisor(camera)));
    }
    model->events.settled(model->events.context);
}

static void on_motion(void *context, const struct motion_event *event)
{
    const struct model *model = context;
    struct motion_event published = *event;

    tracks_note_motion(model->tracks, event);
    motion_log(event);
    published.role = lookup_role(model->config, event->camera);
    published.clip = tracks_open_clip(model->tracks, event->camera, event->region);
    event_feed_add(model->feed, event_of_motion(&published));
}

static void on_recorder_connected(void *context)
{
    tracks_connect(((const struct model *)context)->tracks);
}

static void on_recorder_writable(void *context)
{
    tracks_drain(((const struct model *)context)->tracks);
}

static void on_clip(void *context, const struct record_clip *clip)
{
    const struct model *model = context;

    if (tracks_note_clip(model->tracks, clip)) {
        event_feed_add(
            model->feed,
            event_of_clip(clip, lookup_view_role(model->config, clip->camera, clip->view)));
    }
}

// Cameras
// ---------------------------------------------------------------------

static void free_camera(gpointer camera)
{
    front_camera_free(camera);
}

static struct front_camera *take_camera(GPtrArray *cameras, const char *name)
{
    for (guint i = 0; i < cameras->len; i++) {
        if (strcmp(front_camera_name(g_ptr_array_index(cameras, i)), name) == 0)
            return g_ptr_array_steal_index(cameras, i);
    }
    return NULL;
}

static void apply_recording(struct model *model, const struct config *config)
{
    g_autofree struct stream **streams = g_new0(struct stream *, config->camera_count);

    for (size_t i = 0; i < config->camera_count; i++) {
        streams[i] =
            front_camera_find_stream(g_ptr_array_index(model->cameras, i), CONFIG_ROLE_ADMIN,
                                     config_record_view(&config->cameras[i])->name);
    }
    tracks_configure(model->tracks, config, streams);
}

// Where systemd starts camera processes; NULL: edged starts them itself.
static const char *camera_socket(void)
{
    const char *path = g_getenv("EDGED_CAMERA_SOCKET");

    return path && *path ? path : NULL;
}

// Makes, updates and removes cameras as `config` says, which they borrow.
static void apply_cameras(struct model *model, const struct config *config)
{
    const struct supervisor_environment environment = {
        .program = model->program,
        .socket = camera_socket(),
        .config_path = model->live.path,
        .changed = on_camera_changed,
        .motion = on_motion,
        .context = model,
    };
    GPtrArray *before = model->cameras;

    model->cameras = g_ptr_array_new_with_free_func(free_camera);
    for (size_t i = 0; i < config->camera_count; i++) {
        struct front_camera *camera = take_camera(before, config->cameras[i].name);

        if (camera)
            front_camera_apply(camera, config, i);
        else
            camera = front_camera_new(config, i, model->mounts, &environment);
        g_ptr_array_add(model->cameras, camera);
    }
    apply_recording(model, config);
    g_ptr_array_unref(before);
    if (model->cameras->len > 0) {
        const struct front_camera *first = g_ptr_array_index(model->cameras, 0);

        mounts_add(model->mounts, MODEL_ALIAS_PATH, front_camera_stream(first, 0),
                   config_view_role(&config->cameras[0].views[0]));
    }
}

int model_start(struct model *model)
{
    int r = 0;
    bool any = false;

    for (guint i = 0; i < model->cameras->len; i++) {
        struct supervisor *supervisor =
            front_camera_supervisor(g_ptr_array_index(model->cameras, i));

        if (supervisor_is_stopped(supervisor)) {
            r = supervisor_start(supervisor);
            any |= r == 0;
        }
    }
    return any ? 0 : r;
}

void model_try_cameras(const struct model *model)
{
    for (guint i = 0; i < model->cameras->len; i++) {
        const struct front_camera *camera = g_ptr_array_index(model->cameras, i);
        struct camera_link *link = supervisor_link(front_camera_supervisor(camera));

        if (link)
            camera_link_try_camera(link);
    }
}

// Settings
// ---------------------------------------------------------------------

static enum config_role role_of_event(const struct config *config, const struct event *event)
{
    return event->view[0] ? lookup_view_role(config, event->camera, event->view)
                          : lookup_role(config, event->camera);
}

static void take_config(struct model *model, struct config *config)
{
    apply_cameras(model, config);
    config_free(model->config);
    model->config = config;
    event_feed_keep_cameras(model->feed, config, role_of_event);
    event_feed_add(model->feed, event_of_settings());
}

void model_take(struct model *model, struct config *config, struct live *live)
{
    take_config(model, config);
    model_start(model); // what cannot be started is logged and tried again
    live_take(&model->live, live);
    model->verdict.path = model->live.path;
    model->events.changed(model->events.context);
}

void model_change(struct model *model, struct live_request *request)
{
    struct config *next = NULL;
    char suffix[LOG_LIMIT_SUFFIX_SIZE] = "";

    if (model->is_stopping) { // a tune may end while edged stops
        request->status = 503;
        error_set(&request->fault.error, -ESHUTDOWN, "edged is stopping");
        return;
    }
    live_change(&model->live, model->config, request, &next);
    if (!next)
        return;
    if (!request->is_kept && log_limit_line(&model->log_limit, clock_now_ns(), suffix)) {
        _cleanup_(cleanup_free) char *changes = config_diff_summarize(model->config, next);

        log_notice("settings changed by %s: %s%s", request->who, changes ? changes : "", suffix);
    } // keeping.c tells what is kept
    take_config(model, next);
    model->events.changed(model->events.context);
}

// The blocks that a tune has found are settings as those of PATCH /v1/config.
static int set_blocks(void *context, const struct config_block *blocks, bool is_kept,
                      struct error *error)
{
    g_autofree char *patch = tuning_patch(blocks);
    struct live_request request = {
        .text = patch, .size = strlen(patch), .who = "POST /v1/tune", .is_kept = is_kept};

    model_change(context, &request);
    g_free(request.reply);
    return request.fault.error.text[0] ? error_set(error, -EINVAL, "%s", request.fault.error.text)
                                       : 0;
}

// Life
// ---------------------------------------------------------------------

void model_init(struct model *model, struct config *config, struct live *live, char *program,
                struct account *account, const struct model_events *events)
{
    const struct recorder_events recorder_events = {.clip = on_clip,
                                                    .connected = on_recorder_connected,
                                                    .writable = on_recorder_writable,
                                                    .context = model};

    *model = (struct model){
        .config = config,
        .started_ns = clock_now_ns(),
        .program = program,
        .account = account,
        .mounts = mounts_new(),
        .cameras = g_ptr_array_new_with_free_func(free_camera),
        .feed = event_feed_new(),
        .tuning = {.set_blocks = set_blocks, .context = model},
        .events = *events,
    };
    live_take(&model->live, live);
    live_keep(&model->live, events->changed, events->context);
    model->verdict.path = model->live.path;
    model_set_verdict(model, false, &(struct config_problems){0});
    model->recorder = recorder_new(&recorder_events);
    model->tracks = tracks_new(model->recorder);
    recorder_configure(model->recorder, config);
    recorder_set_secrets(
        model->recorder,
        secret_files_list(config, model->live.path, NULL, recorder_storage(model->recorder)->path));
    apply_cameras(model, config);
}

void model_stop(struct model *model)
{
    model->is_stopping = true;
    if (model->live.keeping)
        keeping_hurry(model->live.keeping);
    for (guint i = 0; i < model->cameras->len; i++)
        supervisor_stop(front_camera_supervisor(g_ptr_array_index(model->cameras, i)));
    recorder_stop(model->recorder); // first: one that goes on keeps what it has of each track
    tracks_stop(model->tracks);
}

bool model_is_stopped(const struct model *model)
{
    for (guint i = 0; i < model->cameras->len; i++) {
        const struct front_camera *camera = g_ptr_array_index(model->cameras, i);

        if (!supervisor_is_stopped(front_camera_supervisor(camera)) ||
            front_camera_is_watched(camera)) {
            return false;
        }
    }
    return recorder_is_stopped(model->recorder) &&
           !(model->live.keeping && keeping_is_pending(model->live.keeping));
}

void model_finish(struct model *model)
{
    if (!model->cameras) // model_init() was not called
        return;
    g_ptr_array_unref(model->cameras);
    tracks_free(model->tracks);
    recorder_free(model->recorder);
    event_feed_free(model->feed);
    g_hash_table_unref(model->mounts);
    free(model->program);
    config_free(model->config);
    live_finish(&model->live);
    config_problems_finish(&model->verdict.problems);
}
