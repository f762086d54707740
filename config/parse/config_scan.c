#include "config/parse/config_scan.h"

#include <ctype.h>
#include <glib.h>
#include <limits.h>
#include <string.h>

size_t config_scan_mark(const char *text, size_t length)
{
    static const char mark[] = "\xef\xbb\xbf";
    size_t size = sizeof mark - 1;

    return length >= size && memcmp(text, mark, size) == 0 ? size : 0;
}

bool config_scan_integer(const char *word, size_t length, long long *ret_value)
{
    size_t sign = length > 0 && (word[0] == '-' || word[0] == '+');
    bool hexadecimal = length > 2 && word[0] == '0' && (word[1] == 'x' || word[1] == 'X');
    size_t digits = hexadecimal ? 2 : sign;
    long long value = 0;

    for (size_t i = digits; i < length; i++) {
        int digit = g_ascii_xdigit_value(word[i]);

        if (digit < 0 || (digit > 9 && !hexadecimal))
            return false;
        if (__builtin_mul_overflow(value, hexadecimal ? 16 : 10, &value) ||
            __builtin_add_overflow(value, digit, &value)) {
            value = LLONG_MAX;
        }
    }
    *ret_value = sign && word[0] == '-' ? -value : value;
    return length > digits;
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

size_t config_scan_token(enum config_scan_state *state, const char *line, size_t length)
{
    bool pair = length > 1;
    size_t word;

    if (*state == CONFIG_SCAN_STRING) {
        *state = line[0] == '"' ? CONFIG_SCAN_CODE : CONFIG_SCAN_STRING;
        return line[0] == '\\' && pair ? 2 : 1;
    }
    if (*state == CONFIG_SCAN_BLOCK_COMMENT) {
        bool ends = pair && line[0] == '*' && line[1] == '/';

        *state = ends ? CONFIG_SCAN_CODE : CONFIG_SCAN_BLOCK_COMMENT;
        return ends ? 2 : 1;
    }
    if (line[0] == '#' || (pair && line[0] == '/' && line[1] == '/'))
        return length;
    if (pair && line[0] == '/' && line[1] == '*') {
        *state = CONFIG_SCAN_BLOCK_COMMENT;
        return 2;
    }
    *state = line[0] == '"' ? CONFIG_SCAN_STRING : CONFIG_SCAN_CODE;
    word = word_length(line, length);
    return word > 0 ? word : 1;
}

size_t config_scan_include(const char *line, size_t length, const char **ret_name,
                           size_t *ret_name_length)
{
    static const char directive[] = "@include";
    const char *end = line + length;
    const char *at = line;
    const char *closing;

    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    if ((size_t)(end - at) < strlen(directive) || memcmp(at, directive, strlen(directive)) != 0)
        return 0;
    at += strlen(directive);
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    if (at == end || *at != '"')
        return 0;
    at++;
    closing = memchr(at, '"', (size_t)(end - at));
    if (!closing) {
        *ret_name = NULL;
        return length;
    }
    *ret_name = at;
    *ret_name_length = (size_t)(closing - at);
    return (size_t)(closing + 1 - line);
}
