#include "daemon/recorder/growing_file.h"

#include "daemon/video/mp4_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>

// So much video may be unsynced, each short of a second by as much as fragments come too early.
#define SYNC_EVENT_NS (NS_PER_S / 2)
#define SYNC_ALWAYS_NS (9 * NS_PER_S / 2)
#define SEARCH_SIZE (64u << 10)

struct growing_file {
    struct storage *storage; // a reference
    struct recording recording;
    struct mp4_video video;
    struct mp4_writer *writer; // owned
    int fd;
    int failure; // a negative errno
    bool has_base;
    int64_t base_ns;     // when the first sample was captured
    uint64_t next_ticks; // the earliest time of the next sample: no two have the same
    atomic_uint waiting; // fragments that were handed over and are not written
    int64_t synced_ns;   // when it was synced, by this process's clock
    int64_t safe_ns;     // captured; what ends until then is synced
    uint64_t size, written;
};

void footage_unit_unref(struct footage_unit *unit)
{
    if (unit && --unit->references == 0) {
        free(unit->payload);
        g_free(unit);
    }
}

void fragment_free(struct fragment *fragment)
{
    if (fragment) {
        g_ptr_array_unref(fragment->units);
        g_free(fragment);
    }
}

struct growing_file *growing_file_new(struct storage *storage, const struct recording *recording,
                                      const struct mp4_video *video, uint32_t room)
{
    struct growing_file *file = g_new0(struct growing_file, 1);
    g_autofree char *name = g_strconcat(recording->camera, "/", recording->view, NULL);
    const struct mp4_settings settings = {
        .is_file = true,
        .name = name,
        .created_s = recording->start_wall_ns / NS_PER_S,
        .note_size = NOTE_SIZE,
    };

    file->storage = storage_ref(storage);
    file->recording = *recording;
    file->video = *video;
    file->writer = mp4_writer_new(video, &settings);
    mp4_writer_reserve(file->writer, room);
    file->fd = -1;
    return file;
}

void growing_file_free(struct growing_file *file)
{
    if (file) {
        cleanup_close(&file->fd);
        mp4_writer_free(file->writer);
        storage_unref(file->storage);
        g_free(file);
    }
}

uint64_t growing_file_id(const struct growing_file *file)
{
    return file->recording.id;
}

uint64_t growing_file_size(const struct growing_file *file)
{
    return file->size;
}

uint64_t growing_file_hole(const struct growing_file *file)
{
    return file->recording.hole_bytes;
}

uint64_t growing_file_written(const struct growing_file *file)
{
    return file->written;
}

static int write_bytes(struct growing_file *file, const uint8_t *bytes, size_t size,
                       uint64_t offset)
{
    if (!file->failure)
        file->failure = storage_write(file->fd, bytes, size, offset);
    if (!file->failure) {
        file->size = MAX(file->size, offset + size);
        file->written += size;
    }
    return file->failure;
}

static int append_bytes(struct growing_file *file, const GByteArray *bytes)
{
    return write_bytes(file, bytes->data, bytes->len, file->size);
}

static int sync_file(struct growing_file *file)
{
    if (!file->failure)
        file->failure = storage_sync(file->fd);
    file->synced_ns = clock_now_ns();
    return file->failure;
}

// The line of JSON, with blanks behind it.
static void put_note(const struct recording *recording, uint8_t note[NOTE_SIZE])
{
    g_autofree char *line = recording_line(recording);
    size_t size = MIN(strlen(line), NOTE_SIZE);

    // NOLINTNEXTLINE(bugprone-not-null-terminated-result): it has no zero
    memcpy(note, line, size);
    memset(note + size, ' ', NOTE_SIZE - size);
}

int growing_file_begin(struct growing_file *file)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();

    file->fd = storage_open_file(file->storage, &file->recording, RECORDING_PART,
                                 O_RDWR | O_CREAT | O_EXCL);
    if (file->fd < 0) {
        file->failure = file->fd;
        return file->failure;
    }
    file->synced_ns = clock_now_ns();
    mp4_writer_start(file->writer, bytes);
    put_note(&file->recording, bytes->data + MP4_NOTE_OFFSET);
    // The room for the table stays a hole, so that what is not used of it takes no block.
    uint64_t hole_at, end = mp4_writer_room(file->writer, &hole_at);
    end += hole_at;
    write_bytes(file, bytes->data, hole_at, 0);
    return write_bytes(file, bytes->data + end, bytes->len - end, end);
}

static uint64_t ticks(int64_t since_ns)
{
    return (uint64_t)since_ns * (MP4_CLOCK_HZ / 1000) / (NS_PER_S / 1000);
}

// The samples of a fragment, each of which lasts until the next one.
static struct mp4_sample *describe(struct growing_file *file, const struct fragment *fragment)
{
    guint count = fragment->units->len;
    struct mp4_sample *samples = g_new(struct mp4_sample, count);

    for (guint i = 0; i < count; i++) {
        const struct footage_unit *unit = fragment->units->pdata[i];

        samples[i] = (struct mp4_sample){
            .time = MAX(ticks(unit->captured_ns - file->base_ns), file->next_ticks),
            .size = mp4_sample_size(file->video.codec, unit->bytes, unit->size),
            .key_frame = unit->is_key_frame,
        };
        file->next_ticks = samples[i].time + 1;
        if (i > 0)
            samples[i - 1].duration = (uint32_t)(samples[i].time - samples[i - 1].time);
    }
    uint64_t end = MAX(ticks(fragment->end_ns - file->base_ns), file->next_ticks);
    samples[count - 1].duration = (uint32_t)(end - samples[count - 1].time);
    return samples;
}

static void put_sample(const struct growing_file *file, const struct footage_unit *unit,
                       uint32_t size, GByteArray *bytes)
{
    struct mp4_sample_reader reader;
    guint at = bytes->len, end = at + size;

    g_byte_array_set_size(bytes, end);
    mp4_sample_begin(&reader, file->video.codec, unit->bytes, unit->size);
    while (at < end)
        at += (guint)mp4_sample_read(&reader, bytes->data + at, end - at);
}

void growing_file_expect(struct growing_file *file)
{
    file->waiting++;
}

// Somebody may have deleted the file: what is written to it is lost.
static int check_name(struct growing_file *file)
{
    struct stat about;

    if (fstat(file->fd, &about) == 0 && about.st_nlink == 0)
        file->failure = -ENOENT;
    return file->failure;
}

// A clip that begins with what memory has, and a disk that was slow, have several fragments
// waiting: one sync is enough for them.
static int sync_if_due(struct growing_file *file, int64_t end_ns, bool more)
{
    int64_t interval_ns = file->recording.is_always ? SYNC_ALWAYS_NS : SYNC_EVENT_NS;

    if (end_ns - file->safe_ns < interval_ns ||
        (more && clock_now_ns() - file->synced_ns < interval_ns)) {
        return 0;
    }
    file->safe_ns = end_ns;
    return sync_file(file) ? file->failure : check_name(file);
}

int growing_file_append(struct growing_file *file, const struct fragment *fragment)
{
    bool more = --file->waiting > 0;
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    guint count = fragment->units->len;
    struct footage_unit **units = (struct footage_unit **)fragment->units->pdata;

    if (!file->has_base) {
        file->base_ns = file->safe_ns = units[0]->captured_ns;
        file->has_base = true;
    }
    g_autofree struct mp4_sample *samples = describe(file, fragment);
    mp4_writer_fragment(file->writer, samples, count,
                        MAX(units[0]->captured_ns + fragment->wall_offset_ns, 0), bytes);
    for (guint i = 0; i < count; i++)
        put_sample(file, units[i], samples[i].size, bytes);
    int r = append_bytes(file, bytes);
    return r ? r : sync_if_due(file, fragment->end_ns, more);
}

// Table, note and head, in any order: as long as the file is a part, it is read by its fragments,
// which lie behind the first and in front of a table at the end, so that one sync is enough.
static int make_whole(struct growing_file *file, const struct recording *recording)
{
    g_autoptr(GByteArray) table = g_byte_array_new();
    uint8_t note[NOTE_SIZE], head[MP4_HEAD_SIZE];
    struct stat about;
    uint64_t offset;

    mp4_writer_finish(file->writer, table);
    if (!mp4_writer_fit_table(file->writer, table, &offset))
        offset = file->size;
    write_bytes(file, table->data, table->len, offset);
    file->recording = *recording;
    file->recording.bytes = file->size;
    put_note(&file->recording, note);
    write_bytes(file, note, sizeof note, MP4_NOTE_OFFSET);
    mp4_writer_close_head(file->writer, head, &offset);
    write_bytes(file, head, sizeof head, offset);
    int r = sync_file(file);
    file->recording.hole_bytes = r == 0 && fstat(file->fd, &about) == 0 ? storage_hole(&about) : 0;
    return r;
}

int growing_file_finish(struct growing_file *file, const struct recording *recording)
{
    mp4_writer_set_end(file->writer, ticks(recording->end_wall_ns - recording->start_wall_ns));
    if (!file->failure && make_whole(file, recording) == 0)
        file->failure = storage_publish(file->storage, &file->recording);
    return file->failure;
}

// Completes `recording`, which says where the file is, by its note. Without a good note it stays as
// it is. The file's name says whether it is kept.
static void read_note(int fd, struct recording *recording)
{
    char note[NOTE_SIZE + 1] = "";
    struct recording noted;

    if (pread(fd, note, NOTE_SIZE, MP4_NOTE_OFFSET) != (ssize_t)NOTE_SIZE ||
        !recording_read_line(note, &noted)) {
        return;
    }
    if (noted.start_wall_ns / NS_PER_MS != recording->start_wall_ns / NS_PER_MS) {
        recording_date(&noted, recording->start_wall_ns - noted.start_wall_ns);
        noted.is_dated = false;
    }
    if (recording_is_same(&noted, recording)) {
        noted.is_kept = recording->is_kept;
        noted.hole_bytes = recording->hole_bytes;
        noted.wall_offset_ns = 0;
        *recording = noted;
    }
}

static int64_t ticks_ns(uint64_t ticks_count)
{
    return (int64_t)(ticks_count * (NS_PER_S / 10000) / (MP4_CLOCK_HZ / 10000));
}

// Whether the file has the beginning of a fragment anywhere, and so perhaps video.
static bool has_fragment(int fd)
{
    static const char mark[] = {'m', 'o', 'o', 'f'};
    g_autofree uint8_t *bytes = g_malloc(SEARCH_SIZE);
    off_t offset = 0;
    ssize_t got;

    while ((got = pread(fd, bytes, SEARCH_SIZE, offset)) >= (ssize_t)sizeof mark) {
        if (memmem(bytes, (size_t)got, mark, sizeof mark))
            return true;
        offset += got - (ssize_t)sizeof mark + 1;
    }
    return got < 0; // nobody knows
}

// Lets `file` go on behind the whole fragments of its file.
static int go_on(struct growing_file *file, const char *name)
{
    struct mp4_recovery recovery;
    int r = mp4_recover(file->fd, name, NOTE_SIZE, &recovery);

    if (r)
        return r == -EBADMSG && !has_fragment(file->fd) ? -ENODATA : r;
    file->writer = recovery.writer;
    file->size = recovery.size;
    if (!recovery.fragments)
        return has_fragment(file->fd) ? -EBADMSG : -ENODATA;
    file->recording.gap_ns = (uint64_t)ticks_ns(recovery.gap);
    file->recording.end_wall_ns = file->recording.start_wall_ns + ticks_ns(recovery.duration);
    return ftruncate(file->fd, (off_t)recovery.size) < 0 ? -errno : 0;
}

int growing_file_recover(struct storage *storage, const struct recording *recording,
                         struct recording *ret_recording)
{
    struct growing_file *file = g_new0(struct growing_file, 1);
    g_autofree char *name = g_strconcat(recording->camera, "/", recording->view, NULL);

    file->storage = storage_ref(storage);
    file->recording = *recording;
    file->fd = storage_open_file(storage, recording, RECORDING_PART, O_RDWR);
    int r = file->fd < 0 ? file->fd : 0;
    if (r == 0) {
        read_note(file->fd, &file->recording);
        r = go_on(file, name);
    }
    if (r == 0)
        r = growing_file_finish(file, &file->recording);
    *ret_recording = file->recording;
    growing_file_free(file);
    return r;
}

int growing_file_rename(struct storage *storage, const struct recording *from,
                        const struct recording *to)
{
    _cleanup_(cleanup_close) int fd = storage_open_file(storage, from, RECORDING_VIDEO, O_RDWR);
    uint8_t note[NOTE_SIZE];

    put_note(to, note);
    int r = fd < 0 ? fd : storage_write(fd, note, sizeof note, MP4_NOTE_OFFSET);
    r = r ? r : storage_sync(fd);
    return r ? r : storage_move(storage, from, to);
}

bool growing_file_read_note(const struct storage *storage, struct recording *recording)
{
    _cleanup_(cleanup_close) int fd =
        storage_open_file(storage, recording, RECORDING_VIDEO, O_RDONLY);
    uint64_t size = recording->bytes;

    if (fd < 0)
        return false;
    recording->bytes = 0;
    read_note(fd, recording);
    bool is_finished = recording->bytes > 0;
    recording->bytes = size;
    return is_finished;
}
