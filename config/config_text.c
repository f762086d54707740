#include "config/config_text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#define TOTAL_BYTES_MAX (4U << 20)
#define DEPTH_MAX 8

enum { IN_CODE, IN_STRING, IN_BLOCK_COMMENT };

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
    case -ELOOP:
        return "@include nested deeper than 8 files";
    default:
        return strerror(-code);
    }
}

static int report_fatal(struct config_text *target, const char *name, int code)
{
    if (target->problems) {
        fprintf(target->problems, "%s: error: cannot read: %s\n", name, describe(code));
    }
    return code;
}

// Makes room for one element more.
static int grow(void *array, size_t *capacity, size_t needed, size_t size)
{
    void **elements = array;
    size_t wanted = *capacity ? *capacity : 64;
    void *grown;

    if (needed <= *capacity) {
        return 0;
    }
    while (wanted < needed) {
        wanted *= 2;
    }
    grown = realloc(*elements, wanted * size);
    if (!grown) {
        return -ENOMEM;
    }
    *elements = grown;
    *capacity = wanted;
    return 0;
}

// Whether all of a word is an integer that may be too long for an int: 10 decimal digits or 8
// hexadecimal ones.
static bool is_long_integer(const char *word, size_t length)
{
    size_t sign = length > 0 && (word[0] == '-' || word[0] == '+');
    bool hexadecimal = length > 2 && word[0] == '0' && (word[1] == 'x' || word[1] == 'X');
    const char *digits = word + (hexadecimal ? 2 : sign);
    size_t count = (size_t)(word + length - digits);

    for (size_t i = 0; i < count; i++) {
        unsigned char digit = (unsigned char)digits[i];

        if (hexadecimal ? !isxdigit(digit) : !isdigit(digit)) {
            return false;
        }
    }
    return count >= (hexadecimal ? 8 : 10);
}

// The length of the word (name, number) that `line` begins with.
static size_t word_length(const char *line, size_t length)
{
    size_t count = 0;

    while (count < length &&
           (isalnum((unsigned char)line[count]) || strchr("_*.+-", line[count]))) {
        count++;
    }
    return count;
}

// Takes one step of libconfig's scanner: yields the length of what belongs together at the start
// of `line` (never 0) and follows strings and comments in `state`.
static size_t scan_token(int *state, const char *line, size_t length)
{
    bool pair = length > 1;
    size_t word;

    if (*state == IN_STRING) {
        *state = line[0] == '"' ? IN_CODE : IN_STRING;
        return line[0] == '\\' && pair ? 2 : 1;
    }
    if (*state == IN_BLOCK_COMMENT) {
        bool ends = pair && line[0] == '*' && line[1] == '/';

        *state = ends ? IN_CODE : IN_BLOCK_COMMENT;
        return ends ? 2 : 1;
    }
    if (line[0] == '#' || (pair && line[0] == '/' && line[1] == '/')) {
        return length;
    }
    if (pair && line[0] == '/' && line[1] == '*') {
        *state = IN_BLOCK_COMMENT;
        return 2;
    }
    *state = line[0] == '"' ? IN_STRING : IN_CODE;
    word = word_length(line, length);
    return word > 0 ? word : 1;
}

// Copies a line into the text, which has room for it twice. libconfig cuts integers that do not
// fit an int without a word; with an L behind them they come as they are, and the range check
// finds them.
static void append_code(struct config_text *target, const char *line, size_t length)
{
    while (length > 0) {
        bool in_code = target->state == IN_CODE;
        size_t token = scan_token(&target->state, line, length);

        memcpy(target->text + target->length, line, token);
        target->length += token;
        if (in_code && is_long_integer(line, token)) {
            target->text[target->length++] = 'L';
        }
        line += token;
        length -= token;
    }
}

static int add_line(struct config_text *target, const struct piece *piece, const char *line,
                    size_t length)
{
    if (target->length + length > TOTAL_BYTES_MAX) {
        return -EFBIG;
    }
    if (grow(&target->text, &target->capacity, target->length + 2 * length + 2, 1) < 0 ||
        grow(&target->lines, &target->line_capacity, target->line_count + 1,
             sizeof *target->lines) < 0) {
        return -ENOMEM;
    }
    append_code(target, line, length);
    target->text[target->length++] = '\n';
    target->text[target->length] = '\0';
    target->lines[target->line_count++] = (struct config_line){piece->name, piece->line};
    return 0;
}

// The length of the include directive that opens the line and the file name in it; 0 if there is
// none.
static size_t match_include(const char *line, size_t length, const char **ret_name,
                            size_t *ret_name_length)
{
    static const char directive[] = "@include";
    const char *end = line + length;
    const char *at = line;
    const char *closing;

    while (at < end && (*at == ' ' || *at == '\t')) {
        at++;
    }
    if ((size_t)(end - at) < strlen(directive) || memcmp(at, directive, strlen(directive)) != 0) {
        return 0;
    }
    at += strlen(directive);
    while (at < end && (*at == ' ' || *at == '\t')) {
        at++;
    }
    if (at == end || *at != '"') {
        return 0;
    }
    at++;
    closing = memchr(at, '"', (size_t)(end - at));
    if (!closing) {
        return 0;
    }
    *ret_name = at;
    *ret_name_length = (size_t)(closing - at);
    return (size_t)(closing + 1 - line);
}

// Reads a whole file, at most TOTAL_BYTES_MAX of it.
static int read_file(const char *path, char **ret_text, size_t *ret_length)
{
    _cleanup_(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    _cleanup_(cleanup_free) char *text = NULL;
    size_t length = 0, capacity = 0;
    ssize_t got;

    if (fd < 0) {
        return -errno;
    }
    do {
        if (grow(&text, &capacity, length + 4096, 1) < 0) {
            return -ENOMEM;
        }
        got = read(fd, text + length, capacity - length);
        if (got < 0 && errno != EINTR) {
            return -errno;
        }
        length += got > 0 ? (size_t)got : 0;
        if (length > TOTAL_BYTES_MAX) {
            return -EFBIG;
        }
    } while (got != 0);
    *ret_text = TAKE(text);
    *ret_length = length;
    return 0;
}

// Takes ownership of `name` in any case.
static int add_name(struct config_text *target, char *name)
{
    char **files;

    if (!name) {
        return -ENOMEM;
    }
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
    _cleanup_(cleanup_free) char *text = NULL;
    struct piece piece = {.depth = from->depth + 1};
    size_t length;
    int r = add_name(target, resolve(from->name, name, name_length));

    if (r < 0) {
        return r;
    }
    if (piece.depth > DEPTH_MAX) {
        return -ELOOP;
    }
    piece.name = target->files[target->file_count - 1];
    r = read_file(piece.name, &text, &length);
    if (r == -ENOMEM) {
        return r;
    }
    if (r < 0) {
        target->errors++;
        if (target->problems) {
            fprintf(target->problems, "%s:%u: error: @include: cannot read %s: %s\n", from->name,
                    from->line, piece.name, describe(r));
        }
        return 0;
    }
    piece.text = text;
    piece.end = text + length;
    return add_piece(target, &piece);
}

static int add_piece(struct config_text *target, struct piece *piece)
{
    int r = 0;

    while (piece->text < piece->end && r == 0) {
        const char *line = piece->text, *name;
        const char *newline = memchr(line, '\n', (size_t)(piece->end - line));
        size_t length = (size_t)((newline ? newline : piece->end) - line), name_length;
        size_t directive = 0;

        piece->line++;
        piece->text = newline ? newline + 1 : piece->end;
        if (memchr(line, '\0', length)) {
            target->errors++;
            if (target->problems) {
                fprintf(target->problems, "%s:%u: error: syntax error: a byte 0, allowed: text\n",
                        piece->name, piece->line);
            }
            return 0;
        }
        if (target->state == IN_CODE) {
            directive = match_include(line, length, &name, &name_length);
        }
        if (directive > 0) {
            r = include(target, piece, name, name_length);
            line += directive;
            length -= directive;
        }
        if (r == 0) {
            r = add_line(target, piece, line, length);
        }
    }
    return r;
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
    _cleanup_(cleanup_free) char *text = NULL;
    size_t length;
    int r = read_file(path, &text, &length);

    if (r < 0) {
        return report_fatal(target, path, r);
    }
    return add_main(target, path, text, length);
}

int config_text_take(struct config_text *target, const char *text, const char *name)
{
    return add_main(target, name, text, strlen(text));
}

void config_text_finish(struct config_text *text)
{
    for (size_t i = 0; i < text->file_count; i++) {
        free(text->files[i]);
    }
    free(text->files);
    free(text->lines);
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
    const char *start = text->text;

    for (unsigned i = 1; i < line && strchr(start, '\n'); i++) {
        start = strchr(start, '\n') + 1;
    }
    return strndup(start, strcspn(start, "\n"));
}
