#include "daemon/front/front_status.h"

#include "daemon/common/host_address.h"
#include "daemon/common/log.h"
#include "daemon/front/front_camera.h"

#include <string.h>
#include <unistd.h>

#define MOUNTS_LISTED 32u

// Fills what `front` tells of all cameras. Returns the board as a camera process has told of it, of
// one that `role` is shown; NULL: none has. All of them are on the same board.
static const struct heat *sum_up(const GPtrArray *cameras, enum config_role role,
                                 struct front_facts *front)
{
    const struct heat *heat = NULL;

    front->backend = "cpu";
    for (guint i = 0; i < cameras->len; i++) {
        const struct front_camera *camera = g_ptr_array_index(cameras, i);
        struct camera_facts facts;

        front_camera_describe(camera, &facts);
        front->viewers += front_camera_count_viewers(camera, role);
        if (g_str_has_prefix(facts.telemetry->backend, "CUDA")) {
            front->backend = "cuda";
        }
        if (!heat && front_camera_is_shown(camera, role) && facts.pid &&
            facts.telemetry->heat.is_known) {
            heat = &facts.telemetry->heat;
        }
    }
    return heat;
}

static bool shows_all(const GPtrArray *cameras, enum config_role role)
{
    for (guint i = 0; i < cameras->len; i++) {
        if (!front_camera_shows_all(g_ptr_array_index(cameras, i), role)) {
            return false;
        }
    }
    return true;
}

// `paths`: only the views of these, and their cameras; NULL: all.
static void add_cameras(struct facts *facts, const GPtrArray *cameras, const char *url,
                        enum config_role role, const char *const *paths)
{
    facts_begin_list(facts, "cameras");
    for (guint i = 0; i < cameras->len; i++) {
        const struct front_camera *camera = g_ptr_array_index(cameras, i);

        if (!paths || front_camera_has_path(camera, paths)) {
            front_camera_add_facts(camera, facts, role);
        }
    }
    facts_end(facts);
    facts_begin_list(facts, "mounts");
    for (guint i = 0; i < cameras->len; i++) {
        front_camera_add_mounts(g_ptr_array_index(cameras, i), facts, url,
                                i == 0 ? FRONT_ALIAS_PATH : "", role, paths);
    }
    facts_end(facts);
}

char *front_status_text(const GPtrArray *cameras, const struct front_network *network,
                        const struct reload_verdict *verdict, const struct recorder *recorder,
                        int64_t uptime_ns, enum facts_format format, enum config_role role)
{
    static char left_out[] = "left out: this user may not watch every view\n";
    struct reload_verdict configuration = *verdict;
    struct front_facts front = {
        .uptime_s = (double)uptime_ns / (double)NS_PER_S,
        .configuration = &configuration,
        .usage = process_usage_read(getpid()),
        .recorder = recorder_state(recorder),
        .recorder_fault = recorder_fault(recorder),
    };
    const struct heat *heat = sum_up(cameras, role, &front);
    struct facts *facts = facts_new(format);

    if (configuration.problems && !shows_all(cameras, role)) {
        configuration.problems = left_out;
    }
    front_network_describe(network, &front);
    facts_begin(facts, NULL);
    status_add_front(facts, &front);
    if (heat) {
        status_add_board(facts, heat);
    }
    add_cameras(facts, cameras, front.rtsp_url, role, NULL);
    facts_end(facts);
    return facts_finish(facts);
}

char *front_status_views_text(const GPtrArray *cameras, const struct rtsp_server *server,
                              enum config_role role, const char *const *paths)
{
    struct facts *facts = facts_new(FACTS_JSON);
    char url[160];

    host_address_show_url(rtsp_server_url(server), url, sizeof url);
    facts_begin(facts, NULL);
    add_cameras(facts, cameras, url, role, paths);
    facts_end(facts);
    return facts_finish(facts);
}

char *front_status_list_mounts(const GPtrArray *cameras, const struct rtsp_server *server,
                               enum config_role role)
{
    g_autoptr(GPtrArray) urls = g_ptr_array_new_with_free_func(g_free);
    char url[160];

    host_address_show_url(rtsp_server_url(server), url, sizeof url);
    for (guint i = 0; i < cameras->len; i++) {
        front_camera_add_urls(g_ptr_array_index(cameras, i), url, role, urls);
    }
    bool more = urls->len > MOUNTS_LISTED;
    if (!urls->len) {
        return g_strdup("none");
    }
    g_ptr_array_set_size(urls, (gint)MIN(urls->len, MOUNTS_LISTED));
    g_ptr_array_add(urls, NULL);
    g_autofree char *list = g_strjoinv(", ", (char **)urls->pdata);
    return g_strconcat(list, more ? " and more" : "", NULL);
}

// Of a camera that is shown the views, else the cameras.
static char *refuse_view(const GPtrArray *cameras, enum config_role role, const char *camera,
                         const char *view)
{
    GString *views = g_string_new(NULL), *names = g_string_new(NULL);

    for (guint i = 0; i < cameras->len; i++) {
        const struct front_camera *each = g_ptr_array_index(cameras, i);
        const char *name = front_camera_name(each);

        if (!front_camera_find_stream(each, role, NULL)) {
            continue;
        }
        g_string_append_printf(names, "%s\"%s\"", names->len ? ", " : "", name);
        if (!camera || strcmp(name, camera) == 0) {
            front_camera_list_views(each, role, views);
        }
    }
    bool of_view = views->len > 0;
    char *text = g_strdup_printf("%s: there is no \"%s\", allowed: %s", of_view ? "view" : "camera",
                                 of_view  ? view
                                 : camera ? camera
                                          : "",
                                 of_view      ? views->str
                                 : names->len ? names->str
                                              : "none");
    g_string_free(views, TRUE);
    g_string_free(names, TRUE);
    return text;
}

struct stream *front_status_find_view(const GPtrArray *cameras, enum config_role role,
                                      const char *camera, const char *view, char **ret_refusal)
{
    for (guint i = 0; i < cameras->len; i++) {
        const struct front_camera *each = g_ptr_array_index(cameras, i);

        if (!camera || strcmp(front_camera_name(each), camera) == 0) {
            struct stream *stream = front_camera_find_stream(each, role, view);

            if (stream) {
                return stream;
            }
        }
    }
    *ret_refusal = refuse_view(cameras, role, camera, view);
    return NULL;
}

char *front_status_line(const GPtrArray *cameras, bool refused)
{
    unsigned viewers = 0;
    GString *line = g_string_new(NULL);

    for (guint i = 0; i < cameras->len; i++) {
        viewers += front_camera_count_viewers(g_ptr_array_index(cameras, i), CONFIG_ROLE_ADMIN);
    }
    g_string_printf(line, "%s%u camera%s, %u viewer%s",
                    refused ? "the last reload was refused, " : "", cameras->len,
                    cameras->len == 1 ? "" : "s", viewers, viewers == 1 ? "" : "s");
    for (guint i = 0; i < cameras->len; i++) {
        struct camera_facts shown;

        front_camera_describe(g_ptr_array_index(cameras, i), &shown);
        if (strcmp(shown.state, "live") == 0) {
            g_string_append_printf(line, ", %s %.1f fps", shown.name,
                                   shown.telemetry->fps_milli / 1000.0);
        } else {
            g_string_append_printf(line, ", %s %s", shown.name, shown.state);
        }
    }
    return g_string_free(line, FALSE);
}

void front_status_log_mounts(const GPtrArray *cameras, const struct rtsp_server *server)
{
    const char *who = "edged " EDGED_VERSION " is";
    char url[160];

    host_address_show_url(rtsp_server_url(server), url, sizeof url);
    for (guint i = 0; i < cameras->len; i++) {
        const struct front_camera *camera = g_ptr_array_index(cameras, i);

        for (size_t j = 0; j < front_camera_view_count(camera); j++) {
            bool is_first = i == 0 && j == 0;
            g_autofree char *alias =
                is_first ? g_strconcat(" and ", url, FRONT_ALIAS_PATH, NULL) : NULL;

            if (supervisor_lacks_encoder(front_camera_supervisor(camera), j)) {
                continue; // its camera process has said so
            }
            log_write(LOG_NOTICE, LOG_EVENT_STARTED, NULL, NULL, "%s ready: %s%s%s", who, url,
                      front_camera_view_path(camera, j), alias ? alias : "");
            who = "also";
        }
    }
}

void front_status_note_refusals(const GPtrArray *cameras, struct reload_verdict *verdict)
{
    for (guint i = 0; i < cameras->len; i++) {
        const struct front_camera *camera = g_ptr_array_index(cameras, i);
        const char *refusal = supervisor_refusal(front_camera_supervisor(camera));

        if (*refusal) {
            reload_verdict_add_refusal(verdict, front_camera_name(camera), refusal);
        }
    }
}
