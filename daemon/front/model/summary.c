#include "daemon/front/model/summary.h"

#include "daemon/common/host_address.h"
#include "daemon/common/log.h"

#include <string.h>

#define MOUNTS_LISTED 32u

const char *summary_show_url(const char *url, char shown[SUMMARY_URL_SIZE])
{
    host_address_show_url(url ? url : "", shown, SUMMARY_URL_SIZE);
    return shown;
}

char *summary_line(const struct model *model)
{
    const GPtrArray *cameras = model->cameras;
    unsigned viewers = 0;
    GString *line = g_string_new(NULL);

    for (guint i = 0; i < cameras->len; i++)
        viewers += front_camera_count_viewers(g_ptr_array_index(cameras, i), CONFIG_ROLE_ADMIN);
    g_string_printf(line, "%s%u camera%s, %u viewer%s",
                    model->verdict.refused ? "the last reload was refused, " : "", cameras->len,
                    cameras->len == 1 ? "" : "s", viewers, viewers == 1 ? "" : "s");
    for (guint i = 0; i < cameras->len; i++) {
        const struct front_camera *camera = g_ptr_array_index(cameras, i);
        const char *name = front_camera_settings(camera)->name;
        struct supervisor_report report;

        supervisor_describe(front_camera_supervisor(camera), &report);
        if (strcmp(report.state, "live") == 0)
            g_string_append_printf(line, ", %s %.1f fps", name, report.telemetry->fps_milli / 1e3);
        else
            g_string_append_printf(line, ", %s %s", name, report.state);
    }
    return g_string_free(line, FALSE);
}

static void add_urls(const struct front_camera *camera, const char *url, enum config_role role,
                     GPtrArray *urls)
{
    for (size_t i = 0; i < front_camera_settings(camera)->view_count; i++) {
        if (front_camera_shows(camera, i, role)) {
            const char *path = stream_path(front_camera_stream(camera, i));

            g_ptr_array_add(urls, g_strconcat(url, path, NULL));
        }
    }
}

char *summary_list_mounts(const struct model *model, enum config_role role)
{
    g_autoptr(GPtrArray) urls = g_ptr_array_new_with_free_func(g_free);
    char url[SUMMARY_URL_SIZE];

    summary_show_url(model->places.rtsp_url, url);
    for (guint i = 0; i < model->cameras->len; i++)
        add_urls(g_ptr_array_index(model->cameras, i), url, role, urls);
    bool more = urls->len > MOUNTS_LISTED;
    if (!urls->len)
        return g_strdup("none");
    g_ptr_array_set_size(urls, (gint)MIN(urls->len, MOUNTS_LISTED));
    g_ptr_array_add(urls, NULL);
    g_autofree char *list = g_strjoinv(", ", (char **)urls->pdata);
    return g_strconcat(list, more ? " and more" : "", NULL);
}

void summary_log_mounts(const struct model *model)
{
    const GPtrArray *cameras = model->cameras;
    const char *who = "edged " EDGED_VERSION " is";
    char url[SUMMARY_URL_SIZE];

    summary_show_url(model->places.rtsp_url, url);
    for (guint i = 0; i < cameras->len; i++) {
        const struct front_camera *camera = g_ptr_array_index(cameras, i);

        for (size_t j = 0; j < front_camera_settings(camera)->view_count; j++) {
            bool is_first = i == 0 && j == 0;
            g_autofree char *alias =
                is_first ? g_strconcat(" and ", url, MODEL_ALIAS_PATH, NULL) : NULL;

            if (supervisor_lacks_encoder(front_camera_supervisor(camera), j)) {
                continue; // its camera process has said so
            }
            log_write(LOG_NOTICE, LOG_EVENT_STARTED, NULL, NULL, "%s ready: %s%s%s", who, url,
                      stream_path(front_camera_stream(camera, j)), alias ? alias : "");
            who = "also";
        }
    }
}
