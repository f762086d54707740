#include "config/parse/config_text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define TOTAL_BYTES_MAX (4U << 20)
#define DEPTH_MAX 8

// A piece of text that is read line by line.
struct piece {
    const char *text, *end;
    const char *name; // file name in messages; owned by the config_text
    unsigned line;
    unsigned depth;
};

static int add_piece(struct config_text *target, struct piece *piece);

static const char *describe(int code)
{
    switch (code) {
    case -EFBIG:
        return "larger than 4 MiB, what it includes counted in";
    case -EBADFD:
        return "no regular file";
    case -EMLINK:
        return "@include nested deeper than 8 files";
    default:
        return strerror(-code);
    }
}

static int report_fatal(struct config_text *target, const char *name, int code)
{
    config_problems_tell(target->problems, true, name, "cannot read: %s", describe(code));
    return code;
}

void config_text_refuse(const struct config_text *text, struct config_line place,
                        const char *format, ...)
{
    struct config_problem problem = {
        .file = strdup(place.file), .line = place.line, .is_error = true};
    va_list arguments;

    va_start(arguments, format);
    if (!problem.file || vasprintf(&problem.sentence, format, arguments) < 0)
        problem.sentence = NULL;
    va_end(arguments);
    config_problems_add(text->problems, &problem);
}

// `array` with room for `needed` elements of `size` bytes, or NULL with `array` as it was.
static void *grow(void *array, size_t *capacity, size_t needed, size_t size)
{
    size_t wanted = *capacity ? *capacity : 64;
    void *grown;

    if (needed <= *capacity)
        return array;
    while (wanted < needed)
        wanted *= 2;
    grown = realloc(array, wanted * size);
    if (grown)
        *capacity = wanted;
    return grown;
}

static int reserve(char **text, size_t *capacity, size_t needed)
{
    char *grown = grow(*text, capacity, needed, 1);

    if (!grown)
        return -ENOMEM;
    *text = grown;
    return 0;
}

static int reserve_line(struct config_text *target)
{
    struct config_line *lines =
        grow(target->lines, &target->line_capacity, target->line_count + 1, sizeof *lines);

    if (!lines)
        return -ENOMEM;
    target->lines = lines;
    return 0;
}

// Copies a token into the text. libconfig cuts integers that do not fit an int without a word; with
// an L behind them they come as they are, and the range check finds them. In an array all get one,
// for libconfig wants one type there.
static void append_token(struct config_text *target, const char *token, size_t length, bool in_code)
{
    long long value;

    if (in_code && config_scan_integer(token, length, &value) &&
        (target->in_array || value < INT_MIN || value > INT_MAX)) {
        target->length += (size_t)snprintf(target->text + target->length,
                                           target->capacity - target->length, "%lldL", value);
        return;
    }
    if (in_code && length == 1 && (*token == '[' || *token == ']'))
        target->in_array = *token == '[';
    memcpy(target->text + target->length, token, length);
    target->length += length;
}

// Copies a line into the text, which has room for it twice.
static void append_code(struct config_text *target, const struct piece *piece, const char *line,
                        size_t length)
{
    while (length > 0) {
        bool in_code = target->state == CONFIG_SCAN_CODE;
        size_t token = config_scan_token(&target->state, line, length);

        append_token(target, line, token, in_code);
        if (in_code && target->state != CONFIG_SCAN_CODE)
            target->opened = (struct config_line){piece->name, piece->line};
        line += token;
        length -= token;
    }
}

static void append_written(struct config_text *target, const char *line, size_t length)
{
    memcpy(target->written + target->written_length, line, length);
    target->written_length += length;
    target->written[target->written_length++] = '\n';
    target->written[target->written_length] = '\0';
}

static int add_line(struct config_text *target, const struct piece *piece, const char *line,
                    size_t length)
{
    if (target->written_length + length > TOTAL_BYTES_MAX)
        return -EFBIG;
    if (reserve(&target->text, &target->capacity, target->length + 2 * length + 2) < 0 ||
        reserve(&target->written, &target->written_capacity, target->written_length + length + 2) <
            0 ||
        reserve_line(target) < 0) {
        return -ENOMEM;
    }
    append_written(target, line, length);
    append_code(target, piece, line, length);
    target->text[target->length++] = '\n';
    target->text[target->length] = '\0';
    target->lines[target->line_count++] = (struct config_line){piece->name, piece->line};
    return 0;
}

static void note_change(struct config_text *target, const struct stat *status)
{
    int64_t changed_ns = status->st_mtim.tv_sec * NS_PER_S + status->st_mtim.tv_nsec;

    if (changed_ns > target->changed_ns)
        target->changed_ns = changed_ns;
}

// One that never ends a read, as a pipe without a writer would not.
static int open_included(struct config_text *target, const char *path, int *ret_fd)
{
    _cleanup_(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0)
        return -errno;
    if (!S_ISREG(status.st_mode))
        return S_ISDIR(status.st_mode) ? -EISDIR : -EBADFD;
    note_change(target, &status);
    *ret_fd = TAKE_FD(fd);
    return 0;
}

// Reads a whole file, at most TOTAL_BYTES_MAX of it.
static int read_bytes(int fd, char **ret_text, size_t *ret_length)
{
    _cleanup_(cleanup_free) char *text = NULL;
    size_t length = 0, capacity = 0;
    ssize_t got;

    do {
        char *grown = grow(text, &capacity, length + 4096, 1);

        if (!grown)
            return -ENOMEM;
        text = grown;
        got = read(fd, text + length, capacity - length);
        if (got < 0 && errno != EINTR)
            return -errno;
        length += got > 0 ? (size_t)got : 0;
        if (length > TOTAL_BYTES_MAX)
            return -EFBIG;
    } while (got != 0);
    *ret_text = TAKE(text);
    *ret_length = length;
    return 0;
}

// Takes ownership of `name` in any case.
static int add_name(struct config_text *target, char *name)
{
    char **files;

    if (!name)
        return -ENOMEM;
    files = reallocarray(target->files, target->file_count + 1, sizeof *files);
    if (!files) {
        free(name);
        return -ENOMEM;
    }
    target->files = files;
    target->files[target->file_count++] = name;
    return 0;
}

// The included name relative to the folder of the file that includes it.
static char *resolve(const char *from, const char *name, size_t length)
{
    const char *slash = strrchr(from, '/');
    size_t folder = slash && (length == 0 || name[0] != '/') ? (size_t)(slash + 1 - from) : 0;
    char *path = malloc(folder + length + 1);

    if (path) {
        memcpy(path, from, folder);
        memcpy(path + folder, name, length);
        path[folder + length] = '\0';
    }
    return path;
}

static int include(struct config_text *target, const struct piece *from, const char *name,
                   size_t name_length)
{
    _cleanup_(cleanup_close) int fd = -1;
    _cleanup_(cleanup_free) char *text = NULL;
    struct piece piece = {.depth = from->depth + 1};
    size_t length = 0;
    int r = add_name(target, resolve(from->name, name, name_length));

    if (r < 0)
        return r;
    if (piece.depth > DEPTH_MAX)
        return -EMLINK;
    piece.name = target->files[target->file_count - 1];
    r = open_included(target, piece.name, &fd);
    if (r == 0)
        r = read_bytes(fd, &text, &length);
    if (r == -ENOMEM)
        return r;
    if (r < 0) {
        config_text_refuse(target, (struct config_line){from->name, from->line},
                           "@include: cannot read %s: %s", piece.name, describe(r));
        return 0;
    }
    piece.text = text;
    piece.end = text + length;
    return add_piece(target, &piece);
}

// Closes what a file leaves open, for it would hide the rest of the file that includes this one;
// libconfig takes it without a word.
static int close_open(struct config_text *target, const struct piece *piece)
{
    bool comment = target->state == CONFIG_SCAN_BLOCK_COMMENT;

    if (target->state == CONFIG_SCAN_CODE)
        return 0;
    config_text_refuse(target, target->opened,
                       comment ? "comment is never closed" : "string is never closed");
    return comment ? add_line(target, piece, "*/", 2) : add_line(target, piece, "\"", 1);
}

static int add_piece(struct config_text *target, struct piece *piece)
{
    int r = 0;

    piece->text += config_scan_mark(piece->text, (size_t)(piece->end - piece->text));

    while (piece->text < piece->end && r == 0) {
        const char *line = piece->text, *name = NULL;
        const char *newline = memchr(line, '\n', (size_t)(piece->end - line));
        size_t length = (size_t)((newline ? newline : piece->end) - line);
        size_t directive = 0, name_length = 0;

        piece->line++;
        piece->text = newline ? newline + 1 : piece->end;
        if (memchr(line, '\0', length)) {
            config_text_refuse(target, (struct config_line){piece->name, piece->line},
                               "syntax error: got a byte 0, allowed: text");
            break;
        }
        // All of a line's: libconfig would follow one that is left at its beginning.
        while (r == 0 && target->state == CONFIG_SCAN_CODE &&
               (directive = config_scan_include(line, length, &name, &name_length)) > 0) {
            if (name) {
                r = include(target, piece, name, name_length);
            } else {
                config_text_refuse(
                    target, (struct config_line){piece->name, piece->line},
                    "@include: got no closing quote, allowed: @include \"FILE\" in one line");
            }
            line += directive;
            length -= directive;
        }
        if (r == 0)
            r = add_line(target, piece, line, length);
    }
    return r == 0 ? close_open(target, piece) : r;
}

static int add_main(struct config_text *target, const char *name, const char *text, size_t length)
{
    struct piece piece = {.text = text, .end = text + length};
    int r = add_name(target, strdup(name));

    if (r == 0) {
        piece.name = target->files[0];
        r = add_piece(target, &piece);
    }
    // Always at least one line, so that every problem has a place.
    if (r == 0 && target->line_count == 0) {
        piece.line = 1;
        r = add_line(target, &piece, "", 0);
    }
    return r < 0 ? report_fatal(target, name, r) : 0;
}

int config_text_read(struct config_text *target, const char *path)
{
    _cleanup_(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY); // or a pipe
    _cleanup_(cleanup_free) char *text = NULL;
    size_t length = 0;
    struct stat status;
    int r = fd < 0 ? -errno : 0;

    if (r == 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        note_change(target, &status); // before it is read, so that no later change is missed
    }
    r = r < 0 ? r : read_bytes(fd, &text, &length);
    if (r < 0)
        return report_fatal(target, path, r);
    target->is_file = true;
    return add_main(target, path, text, length);
}

int config_text_take(struct config_text *target, const char *text, const char *name)
{
    return add_main(target, name, text, strlen(text));
}

void config_text_finish(struct config_text *text)
{
    for (size_t i = 0; i < text->file_count; i++)
        free(text->files[i]);
    free(text->files);
    free(text->lines);
    free(text->written);
    free(text->text);
    *text = (struct config_text){0};
}

struct config_line config_text_origin(const struct config_text *text, unsigned line)
{
    size_t index = line > 0 ? line - 1 : 0;

    return text->lines[index < text->line_count ? index : text->line_count - 1];
}

char *config_text_copy_line(const struct config_text *text, unsigned line)
{
    const char *start = text->written;

    for (unsigned i = 1; i < line && strchr(start, '\n'); i++)
        start = strchr(start, '\n') + 1;
    return strndup(start, strcspn(start, "\n"));
}
