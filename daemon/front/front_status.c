#include "daemon/front/front_status.h"

#include "daemon/common/host_address.h"
#include "daemon/common/log.h"
#include "daemon/front/front_camera.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static size_t count_mounts(const GPtrArray *cameras)
{
    size_t count = 0;

    for (guint i = 0; i < cameras->len; i++) {
        count += front_camera_view_count(g_ptr_array_index(cameras, i));
    }
    return count;
}

struct snapshot *front_status_snapshot(const GPtrArray *cameras, struct rtsp_server *server,
                                       const struct front_network *network,
                                       const struct account *account,
                                       const struct reload_verdict *verdict, int64_t uptime_ns)
{
    struct snapshot *snapshot = calloc(1, sizeof *snapshot);

    if (!snapshot) {
        return NULL;
    }
    size_t mounts = count_mounts(cameras);
    struct account_counters counters;
    bool cuda = false;
    // One more of each than there are, because calloc() of 0 elements may return NULL.
    snapshot->cameras = calloc(cameras->len + 1, sizeof *snapshot->cameras);
    snapshot->mounts = calloc(mounts + 1, sizeof *snapshot->mounts);
    if (!snapshot->cameras || !snapshot->mounts) {
        snapshot_free(snapshot);
        return NULL;
    }
    for (guint i = 0; i < cameras->len; i++) {
        const struct front_camera *camera = g_ptr_array_index(cameras, i);

        front_camera_describe(camera, &snapshot->cameras[snapshot->camera_count++],
                              &snapshot->mounts[snapshot->mount_count]);
        snapshot->mount_count += front_camera_view_count(camera);
        snapshot->cameras[i].usage = snapshot_read_usage(snapshot->cameras[i].pid);
        cuda |= strncmp(snapshot->cameras[i].telemetry.backend, "CUDA", strlen("CUDA")) == 0;
    }
    snapshot->mounts[0].has_alias = mounts > 0;
    snapshot->configuration = *verdict;
    snapshot->uptime_s = (double)uptime_ns / (double)NS_PER_S;
    snapshot->usage = snapshot_read_usage(getpid());
    snapshot->viewers = rtsp_server_count_viewers(server, NULL);
    host_address_show_url(rtsp_server_url(server), snapshot->rtsp_url, sizeof snapshot->rtsp_url);
    front_network_describe(network, snapshot);
    account_count(account, &counters);
    snapshot->failed_logins = counters.failed;
    snapshot->throttled_logins = counters.throttled;
    snprintf(snapshot->backend, sizeof snapshot->backend, cuda ? "cuda" : "cpu");
    return snapshot;
}

char *front_status_line(const GPtrArray *cameras, struct rtsp_server *server, bool refused)
{
    unsigned viewers = rtsp_server_count_viewers(server, NULL);
    GString *line = g_string_new(NULL);

    g_string_printf(line, "%s%u camera%s, %u viewer%s",
                    refused ? "the last reload was refused, " : "", cameras->len,
                    cameras->len == 1 ? "" : "s", viewers, viewers == 1 ? "" : "s");
    for (guint i = 0; i < cameras->len; i++) {
        struct snapshot_camera shown = {0};

        supervisor_describe(front_camera_supervisor(g_ptr_array_index(cameras, i)), &shown);
        if (strcmp(shown.state, "live") == 0) {
            g_string_append_printf(line, ", %s %.1f fps", shown.name,
                                   shown.telemetry.fps_milli / 1000.0);
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
                is_first ? g_strconcat(" and ", url, SNAPSHOT_ALIAS_PATH, NULL) : NULL;

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
