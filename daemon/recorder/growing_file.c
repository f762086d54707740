#include "daemon/recorder/growing_file.h"

#include "daemon/mp4/mp4_reader.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>

// So much video may be unsynced, each short of a second by as much as fragments come too early.
#define SYNC_EVENT_NS (NS_PER_S / 2)
#define SYNC_ALWAYS_NS (9 * NS_PER_S / 2)

struct growing_file {
    struct storage *storage; // a reference
    struct recording recording;
    struct mp4_video video;
    struct mp4_writer *writer; // owned
    int fd;
    int failure; // a negative errno
    bool has_base;
    int64_t base_ns;     // when the first sample was captured
    atomic_uint waiting; // fragments that were handed over and are not written
    int64_t synced_ns;   // when it was synced, by this process's clock
    int64_t safe_ns;     // captured; what ends until then is synced
    uint64_t size;
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
                                      const struct mp4_video *video)
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

static int append_bytes(struct growing_file *file, const GByteArray *bytes)
{
    if (!file->failure) {
        file->failure = storage_write(file->fd, bytes->data, bytes->len, file->size);
    }
    file->size += file->failure ? 0 : bytes->len;
    return file->failure;
}

static int sync_file(struct growing_file *file)
{
    if (!file->failure && fdatasync(file->fd) < 0) {
        file->failure = -errno;
    }
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
    return append_bytes(file, bytes);
}

static uint64_t ticks(const struct growing_file *file, int64_t captured_ns)
{
    return (uint64_t)(captured_ns - file->base_ns) * (MP4_CLOCK_HZ / 1000) / (NS_PER_S / 1000);
}

// The sample of a unit that ends at `end_ns`.
static struct mp4_sample describe(const struct growing_file *file, const struct footage_unit *unit,
                                  int64_t end_ns)
{
    uint64_t time = ticks(file, unit->captured_ns);

    return (struct mp4_sample){
        .time = time,
        .duration = (uint32_t)(ticks(file, end_ns) - time),
        .size = mp4_sample_size(file->video.codec, unit->bytes, unit->size),
        .key_frame = unit->is_key_frame,
    };
}

static void put_sample(const struct growing_file *file, const struct footage_unit *unit,
                       uint32_t size, GByteArray *bytes)
{
    struct mp4_sample_reader reader;
    guint at = bytes->len, end = at + size;

    g_byte_array_set_size(bytes, end);
    mp4_sample_begin(&reader, file->video.codec, unit->bytes, unit->size);
    while (at < end) {
        at += (guint)mp4_sample_read(&reader, bytes->data + at, end - at);
    }
}

void growing_file_expect(struct growing_file *file)
{
    file->waiting++;
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
    return sync_file(file);
}

int growing_file_append(struct growing_file *file, const struct fragment *fragment)
{
    bool more = --file->waiting > 0;
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    guint count = fragment->units->len;
    g_autofree struct mp4_sample *samples = g_new(struct mp4_sample, count);
    struct footage_unit **units = (struct footage_unit **)fragment->units->pdata;

    if (!file->has_base) {
        file->base_ns = file->safe_ns = units[0]->captured_ns;
        file->has_base = true;
    }
    for (guint i = 0; i < count; i++) {
        samples[i] =
            describe(file, units[i], i + 1 < count ? units[i + 1]->captured_ns : fragment->end_ns);
    }
    mp4_writer_fragment(file->writer, samples, count,
                        units[0]->captured_ns + fragment->wall_offset_ns, bytes);
    for (guint i = 0; i < count; i++) {
        put_sample(file, units[i], samples[i].size, bytes);
    }
    int r = append_bytes(file, bytes);
    return r ? r : sync_if_due(file, fragment->end_ns, more);
}

// The table first, then note and head in one write: as long as the file is a part, it is read by
// its fragments, so that one sync is enough.
static int make_whole(struct growing_file *file, const struct recording *recording)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    uint8_t front[NOTE_SIZE + MP4_HEAD_SIZE];
    uint64_t offset;

    mp4_writer_finish(file->writer, bytes);
    if (append_bytes(file, bytes) < 0) {
        return file->failure;
    }
    file->recording = *recording;
    file->recording.bytes = file->size;
    put_note(&file->recording, front);
    mp4_writer_close_head(file->writer, front + NOTE_SIZE, &offset);
    file->failure = storage_write(file->fd, front, sizeof front, MP4_NOTE_OFFSET);
    return sync_file(file);
}

int growing_file_finish(struct growing_file *file, const struct recording *recording)
{
    if (!file->failure && make_whole(file, recording) == 0) {
        file->failure = storage_publish(file->storage, &file->recording);
    }
    return file->failure;
}

// What the note says of the clip whose place `recording` is; that alone if it says nothing. The
// file's name says whether it is kept.
static void read_note(int fd, struct recording *recording)
{
    char note[NOTE_SIZE + 1] = "";
    struct recording noted;

    if (pread(fd, note, NOTE_SIZE, MP4_NOTE_OFFSET) == (ssize_t)NOTE_SIZE &&
        recording_read_line(note, &noted) && recording_is_same(&noted, recording)) {
        noted.is_kept = recording->is_kept;
        *recording = noted;
    }
}

static int64_t ticks_ns(uint64_t ticks_count)
{
    return (int64_t)(ticks_count * (NS_PER_S / 10000) / (MP4_CLOCK_HZ / 10000));
}

// Lets `file` go on behind the whole fragments of its file.
static int go_on(struct growing_file *file, const char *name)
{
    struct mp4_recovery recovery;
    int r = mp4_recover(file->fd, name, NOTE_SIZE, &recovery);

    if (r) {
        return r == -EBADMSG ? -ENODATA : r;
    }
    file->writer = recovery.writer;
    file->size = recovery.size;
    file->recording.gap_ns = (uint64_t)ticks_ns(recovery.gap);
    file->recording.end_wall_ns = file->recording.start_wall_ns + ticks_ns(recovery.duration);
    if (ftruncate(file->fd, (off_t)recovery.size) < 0) {
        return -errno;
    }
    return recovery.fragments ? 0 : -ENODATA;
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
    if (r == 0) {
        r = growing_file_finish(file, &file->recording);
    }
    *ret_recording = file->recording;
    growing_file_free(file);
    return r;
}

bool growing_file_read_note(const struct storage *storage, struct recording *recording)
{
    _cleanup_(cleanup_close) int fd =
        storage_open_file(storage, recording, RECORDING_VIDEO, O_RDONLY);
    uint64_t size = recording->bytes;

    if (fd < 0) {
        return false;
    }
    recording->bytes = 0;
    read_note(fd, recording);
    bool is_finished = recording->bytes > 0;
    recording->bytes = size;
    return is_finished;
}
