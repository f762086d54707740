#include "daemon/recorder/library.h"

#include "daemon/common/log.h"
#include "daemon/recorder/growing_file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define INDEX_NAME "index.jsonl"
#define NEW_INDEX_NAME "index.jsonl.part"
#define INDEX_SIZE_MAX (256 << 20) // a larger one is read as an empty one
#define ID_JUMP_MAX (UINT64_C(1) << 40)

// The list
// ---------------------------------------------------------------------

void library_init(struct library *library)
{
    *library = (struct library){.clips = g_ptr_array_new_with_free_func(g_free), .next_id = 1};
}

void library_finish(struct library *library)
{
    g_clear_pointer(&library->clips, g_ptr_array_unref);
}

struct recording *library_add(struct library *library, const struct recording *recording)
{
    struct recording *own = g_memdup(recording, sizeof *recording);

    own->id = library->next_id++;
    g_ptr_array_add(library->clips, own);
    return own;
}

// Where the first clip is whose id is not smaller.
static guint place_of(const struct library *library, uint64_t id)
{
    guint low = 0, high = library->clips->len;

    while (low < high) {
        guint middle = low + (high - low) / 2;
        const struct recording *recording = library->clips->pdata[middle];

        if (recording->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct recording *library_find(const struct library *library, uint64_t id)
{
    guint place = place_of(library, id);
    struct recording *found = place < library->clips->len ? library->clips->pdata[place] : NULL;

    return found && found->id == id ? found : NULL;
}

void library_forget(struct library *library, uint64_t id)
{
    if (library_find(library, id))
        g_ptr_array_remove_index(library->clips, place_of(library, id));
}

void library_carry_over(struct library *library, const struct library *before)
{
    for (guint i = 0; i < library->clips->len; i++) {
        struct recording *recording = library->clips->pdata[i];
        const struct recording *known = library_find(before, recording->id);

        if (!known || !recording_is_same(known, recording))
            continue;
        recording->is_leaving = known->is_leaving;
        if (known->is_named_kept != known->is_kept)
            recording->is_named_kept = known->is_named_kept;
        recording->wall_offset_ns = known->wall_offset_ns;
    }
}

static bool is_named(const char *name, const char *asked)
{
    return !*asked || strcmp(name, asked) == 0;
}

static bool is_asked_for(const struct recording *recording, const struct record_list *question)
{
    return (!question->to_wall_ns || recording->start_wall_ns < question->to_wall_ns) &&
           recording->end_wall_ns >= question->from_wall_ns && !recording->is_leaving &&
           is_named(recording->camera, question->camera) &&
           is_named(recording->view, question->view) &&
           (!*question->region || recording_has_region(recording, question->region));
}

GPtrArray *library_list(const struct library *library, const struct record_list *question)
{
    guint most = question->count ? MIN(question->count, RECORD_LIST_MAX) : RECORD_LIST_MAX;
    bool forward = question->after_id;
    guint place = forward               ? place_of(library, question->after_id + 1)
                  : question->before_id ? place_of(library, question->before_id)
                                        : library->clips->len;
    GPtrArray *found = g_ptr_array_new();

    while (found->len < most && (forward ? place < library->clips->len : place > 0)) {
        struct recording *recording = library->clips->pdata[forward ? place++ : --place];

        if (is_asked_for(recording, question))
            g_ptr_array_add(found, recording);
    }
    return found;
}

// When the first clip began that is not kept, and that is dated if `dated`; 0: there is none.
static int64_t find_beginning(const struct library *library, bool dated)
{
    int64_t first_ns = 0;

    for (guint i = 0; i < library->clips->len; i++) {
        const struct recording *recording = library->clips->pdata[i];

        if (!recording->is_kept && (recording->is_dated || !dated) &&
            (!first_ns || recording->start_wall_ns < first_ns)) {
            first_ns = recording->start_wall_ns;
        }
    }
    return first_ns;
}

void library_count(const struct library *library, struct record_state_report *report)
{
    for (guint i = 0; i < library->clips->len; i++) {
        const struct recording *recording = library->clips->pdata[i];

        report->clips += !recording->is_open;
        report->open_clips += recording->is_open;
        report->kept_clips += recording->is_kept;
        report->clip_bytes += recording_stored_bytes(recording);
        report->kept_bytes += recording->is_kept ? recording_stored_bytes(recording) : 0;
    }
    report->oldest_wall_ns = find_beginning(library, true);
    if (!report->oldest_wall_ns) // the machine has no clock that it trusts
        report->oldest_wall_ns = find_beginning(library, false);
}

// The files of the folder and the lines of the index, while both are compared.
struct library_load {
    struct storage *storage;
    struct library library;
    GHashTable *lines;   // by id, of struct recording, owned
    unsigned line_count; // of the index
    unsigned unknown;    // clips that it lacks
    GPtrArray *pictures; // of struct recording, owned
    GPtrArray *parts;
};

static gint compare_ids(gconstpointer a, gconstpointer b)
{
    const struct recording *first = *(struct recording *const *)a;
    const struct recording *second = *(struct recording *const *)b;

    return first->id < second->id ? -1 : first->id > second->id;
}

// The index
// ---------------------------------------------------------------------

static void read_first_line(const char *line, struct library *library)
{
    unsigned long long next_id;

    // Half of all ids is left: nobody begins so many clips.
    if (sscanf(line, "{\"folder\":\"%36[0-9a-f-]\",\"next_id\":%llu}", library->folder.mark,
               &next_id) == 2) {
        library->next_id = next_id <= RECORDING_ID_MAX / 2 ? next_id : 1;
    }
}

// Takes note of an id that was found. False: it is so far beyond the others that no recorder has
// given it, and there would be none after it.
static bool take_id(struct library *library, uint64_t id)
{
    if (id >= library->next_id + ID_JUMP_MAX)
        return false;
    library->next_id = MAX(library->next_id, id + 1);
    return true;
}

static void read_lines(struct library_load *load, FILE *file)
{
    _cleanup_(cleanup_free) char *line = NULL;
    size_t room = 0;

    if (getline(&line, &room, file) > 0)
        read_first_line(line, &load->library);
    while (getline(&line, &room, file) > 0) {
        struct recording recording;

        load->line_count++;
        if (recording_read_line(line, &recording) && take_id(&load->library, recording.id)) {
            struct recording *copy = g_memdup(&recording, sizeof recording);

            g_hash_table_replace(load->lines, &copy->id, copy);
        }
    }
}

// Warns of an index that is a link, a folder or a device: it is read as an empty one.
static void name_foreign_index(const struct library_load *load)
{
    struct stat about;

    if (fstatat(storage_folder(load->storage), INDEX_NAME, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
        !S_ISREG(about.st_mode)) {
        log_warning(INDEX_NAME " of the clips is %s and no list of them, reading all clips instead",
                    S_ISLNK(about.st_mode)   ? "a link"
                    : S_ISDIR(about.st_mode) ? "a folder"
                                             : "a device or socket");
    }
}

// An index that is missing or cannot be read, a link or a folder is an empty one.
static void read_index(struct library_load *load)
{
    int fd = openat(storage_folder(load->storage), INDEX_NAME,
                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    struct stat about;

    if (!file)
        return;
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size <= INDEX_SIZE_MAX)
        read_lines(load, file);
    fclose(file);
}

static int write_text(int folder, const GString *text)
{
    _cleanup_(cleanup_close) int fd = storage_create(folder, NEW_INDEX_NAME);

    if (fd < 0)
        return fd;
    int r = storage_write(fd, (const uint8_t *)text->str, text->len, 0);
    // The folder is synced as well, because its mark is in that file.
    r = r ? r : storage_sync(fd);
    if (r == 0 && renameat(folder, NEW_INDEX_NAME, folder, INDEX_NAME) < 0)
        r = -errno;
    return r ? r : storage_sync(folder);
}

// Writes a line for each clip of `library`: the one in load->lines, if the clip has one there, else
// what the library knows of it once it is finished.
static void write_index(const struct library_load *load, struct library *library)
{
    g_autoptr(GString) text = g_string_new(NULL);

    library->lines = 0;
    g_string_printf(text, "{\"folder\":\"%s\",\"next_id\":%" PRIu64 "}\n", library->folder.mark,
                    library->next_id);
    for (guint i = 0; i < library->clips->len; i++) {
        const struct recording *recording = library->clips->pdata[i];
        const struct recording *noted = g_hash_table_lookup(load->lines, &recording->id);

        if (noted || !recording->is_open) {
            g_autofree char *line = recording_line(noted && recording->is_open ? noted : recording);

            g_string_append_printf(text, "%s\n", line);
            library->lines++;
        }
    }
    library->index_result = write_text(storage_folder(load->storage), text);
}

bool library_wants_index(const struct library *library)
{
    return library->index_result < 0 || 1 + library->lines > 2 * (1 + library->clips->len);
}

void library_copy(const struct library *library, struct library *ret_copy)
{
    *ret_copy = *library;
    ret_copy->clips = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < library->clips->len; i++) {
        const struct recording *recording = library->clips->pdata[i];

        if (!recording->is_leaving)
            g_ptr_array_add(ret_copy->clips, g_memdup(recording, sizeof *recording));
    }
}

void library_write_index(struct storage *storage, struct library *copy)
{
    struct library_load load = {
        .storage = storage,
        .lines = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free),
    };

    load.library.next_id = copy->next_id;
    read_index(&load);
    write_index(&load, copy);
    g_hash_table_unref(load.lines);
}

int library_note(const struct storage *storage, const struct recording *recording)
{
    g_autofree char *line = recording_line(recording);
    g_autofree char *text = g_strconcat(line, "\n", NULL);
    _cleanup_(cleanup_close) int fd =
        openat(storage_folder(storage), INDEX_NAME,
               O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    // One that is cut off is a line that cannot be read, and takes the next one with it: both clips
    // are read from their files then.
    ssize_t written = write(fd, text, strlen(text));
    return written == (ssize_t)strlen(text) ? 0 : written < 0 ? -errno : -ENOSPC;
}

// The folder
// ---------------------------------------------------------------------

static void add_clip(struct library_load *load, const struct recording *recording)
{
    struct recording *own = g_new(struct recording, 1);

    *own = *recording;
    own->is_named_kept = recording->is_kept;
    g_ptr_array_add(load->library.clips, own);
}

static int visit(void *context, const struct recording *found, enum recording_file file)
{
    struct library_load *load = context;
    struct recording recording = *found;
    const struct recording *line = g_hash_table_lookup(load->lines, &found->id);

    if (!take_id(&load->library, found->id)) {
        load->library.ignored++;
    } else if (file == RECORDING_PART) {
        g_ptr_array_add(load->parts, g_memdup(found, sizeof *found));
    } else if (file == RECORDING_PICTURE) {
        g_ptr_array_add(load->pictures, g_memdup(found, sizeof *found));
    } else if (file != RECORDING_VIDEO) {
        return 0; // half a picture, which goes with its clip
    } else if (line && recording_is_same(line, found)) {
        recording = *line;
        recording.is_kept = found->is_kept;
        recording.bytes = found->bytes;
        recording.hole_bytes = found->hole_bytes;
        add_clip(load, &recording);
    } else if (growing_file_read_note(load->storage, &recording)) {
        load->unknown++;
        add_clip(load, &recording);
    }
    return 0;
}

// Nothing that may have video is deleted. It is no part any more, so this is said once.
static int set_aside(const struct library_load *load, const struct recording *part)
{
    int r = storage_set_aside(load->storage, part);

    if (r == 0) {
        log_warning("clip %" PRIu64 " of %s/%s was left open and cannot be made whole, because its "
                    "beginning is damaged: keeping its file as *" STORAGE_DAMAGED
                    ", which is no clip any more",
                    part->id, part->camera, part->view);
    }
    return r;
}

// Finishes the clips that were left open. A file whose disk does not give it any more is left
// alone.
static int recover(struct library_load *load)
{
    for (guint i = 0; i < load->parts->len; i++) {
        const struct recording *part = load->parts->pdata[i];
        struct recording recording;
        int r = growing_file_recover(load->storage, part, &recording);

        if (r == -ENODATA) {
            r = storage_remove(load->storage, part);
        } else if (r == -EBADMSG) {
            r = set_aside(load, part);
        } else if (r == -ENOSPC) {
            r = 0; // another time, when others have been deleted
        } else if (r == 0) {
            load->library.recovered++;
            load->unknown++;
            add_clip(load, &recording);
        }
        if (r == -EROFS)
            return r;
        load->library.ignored += r < 0;
    }
    return 0;
}

// Of clips with one id, which a copied folder makes, the one that the index names is the clip. The
// files of the others are left alone.
static void drop_copies(struct library_load *load)
{
    GPtrArray *clips = load->library.clips;

    g_ptr_array_sort(clips, compare_ids);
    for (guint i = 1; i < clips->len;) {
        const struct recording *before = clips->pdata[i - 1], *clip = clips->pdata[i];
        const struct recording *line = g_hash_table_lookup(load->lines, &clip->id);

        if (before->id != clip->id) {
            i++;
            continue;
        }
        g_ptr_array_remove_index(clips, line && recording_is_same(line, clip) ? i - 1 : i);
        load->library.ignored++;
    }
}

static void match_pictures(struct library_load *load)
{
    GPtrArray *clips = load->library.clips;

    g_ptr_array_sort(load->pictures, compare_ids);
    for (guint i = 0, at = 0; i < load->pictures->len; i++) {
        const struct recording *picture = load->pictures->pdata[i];

        while (at < clips->len && ((struct recording *)clips->pdata[at])->id < picture->id)
            at++;
        if (at < clips->len && recording_is_same(clips->pdata[at], picture))
            ((struct recording *)clips->pdata[at])->picture_bytes = picture->bytes;
    }
}

// The file system in which that of the folder is mounted; its own, if that is the root's.
static dev_t device_beneath(int folder)
{
    g_autoptr(GString) up = g_string_new("..");
    struct stat here = {0}, above = {0};

    fstat(folder, &here);
    while (fstatat(folder, up->str, &above, 0) == 0 && above.st_dev == here.st_dev &&
           above.st_ino != here.st_ino) {
        here = above;
        g_string_append(up, "/..");
    }
    return above.st_dev;
}

// Whether the folder is the one that was open before. One that has lost its index, or was made
// again, keeps its mark; on another file system it would be where that of the clips is not mounted.
static bool is_same_folder(struct library_folder *folder, const struct library_folder *before)
{
    if (!before->mark[0])
        return true;
    if (!folder->mark[0] && folder->device == before->device)
        memcpy(folder->mark, before->mark, sizeof folder->mark);
    return strcmp(folder->mark, before->mark) == 0;
}

// Finds out which folder this is, and gives it a mark if it has none.
static int identify(struct library_load *load, const struct library_folder *before,
                    struct error *error)
{
    struct library_folder *folder = &load->library.folder;
    struct stat about;
    bool had_mark = folder->mark[0];

    if (fstat(storage_folder(load->storage), &about) < 0)
        return error_set(error, -errno, "%s", strerror(errno));
    folder->device = about.st_dev;
    bool is_same = is_same_folder(folder, before);
    load->library.is_mounted_late = !is_same && folder->device != before->device &&
                                    before->device == device_beneath(storage_folder(load->storage));
    if (!is_same && !load->library.is_mounted_late) {
        return error_set(error, -ESTALE,
                         "this is another folder than before; is its disk mounted?");
    }
    if (!folder->mark[0]) {
        g_autofree char *uuid = g_uuid_string_random();

        g_strlcpy(folder->mark, uuid, sizeof folder->mark);
    }
    load->unknown += !had_mark;
    return 0;
}

static int load_all(struct library_load *load, const struct library_folder *before,
                    struct error *error)
{
    struct library *library = &load->library;

    name_foreign_index(load);
    read_index(load);
    int r = identify(load, before, error);
    if (r)
        return r;
    library->lines = load->line_count;
    r = storage_walk(load->storage, visit, load);
    r = r ? r : recover(load);
    drop_copies(load);
    match_pictures(load);
    if (r)
        return error_set(error, r, "%s", strerror(-r));
    if (load->unknown || library_wants_index(library))
        write_index(load, library);
    return 0;
}

int library_load(struct storage *storage, const struct library_folder *before, struct error *error,
                 struct library *ret_library)
{
    struct library_load load = {
        .storage = storage,
        .lines = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free),
        .pictures = g_ptr_array_new_with_free_func(g_free),
        .parts = g_ptr_array_new_with_free_func(g_free),
    };

    library_init(&load.library);
    int r = load_all(&load, before, error);
    g_hash_table_unref(load.lines);
    g_ptr_array_unref(load.pictures);
    g_ptr_array_unref(load.parts);
    if (r) {
        library_finish(&load.library);
        return r;
    }
    *ret_library = load.library;
    return 0;
}

void library_log(const struct library *library, const char *path)
{
    if (library->is_mounted_late) {
        log_warning("a disk has been mounted at or above %s: clips from before that are beneath it",
                    path);
    }
    if (library->recovered) {
        log_notice("made %u clips whole that were open when the recorder or the power failed",
                   library->recovered);
    }
    if (library->ignored) {
        log_warning("left %u files alone that are named like clips: they are copies of others, "
                    "cannot be read, or have numbers far beyond the others",
                    library->ignored);
    }
}
