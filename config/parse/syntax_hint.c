#include "config/parse/syntax_hint.h"

#include <string.h>

#define DEPTH_MAX 64

// Brackets that are open at a place in the text.
struct open_brackets {
    char closing[DEPTH_MAX]; // what closes each
    unsigned lines[DEPTH_MAX];
    size_t depth;
};

static char opening_of(char closing)
{
    return closing == '}' ? '{' : closing == ')' ? '(' : '[';
}

static char closing_of(char opening)
{
    return opening == '{' ? '}' : opening == '(' ? ')' : ']';
}

static void say_where_opened(const struct config_text *text, const struct open_brackets *open,
                             struct syntax_hint *hint)
{
    char closing = open->closing[open->depth - 1];
    struct config_line place = config_text_origin(text, open->lines[open->depth - 1]);

    snprintf(hint->text + strlen(hint->text), sizeof hint->text - strlen(hint->text),
             "the \"%c\" of line %u", opening_of(closing), place.line);
}

// False: it closes what it does not match, or nothing, which `hint` says.
static bool take_bracket(const struct config_text *text, struct open_brackets *open, char bracket,
                         unsigned number, struct syntax_hint *hint)
{
    if (strchr("{([", bracket)) {
        if (open->depth < DEPTH_MAX) {
            open->closing[open->depth] = closing_of(bracket);
            open->lines[open->depth] = number;
        }
        open->depth++;
        return true;
    }
    if (open->depth > 0 && (open->depth > DEPTH_MAX || open->closing[open->depth - 1] == bracket)) {
        open->depth--;
        return true;
    }
    hint->place = config_text_origin(text, number);
    if (open->depth == 0) {
        snprintf(hint->text, sizeof hint->text, "got a \"%c\" that closes nothing", bracket);
    } else {
        snprintf(hint->text, sizeof hint->text, "got a \"%c\", allowed: a \"%c\" that closes ",
                 bracket, open->closing[open->depth - 1]);
        say_where_opened(text, open, hint);
    }
    return false;
}

// Looks at all brackets up to the end of line `last`.
static bool find_bracket(const struct config_text *text, unsigned last, struct syntax_hint *hint)
{
    enum config_scan_state state = CONFIG_SCAN_CODE;
    struct open_brackets open = {.depth = 0};
    const char *line = text->text;

    for (unsigned number = 1; number <= last && *line; number++) {
        size_t length = strcspn(line, "\n"), token;

        for (size_t i = 0; i < length; i += token) {
            bool in_code = state == CONFIG_SCAN_CODE;

            token = config_scan_token(&state, line + i, length - i);
            if (in_code && token == 1 && strchr("{}()[]", line[i]) &&
                !take_bracket(text, &open, line[i], number, hint)) {
                return true;
            }
        }
        line += length + (line[length] == '\n');
    }
    if (!*line && open.depth > 0 && open.depth <= DEPTH_MAX) {
        hint->place = config_text_origin(text, open.lines[open.depth - 1]);
        snprintf(hint->text, sizeof hint->text, "\"%c\" is never closed",
                 opening_of(open.closing[open.depth - 1]));
        return true;
    }
    return false;
}

// How long the word is that a line begins with behind blanks, which *ret_word becomes.
static size_t first_word(const char *line, const char **ret_word)
{
    *ret_word = line + strspn(line, " \t");
    return strspn(*ret_word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");
}

// Follows the brackets of a line. Returns how deep its end is in those that are open before it.
static int follow_line(enum config_scan_state *state, const char *line, size_t length, int depth)
{
    size_t token;

    for (size_t i = 0; i < length; i += token) {
        bool in_code = *state == CONFIG_SCAN_CODE;

        token = config_scan_token(state, line + i, length - i);
        if (in_code && token == 1)
            depth += (strchr("{([", line[i]) != NULL) - (strchr("})]", line[i]) != NULL);
    }
    return depth;
}

bool syntax_hint_find_first(const struct config_text *text, unsigned number,
                            struct syntax_hint *ret_hint)
{
    _cleanup_(cleanup_free) char *last = config_text_copy_line(text, number);
    enum config_scan_state state = CONFIG_SCAN_CODE;
    const char *line = text->text, *word, *other;
    size_t word_length = last ? first_word(last, &word) : 0, length;
    int depth = 0;

    for (unsigned i = 1; i < number && word_length > 0 && *line; i++) {
        length = strcspn(line, "\n");
        if (depth == 0 && state == CONFIG_SCAN_CODE && first_word(line, &other) == word_length &&
            memcmp(word, other, word_length) == 0) {
            ret_hint->place = config_text_origin(text, i);
            snprintf(ret_hint->text, sizeof ret_hint->text, "%.*s",
                     (int)(word_length < 64 ? word_length : 64), word);
            return true;
        }
        depth = follow_line(&state, line, length, depth);
        line += length + (line[length] == '\n');
    }
    return false;
}

// U+2018 to U+201F, as word processors and web pages have them.
static bool has_curly_quote(const char *line)
{
    const char *at = line;

    while ((at = strstr(at, "\xe2\x80"))) {
        unsigned char last = (unsigned char)at[2];

        if (last >= 0x98 && last <= 0x9f)
            return true;
        at += 2;
    }
    return false;
}

bool syntax_hint_find(const struct config_text *text, unsigned number, struct syntax_hint *ret_hint)
{
    _cleanup_(cleanup_free) char *line = config_text_copy_line(text, number);

    ret_hint->text[0] = '\0';
    if (line && has_curly_quote(line)) {
        ret_hint->place = config_text_origin(text, number);
        snprintf(ret_hint->text, sizeof ret_hint->text,
                 "got a curly quote, allowed: straight ones, as in \"name\"");
        return true;
    }
    return find_bracket(text, number, ret_hint);
}
