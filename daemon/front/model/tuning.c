#include "daemon/front/model/tuning.h"

#include "daemon/common/json.h"
#include "daemon/front/model/front_camera.h"
#include "daemon/front/supervise/camera_link.h"

#include <errno.h>
#include <string.h>

static void add_block(JsonBuilder *json, const struct link_block *block, double us)
{
    json_begin_list(json, "block");
    json_builder_add_int_value(json, block->x);
    json_builder_add_int_value(json, block->y);
    json_builder_end_array(json);
    json_add_integer(json, "rows", block->rows);
    json_add_number(json, "us", us);
}

static void add_named_block(JsonBuilder *json, const char *name, const struct link_block *block,
                            double us)
{
    json_begin_object(json, name);
    add_block(json, block, us);
    json_builder_end_object(json);
}

static void add_progress(JsonBuilder *json, const struct link_tune_progress *progress,
                         const char *view)
{
    json_add_string(json, "type", "progress");
    json_add_string(json, "view", view);
    json_add_string(json, "kernel", config_kernel_name(progress->kernel));
    add_block(json, &progress->block, progress->us);
    add_named_block(json, "best", &progress->best, progress->best_us);
    json_add_integer(json, "turn", progress->turn);
    json_add_integer(json, "turns", progress->turns);
    json_add_number(json, "share", progress->share);
}

static void add_choice(JsonBuilder *json, const struct link_tune_progress *progress)
{
    double gain = progress->us > 0 ? 1 - progress->best_us / progress->us : 0;

    json_add_string(json, "type", "kernel");
    json_add_string(json, "kernel", config_kernel_name(progress->kernel));
    add_named_block(json, "before", &progress->block, progress->us);
    add_named_block(json, "after", &progress->best, progress->best_us);
    json_add_number(json, "gain", gain);
    json_add_flag(json, "changed", progress->set.x > 0 || progress->set.rows > 0);
}

static void add_end(JsonBuilder *json, const char *failure, bool applied)
{
    json_add_string(json, "type", "end");
    json_add_string(json, "error", failure);
    json_add_flag(json, "applied", applied);
}

static void take_choice(struct tuning *tuning, const struct link_tune_progress *progress)
{
    const struct link_block *set = &progress->set;

    if (set->x > 0 || set->rows > 0) {
        tuning->set[progress->kernel] = (struct config_block){set->x, set->y, set->rows};
        tuning->found = true;
    }
}

char *tuning_patch(const struct config_block *blocks)
{
    GString *patch = g_string_new("{\"kernels\":{");
    const char *separator = "";

    for (enum config_kernel kernel = 0; kernel < CONFIG_KERNEL_COUNT; kernel++) {
        const struct config_block *block = &blocks[kernel];

        if (block->x == 0 && block->rows == 0)
            continue;
        g_string_append_printf(patch, "%s\"%s\":{", separator, config_kernel_name(kernel));
        if (block->x > 0)
            g_string_append_printf(patch, "\"block\":[%d,%d]", block->x, block->y);
        if (block->rows > 0)
            g_string_append_printf(patch, "%s\"rows\":%d", block->x > 0 ? "," : "", block->rows);
        g_string_append_c(patch, '}');
        separator = ",";
    }
    g_string_append(patch, "}}");
    return g_string_free(patch, FALSE);
}

static void tell(const struct tuning *tuning, JsonBuilder *json, bool is_last)
{
    json_builder_end_object(json);
    g_autofree char *text = json_built_text(json, false);

    tuning->reader.line(tuning->reader.context, text, is_last);
}

static void end(struct tuning *tuning, const char *failure, bool applied)
{
    g_autoptr(JsonBuilder) json = json_builder_new();

    tuning->link = NULL;
    json_builder_begin_object(json);
    add_end(json, failure, applied);
    tell(tuning, json, true);
}

// Not while its process is listened to: other settings may end that.
static gboolean finish(gpointer data)
{
    struct tuning *tuning = data;
    bool applies = (tuning->apply || tuning->keep) && tuning->found;
    struct error error = {0};

    tuning->finishing = 0;
    if (applies && tuning->set_blocks(tuning->context, tuning->set, tuning->keep, &error) < 0)
        applies = false;
    end(tuning, error.text, applies);
    return G_SOURCE_REMOVE;
}

static void take_progress(void *context, const struct link_tune_progress *progress,
                          const struct stream *stream)
{
    struct tuning *tuning = context;
    g_autoptr(JsonBuilder) json = NULL;

    if (progress->kind == LINK_TUNE_DONE) {
        tuning->link = NULL;
        tuning->finishing = g_idle_add(finish, tuning);
        return;
    }
    if (progress->kind == LINK_TUNE_FAILED) {
        end(tuning, progress->sentence, false);
        return;
    }
    json = json_builder_new();
    json_builder_begin_object(json);
    if (progress->kind == LINK_TUNE_TRIED) {
        add_progress(json, progress, front_camera_view_name(tuning->camera, stream, tuning->role));
    } else {
        take_choice(tuning, progress);
        add_choice(json, progress);
    }
    tell(tuning, json, false);
}

// The camera that is asked for and that the role is shown; NULL: there is none.
static const struct front_camera *find_camera(const GPtrArray *cameras,
                                              const struct tuning_request *request)
{
    for (guint i = 0; i < cameras->len; i++) {
        const struct front_camera *camera = g_ptr_array_index(cameras, i);

        if (front_camera_is_shown(camera, request->role) &&
            (!request->camera || strcmp(front_camera_name(camera), request->camera) == 0)) {
            return camera;
        }
    }
    return NULL;
}

// Whether it computes on a GPU, and now.
static int check_camera(const struct front_camera *camera, struct error *error)
{
    struct supervisor_report report;

    supervisor_describe(front_camera_supervisor(camera), &report);
    if (!g_str_has_prefix(report.telemetry->backend, "CUDA")) {
        return error_set(error, -ENODEV,
                         "camera %s does not compute on a GPU%s%s: there is nothing to tune",
                         front_camera_name(camera), *report.gpu ? ": " : "", report.gpu);
    }
    if (strcmp(report.state, "live") != 0 || !supervisor_link(front_camera_supervisor(camera))) {
        return error_set(error, -ENODEV, "camera %s delivers no pictures now (%s)",
                         front_camera_name(camera), report.state);
    }
    return 0;
}

int tuning_begin(struct tuning *tuning, const GPtrArray *cameras,
                 const struct tuning_request *request, const struct tuning_reader *reader,
                 struct fault *fault)
{
    const struct front_camera *camera = find_camera(cameras, request);
    const struct camera_link_tuner tuner = {take_progress, tuning};
    const struct stream *stream = NULL;

    if (!camera) {
        return fault_at(fault, "camera",
                        error_set(&fault->error, -ENOENT, "there is no \"%s\"",
                                  request->camera ? request->camera : ""));
    }
    if (request->view) {
        stream = front_camera_find_stream(camera, request->role, request->view);
        if (!stream) {
            return fault_at(fault, "view",
                            error_set(&fault->error, -ENOENT, "camera %s has no \"%s\"",
                                      front_camera_name(camera), request->view));
        }
    }
    if (tuning->link || tuning->finishing) {
        return error_set(&fault->error, -EBUSY, "camera %s is being tuned; one tune at a time",
                         tuning->name);
    }
    int r = check_camera(camera, &fault->error);
    if (r < 0)
        return r;
    struct camera_link *link = supervisor_link(front_camera_supervisor(camera));
    r = camera_link_tune(link, stream, request->kernels, &tuner);
    if (r < 0) {
        return error_set(&fault->error, r, "the process of camera %s does not read",
                         front_camera_name(camera));
    }
    tuning->link = link;
    tuning->camera = camera;
    g_strlcpy(tuning->name, front_camera_name(camera), sizeof tuning->name);
    tuning->reader = *reader;
    tuning->role = request->role;
    tuning->apply = request->apply;
    tuning->keep = request->keep;
    tuning->found = false;
    memset(tuning->set, 0, sizeof tuning->set);
    return 0;
}

void tuning_stop(struct tuning *tuning)
{
    g_clear_handle_id(&tuning->finishing, g_source_remove);
    if (tuning->link)
        camera_link_stop_tune(TAKE(tuning->link));
}
