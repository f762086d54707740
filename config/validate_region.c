// Regions: what their keys mean together, and the pictures they name.
#include "config/validate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int validate_complete_regions(struct config_camera *camera)
{
    for (size_t i = 0; i < camera->region_count; i++) {
        struct config_region *region = &camera->regions[i];

        if (region->end == 0) {
            region->end = region->start / 2;
        }
        if (!region->name && asprintf(&region->name, "region%zu", i) < 0) {
            region->name = NULL;
            return -ENOMEM;
        }
    }
    return 0;
}

static void check_region(struct problems *problems, const config_setting_t *setting,
                         const struct config_region *region)
{
    const config_setting_t *end = config_setting_get_member(setting, "end");

    if (region->polygon_count > 0 && *region->mask) {
        problems_error(problems, config_setting_get_member(setting, "mask"), NULL,
                       "got a mask beside a polygon, allowed: one of the two");
    }
    if (end && region->end > region->start) {
        problems_error(problems, end, NULL, "got %g, allowed: at most start, which is %g (percent)",
                       region->end, region->start);
    }
}

void validate_check_regions(struct problems *problems, const config_setting_t *camera_setting,
                            const struct config_camera *camera)
{
    const config_setting_t *list = config_setting_get_member(camera_setting, "regions");

    for (size_t i = 0; list && i < camera->region_count; i++) {
        const config_setting_t *setting = config_setting_get_elem(list, (unsigned)i);

        if (setting && config_setting_is_group(setting)) {
            check_region(problems, setting, &camera->regions[i]);
        }
    }
    if (list) {
        validate_check_names(problems, list, "regions", camera->regions, camera->region_count,
                             sizeof *camera->regions);
    }
}

// Why the file is no mask, or NULL. Only how it begins is looked at.
static const char *find_fault(const char *path)
{
    static const char png[] = "\x89PNG\r\n\x1a\n", pgm[] = "P5";
    _cleanup_(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char start[sizeof png - 1];
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0) {
        return strerror(errno);
    }
    if (!S_ISREG(status.st_mode)) {
        return "no regular file";
    }
    ssize_t length = read(fd, start, sizeof start);
    if (length < 0) {
        return strerror(errno);
    }
    if ((size_t)length == sizeof start &&
        (memcmp(start, png, sizeof png - 1) == 0 || memcmp(start, pgm, sizeof pgm - 1) == 0)) {
        return NULL;
    }
    return "neither a PGM (P5) nor a PNG";
}

static int resolve_mask(struct problems *problems, const config_setting_t *setting,
                        struct config_region *region)
{
    const char *file = config_text_origin(problems->text, config_setting_source_line(setting)).file;
    const char *slash = strrchr(file, '/');

    if (*region->mask != '/' && slash) {
        size_t folder = (size_t)(slash - file) + 1, length = strlen(region->mask);
        char *path = malloc(folder + length + 1);

        if (!path) {
            return -ENOMEM;
        }
        memcpy(path, file, folder);
        memcpy(path + folder, region->mask, length + 1);
        free(region->mask);
        region->mask = path;
    }
    const char *fault = find_fault(region->mask);
    if (fault) {
        FILE *line = problems_begin_warning(problems, setting);

        if (line) {
            fprintf(line,
                    "cannot read \"%s\": %s; allowed: a .pgm or .png; until then the region "
                    "has no events",
                    region->mask, fault);
        }
        problems_end(problems);
    }
    return 0;
}

int validate_files(struct problems *problems, const config_setting_t *root, struct config *config)
{
    const config_setting_t *cameras = config_setting_get_member(root, "cameras");
    int r = 0;

    for (size_t i = 0; cameras && problems->text->is_file && i < config->camera_count; i++) {
        const struct config_camera *camera = &config->cameras[i];
        const config_setting_t *setting = config_setting_get_elem(cameras, (unsigned)i);
        const config_setting_t *list =
            config_setting_is_group(setting) ? config_setting_get_member(setting, "regions") : NULL;

        for (size_t j = 0; list && j < camera->region_count && r == 0; j++) {
            const config_setting_t *region = config_setting_get_elem(list, (unsigned)j);
            const config_setting_t *mask =
                config_setting_is_group(region) ? config_setting_get_member(region, "mask") : NULL;

            if (mask && *camera->regions[j].mask) {
                r = resolve_mask(problems, mask, &camera->regions[j]);
            }
        }
    }
    return r;
}
