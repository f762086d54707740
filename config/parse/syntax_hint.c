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

// U+2018 to U+201F, as word processors and web pages have them.
static bool has_curly_quote(const char *line)
{
    const char *at = line;

    while ((at = strstr(at, "\xe2\x80"))) {
        unsigned char last = (unsigned char)at[2];

        if (last >= 0x98 && last <= 0x9f) {
            return true;
        }
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
