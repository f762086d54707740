#include "daemon/recorder/storage.h"

#include "config/schema/schema.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define TRIAL_FILE ".edged-recorder"
#define TRIAL_SIZE 4096

struct storage {
    atomic_uint references;
    int folder;
    char *path; // owned; where the folder was opened
};

static atomic_uint_fast64_t syncs;

int storage_write(int fd, const uint8_t *bytes, size_t size, uint64_t offset)
{
    while (size > 0) {
        ssize_t written = pwrite(fd, bytes, size, (off_t)offset);

        if (written < 0 && errno != EINTR)
            return -errno;
        if (written > 0) {
            bytes += written;
            size -= (size_t)written;
            offset += (size_t)written;
        }
    }
    return 0;
}

int storage_sync(int fd)
{
    syncs++;
    return fdatasync(fd) < 0 ? -errno : 0;
}

uint64_t storage_syncs(void)
{
    return syncs;
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

    if (fd < 0)
        return fd;
    int r = storage_write(fd, bytes, sizeof bytes, 0);
    r = r ? r : storage_sync(fd);
    unlinkat(folder, TRIAL_FILE, 0);
    return r;
}

int storage_try(const struct storage *storage)
{
    return try_to_write(storage->folder);
}

int storage_open(const char *path, struct error *error, bool *ret_is_full,
                 struct storage **ret_storage)
{
    _cleanup_(cleanup_close) int folder = -1;
    struct storage *storage;
    int r;

    if (mkdir(path, 0750) < 0 && errno != EEXIST)
        return error_set(error, -errno, "cannot make the folder %s: %s", path, strerror(errno));
    folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return error_set(error, -errno, "cannot open the folder %s: %s", path, strerror(errno));
    r = try_to_write(folder);
    if (r < 0 && r != -ENOSPC)
        return error_set(error, r, "cannot write %s/" TRIAL_FILE ": %s", path, strerror(-r));
    storage = g_new0(struct storage, 1);
    storage->references = 1;
    storage->folder = TAKE_FD(folder);
    storage->path = g_strdup(path);
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
        g_free(storage->path);
        g_free(storage);
    }
}

int storage_folder(const struct storage *storage)
{
    return storage->folder;
}

// Somebody may have renamed or deleted the folder, or mounted a disk over it.
static int check_place(const struct storage *storage)
{
    struct stat own, there;

    if (fstat(storage->folder, &own) < 0 || stat(storage->path, &there) < 0)
        return -errno;
    return own.st_dev == there.st_dev && own.st_ino == there.st_ino ? 0 : -ESTALE;
}

int storage_space(const struct storage *storage, uint64_t *ret_free, uint64_t *ret_total)
{
    struct statvfs about;
    int r = check_place(storage);

    if (r < 0)
        return r;
    if (fstatvfs(storage->folder, &about) < 0)
        return -errno;
    *ret_free = (uint64_t)about.f_bavail * about.f_frsize;
    *ret_total = (uint64_t)about.f_blocks * about.f_frsize;
    return 0;
}

// Opens the folder `name` in `parent`. With `make` it is made if need be, for good before anything
// in it is. Takes a `parent` that is an error.
static int open_folder(int parent, const char *name, bool make)
{
    if (parent < 0)
        return parent;
    int r = make && mkdirat(parent, name, 0750) == 0 ? storage_sync(parent) : 0;
    if (r < 0)
        return r;
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

    if (day < 0)
        return day;
    recording_file_name(recording, file, name);
    int fd = openat(day, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0640);
    return fd < 0 ? -errno : fd;
}

static int open_by_any_name(const struct storage *storage, const struct recording *recording,
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

int storage_open_to_read(const struct storage *storage, const struct recording *recording,
                         enum recording_file file)
{
    struct recording before = *recording;
    int fd = open_by_any_name(storage, recording, file);

    if (fd == -ENOENT && recording->renamed_from_ns) {
        before.start_wall_ns = recording->renamed_from_ns;
        fd = open_by_any_name(storage, &before, file);
        fd = fd == -ENOENT ? open_by_any_name(storage, recording, file) : fd;
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
    bool moves = from->start_wall_ns != to->start_wall_ns;
    _cleanup_(cleanup_close) int old_day = open_day(storage, from, false),
                                 new_day = open_day(storage, to, moves);
    char old_name[RECORDING_FILE_SIZE], new_name[RECORDING_FILE_SIZE];
    struct stat about;

    if (old_day < 0 || new_day < 0)
        return old_day < 0 ? old_day : new_day;
    recording_file_name(from, from_file, old_name);
    recording_file_name(to, to_file, new_name);
    bool has_old = fstatat(old_day, old_name, &about, AT_SYMLINK_NOFOLLOW) == 0;
    bool has_new = fstatat(new_day, new_name, &about, AT_SYMLINK_NOFOLLOW) == 0;
    if (has_new && (has_old || !S_ISREG(about.st_mode)))
        return -EEXIST;
    // If only the new name is there, the file has it already.
    int r = has_new ? 0 : checked(renameat(old_day, old_name, new_day, new_name));
    r = r ? r : storage_sync(new_day);
    return r || !moves ? r : storage_sync(old_day);
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
    _cleanup_(cleanup_close) int day = open_day(storage, recording, false), fd = -1;
    char name[RECORDING_FILE_SIZE], part[RECORDING_FILE_SIZE];

    if (day < 0)
        return day;
    recording_file_name(recording, RECORDING_PICTURE, name);
    recording_file_name(recording, RECORDING_PICTURE_PART, part);
    fd = storage_create(day, part);
    if (fd < 0)
        return fd;
    int r = storage_write(fd, jpeg, size, 0);
    r = r ? r : storage_sync(fd);
    r = r ? r : checked(renameat(day, part, day, name));
    if (r < 0)
        unlinkat(day, part, 0);
    return r;
}

int storage_set_aside(const struct storage *storage, const struct recording *recording)
{
    _cleanup_(cleanup_close) int day = open_day(storage, recording, false);
    char name[RECORDING_FILE_SIZE], aside[RECORDING_FILE_SIZE + sizeof STORAGE_DAMAGED];
    struct stat about;

    if (day < 0)
        return day;
    recording_file_name(recording, RECORDING_PART, name);
    snprintf(aside, sizeof aside, "%.*s" STORAGE_DAMAGED, (int)(strlen(name) - strlen(".part")),
             name);
    if (fstatat(day, aside, &about, AT_SYMLINK_NOFOLLOW) == 0)
        return -EEXIST;
    int r = checked(renameat(day, name, day, aside));
    return r ? r : storage_sync(day);
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

int storage_move(const struct storage *storage, const struct recording *from,
                 const struct recording *to)
{
    int picture = rename_file(storage, from, RECORDING_PICTURE, to, RECORDING_PICTURE);

    if (picture < 0 && picture != -ENOENT) // else it has none
        return picture;
    int r = rename_file(storage, from, RECORDING_VIDEO, to, RECORDING_VIDEO);
    if (r < 0 && picture == 0)
        rename_file(storage, to, RECORDING_PICTURE, from, RECORDING_PICTURE);
    remove_folders(storage, r < 0 ? to : from);
    return r;
}

int storage_remove(const struct storage *storage, const struct recording *recording)
{
    _cleanup_(cleanup_close) int day = open_day(storage, recording, false);
    static const enum recording_file files[] = {RECORDING_PICTURE, RECORDING_PICTURE_PART,
                                                RECORDING_VIDEO, RECORDING_PART};
    char name[RECORDING_FILE_SIZE];
    int r = 0;

    if (day < 0)
        return day == -ENOENT || day == -ENOTDIR ? 0 : day;
    for (size_t i = 0; i < ARRAY_LENGTH(files); i++) {
        recording_file_name(recording, files[i], name);
        if (unlinkat(day, name, 0) < 0 && errno != ENOENT && errno != EISDIR)
            r = -errno;
    }
    if (r == 0)
        remove_folders(storage, recording);
    return r;
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
    while (r >= 0 && (errno = 0, entry = readdir(names)))
        r = visit(context, folder, entry->d_name);
    r = r < 0 ? r : -errno;
    closedir(names);
    return r;
}

uint64_t storage_hole(const struct stat *about)
{
    uint64_t size = (uint64_t)about->st_size, taken = (uint64_t)about->st_blocks * 512;

    return taken > 0 && taken < size ? size - taken : 0;
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

    if (!recording_read_name(walk->day, name, &recording, &file))
        return 0;
    if (file == RECORDING_VIDEO || file == RECORDING_PICTURE) {
        if (fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(about.st_mode))
            return 0;
        recording.bytes = (uint64_t)about.st_size;
        recording.hole_bytes = storage_hole(&about);
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
