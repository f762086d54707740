#include "config/redact.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define STARS_MAX 3
#define BLANKS " \t\r\n"

// Replaces what lies from `begin` to `end`, and says where the text goes on.
static char *hide(char *begin, char *end)
{
    size_t stars = STARS_MAX, length = (size_t)(end - begin);

    stars = length < stars ? length : stars;
    memset(begin, '*', stars);
    memmove(begin + stars, end, strlen(end) + 1);
    return begin + stars;
}

static bool is_host(const char *text, size_t length)
{
    const char *port = memrchr(text, ':', length);

    if (length > 0 && text[length - 1] == ']') {
        return true;
    }
    return !port || strspn(port + 1, "0123456789") >= (size_t)(text + length - port - 1);
}

// Where the user and password that begin at `begin` end; NULL: there are none. What is neither host
// nor port is a secret that no URL may have, such as a password with a '/', or one that was cut
// off.
static char *userinfo_end(char *begin, bool url)
{
    size_t authority = strcspn(begin, BLANKS "/?#\"'<>"), token = strcspn(begin, BLANKS);
    char *at = memrchr(begin, '@', authority);

    if (!url) {
        return at && memchr(begin, ':', (size_t)(at - begin)) ? at : NULL;
    }
    if (!at && is_host(begin, authority)) {
        return NULL;
    }
    at = memrchr(begin, '@', token);
    return at ? at : begin + token;
}

// "rtsp://user:password@host", and "user:password@host" as rtspsrc takes a proxy.
static void hide_userinfo(char *text)
{
    static const char between[] = BLANKS "\"'<>(=";

    while (*(text += strspn(text, between))) {
        size_t token = strcspn(text, BLANKS "\"'<>");
        char *url = memmem(text, token, "://", strlen("://"));
        char *begin = url ? url + strlen("://") : text;
        size_t name = strcspn(text, ":=(");

        if (!url && name < token && text[name] != ':') {
            text += name; // "proxy=user:password@host"
            continue;
        }
        char *end = userinfo_end(begin, url != NULL);

        if (end) {
            text = hide(begin, end);
        } else {
            text = url ? begin : text + strcspn(text, between);
        }
    }
}

static bool is_name(char byte)
{
    return isalnum((unsigned char)byte) || byte == '-' || byte == '_';
}

static bool is_secret(const char *name, size_t length)
{
    static const char *const parts[] = {"password", "passwd",  "passphrase", "secret", "token",
                                        "apikey",   "api-key", "api_key",    "pwd"};
    char copy[64];

    snprintf(copy, sizeof copy, "%.*s", (int)length, name);
    length = strlen(copy);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (strcasestr(copy, parts[i])) {
            return true;
        }
    }
    return length >= 2 && strcasecmp(&copy[length - 2], "pw") == 0;
}

// The end of a value that begins with `escapes` backslashes and a quote.
static char *quoted_end(char *begin, size_t escapes, char quote)
{
    for (char *at = begin; *at; at++) {
        char *end = at;

        while (end > begin && end[-1] == '\\') {
            end--;
        }
        if (*at == quote && (size_t)(at - end) <= escapes) {
            return end;
        }
    }
    return begin + strlen(begin);
}

// The end of one that ends with a blank; in a URL at the next '&', and without the quote that
// closes a text around it.
static char *plain_end(char *begin, bool query)
{
    char *end = begin + strcspn(begin, query ? BLANKS "&\"'" : BLANKS);
    char *last = end;

    while (last > begin && strchr(":;,.)", last[-1])) {
        last--;
    }
    return last > begin && (last[-1] == '"' || last[-1] == '\'') ? last - 1 : end;
}

// What stands behind "name=", "name = (string)" and the like.
static char *hide_value(char *value, bool query)
{
    size_t escapes;

    value += strspn(value, " ");
    if (*value == '(') {
        value += strcspn(value, ")");
        value += *value == ')';
    }
    escapes = strspn(value, "\\");
    if (value[escapes] == '"' || value[escapes] == '\'') {
        char *begin = value + escapes + 1;

        return hide(begin, quoted_end(begin, escapes, begin[-1]));
    }
    return hide(value, plain_end(value, query));
}

static void hide_values(char *text)
{
    char *start = text;

    while ((text = strchr(text, '='))) {
        char *end = text, *name;

        while (end > start && end[-1] == ' ') {
            end--;
        }
        for (name = end; name > start && is_name(name[-1]);) {
            name--;
        }
        bool query = name > start && (name[-1] == '?' || name[-1] == '&');

        text = is_secret(name, (size_t)(end - name)) ? hide_value(text + 1, query) : text + 1;
    }
}

void redact(char *text)
{
    hide_values(text);
    hide_userinfo(text);
}

char *redact_format(const char *format, va_list arguments)
{
    char *text;

    if (vasprintf(&text, format, arguments) < 0) {
        return NULL;
    }
    redact(text);
    return text;
}
