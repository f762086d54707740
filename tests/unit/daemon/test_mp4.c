// Parts of the MP4 writer that FFmpeg and GStreamer (tests/golden/test_mp4.py) cannot show: the
// bytes of a fragment, tables with gaps, samples read in any pieces, and sets that no track can be
// made of; and the recovery of a file with damaged fragments.
#include "daemon/video/mp4_reader.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

// x264's: baseline, 176x144; a picture of two slices behind a delimiter, an SPS and a PPS.
static const uint8_t unit[] = "\0\0\0\1\x09\x10"
                              "\0\0\0\1\x67\x42\x00\x0a\x96\x53\x05\x89\x88"
                              "\0\0\0\1\x68\xce\x38\x80"
                              "\0\0\1\x06\x05\x01\x80"
                              "\0\0\1\x65\x88\x84"
                              "\0\0\1\x65\x04\x88\x84\x80";
#define UNIT_SIZE (sizeof unit - 1)

static const uint8_t sample[] = "\0\0\0\4\x06\x05\x01\x80"
                                "\0\0\0\3\x65\x88\x84"
                                "\0\0\0\5\x65\x04\x88\x84\x80";
#define SAMPLE_SIZE (sizeof sample - 1)

static const struct mp4_settings a_file = {.is_file = true, .name = "x"};

static struct mp4_video read_video(void)
{
    struct mp4_video video;

    assert_int_equal(mp4_video_read(&video, CONFIG_CODEC_H264, unit, UNIT_SIZE), 0);
    return video;
}

TEST(test_a_sample_has_lengths_and_neither_delimiter_nor_sets)
{
    assert_int_equal(mp4_sample_size(CONFIG_CODEC_H264, unit, UNIT_SIZE), SAMPLE_SIZE);
    for (size_t piece = 1; piece <= SAMPLE_SIZE; piece++) {
        struct mp4_sample_reader reader;
        uint8_t bytes[2 * SAMPLE_SIZE];
        size_t size = 0, more;

        mp4_sample_begin(&reader, CONFIG_CODEC_H264, unit, UNIT_SIZE);
        while ((more = mp4_sample_read(&reader, bytes + size, piece)) > 0)
            size += more;
        assert_int_equal(size, SAMPLE_SIZE);
        assert_memory_equal(bytes, sample, size);
        assert_int_equal(mp4_sample_read(&reader, bytes, piece), 0);
    }
}

// ISO/IEC 14496-15, 5.3.3.1.
TEST(test_the_sets_are_in_the_description)
{
    static const uint8_t expected[] = "\1\x42\x00\x0a\xff\xe1\0\x09\x67\x42\x00\x0a\x96\x53\x05\x89"
                                      "\x88\1\0\4\x68\xce\x38\x80";
    const struct mp4_video video = read_video();

    assert_string_equal(video.codecs, "avc1.42000A");
    assert_int_equal(video.configuration_size, sizeof expected - 1);
    assert_memory_equal(video.configuration, expected, sizeof expected - 1);
}

// ISO/IEC 14496-12: prft 8.16.5, moof 8.8.4, mfhd 8.8.5, tfhd 8.8.7, tfdt 8.8.12, trun 8.8.8.
TEST(test_the_bytes_of_a_fragment)
{
    static const uint8_t expected[] = "\0\0\0\x20prft\1\0\0\x18\0\0\0\1"
                                      "\x83\xaa\x7e\x81\x80\0\0\0" // 1.5 s after 1970
                                      "\0\0\0\0\0\1\x5f\x90"
                                      "\0\0\0\x70moof\0\0\0\x10mfhd\0\0\0\0\0\0\0\1"
                                      "\0\0\0\x58traf\0\0\0\x10tfhd\0\2\0\0\0\0\0\1"
                                      "\0\0\0\x14tfdt\1\0\0\0\0\0\0\0\0\1\x5f\x90"
                                      "\0\0\0\x2ctrun\0\0\7\1\0\0\0\2\0\0\0\x78"
                                      "\0\0\x0b\xb8\0\0\0\5\2\0\0\0"
                                      "\0\0\x0b\xb9\0\0\0\7\1\1\0\0"
                                      "\0\0\0\x14mdat";
    const struct mp4_video video = read_video();
    const struct mp4_sample samples[] = {{90000, 1, 5, true}, {93000, 3001, 7, false}};
    struct mp4_writer *writer = mp4_writer_new(&video, &(struct mp4_settings){.name = "x"});
    g_autoptr(GByteArray) bytes = g_byte_array_new();

    mp4_writer_fragment(writer, samples, 2, 1500000000, bytes);
    assert_int_equal(bytes->len, sizeof expected - 1);
    assert_memory_equal(bytes->data, expected, bytes->len);
    mp4_writer_free(writer);
}

// Where the box of that name begins, behind its head.
static const uint8_t *find_box(const GByteArray *bytes, const char *name)
{
    const uint8_t *found = memmem(bytes->data, bytes->len, name, 4);

    assert_non_null(found);
    return found + 4;
}

// Three fragments, of 2, 2 and 1 samples; a second is missing between the last two.
TEST(test_the_table_of_a_file_has_its_gaps_and_chunks)
{
    static const uint8_t stts[] = "\0\0\0\0\0\0\0\3\0\0\0\3\0\0\x0b\xb8\0\0\0\1\0\1\x6b\x48"
                                  "\0\0\0\1\0\0\x0f\xa0";
    static const uint8_t stss[] = "\0\0\0\0\0\0\0\3\0\0\0\1\0\0\0\3\0\0\0\5";
    static const uint8_t stsc[] =
        "\0\0\0\0\0\0\0\2\0\0\0\1\0\0\0\2\0\0\0\1\0\0\0\3\0\0\0\1\0\0\0\1";
    static const uint8_t stsz[] = "\0\0\0\0\0\0\0\0\0\0\0\5"
                                  "\0\0\0\x0a\0\0\0\x0b\0\0\0\x0c\0\0\0\x0d\0\0\0\x0e";
    const struct mp4_video video = read_video();
    const struct mp4_sample samples[] = {{0, 3000, 10, true},
                                         {3000, 3000, 11, false},
                                         {6000, 3000, 12, true},
                                         {9000, 3000, 13, false},
                                         {102000, 4000, 14, true}};
    struct mp4_writer *writer = mp4_writer_new(&video, &a_file);
    g_autoptr(GByteArray) bytes = g_byte_array_new(), table = g_byte_array_new();
    uint8_t head[MP4_HEAD_SIZE];
    uint64_t offset, chunks[3];

    mp4_writer_start(writer, bytes);
    for (size_t i = 0; i < 5; i += 2) {
        size_t count = i == 4 ? 1 : 2;

        mp4_writer_fragment(writer, samples + i, count, 0, bytes);
        chunks[i / 2] = GUINT64_TO_BE(bytes->len);
        g_byte_array_set_size(
            bytes, (guint)(bytes->len + samples[i].size + (count == 2 ? samples[i + 1].size : 0)));
    }
    mp4_writer_finish(writer, table);
    assert_memory_equal(find_box(table, "stts"), stts, sizeof stts - 1);
    assert_memory_equal(find_box(table, "stss"), stss, sizeof stss - 1);
    assert_memory_equal(find_box(table, "stsc"), stsc, sizeof stsc - 1);
    assert_memory_equal(find_box(table, "stsz"), stsz, sizeof stsz - 1);
    assert_memory_equal(find_box(table, "co64") + 8, chunks, sizeof chunks);
    assert_memory_equal(find_box(table, "mdhd") + 24, "\0\0\0\0\0\1\x9e\x10", 8); // 106000
    mp4_writer_close_head(writer, head, &offset);
    assert_memory_equal(bytes->data + offset,
                        "\0\0\0\x10"
                        "free\0\0\0\0\0\0\0\0",
                        MP4_HEAD_SIZE);
    assert_memory_equal(head, "\0\0\0\1mdat", 8);
    assert_memory_equal(head + 8, &(uint64_t){GUINT64_TO_BE(bytes->len - offset)}, 8);
    mp4_writer_free(writer);
}

TEST(test_sets_that_are_missing_broken_or_too_long_make_no_track)
{
    static const uint8_t set[] = "\0\0\0\1\x67\x42\x00\x0a\x96\x53\x05\x89\x88\0\0\1\x68";
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    struct mp4_video video;

    assert_int_equal(mp4_video_read(&video, CONFIG_CODEC_H264, unit, 6), -EBADMSG);
    assert_int_equal(mp4_video_read(&video, CONFIG_CODEC_H264, unit, 14), -EBADMSG);
    assert_int_equal(mp4_video_read(&video, CONFIG_CODEC_H264, set, sizeof set - 5), -EBADMSG);
    assert_int_equal(mp4_video_read(&video, CONFIG_CODEC_H265, unit, UNIT_SIZE), -EBADMSG);
    g_byte_array_append(bytes, set, sizeof set - 1);
    g_byte_array_set_size(bytes, sizeof set - 1 + MP4_CONFIGURATION_MAX);
    memset(bytes->data + sizeof set - 1, 0x55, MP4_CONFIGURATION_MAX);
    assert_int_equal(mp4_video_read(&video, CONFIG_CODEC_H264, bytes->data, bytes->len), -EMSGSIZE);
}

static void put_fragment(struct mp4_writer *writer, uint64_t time, GByteArray *bytes)
{
    const struct mp4_sample one = {time, 3000, SAMPLE_SIZE, true};

    mp4_writer_fragment(writer, &one, 1, 0, bytes);
    g_byte_array_append(bytes, sample, SAMPLE_SIZE);
}

static struct mp4_recovery recover(const GByteArray *bytes)
{
    struct mp4_recovery recovery;
    int fd = memfd_create("clip", MFD_CLOEXEC);

    assert_int_equal(write(fd, bytes->data, bytes->len), bytes->len);
    assert_int_equal(mp4_recover(fd, a_file.name, 0, &recovery), 0);
    mp4_writer_free(recovery.writer);
    close(fd);
    return recovery;
}

TEST(test_a_fragment_whose_numbers_cannot_be_ends_what_is_recovered)
{
    static const struct {
        const char *box;
        size_t offset; // behind its name
        const char *number;
        size_t size;
    } lies[] = {
        {"tfdt", 4, "\x80\0\0\0\0\0\0\0", 8},
        {"tfdt", 4, "\xff\xff\xff\xff\xff\xff\xff\xff", 8},
        {"tfdt", 4, "\0\0\0\0\0\0\0\0", 8},  // that of the one in front
        {"trun", 4, "\xff\xff\xff\xff", 4},  // samples
        {"trun", 16, "\xff\xff\xff\xff", 4}, // bytes of the first one
        {"trun", 16, "\0\0\0\0", 4},
        {"mdat", 0, "\xff\xff\xff\xff", 4}, // bytes of its first NAL unit
    };
    const struct mp4_video video = read_video();
    const struct mp4_settings settings = {.is_file = true, .name = "x", .created_s = INT64_MAX};
    struct mp4_writer *writer = mp4_writer_new(&video, &settings);
    g_autoptr(GByteArray) bytes = g_byte_array_new();

    mp4_writer_start(writer, bytes);
    put_fragment(writer, 0, bytes);
    guint second = bytes->len;
    put_fragment(writer, 3000, bytes);
    assert_int_equal(recover(bytes).duration, 6000);
    for (size_t i = 0; i < ARRAY_LENGTH(lies); i++) {
        g_autoptr(GByteArray) copy = g_byte_array_new();
        uint8_t *box;

        g_byte_array_append(copy, bytes->data, bytes->len);
        box = memmem(copy->data + second, copy->len - second, lies[i].box, 4);
        assert_non_null(box);
        memcpy(box + 4 + lies[i].offset, lies[i].number, lies[i].size);
        struct mp4_recovery recovery = recover(copy);
        assert_int_equal(recovery.fragments, 1);
        assert_int_equal(recovery.duration, 3000);
        assert_int_equal(recovery.size, second);
    }
    mp4_writer_fragment(writer, &(struct mp4_sample){.time = 6000, .duration = 1}, 1, 0, bytes);
    assert_int_equal(recover(bytes).fragments, 2); // it has no byte
    mp4_writer_free(writer);
}

// The table in its room, then the head, as a write that is cut off anywhere leaves the file: with
// what was written up to there, or, where a disk writes its blocks in another order, from there on.
TEST(test_a_file_is_recovered_wherever_the_write_of_its_table_was_cut_off)
{
    const struct mp4_video video = read_video();
    struct mp4_writer *writer = mp4_writer_new(&video, &a_file);
    g_autoptr(GByteArray) part = g_byte_array_new(), whole = g_byte_array_new(),
                          table = g_byte_array_new(), cut = g_byte_array_new();
    uint64_t table_at, head_at;
    uint8_t head[MP4_HEAD_SIZE];

    mp4_writer_reserve(writer, mp4_room_for(2, 2));
    mp4_writer_start(writer, part);
    put_fragment(writer, 0, part);
    put_fragment(writer, 3000, part);
    mp4_writer_finish(writer, table);
    assert_true(mp4_writer_fit_table(writer, table, &table_at));
    mp4_writer_close_head(writer, head, &head_at);
    g_byte_array_append(whole, part->data, part->len);
    memcpy(whole->data + table_at, table->data, table->len);
    memcpy(whole->data + head_at, head, sizeof head);
    assert_true(table_at + table->len <= head_at);
    for (size_t i = table_at; i <= head_at + sizeof head; i++) {
        for (unsigned first = 0; first < 2; first++) {
            const GByteArray *front = first ? whole : part, *back = first ? part : whole;

            g_byte_array_set_size(cut, 0);
            g_byte_array_append(cut, front->data, (guint)i);
            g_byte_array_append(cut, back->data + i, back->len - (guint)i);
            struct mp4_recovery recovery = recover(cut);
            assert_int_equal(recovery.fragments, 2);
            assert_int_equal(recovery.size, part->len);
        }
    }
    mp4_writer_free(writer);
}

TEST(test_a_table_without_room_goes_to_the_end)
{
    const struct mp4_video video = read_video();
    g_autoptr(GByteArray) table = g_byte_array_new();

    // As much room as it needs; then too little for a box behind it; then just enough for that.
    g_byte_array_set_size(table, 400);
    for (uint32_t more = 0; more <= 8; more++) {
        struct mp4_writer *writer = mp4_writer_new(&video, &a_file);
        uint64_t offset;

        mp4_writer_reserve(writer, 400 + more);
        assert_int_equal(mp4_writer_fit_table(writer, table, &offset), more == 0 || more == 8);
        assert_int_equal(table->len, more == 8 ? 408 : 400);
        mp4_writer_free(writer);
    }
}

// Of a fragment's last picture nobody knows how long it lasts until the next one has come.
TEST(test_a_fragment_says_when_the_picture_before_it_is_over)
{
    static const struct {
        uint64_t time, gap;
    } seconds[] = {
        {1, 0},
        {2999, 0},
        {3000, 0},
        {9000, 0},             // 0.1 s: three pictures' time
        {22500, 0},            // 0.25 s
        {22501, 22501 - 3000}, // longer than both
        {90000 * 60, 90000 * 60 - 3000},
    };
    const struct mp4_video video = read_video();

    for (size_t i = 0; i < ARRAY_LENGTH(seconds); i++) {
        struct mp4_writer *writer = mp4_writer_new(&video, &a_file);
        g_autoptr(GByteArray) bytes = g_byte_array_new();

        mp4_writer_start(writer, bytes);
        put_fragment(writer, 0, bytes);
        put_fragment(writer, seconds[i].time, bytes);
        struct mp4_recovery recovery = recover(bytes);
        assert_int_equal(recovery.fragments, 2);
        assert_int_equal(recovery.gap, seconds[i].gap);
        assert_int_equal(recovery.duration, seconds[i].time + 3000);
        mp4_writer_free(writer);
    }
}

// As a file system leaves them that has lengthened a file and did not come to write it.
TEST(test_zeros_in_place_of_what_was_written_end_what_is_recovered)
{
    static const struct {
        guint from_end, count; // bytes
    } zeros[] = {{1, 1}, {900, 512}, {1004, 1004}, {1004, 4}, {512, 512}};
    const struct mp4_video video = read_video();
    const struct mp4_sample one = {3000, 3000, 1004, true};

    for (size_t i = 0; i < ARRAY_LENGTH(zeros); i++) {
        struct mp4_writer *writer = mp4_writer_new(&video, &a_file);
        g_autoptr(GByteArray) bytes = g_byte_array_new();

        mp4_writer_start(writer, bytes);
        put_fragment(writer, 0, bytes);
        mp4_writer_fragment(writer, &one, 1, 0, bytes);
        g_byte_array_append(bytes, (const uint8_t *)"\0\0\3\xe8", 4); // of 1000 bytes
        g_byte_array_set_size(bytes, bytes->len + 1000);
        memset(bytes->data + bytes->len - 1000, 0x55, 1000);
        assert_int_equal(recover(bytes).fragments, 2);
        memset(bytes->data + bytes->len - zeros[i].from_end, 0, zeros[i].count);
        assert_int_equal(recover(bytes).fragments, 1);
        mp4_writer_free(writer);
    }
}

RUN_TESTS(NULL, NULL)
