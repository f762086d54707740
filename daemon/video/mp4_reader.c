#include "daemon/video/mp4_reader.h"

#include "config/base.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECONDS_1904_TO_1970 2082844800ULL
#define NTP_SECONDS_1900_TO_1970 2208988800LL
#define FTYP_SIZE 24u
#define MVHD_CREATED_AT 12u
#define ROOM_SIZE_SIZE 8u
#define ENTRY_SIZE 86u // of a sample entry, in front of its boxes
#define STSD_SIZE 16u
#define PRFT_SIZE 32u
#define TRUN_HEAD_SIZE 20u
#define TRUN_ENTRY_SIZE 12u
#define SAMPLE_IS_KEY 0x02000000u
#define MOOF_MAX (1u << 20)
#define MOOF_HEAD_SIZE 88u // in front of the samples of its run
#define START_MAX (64u << 10)
#define NAL_LENGTH_SIZE 4u
#define UNSYNCED_MAX (64u << 20) // of a file: more never waits for the disk
#define ZEROS_MAX 31u            // in a row; H.264 and H.265 allow 2 in a NAL unit
#define DURATION_MAX (UINT64_C(31622400) * MP4_CLOCK_HZ) // a year: what says more is damaged
// A picture that comes later than this after the one before it leaves a gap, and later than three
// times as long as that one was to last.
#define HOLE (MP4_CLOCK_HZ / 4)

// Some bytes of a file, or a box in them.
struct mp4_bytes {
    const uint8_t *at;
    size_t size;
};

static uint32_t get32(const uint8_t *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof value);
    return GUINT32_FROM_BE(value);
}

static uint64_t get64(const uint8_t *at)
{
    return (uint64_t)get32(at) << 32 | get32(at + 4);
}

// 0, -ENODATA: the file ends before; -errno.
static int read_at(int fd, uint64_t offset, uint8_t *to, size_t size)
{
    while (size > 0) {
        ssize_t got = pread(fd, to, size, (off_t)offset);

        if (got == 0)
            return -ENODATA;
        if (got < 0 && errno != EINTR)
            return -errno;
        to += got > 0 ? got : 0;
        offset += got > 0 ? (size_t)got : 0;
        size -= got > 0 ? (size_t)got : 0;
    }
    return 0;
}

// The first box of that type, with its head. Of size 0: there is none.
static struct mp4_bytes find_box(struct mp4_bytes in, const char type[static 4])
{
    while (in.size >= 8) {
        uint32_t size = get32(in.at);

        if (size < 8 || size > in.size)
            break;
        if (memcmp(in.at + 4, type, 4) == 0)
            return (struct mp4_bytes){in.at, size};
        in.at += size;
        in.size -= size;
    }
    return (struct mp4_bytes){0};
}

// The content of a box behind the first `head` bytes.
static struct mp4_bytes inside(struct mp4_bytes box, size_t head)
{
    return box.size < head ? (struct mp4_bytes){0}
                           : (struct mp4_bytes){box.at + head, box.size - head};
}

// The box at the end of a path, in which `in` are the boxes at its beginning.
static struct mp4_bytes find_path(struct mp4_bytes in, const char *const *types)
{
    struct mp4_bytes box = find_box(in, *types);

    while (*++types && box.size)
        box = find_box(inside(box, 8), *types);
    return box;
}

// The beginning
// ---------------------------------------------------------------------

// `count` parameter sets with their lengths, in Annex B form.
static bool take_sets(struct mp4_bytes *record, unsigned count, GByteArray *unit)
{
    static const uint8_t start_code[] = {0, 0, 0, 1};

    for (; count > 0; count--) {
        size_t size = record->size < 2 ? 0 : (size_t)record->at[0] << 8 | record->at[1];

        if (!size || record->size - 2 < size)
            return false;
        g_byte_array_append(unit, start_code, sizeof start_code);
        g_byte_array_append(unit, record->at + 2, (guint)size);
        *record = inside(*record, 2 + size);
    }
    return true;
}

static bool take_h264_sets(struct mp4_bytes record, GByteArray *unit)
{
    record = inside(record, 5);
    unsigned count = record.size ? record.at[0] & 31 : 0; // of sequences

    record = inside(record, 1);
    if (!count || !take_sets(&record, count, unit))
        return false;
    count = record.size ? record.at[0] : 0; // of pictures
    record = inside(record, 1);
    return count && take_sets(&record, count, unit);
}

static bool take_h265_sets(struct mp4_bytes record, GByteArray *unit)
{
    unsigned arrays = record.size > 22 ? record.at[22] : 0;

    record = inside(record, 23);
    for (unsigned i = 0; i < arrays; i++) {
        unsigned count = record.size < 3 ? 0 : (unsigned)record.at[1] << 8 | record.at[2];

        record = inside(record, 3);
        if (!count || !take_sets(&record, count, unit))
            return false;
    }
    return arrays > 0;
}

static int read_video(struct mp4_bytes start, struct mp4_video *ret_video)
{
    static const char *const path[] = {"moov", "trak", "mdia", "minf", "stbl", "stsd", NULL};
    struct mp4_bytes entries = inside(find_path(start, path), STSD_SIZE);
    struct mp4_bytes h264 = inside(find_box(entries, "avc1"), ENTRY_SIZE);
    struct mp4_bytes h265 = inside(find_box(entries, "hvc1"), ENTRY_SIZE);
    g_autoptr(GByteArray) unit = g_byte_array_new();
    bool found = h264.size ? take_h264_sets(inside(find_box(h264, "avcC"), 8), unit)
                           : take_h265_sets(inside(find_box(h265, "hvcC"), 8), unit);

    return found ? mp4_video_read(ret_video, h264.size ? CONFIG_CODEC_H264 : CONFIG_CODEC_H265,
                                  unit->data, unit->len)
                 : -EBADMSG;
}

static int64_t read_created(struct mp4_bytes start)
{
    static const char *const path[] = {"moov", "mvhd", NULL};
    struct mp4_bytes box = find_path(start, path);
    uint64_t created = box.size < MVHD_CREATED_AT + 8 ? 0 : get64(box.at + MVHD_CREATED_AT);

    return created ? (int64_t)(created - SECONDS_1904_TO_1970) : 0;
}

// The room for the table, which stands behind the note. 0: there is none. Without a note the same
// bytes may be the head, in which the number is 0.
static int read_room(int fd, uint32_t note_size, uint32_t *ret_room)
{
    uint8_t head[8], number[ROOM_SIZE_SIZE];
    int r = read_at(fd, FTYP_SIZE, head, sizeof head);

    r = r ? r : read_at(fd, FTYP_SIZE + 8 + note_size, number, sizeof number);
    bool has_number =
        r == 0 && get32(head) == 8 + note_size + ROOM_SIZE_SIZE && memcmp(head + 4, "free", 4) == 0;
    uint64_t room = has_number ? get64(number) : 0;
    if (r || (room && room < 8) || room > MP4_ROOM_MAX)
        return r && r != -ENODATA ? r : -EBADMSG;
    *ret_room = (uint32_t)room;
    return 0;
}

// Makes the writer, and checks that it begins as the file does, except for the note, the room and
// the head.
static int read_start(int fd, const char *name, uint32_t note_size, struct mp4_recovery *recovery)
{
    uint32_t skipped = FTYP_SIZE + MP4_HEAD_SIZE, room;
    int r = read_room(fd, note_size, &room);

    if (r)
        return r;
    skipped += note_size || room ? 8 + note_size : 0;
    skipped += room ? ROOM_SIZE_SIZE + room : 0;
    g_autofree uint8_t *file = g_malloc(START_MAX);
    g_autoptr(GByteArray) again = g_byte_array_new();
    r = read_at(fd, skipped, file, 8);
    uint32_t size = r ? 0 : get32(file);
    if (r || size < 8 || size > START_MAX || (r = read_at(fd, skipped, file, size)) < 0)
        return r && r != -ENODATA ? r : -EBADMSG;
    const struct mp4_bytes start = {file, size};
    r = read_video(start, &recovery->video);
    if (r)
        return r;
    const struct mp4_settings settings = {true, name, read_created(start), note_size};
    recovery->writer = mp4_writer_new(&recovery->video, &settings);
    mp4_writer_reserve(recovery->writer, room);
    mp4_writer_start(recovery->writer, again);
    recovery->size = again->len;
    return again->len == skipped + size && memcmp(again->data + skipped, file, size) == 0
               ? 0
               : -EBADMSG;
}

// Fragments
// ---------------------------------------------------------------------

struct mp4_part {
    int64_t captured_ns;
    struct mp4_sample *samples; // owned
    uint32_t count;
    uint64_t head_size, data_size;
};

// 1: a prft box is at `offset`. 0: none is. Else -errno.
static int read_clock(int fd, uint64_t offset, struct mp4_part *part)
{
    uint8_t box[PRFT_SIZE];
    int r = read_at(fd, offset, box, sizeof box);

    if (r < 0 || memcmp(box + 4, "prft", 4) != 0 || get32(box) != sizeof box)
        return r;
    int64_t seconds = (int64_t)get32(box + 16) - NTP_SECONDS_1900_TO_1970;
    // Rounded up, as the fraction was rounded down.
    part->captured_ns =
        seconds * NS_PER_S + (int64_t)(((uint64_t)get32(box + 20) * NS_PER_S + UINT32_MAX) >> 32);
    return 1;
}

static bool read_run(struct mp4_bytes moof, struct mp4_part *part)
{
    static const char *const to_time[] = {"moof", "traf", "tfdt", NULL};
    static const char *const to_run[] = {"moof", "traf", "trun", NULL};
    struct mp4_bytes time_box = find_path(moof, to_time), run = find_path(moof, to_run);

    if (time_box.size < 20 || run.size < TRUN_HEAD_SIZE + TRUN_ENTRY_SIZE ||
        (run.size - TRUN_HEAD_SIZE) % TRUN_ENTRY_SIZE) {
        return false;
    }
    uint64_t time = get64(time_box.at + 12);
    part->count = (uint32_t)((run.size - TRUN_HEAD_SIZE) / TRUN_ENTRY_SIZE);
    part->samples = g_new(struct mp4_sample, part->count);
    for (uint32_t i = 0; i < part->count; i++) {
        const uint8_t *entry = run.at + TRUN_HEAD_SIZE + (size_t)i * TRUN_ENTRY_SIZE;

        part->samples[i] = (struct mp4_sample){
            .time = time,
            .duration = get32(entry),
            .size = get32(entry + 4),
            .key_frame = get32(entry + 8) == SAMPLE_IS_KEY,
        };
        time += part->samples[i].duration;
        part->data_size += part->samples[i].size;
    }
    return get32(run.at + 12) == part->count && time_box.size == 20 && part->data_size <= INT32_MAX;
}

// Whether `size` bytes of a NAL unit, which end where it ends, were written: it has no long run of
// zeros and does not end in one.
static int check_unit(int fd, uint64_t offset, uint64_t size)
{
    uint8_t bytes[4096];
    unsigned zeros = 0;

    while (size > 0) {
        size_t part = MIN(size, sizeof bytes);
        int r = read_at(fd, offset, bytes, part);

        if (r < 0)
            return r;
        for (size_t i = 0; i < part; i++) {
            zeros = bytes[i] ? 0 : zeros + 1;
            if (zeros > ZEROS_MAX)
                return -EBADMSG;
        }
        offset += part;
        size -= part;
    }
    return zeros ? -EBADMSG : 0;
}

// Whether the samples at `offset` are NAL units one behind the other: a file system may say that a
// file is longer than what was written of it, and then there are zeros. `whole`: every byte is
// read, else the lengths and ends of the units.
static int check_samples(int fd, uint64_t offset, const struct mp4_part *part, bool whole)
{
    for (uint32_t i = 0; i < part->count; i++) {
        uint64_t left = part->samples[i].size;

        do {
            uint8_t length[NAL_LENGTH_SIZE];
            int r = read_at(fd, offset, length, sizeof length);
            uint64_t size = r ? 0 : get32(length);

            if (r || size == 0 || NAL_LENGTH_SIZE + size > left)
                return r ? r : -EBADMSG;
            offset += NAL_LENGTH_SIZE + size;
            left -= NAL_LENGTH_SIZE + size;
            size = whole ? size : 1;
            r = check_unit(fd, offset - size, size);
            if (r < 0)
                return r;
        } while (left > 0);
    }
    return 0;
}

// Reads the fragment at `offset` of a file of `file_size`. -EBADMSG or -ENODATA: there is no whole
// one.
static int read_part(int fd, uint64_t offset, uint64_t file_size, struct mp4_part *part)
{
    g_autofree uint8_t *moof = NULL;
    uint8_t head[8];
    int r = read_clock(fd, offset, part);

    if (r < 0)
        return r;
    uint64_t at = offset + (r ? PRFT_SIZE : 0);
    r = read_at(fd, at, head, sizeof head);
    uint32_t size = r ? 0 : get32(head);
    if (r || memcmp(head + 4, "moof", 4) != 0 || size > MOOF_MAX)
        return r ? r : -EBADMSG;
    moof = g_malloc(size);
    r = read_at(fd, at, moof, size);
    if (r || !read_run((struct mp4_bytes){moof, size}, part) ||
        size != MOOF_HEAD_SIZE + part->count * TRUN_ENTRY_SIZE) {
        return r ? r : -EBADMSG;
    }
    at += size;
    r = read_at(fd, at, head, sizeof head);
    if (r || memcmp(head + 4, "mdat", 4) != 0 || get32(head) != part->data_size + 8)
        return r ? r : -EBADMSG;
    part->head_size = at + 8 - offset;
    return check_samples(fd, at + 8, part, file_size - offset <= UNSYNCED_MAX);
}

// A fragment's last picture lasts until the next fragment begins, whatever was said of its end
// before the next picture had come; unless that is a gap.
static uint64_t gap_before(const struct mp4_recovery *recovery, uint64_t last_time, uint64_t time)
{
    uint64_t hole = MAX(HOLE, 3 * (recovery->duration - last_time));

    return time > recovery->duration && time - last_time > hole ? time - recovery->duration : 0;
}

// Gives the writer the fragment, as if it had written it. *last_time is that of the newest sample.
static int add_part(struct mp4_recovery *recovery, const struct mp4_part *part, uint64_t *last_time)
{
    g_autoptr(GByteArray) head = g_byte_array_new();
    const struct mp4_sample *first = &part->samples[0], *last = &part->samples[part->count - 1];
    bool is_first = recovery->fragments == 0;

    if (first->time > DURATION_MAX || last->time + last->duration > DURATION_MAX ||
        (is_first ? !first->key_frame : first->time <= *last_time)) {
        return -EBADMSG;
    }
    mp4_writer_fragment(recovery->writer, part->samples, part->count, part->captured_ns, head);
    recovery->gap += is_first ? 0 : gap_before(recovery, *last_time, first->time);
    *last_time = last->time;
    recovery->duration = last->time + last->duration;
    recovery->size += part->head_size + part->data_size;
    recovery->fragments++;
    return 0;
}

static int read_fragments(int fd, struct mp4_recovery *recovery)
{
    struct stat about;
    uint64_t last_time = 0;
    int r = fstat(fd, &about) < 0 ? -errno : 0;

    while (r == 0) {
        struct mp4_part part = {0};

        r = read_part(fd, recovery->size, (uint64_t)about.st_size, &part);
        r = r ? r : add_part(recovery, &part, &last_time);
        g_free(part.samples);
    }
    return r == -EBADMSG || r == -ENODATA ? 0 : r;
}

int mp4_recover(int fd, const char *name, uint32_t note_size, struct mp4_recovery *ret_recovery)
{
    struct mp4_recovery recovery = {0};
    int r = read_start(fd, name, note_size, &recovery);

    r = r ? r : read_fragments(fd, &recovery);
    if (r) {
        mp4_writer_free(recovery.writer);
        return r;
    }
    *ret_recovery = recovery;
    return 0;
}
