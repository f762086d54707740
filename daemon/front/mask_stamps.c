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
        fprintf(file, "%s %lld %lld.%09ld\n", mask, (long long)status.st_size,
                (long long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
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
    if (ferror(file) | fclose(file)) {
        return -ENOMEM;
    }
    *ret_text = TAKE(text);
    return 0;
}
