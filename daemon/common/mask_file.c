#include "daemon/common/mask_file.h"

#include "daemon/common/log.h"
#include "daemon/common/media.h"
#include "daemon/common/pnm.h"
#include "kernels/gray/gray.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

// 1 for a PNM, 0 for something else.
static int is_pnm(const char *path, struct error *error)
{
    _cleanup_(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char start[2] = {0};
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0)
        return error_set(error, -errno, "%s: %s", path, strerror(errno));
    if (!S_ISREG(status.st_mode))
        return error_set(error, -EINVAL, "%s: no regular file", path);
    if (read(fd, start, sizeof start) < 0)
        return error_set(error, -errno, "%s: %s", path, strerror(errno));
    return start[0] == 'P' && (start[1] == '5' || start[1] == '6');
}

int mask_file_read(void *context, const char *path, struct error *error,
                   struct region_picture *ret_picture)
{
    _cleanup_(cleanup_frame) struct frame *frame = NULL;
    int r = is_pnm(path, error);

    (void)context;
    if (r >= 0) {
        r = r ? pnm_read(path, path, frame_allocator_host(), error, &frame)
              : media_read_picture(path, path, frame_allocator_host(), error, &frame);
    }
    if (r < 0)
        return r;
    uint32_t width = frame->layout.width, height = frame->layout.height;
    uint8_t *gray = malloc((size_t)width * height);
    gray_row *read_row = gray_row_for(frame->layout.format);

    if (!gray)
        return error_set(error, -ENOMEM, "%s: out of memory", path);
    for (uint32_t y = 0; y < height; y++) {
        read_row(frame_plane(frame, 0) + y * frame->layout.planes[0].stride, width,
                 gray + (size_t)y * width);
    }
    *ret_picture = (struct region_picture){gray, width, width, height};
    return 0;
}

void mask_file_stamp(const char *path, struct mask_stamp *ret_stamp)
{
    struct stat status;

    *ret_stamp = (struct mask_stamp){0};
    if (*path && stat(path, &status) == 0) {
        *ret_stamp = (struct mask_stamp){(int64_t)status.st_dev,  (int64_t)status.st_ino,
                                         (int64_t)status.st_mode, status.st_size,
                                         status.st_ctim.tv_sec,   status.st_ctim.tv_nsec};
    }
}

void mask_file_stamp_view(const struct config_view *view, struct mask_stamp ret_stamps[3])
{
    const struct config_view *const views[3] = {view, view->left_view, view->right_view};

    for (unsigned i = 0; i < 3; i++)
        mask_file_stamp(views[i] ? views[i]->mask : "", &ret_stamps[i]);
}

int mask_reader_read(void *context, const char *path, struct error *error,
                     struct region_picture *ret_picture)
{
    struct mask_reader *reader = context;
    struct error why = {0};

    if (mask_file_read(NULL, path, &why, ret_picture) == 0) {
        reader->told.text[0] = 0;
        return 0;
    }
    if (strcmp(reader->told.text, why.text) != 0) {
        log_write(LOG_WARNING, LOG_EVENT_NONE, reader->camera, NULL,
                  "view \"%s\": cannot read its mask: %s, taking it for all black until it is "
                  "mended and edged reloaded",
                  reader->view, why.text);
        reader->told = why;
    }
    *ret_picture = (struct region_picture){calloc(1, 1), 1, 1, 1};
    return ret_picture->gray ? 0 : error_set(error, -ENOMEM, "no memory for a view's mask");
}
