// Foreign files where clips are kept: a clip that was never finished, the line of a clip in the
// index, the name of a file.
//
// Parsers: daemon/video/mp4_reader.c daemon/recorder/recording.c
#include "tests/fuzz/fuzz.h"

#include "daemon/recorder/recording.h"
#include "daemon/video/mp4_reader.h"

static void recover(const uint8_t *data, size_t size)
{
    g_autoptr(GByteArray) table = g_byte_array_new();
    char path[FUZZ_PATH_SIZE];
    int fd = fuzz_file(data, size, path);
    struct mp4_recovery recovery;

    if (mp4_recover(fd, "front/plain", 0, &recovery) == 0) {
        fuzz_claim(recovery.size <= size && recovery.gap <= recovery.duration);
        mp4_writer_finish(recovery.writer, table);
        mp4_writer_free(recovery.writer);
    }
    close(fd);
}

static void read_line(const char *text)
{
    struct recording recording, again;

    if (recording_read_line(text, &recording)) {
        g_autofree char *line = recording_line(&recording);

        fuzz_claim(recording_read_line(line, &again) && recording_is_same(&recording, &again));
    }
}

static void read_name(const char *day, const char *name)
{
    struct recording recording;
    enum recording_file file;
    char again[RECORDING_FILE_SIZE];

    if (recording_read_name(day, name, &recording, &file)) {
        recording_file_name(&recording, file, again);
        fuzz_claim(strcmp(name, again) == 0);
        recording_day(&recording, again);
        fuzz_claim(strcmp(day, again) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *slash = strchr(text, '/');

    recover(data, size);
    read_line(text);
    if (slash) {
        *slash = '\0';
        read_name(text, slash + 1);
    }
    free(text);
    return 0;
}
