#include "board/heat.h"

#include "board/board.h"
#include "config/base.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 512
#define CONF_BYTES 65536 // Thor's nvpmodel.conf has 20 KB

// The first line of a file in `folder`.
static bool read_member(const char *folder, const char *name, char *ret_text, size_t size)
{
    if (read_file(folder, name, ret_text, size) == 0)
        return false;
    ret_text[strcspn(ret_text, "\n")] = '\0';
    return true;
}

static bool read_number(const char *folder, const char *name, int64_t *ret_number)
{
    char text[32], *end;

    if (!read_member(folder, name, text, sizeof text))
        return false;
    errno = 0;
    *ret_number = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0';
}

// Calls `take` with each folder that matches until it says false.
static void each_folder(const char *root, const char *pattern,
                        bool (*take)(const char *folder, struct heat *heat), struct heat *heat)
{
    char path[PATH_BYTES];
    glob_t found = {0};

    if ((size_t)snprintf(path, sizeof path, "%s%s", root, pattern) < sizeof path &&
        glob(path, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc && take(found.gl_pathv[i], heat); i++) {
        }
    }
    globfree(&found);
}

static bool take_zone(const char *folder, struct heat *heat)
{
    struct heat_zone *zone = &heat->zones[heat->zone_count];
    int64_t millidegrees;

    if (read_member(folder, "type", zone->name, sizeof zone->name) &&
        read_number(folder, "temp", &millidegrees) && millidegrees > -100000 &&
        millidegrees < 250000) {
        zone->millidegrees = (int32_t)millidegrees;
        heat->zone_count++;
    }
    return heat->zone_count < HEAT_ZONES_MAX;
}

static bool slows_down(const char *type)
{
    static const char *const parts[] = {"Processor", "cpufreq", "devfreq", "throttle",
                                        "hot-surface-alert"};

    for (size_t i = 0; i < ARRAY_LENGTH(parts); i++) {
        if (strstr(type, parts[i]))
            return true;
    }
    return false;
}

static bool take_cooling_device(const char *folder, struct heat *heat)
{
    size_t length = strlen(heat->throttled_by);
    char type[48];
    int64_t state;

    if (read_member(folder, "type", type, sizeof type) && slows_down(type) &&
        read_number(folder, "cur_state", &state) && state > 0) {
        // Each CPU has one of that name.
        if (!strstr(heat->throttled_by, type)) {
            snprintf(heat->throttled_by + length, sizeof heat->throttled_by - length, "%s%s",
                     length > 0 ? ", " : "", type);
        }
        heat->throttled++;
    }
    return true;
}

static bool take_gpu(const char *folder, struct heat *heat)
{
    static const char *const ends[] = {".gpu", ".ga10b", ".gv11b", ".gp10b"};
    const char *name = strrchr(folder, '/') + 1, *end = strrchr(name, '.');
    bool is_gpu = strncmp(name, "gpu", 3) == 0;
    int64_t load;

    for (size_t i = 0; i < ARRAY_LENGTH(ends) && end; i++)
        is_gpu |= strcmp(end, ends[i]) == 0;
    if (!is_gpu || !read_number(folder, "cur_freq", &heat->gpu_hz))
        return true;
    if (!read_number(folder, "max_freq", &heat->gpu_hz_max))
        heat->gpu_hz_max = 0;
    if (read_number(folder, "device/load", &load) && load >= 0 && load <= 1000)
        heat->gpu_permille = (int32_t)load;
    return false;
}

// The name that the configuration gives the mode of that number.
static void name_mode(const char *conf, long number, char *ret_name, size_t size)
{
    const char *line = conf;

    while ((line = strstr(line, "POWER_MODEL "))) {
        char name[32];
        long id;

        if (sscanf(line, "POWER_MODEL ID=%ld NAME=%31[^ >\n]", &id, name) == 2 && id == number) {
            snprintf(ret_name, size, "%s", name);
            return;
        }
        line++;
    }
}

static void read_power_mode(const char *root, struct heat *heat)
{
    _cleanup_(cleanup_free) char *conf = malloc(CONF_BYTES);
    char status[64];
    bool known = read_file(root, "var/lib/nvpmodel/status", status, sizeof status) > 0;
    const char *mode = known ? strstr(status, "pmode:") : NULL;

    if (!mode)
        return;
    long number = strtol(mode + strlen("pmode:"), NULL, 10);
    snprintf(heat->power_mode, sizeof heat->power_mode, "%ld", number);
    if (conf && read_file(root, "etc/nvpmodel.conf", conf, CONF_BYTES) > 0)
        name_mode(conf, number, heat->power_mode, sizeof heat->power_mode);
}

void heat_read(const char *root, struct heat *ret_heat)
{
    *ret_heat = (struct heat){.is_known = 1, .gpu_permille = -1};
    each_folder(root, "/sys/class/thermal/thermal_zone*", take_zone, ret_heat);
    each_folder(root, "/sys/class/thermal/cooling_device*", take_cooling_device, ret_heat);
    each_folder(root, "/sys/class/devfreq/*", take_gpu, ret_heat);
    read_power_mode(root, ret_heat);
}
