#include "daemon/front/mask_stamps.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

static void write_stamp(FILE *file, const char *mask)
{
    struct stat status = {0};

    if (*mask) {
        if (stat(mask, &status) < 0) {
            status = (struct stat){0};
        }
        fprintf(file, "%s %llu:%llu %o %lld %lld.%09ld\n", mask, (unsigned long long)status.st_dev,
                (unsigned long long)status.st_ino, (unsigned)status.st_mode,
                (long long)status.st_size, (long long)status.st_ctim.tv_sec,
                status.st_ctim.tv_nsec);
    }
}

int mask_stamps(const struct config_camera *camera, char **ret_text)
{
    _cleanup_(cleanup_free) char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    if (!file) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < camera->view_count; i++) {
        write_stamp(file, camera->views[i].mask);
    }
    for (size_t i = 0; i < camera->region_count; i++) {
        write_stamp(file, camera->regions[i].mask);
    }
    bool failed = ferror(file);
    if (fclose(file) != 0 || failed) {
        return -ENOMEM;
    }
    *ret_text = TAKE(text);
    return 0;
}
