#include "daemon/recorder/catalog.h"

#include "daemon/recorder/growing_file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define INDEX_NAME "index.jsonl"
#define NEW_INDEX_NAME "index.jsonl.part"
#define INDEX_SIZE_MAX (256 << 20) // a larger one is read as an empty one
#define STALE_LINES_MAX 1000u      // more than there are clips, before the index is written anew

// What lies in the folder, and what the index says, while both are compared.
struct catalog_load {
    struct storage *storage;
    struct catalog catalog;
    GHashTable *lines;   // by id, of struct recording, owned
    unsigned line_count; // of the index
    unsigned unknown;    // clips that it lacks
    GPtrArray *pictures; // of struct recording, owned
    GPtrArray *parts;
};

void catalog_finish(struct catalog *catalog)
{
    g_clear_pointer(&catalog->clips, g_ptr_array_unref);
}

static gint compare_ids(gconstpointer a, gconstpointer b)
{
    const struct recording *first = *(struct recording *const *)a;
    const struct recording *second = *(struct recording *const *)b;

    return first->id < second->id ? -1 : first->id > second->id;
}

// The index
// ---------------------------------------------------------------------

static void read_first_line(const char *line, struct catalog *catalog)
{
    unsigned long long next_id;

    if (sscanf(line, "{\"folder\":\"%36[0-9a-f-]\",\"next_id\":%llu}", catalog->mark, &next_id) ==
        2) {
        catalog->next_id = next_id <= RECORDING_ID_MAX ? next_id : 1;
    }
}

static void read_lines(struct catalog_load *load, FILE *file)
{
    _cleanup_(cleanup_free) char *line = NULL;
    size_t room = 0;

    if (getline(&line, &room, file) > 0) {
        read_first_line(line, &load->catalog);
    }
    while (getline(&line, &room, file) > 0) {
        struct recording recording;

        load->line_count++;
        if (recording_read_line(line, &recording)) {
            struct recording *copy = g_memdup(&recording, sizeof recording);

            g_hash_table_replace(load->lines, &copy->id, copy);
            load->catalog.next_id = MAX(load->catalog.next_id, copy->id + 1);
        }
    }
}

// A missing index is an empty one.
static int read_index(struct catalog_load *load)
{
    int fd = openat(storage_folder(load->storage), INDEX_NAME,
                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    struct stat about;

    if (!file) {
        return errno == ENOENT ? 0 : -errno;
    }
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size <= INDEX_SIZE_MAX) {
        read_lines(load, file);
    }
    int r = ferror(file) ? -EIO : 0;
    fclose(file);
    return r;
}

static int write_index(const struct catalog_load *load)
{
    const struct catalog *catalog = &load->catalog;
    g_autoptr(GString) text = g_string_new(NULL);
    int folder = storage_folder(load->storage);
    _cleanup_(cleanup_close) int fd = storage_create(folder, NEW_INDEX_NAME);

    if (fd < 0) {
        return fd;
    }
    g_string_printf(text, "{\"folder\":\"%s\",\"next_id\":%" PRIu64 "}\n", catalog->mark,
                    catalog->next_id);
    for (guint i = 0; i < catalog->clips->len; i++) {
        g_autofree char *line = recording_line(catalog->clips->pdata[i]);

        g_string_append_printf(text, "%s\n", line);
    }
    int r = storage_write(fd, (const uint8_t *)text->str, text->len, 0);
    if (r == 0 && (fsync(fd) < 0 || renameat(folder, NEW_INDEX_NAME, folder, INDEX_NAME) < 0)) {
        r = -errno;
    }
    return r;
}

int catalog_add(const struct storage *storage, const struct recording *recording)
{
    g_autofree char *line = recording_line(recording);
    g_autofree char *text = g_strconcat(line, "\n", NULL);
    _cleanup_(cleanup_close) int fd =
        openat(storage_folder(storage), INDEX_NAME,
               O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0) {
        return -errno;
    }
    // One that is cut off is a line that cannot be read, and takes the next one with it: both clips
    // are read from their files then.
    ssize_t written = write(fd, text, strlen(text));
    return written == (ssize_t)strlen(text) ? 0 : written < 0 ? -errno : -ENOSPC;
}

// The folder
// ---------------------------------------------------------------------

static void add_clip(struct catalog_load *load, const struct recording *recording)
{
    struct catalog *catalog = &load->catalog;

    g_ptr_array_add(catalog->clips, g_memdup(recording, sizeof *recording));
    catalog->next_id = MAX(catalog->next_id, recording->id + 1);
}

static int visit(void *context, const struct recording *found, enum recording_file file)
{
    struct catalog_load *load = context;
    struct recording recording = *found;
    const struct recording *line = g_hash_table_lookup(load->lines, &found->id);

    if (file == RECORDING_PART) {
        g_ptr_array_add(load->parts, g_memdup(found, sizeof *found));
    } else if (file == RECORDING_PICTURE) {
        g_ptr_array_add(load->pictures, g_memdup(found, sizeof *found));
    } else if (file != RECORDING_VIDEO) {
        return 0; // half a picture, which goes with its clip
    } else if (line && recording_is_same(line, found)) {
        recording = *line;
        recording.is_kept = found->is_kept;
        recording.bytes = found->bytes;
        add_clip(load, &recording);
    } else if (growing_file_read_note(load->storage, &recording)) {
        load->unknown++;
        add_clip(load, &recording);
    }
    return 0;
}

// What is no part of a clip, and one that its sector does not give any more, are left alone: the
// others count.
static int recover(struct catalog_load *load)
{
    for (guint i = 0; i < load->parts->len; i++) {
        const struct recording *part = load->parts->pdata[i];
        struct recording recording;
        int r = growing_file_recover(load->storage, part, &recording);

        if (r == -ENODATA) {
            r = storage_remove(load->storage, part);
        } else if (r == -ENOSPC) {
            r = 0; // another time, when others have been deleted
        } else if (r == 0) {
            load->catalog.recovered++;
            load->unknown++;
            add_clip(load, &recording);
        }
        if (r == -EROFS) {
            return r;
        }
        load->catalog.ignored += r < 0;
        load->catalog.next_id = MAX(load->catalog.next_id, part->id + 1);
    }
    return 0;
}

// Of clips with one id, which a copied folder makes, the one that the index names is the clip. The
// files of the others are left alone.
static void drop_copies(struct catalog_load *load)
{
    GPtrArray *clips = load->catalog.clips;

    g_ptr_array_sort(clips, compare_ids);
    for (guint i = 1; i < clips->len;) {
        const struct recording *before = clips->pdata[i - 1], *clip = clips->pdata[i];
        const struct recording *line = g_hash_table_lookup(load->lines, &clip->id);

        if (before->id != clip->id) {
            i++;
            continue;
        }
        g_ptr_array_remove_index(clips, line && recording_is_same(line, clip) ? i - 1 : i);
        load->catalog.ignored++;
    }
}

static void match_pictures(struct catalog_load *load)
{
    GPtrArray *clips = load->catalog.clips;

    g_ptr_array_sort(load->pictures, compare_ids);
    for (guint i = 0, at = 0; i < load->pictures->len; i++) {
        const struct recording *picture = load->pictures->pdata[i];

        while (at < clips->len && ((struct recording *)clips->pdata[at])->id < picture->id) {
            at++;
        }
        if (at < clips->len && recording_is_same(clips->pdata[at], picture)) {
            ((struct recording *)clips->pdata[at])->has_picture = true;
        }
    }
}

static int load_all(struct catalog_load *load, const char *mark, struct error *error)
{
    int r = read_index(load);
    struct catalog *catalog = &load->catalog;

    if (mark[0] && strcmp(mark, catalog->mark) != 0) {
        return error_set(error, -ESTALE,
                         "this is another folder than before; is its disk mounted?");
    }
    if (!catalog->mark[0]) {
        g_autofree char *uuid = g_uuid_string_random();

        g_strlcpy(catalog->mark, uuid, sizeof catalog->mark);
        load->unknown++;
    }
    r = r ? r : storage_walk(load->storage, visit, load);
    r = r ? r : recover(load);
    drop_copies(load);
    match_pictures(load);
    if (r == 0 && (load->unknown || load->line_count > catalog->clips->len + STALE_LINES_MAX)) {
        r = write_index(load);
        r = r == -ENOSPC ? 0 : r;
    }
    return r ? error_set(error, r, "%s", strerror(-r)) : 0;
}

int catalog_load(struct storage *storage, const char *mark, struct error *error,
                 struct catalog *ret_catalog)
{
    struct catalog_load load = {
        .storage = storage,
        .catalog = {.clips = g_ptr_array_new_with_free_func(g_free), .next_id = 1},
        .lines = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free),
        .pictures = g_ptr_array_new_with_free_func(g_free),
        .parts = g_ptr_array_new_with_free_func(g_free),
    };
    int r = load_all(&load, mark, error);

    g_hash_table_unref(load.lines);
    g_ptr_array_unref(load.pictures);
    g_ptr_array_unref(load.parts);
    if (r) {
        catalog_finish(&load.catalog);
        return r;
    }
    *ret_catalog = load.catalog;
    return 0;
}
