#include "daemon/recorder/storage.h"

#include "config/schema/schema.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define TRIAL_FILE ".edged-recorder"
#define TRIAL_SIZE 4096

struct storage {
    atomic_uint references;
    int folder;
};

int storage_write(int fd, const uint8_t *bytes, size_t size, uint64_t offset)
{
    while (size > 0) {
        ssize_t written = pwrite(fd, bytes, size, (off_t)offset);

        if (written < 0 && errno != EINTR) {
            return -errno;
        }
        if (written > 0) {
            bytes += written;
            size -= (size_t)written;
            offset += (size_t)written;
        }
    }
    return 0;
}

int storage_create(int folder, const char *name)
{
    unlinkat(folder, name, 0);
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
    return fd < 0 ? -errno : fd;
}

// Whether the folder takes files. -ENOSPC: not now.
static int try_to_write(int folder)
{
    static const uint8_t bytes[TRIAL_SIZE];
    _cleanup_(cleanup_close) int fd = storage_create(folder, TRIAL_FILE);

    if (fd < 0) {
        return fd;
    }
    int r = storage_write(fd, bytes, sizeof bytes, 0);
    if (r == 0 && fsync(fd) < 0) {
        r = -errno;
    }
    unlinkat(folder, TRIAL_FILE, 0);
    return r;
}

int storage_open(const char *path, struct error *error, bool *ret_is_full,
                 struct storage **ret_storage)
{
    _cleanup_(cleanup_close) int folder = -1;
    struct storage *storage;
    int r;

    if (mkdir(path, 0750) < 0 && errno != EEXIST) {
        return error_set(error, -errno, "cannot make the folder %s: %s", path, strerror(errno));
    }
    folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        return error_set(error, -errno, "cannot open the folder %s: %s", path, strerror(errno));
    }
    r = try_to_write(folder);
    if (r < 0 && r != -ENOSPC) {
        return error_set(error, r, "cannot write to %s: %s", path, strerror(-r));
    }
    storage = g_new0(struct storage, 1);
    storage->references = 1;
    storage->folder = TAKE_FD(folder);
    *ret_is_full = r == -ENOSPC;
    *ret_storage = storage;
    return 0;
}

struct storage *storage_ref(struct storage *storage)
{
    storage->references++;
    return storage;
}

void storage_unref(struct storage *storage)
{
    if (storage && --storage->references == 0) {
        close(storage->folder);
        g_free(storage);
    }
}

int storage_folder(const struct storage *storage)
{
    return storage->folder;
}

int storage_space(const struct storage *storage, uint64_t *ret_free, uint64_t *ret_total)
{
    struct statvfs about;

    if (fstatvfs(storage->folder, &about) < 0) {
        return -errno;
    }
    *ret_free = (uint64_t)about.f_bavail * about.f_frsize;
    *ret_total = (uint64_t)about.f_blocks * about.f_frsize;
    return 0;
}

// Opens the folder `name` in `parent`. With `make` it is made if need be, for good before anything
// in it is. Takes a `parent` that is an error.
static int open_folder(int parent, const char *name, bool make)
{
    if (parent < 0) {
        return parent;
    }
    if (make && mkdirat(parent, name, 0750) == 0 && fsync(parent) < 0) {
        return -errno;
    }
    int fd = openat(parent, name, FOLDER_FLAGS);
    return fd < 0 ? -errno : fd;
}

// The folder of a clip's files. Its descriptor or a negative errno.
static int open_day(const struct storage *storage, const struct recording *recording, bool make)
{
    char day[RECORDING_DAY_SIZE];

    recording_day(recording, day);
    _cleanup_(cleanup_close) int camera = open_folder(storage->folder, recording->camera, make);
    _cleanup_(cleanup_close) int view = open_folder(camera, recording->view, make);
    return open_folder(view, day, make);
}

int storage_open_file(const struct storage *storage, const struct recording *recording,
                      enum recording_file file, int flags)
{
    _cleanup_(cleanup_close) int day = open_day(storage, recording, flags & O_CREAT);
    char name[RECORDING_FILE_SIZE];

    if (day < 0) {
        return day;
    }
    recording_file_name(recording, file, name);
    int fd = openat(day, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0640);
    return fd < 0 ? -errno : fd;
}

int storage_open_to_read(const struct storage *storage, const struct recording *recording,
                         enum recording_file file)
{
    struct recording named = *recording;
    int fd = storage_open_file(storage, recording, file, O_RDONLY);

    // The file may get a name that was tried before, so all four are tried twice.
    for (unsigned i = 0; file == RECORDING_VIDEO && fd == -ENOENT && i < 8; i++) {
        named.is_kept = i & 1;
        fd = storage_open_file(storage, &named, i & 2 ? RECORDING_PART : RECORDING_VIDEO, O_RDONLY);
    }
    return fd;
}

// 0 or a negative errno, of a call that returned `r`.
static int checked(int r)
{
    return r < 0 ? -errno : 0;
}

static int rename_file(const struct storage *storage, const struct recording *from,
                       enum recording_file from_file, const struct recording *to,
                       enum recording_file to_file)
{
    _cleanup_(cleanup_close) int day = open_day(storage, from, false);
    char old_name[RECORDING_FILE_SIZE], new_name[RECORDING_FILE_SIZE];
    struct stat about;

    if (day < 0) {
        return day;
    }
    recording_file_name(from, from_file, old_name);
    recording_file_name(to, to_file, new_name);
    int r = checked(renameat(day, old_name, day, new_name));
    if (r == -ENOENT && fstatat(day, new_name, &about, AT_SYMLINK_NOFOLLOW) == 0) {
        r = 0; // it has that name already
    }
    return r ? r : checked(fsync(day));
}

int storage_publish(const struct storage *storage, const struct recording *recording)
{
    return rename_file(storage, recording, RECORDING_PART, recording, RECORDING_VIDEO);
}

int storage_keep(const struct storage *storage, const struct recording *recording,
                 enum recording_file file, bool keep)
{
    struct recording from = *recording, to = *recording;

    from.is_kept = !keep;
    to.is_kept = keep;
    return rename_file(storage, &from, file, &to, file);
}

int storage_put_picture(const struct storage *storage, const struct recording *recording,
                        const uint8_t *jpeg, size_t size)
{
    _cleanup_(cleanup_close) int day = open_day(storage, recording, true), fd = -1;
    char name[RECORDING_FILE_SIZE], part[RECORDING_FILE_SIZE];

    if (day < 0) {
        return day;
    }
    recording_file_name(recording, RECORDING_PICTURE, name);
    recording_file_name(recording, RECORDING_PICTURE_PART, part);
    fd = storage_create(day, part);
    if (fd < 0) {
        return fd;
    }
    int r = storage_write(fd, jpeg, size, 0);
    r = r ? r : checked(fdatasync(fd));
    r = r ? r : checked(renameat(day, part, day, name));
    if (r < 0) {
        unlinkat(day, part, 0);
    }
    return r;
}

// Deletes folders of a clip that are empty.
static void remove_folders(const struct storage *storage, const struct recording *recording)
{
    char day[RECORDING_DAY_SIZE];

    recording_day(recording, day);
    _cleanup_(cleanup_close) int camera = open_folder(storage->folder, recording->camera, false);
    _cleanup_(cleanup_close) int view = open_folder(camera, recording->view, false);
    if (view >= 0 && unlinkat(view, day, AT_REMOVEDIR) == 0 &&
        unlinkat(camera, recording->view, AT_REMOVEDIR) == 0) {
        unlinkat(storage->folder, recording->camera, AT_REMOVEDIR);
    }
}

int storage_remove(const struct storage *storage, const struct recording *recording)
{
    _cleanup_(cleanup_close) int day = open_day(storage, recording, false);
    static const enum recording_file files[] = {RECORDING_PICTURE, RECORDING_PICTURE_PART,
                                                RECORDING_VIDEO, RECORDING_PART};
    char name[RECORDING_FILE_SIZE];

    if (day < 0) {
        return day == -ENOENT ? 0 : day;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(files); i++) {
        recording_file_name(recording, files[i], name);
        if (unlinkat(day, name, 0) < 0 && errno != ENOENT) {
            return -errno;
        }
    }
    remove_folders(storage, recording);
    return 0;
}

// Calls `visit` for each name in a folder, which it closes. Takes an error.
static int each_name(int folder, int (*visit)(void *context, int folder, const char *name),
                     void *context)
{
    DIR *names = folder < 0 ? NULL : fdopendir(folder);
    const struct dirent *entry;
    int r = 0;

    if (!names) {
        cleanup_close(&folder);
        return folder == -ENOTDIR || folder == -ELOOP || folder == -ENOENT || folder == -EACCES
                   ? 0
                   : -EIO;
    }
    // cppcheck-suppress readdirCalled // nobody else reads this folder's stream
    while (r >= 0 && (errno = 0, entry = readdir(names))) {
        r = visit(context, folder, entry->d_name);
    }
    r = r < 0 ? r : -errno;
    closedir(names);
    return r;
}

struct storage_walk {
    storage_visitor *visit;
    void *context;
    const char *camera, *view, *day; // where it is
};

static int visit_file(void *context, int folder, const char *name)
{
    const struct storage_walk *walk = context;
    struct recording recording;
    enum recording_file file;
    struct stat about;

    if (!recording_read_name(walk->day, name, &recording, &file)) {
        return 0;
    }
    if (file == RECORDING_VIDEO || file == RECORDING_PICTURE) {
        if (fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(about.st_mode)) {
            return 0;
        }
        recording.bytes = (uint64_t)about.st_size;
    }
    recording.camera = walk->camera;
    recording.view = walk->view;
    return walk->visit(walk->context, &recording, file);
}

static int visit_day(void *context, int folder, const char *name)
{
    struct storage_walk walk = *(struct storage_walk *)context;

    walk.day = name;
    return name[0] == '.' ? 0 : each_name(open_folder(folder, name, false), visit_file, &walk);
}

static int visit_view(void *context, int folder, const char *name)
{
    struct storage_walk walk = *(struct storage_walk *)context;

    walk.view = g_intern_string(name);
    return schema_name_rule.accepts(name)
               ? each_name(open_folder(folder, name, false), visit_day, &walk)
               : 0;
}

static int visit_camera(void *context, int folder, const char *name)
{
    struct storage_walk walk = *(struct storage_walk *)context;

    walk.camera = g_intern_string(name);
    return schema_name_rule.accepts(name)
               ? each_name(open_folder(folder, name, false), visit_view, &walk)
               : 0;
}

int storage_walk(const struct storage *storage, storage_visitor *visit, void *context)
{
    struct storage_walk walk = {.visit = visit, .context = context};

    return each_name(openat(storage->folder, ".", FOLDER_FLAGS), visit_camera, &walk);
}
