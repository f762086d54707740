#include "daemon/video/mp4_writer.h"

#include "config/base.h"

#include <string.h>

#define SECONDS_1904_TO_1970 2082844800ULL
#define NTP_SECONDS_1900_TO_1970 2208988800LL
#define TRACK 1u
#define UNDETERMINED 0x55c4u // the language "und", 5 bits a letter
#define FIXED_ONE 0x00010000u

#define SAMPLE_IS_KEY 0x02000000u   // depends on no other
#define SAMPLE_IS_DELTA 0x01010000u // depends on others, and is no sync sample

#define TFHD_BASE_IS_MOOF 0x020000u
#define TRUN_HAS (0x000001u | 0x000100u | 0x000200u | 0x000400u) // offset; durations, sizes, flags
#define PRFT_CAPTURED 24u
#define ROOM_SIZE_SIZE 8u // of the number that says how large the room is

struct table_entry {
    uint32_t duration; // up to the next sample
    uint32_t size : 31, key_frame : 1;
};

struct table_chunk {
    uint64_t offset; // in the file
    uint32_t samples;
};

struct mp4_writer {
    struct mp4_video video;
    bool is_file;
    uint32_t note_size, room;
    char *name;       // owned
    uint64_t created; // since 1904
    uint32_t fragments;
    uint64_t position;    // in the file, of what comes next
    uint64_t room_offset; // of the box for the table
    uint64_t head_offset; // of the box that becomes an mdat
    uint64_t last_time;   // of the newest sample
    GArray *samples;      // owned; of struct table_entry; a file's
    GArray *chunks;       // owned; of struct table_chunk; a file's
};

struct mp4_writer *mp4_writer_new(const struct mp4_video *video,
                                  const struct mp4_settings *settings)
{
    struct mp4_writer *writer = g_new0(struct mp4_writer, 1);

    writer->video = *video;
    writer->is_file = settings->is_file;
    writer->note_size = settings->note_size;
    writer->name = g_strdup(settings->name);
    if (settings->created_s)
        writer->created = (uint64_t)settings->created_s + SECONDS_1904_TO_1970;
    writer->samples = g_array_new(FALSE, FALSE, sizeof(struct table_entry));
    writer->chunks = g_array_new(FALSE, FALSE, sizeof(struct table_chunk));
    return writer;
}

void mp4_writer_free(struct mp4_writer *writer)
{
    if (writer) {
        g_array_unref(writer->samples);
        g_array_unref(writer->chunks);
        g_free(writer->name);
        g_free(writer);
    }
}

// Boxes
// ---------------------------------------------------------------------

static void put(GByteArray *bytes, const void *from, size_t size)
{
    g_byte_array_append(bytes, from, (guint)size);
}

static void put_zeros(GByteArray *bytes, unsigned count)
{
    static const uint8_t zeros[64];

    put(bytes, zeros, count);
}

static void put8(GByteArray *bytes, uint8_t value)
{
    put(bytes, &value, sizeof value);
}

static void put16(GByteArray *bytes, uint16_t value)
{
    put(bytes, &(uint16_t){GUINT16_TO_BE(value)}, sizeof value);
}

static void put32(GByteArray *bytes, uint32_t value)
{
    put(bytes, &(uint32_t){GUINT32_TO_BE(value)}, sizeof value);
}

static void put64(GByteArray *bytes, uint64_t value)
{
    put(bytes, &(uint64_t){GUINT64_TO_BE(value)}, sizeof value);
}

static void set32(GByteArray *bytes, guint at, uint32_t value)
{
    memcpy(bytes->data + at, &(uint32_t){GUINT32_TO_BE(value)}, sizeof value);
}

// Returns where it begins, for end_box().
static guint begin_box(GByteArray *bytes, const char type[static 4])
{
    guint at = bytes->len;

    put32(bytes, 0); // its size, by end_box()
    put(bytes, type, 4);
    return at;
}

static guint begin_full_box(GByteArray *bytes, const char type[static 4], uint8_t version,
                            uint32_t flags)
{
    guint at = begin_box(bytes, type);

    put32(bytes, (uint32_t)version << 24 | flags);
    return at;
}

static void end_box(GByteArray *bytes, guint at)
{
    set32(bytes, at, bytes->len - at);
}

// The track (clause 8), with or without a table of its samples
// ---------------------------------------------------------------------

static void put_matrix(GByteArray *bytes)
{
    static const uint32_t unity[9] = {FIXED_ONE, 0, 0, 0, FIXED_ONE, 0, 0, 0, 0x40000000};

    for (size_t i = 0; i < ARRAY_LENGTH(unity); i++)
        put32(bytes, unity[i]);
}

static void put_mvhd(const struct mp4_writer *writer, uint64_t duration, GByteArray *bytes)
{
    guint box = begin_full_box(bytes, "mvhd", 1, 0);

    put64(bytes, writer->created);
    put64(bytes, writer->created);
    put32(bytes, MP4_CLOCK_HZ);
    put64(bytes, duration);
    put32(bytes, FIXED_ONE); // rate
    put16(bytes, 0x0100);    // volume
    put_zeros(bytes, 10);
    put_matrix(bytes);
    put_zeros(bytes, 24);
    put32(bytes, TRACK + 1); // the next track's
    end_box(bytes, box);
}

// The size of a picture of square pixels, 16.16.
static uint32_t shown_width(const struct nal_picture *picture)
{
    uint64_t width = (uint64_t)picture->width * FIXED_ONE * picture->aspect_width;

    return (uint32_t)MIN(width / picture->aspect_height, UINT32_MAX);
}

static void put_tkhd(const struct mp4_writer *writer, uint64_t duration, GByteArray *bytes)
{
    guint box = begin_full_box(bytes, "tkhd", 1, 3); // enabled, in the movie

    put64(bytes, writer->created);
    put64(bytes, writer->created);
    put32(bytes, TRACK);
    put32(bytes, 0);
    put64(bytes, duration);
    put_zeros(bytes, 16); // layer, group, volume
    put_matrix(bytes);
    put32(bytes, shown_width(&writer->video.picture));
    put32(bytes, writer->video.picture.height << 16);
    end_box(bytes, box);
}

static void put_mdhd(const struct mp4_writer *writer, uint64_t duration, GByteArray *bytes)
{
    guint box = begin_full_box(bytes, "mdhd", 1, 0);

    put64(bytes, writer->created);
    put64(bytes, writer->created);
    put32(bytes, MP4_CLOCK_HZ);
    put64(bytes, duration);
    put16(bytes, UNDETERMINED);
    put16(bytes, 0);
    end_box(bytes, box);
    box = begin_full_box(bytes, "hdlr", 0, 0);
    put32(bytes, 0);
    put(bytes, "vide", 4);
    put_zeros(bytes, 12);
    put(bytes, writer->name, strlen(writer->name) + 1);
    end_box(bytes, box);
}

static void put_media_information(GByteArray *bytes)
{
    guint box = begin_full_box(bytes, "vmhd", 0, 1), inner;

    put_zeros(bytes, 8); // mode and colour of drawing
    end_box(bytes, box);
    box = begin_box(bytes, "dinf");
    inner = begin_full_box(bytes, "dref", 0, 0);
    put32(bytes, 1);
    end_box(bytes, begin_full_box(bytes, "url ", 0, 1)); // the data are in this file
    end_box(bytes, inner);
    end_box(bytes, box);
}

static void put_colour(const struct nal_picture *picture, GByteArray *bytes)
{
    guint box = begin_box(bytes, "colr");

    put(bytes, "nclx", 4);
    put16(bytes, (uint16_t)picture->colour.primaries);
    put16(bytes, (uint16_t)picture->colour.transfer);
    put16(bytes, (uint16_t)picture->colour.matrix);
    put8(bytes, picture->range == FRAME_RANGE_FULL ? 0x80 : 0);
    end_box(bytes, box);
}

static void put_sample_description(const struct mp4_video *video, GByteArray *bytes)
{
    const struct nal_picture *picture = &video->picture;
    bool is_h264 = video->codec == CONFIG_CODEC_H264;
    guint box = begin_full_box(bytes, "stsd", 0, 0), entry, inner;

    put32(bytes, 1);
    entry = begin_box(bytes, is_h264 ? "avc1" : "hvc1");
    put_zeros(bytes, 6);
    put16(bytes, 1); // data reference
    put_zeros(bytes, 16);
    put16(bytes, (uint16_t)picture->width);
    put16(bytes, (uint16_t)picture->height);
    put32(bytes, 72 * FIXED_ONE); // dots an inch
    put32(bytes, 72 * FIXED_ONE);
    put32(bytes, 0);
    put16(bytes, 1);      // a frame a sample
    put_zeros(bytes, 32); // the compressor's name
    put16(bytes, 24);     // depth
    put16(bytes, UINT16_MAX);
    inner = begin_box(bytes, is_h264 ? "avcC" : "hvcC");
    put(bytes, video->configuration, video->configuration_size);
    end_box(bytes, inner);
    if (picture->says_range)
        put_colour(picture, bytes);
    inner = begin_box(bytes, "pasp");
    put32(bytes, picture->aspect_width);
    put32(bytes, picture->aspect_height);
    end_box(bytes, inner);
    end_box(bytes, entry);
    end_box(bytes, box);
}

// Runs of samples of the same duration.
static void put_stts(const GArray *samples, GByteArray *bytes)
{
    guint box = begin_full_box(bytes, "stts", 0, 0), count_at = bytes->len;
    uint32_t runs = 0;

    put32(bytes, 0);
    for (guint first = 0, end; first < samples->len; first = end, runs++) {
        uint32_t duration = g_array_index(samples, struct table_entry, first).duration;

        for (end = first + 1; end < samples->len; end++) {
            if (g_array_index(samples, struct table_entry, end).duration != duration)
                break;
        }
        put32(bytes, end - first);
        put32(bytes, duration);
    }
    set32(bytes, count_at, runs);
    end_box(bytes, box);
}

static void put_stss(const GArray *samples, GByteArray *bytes)
{
    guint box = begin_full_box(bytes, "stss", 0, 0), count_at = bytes->len;
    uint32_t count = 0;

    put32(bytes, 0);
    for (guint i = 0; i < samples->len; i++) {
        if (g_array_index(samples, struct table_entry, i).key_frame) {
            put32(bytes, i + 1);
            count++;
        }
    }
    set32(bytes, count_at, count);
    end_box(bytes, box);
}

// Runs of chunks of as many samples.
static void put_stsc(const GArray *chunks, GByteArray *bytes)
{
    guint box = begin_full_box(bytes, "stsc", 0, 0), count_at = bytes->len;
    uint32_t runs = 0, before = 0;

    put32(bytes, 0);
    for (guint i = 0; i < chunks->len; i++) {
        uint32_t samples = g_array_index(chunks, struct table_chunk, i).samples;

        if (samples != before) {
            put32(bytes, i + 1);
            put32(bytes, samples);
            put32(bytes, 1); // the sample description
            before = samples;
            runs++;
        }
    }
    set32(bytes, count_at, runs);
    end_box(bytes, box);
}

static void put_sample_tables(const struct mp4_writer *writer, bool whole, GByteArray *bytes)
{
    g_autoptr(GArray) none = g_array_new(FALSE, FALSE, sizeof(struct table_entry));
    const GArray *samples = whole ? writer->samples : none;
    const GArray *chunks = whole ? writer->chunks : none;
    guint box;

    put_stts(samples, bytes);
    if (whole) // without it every sample would be one
        put_stss(samples, bytes);
    box = begin_full_box(bytes, "stsz", 0, 0);
    put32(bytes, 0);
    put32(bytes, samples->len);
    for (guint i = 0; i < samples->len; i++)
        put32(bytes, g_array_index(samples, struct table_entry, i).size);
    end_box(bytes, box);
    put_stsc(chunks, bytes);
    box = begin_full_box(bytes, "co64", 0, 0);
    put32(bytes, chunks->len);
    for (guint i = 0; i < chunks->len; i++)
        put64(bytes, g_array_index(chunks, struct table_chunk, i).offset);
    end_box(bytes, box);
}

// `whole`: with the table of the samples; else fragments follow.
static void put_moov(const struct mp4_writer *writer, bool whole, uint64_t duration,
                     GByteArray *bytes)
{
    guint moov = begin_box(bytes, "moov"), track, media, inner, table;

    put_mvhd(writer, duration, bytes);
    track = begin_box(bytes, "trak");
    put_tkhd(writer, duration, bytes);
    media = begin_box(bytes, "mdia");
    put_mdhd(writer, duration, bytes);
    inner = begin_box(bytes, "minf");
    put_media_information(bytes);
    table = begin_box(bytes, "stbl");
    put_sample_description(&writer->video, bytes);
    put_sample_tables(writer, whole, bytes);
    end_box(bytes, table);
    end_box(bytes, inner);
    end_box(bytes, media);
    end_box(bytes, track);
    if (!whole) {
        inner = begin_box(bytes, "mvex");
        table = begin_full_box(bytes, "trex", 0, 0);
        put32(bytes, TRACK);
        put32(bytes, 1); // the sample description; then duration, size and flags
        put_zeros(bytes, 12);
        end_box(bytes, table);
        end_box(bytes, inner);
    }
    end_box(bytes, moov);
}

// The parts of a file
// ---------------------------------------------------------------------

uint32_t mp4_room_for(uint64_t samples, uint64_t seconds)
{
    // A key frame in stss, a run in stsc, a chunk in co64; all else, with the parameter sets.
    uint64_t bytes = 12 * samples + (4 + 12 + 8) * seconds + 1024 + MP4_CONFIGURATION_MAX;

    return (uint32_t)MIN(bytes, MP4_ROOM_MAX);
}

void mp4_writer_reserve(struct mp4_writer *writer, uint32_t room)
{
    writer->room = room;
}

static void put_free(uint32_t size, GByteArray *bytes)
{
    guint box = begin_box(bytes, "free"), at = bytes->len;

    g_byte_array_set_size(bytes, at + size);
    memset(bytes->data + at, 0, size);
    end_box(bytes, box);
}

// The note and the size of the room, then the room itself.
static void put_note_and_room(struct mp4_writer *writer, guint begin, GByteArray *bytes)
{
    if (!writer->room) {
        if (writer->note_size)
            put_free(writer->note_size, bytes);
        return;
    }
    put_free(writer->note_size + ROOM_SIZE_SIZE, bytes);
    set32(bytes, bytes->len - 4, writer->room);
    writer->room_offset = bytes->len - begin;
    put_free(writer->room - 8, bytes);
}

void mp4_writer_start(struct mp4_writer *writer, GByteArray *bytes)
{
    guint begin = bytes->len, box = begin_box(bytes, "ftyp");

    put(bytes, writer->is_file ? "isom" : "iso6", 4);
    put32(bytes, 0);
    put(bytes, writer->is_file ? "isommp42" : "iso6mp41", 8);
    end_box(bytes, box);
    put_note_and_room(writer, begin, bytes);
    if (writer->is_file) {
        writer->head_offset = bytes->len - begin;
        put_free(MP4_HEAD_SIZE - 8, bytes);
    }
    put_moov(writer, false, 0, bytes);
    writer->position = bytes->len - begin;
}

uint32_t mp4_writer_room(const struct mp4_writer *writer, uint64_t *ret_offset)
{
    *ret_offset = writer->room_offset + 8;
    return writer->room ? writer->room - 8 : 0;
}

bool mp4_writer_fit_table(const struct mp4_writer *writer, GByteArray *table, uint64_t *ret_offset)
{
    uint32_t size = table->len;

    if (size != writer->room && size + 8 > writer->room)
        return false;
    if (size < writer->room) {
        put32(table, writer->room - size);
        put(table, "free", 4);
    }
    *ret_offset = writer->room_offset;
    return true;
}

static void note_samples(struct mp4_writer *writer, const struct mp4_sample *samples, size_t count,
                         uint64_t offset)
{
    const struct table_chunk chunk = {offset, (uint32_t)count};

    g_array_append_val(writer->chunks, chunk);
    for (size_t i = 0; i < count; i++) {
        const struct table_entry entry = {samples[i].duration, samples[i].size,
                                          samples[i].key_frame};

        if (writer->samples->len > 0) {
            g_array_index(writer->samples, struct table_entry, writer->samples->len - 1).duration =
                (uint32_t)MIN(samples[i].time - writer->last_time, UINT32_MAX);
        }
        g_array_append_val(writer->samples, entry);
        writer->last_time = samples[i].time;
    }
}

// A clock of day beside the time of a sample, 8.16.5.
static void put_wall_clock(int64_t captured_ns, uint64_t time, GByteArray *bytes)
{
    guint box = begin_full_box(bytes, "prft", 1, PRFT_CAPTURED);

    put32(bytes, TRACK);
    put32(bytes, (uint32_t)(captured_ns / NS_PER_S + NTP_SECONDS_1900_TO_1970));
    put32(bytes, (uint32_t)(((uint64_t)(captured_ns % NS_PER_S) << 32) / NS_PER_S));
    put64(bytes, time);
    end_box(bytes, box);
}

static void put_run(const struct mp4_sample *samples, size_t count, guint moof, GByteArray *bytes)
{
    guint box = begin_full_box(bytes, "trun", 0, TRUN_HAS), offset_at;

    put32(bytes, (uint32_t)count);
    offset_at = bytes->len;
    put32(bytes, 0);
    for (size_t i = 0; i < count; i++) {
        put32(bytes, i + 1 < count ? (uint32_t)(samples[i + 1].time - samples[i].time)
                                   : samples[i].duration);
        put32(bytes, samples[i].size);
        put32(bytes, samples[i].key_frame ? SAMPLE_IS_KEY : SAMPLE_IS_DELTA);
    }
    end_box(bytes, box);
    set32(bytes, offset_at, bytes->len - moof + 8); // behind the head of the mdat
}

void mp4_writer_fragment(struct mp4_writer *writer, const struct mp4_sample *samples, size_t count,
                         int64_t captured_ns, GByteArray *bytes)
{
    guint begin = bytes->len, moof, traf, box;
    uint64_t size = 8; // of the mdat

    if (captured_ns)
        put_wall_clock(captured_ns, samples[0].time, bytes);
    moof = begin_box(bytes, "moof");
    box = begin_full_box(bytes, "mfhd", 0, 0);
    put32(bytes, ++writer->fragments);
    end_box(bytes, box);
    traf = begin_box(bytes, "traf");
    box = begin_full_box(bytes, "tfhd", 0, TFHD_BASE_IS_MOOF);
    put32(bytes, TRACK);
    end_box(bytes, box);
    box = begin_full_box(bytes, "tfdt", 1, 0);
    put64(bytes, samples[0].time);
    end_box(bytes, box);
    put_run(samples, count, moof, bytes);
    end_box(bytes, traf);
    end_box(bytes, moof);
    for (size_t i = 0; i < count; i++)
        size += samples[i].size;
    put32(bytes, (uint32_t)size);
    put(bytes, "mdat", 4);
    writer->position += bytes->len - begin;
    if (writer->is_file)
        note_samples(writer, samples, count, writer->position);
    writer->position += size - 8;
}

static struct table_entry *last_entry(const struct mp4_writer *writer)
{
    return &g_array_index(writer->samples, struct table_entry, writer->samples->len - 1);
}

void mp4_writer_set_end(struct mp4_writer *writer, uint64_t time)
{
    if (writer->samples->len > 0) {
        last_entry(writer)->duration =
            time > writer->last_time ? (uint32_t)MIN(time - writer->last_time, UINT32_MAX) : 1;
    }
}

void mp4_writer_finish(struct mp4_writer *writer, GByteArray *bytes)
{
    uint64_t duration = writer->last_time;

    if (writer->samples->len > 0)
        duration += last_entry(writer)->duration;
    put_moov(writer, true, duration, bytes);
}

void mp4_writer_close_head(const struct mp4_writer *writer, uint8_t bytes[MP4_HEAD_SIZE],
                           uint64_t *ret_offset)
{
    static const uint8_t begin[] = {0, 0, 0, 1, 'm', 'd', 'a', 't'}; // a size of 64 bits follows
    uint64_t size = GUINT64_TO_BE(writer->position - writer->head_offset);

    memcpy(bytes, begin, sizeof begin);
    memcpy(bytes + sizeof begin, &size, sizeof size);
    *ret_offset = writer->head_offset;
}
