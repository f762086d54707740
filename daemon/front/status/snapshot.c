#include "daemon/front/status/snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

const char *latency_step_name(enum latency_step step)
{
    static const char *const names[LATENCY_STEP_COUNT] = {
        [LATENCY_CAPTURE] = "capture",
        [LATENCY_COMPUTE] = "compute",
        [LATENCY_ENCODE] = "encode",
        [LATENCY_LINK] = "link",
        [LATENCY_CAPTURE_TO_RTP] = "capture_to_rtp",
    };

    return names[step];
}

struct snapshot_usage snapshot_read_usage(pid_t pid)
{
    struct snapshot_usage usage = {0};
    unsigned long user, system, pages;
    char path[32], line[1024] = "";
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    file = pid > 0 ? fopen(path, "re") : NULL;
    if (!file) {
        return usage;
    }
    if (!fgets(line, sizeof line, file)) {
        line[0] = 0;
    }
    fclose(file);
    // Fields 14, 15 and 24 of proc(5); the second is a name in brackets that may hold anything.
    const char *after = strrchr(line, ')');
    if (after && sscanf(after,
                        ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d %*d "
                        "%*d %*u %*u %lu",
                        &user, &system, &pages) == 3) {
        usage.cpu_s = (double)(user + system) / (double)getauxval(AT_CLKTCK);
        usage.resident_bytes = (uint64_t)pages * getauxval(AT_PAGESZ);
    }
    return usage;
}

static bool has_mount(const struct snapshot *snapshot, const struct snapshot_camera *camera)
{
    for (size_t i = 0; i < snapshot->mount_count; i++) {
        if (strcmp(snapshot->mounts[i].camera, camera->name) == 0) {
            return true;
        }
    }
    return false;
}

void snapshot_show_to(struct snapshot *snapshot, enum config_role role)
{
    static char left_out[] = "left out: this user may not watch every view\n";
    size_t mounts = snapshot->mount_count, cameras = snapshot->camera_count;

    snapshot->mount_count = 0;
    for (size_t i = 0; i < mounts; i++) {
        if (snapshot->mounts[i].role <= role) {
            snapshot->mounts[snapshot->mount_count++] = snapshot->mounts[i];
        }
    }
    if (snapshot->mount_count == mounts) {
        return;
    }
    snapshot->camera_count = 0;
    for (size_t i = 0; i < cameras; i++) {
        if (has_mount(snapshot, &snapshot->cameras[i])) {
            snapshot->cameras[snapshot->camera_count++] = snapshot->cameras[i];
        }
    }
    snapshot->viewers = 0;
    for (size_t i = 0; i < snapshot->mount_count; i++) {
        snapshot->viewers += snapshot->mounts[i].viewers;
    }
    if (snapshot->configuration.problems) {
        snapshot->configuration.problems = left_out;
    }
}

void snapshot_free(struct snapshot *snapshot)
{
    if (!snapshot) {
        return;
    }
    free(snapshot->mounts);
    free(snapshot->cameras);
    free(snapshot);
}
