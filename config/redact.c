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

    if (length > 0 && text[length - 1] == ']')
        return true;
    return !port || strspn(port + 1, "0123456789") >= (size_t)(text + length - port - 1);
}

// Where the user and password that begin at `begin` end; NULL: there are none. A part that is
// neither host nor port is a secret that no URL may have, such as a password with a '/', or one
// that was cut off.
static char *userinfo_end(char *begin, bool url)
{
    size_t authority = strcspn(begin, BLANKS "/?#\"'<>"), token = strcspn(begin, BLANKS);
    char *at = memrchr(begin, '@', authority);

    if (!url)
        return at && memchr(begin, ':', (size_t)(at - begin)) ? at : NULL;
    if (!at && is_host(begin, authority))
        return NULL;
    at = memrchr(begin, '@', token);
    if (!at) // a password with a blank in it
        at = memrchr(begin, '@', strcspn(begin, "\r\n\"'<>"));
    return at ? at : begin + token;
}

// The end of a value that begins with `escapes` backslashes and a quote.
static char *quoted_end(char *begin, size_t escapes, char quote)
{
    for (char *at = begin; *at; at++) {
        char *end = at;

        while (end > begin && end[-1] == '\\')
            end--;
        if (*at == quote && (size_t)(at - end) <= escapes)
            return end;
    }
    return begin + strlen(begin);
}

// The end of one that ends with a blank; in a URL at the next '&', and without the quote that
// closes a text around it.
static char *plain_end(char *begin, bool query)
{
    char *end = begin + strcspn(begin, query ? BLANKS "&\"'" : BLANKS);
    char *last = end;

    while (last > begin && strchr(":;,.)", last[-1]))
        last--;
    return last > begin && (last[-1] == '"' || last[-1] == '\'') ? last - 1 : query ? last : end;
}

// Hides what a URL asks for, from `at` to its end: every value of its query, whatever its name, and
// of a path such as "user=admin&password=x", which some cameras want. Returns the end.
static char *hide_query(char *at, char *end)
{
    bool query = false;

    while (at < end) {
        bool begins = *at == '?' || *at == '#' || *at == '&';
        size_t length = strcspn(at + 1, "=&");
        char *begin = at + 1, *item_end = begin + length < end ? begin + length : end;

        query |= *at == '?' || *at == '#';
        bool nameless = begins && query && (item_end == end || *item_end != '=');
        if (*at == '=' || nameless) {
            item_end = memchr(begin, '&', (size_t)(end - begin));
            item_end = item_end ? item_end : end;
            char *hidden = hide(begin, item_end);

            end -= item_end - hidden;
            at = hidden;
        } else {
            at++;
        }
    }
    return end;
}

// Where a URL ends that goes on at `begin`: at a blank or a quote, without what closes the sentence
// around it, and before another URL ("a=http://h/,b=rtsp://h/").
static char *url_end(char *begin)
{
    size_t token = strcspn(begin, BLANKS "\"");
    char *end = begin + token, *next = memmem(begin, token, "://", strlen("://"));

    if (next) {
        end = next;
        while (end > begin && isalnum((unsigned char)end[-1]))
            end--;
    }
    while (end > begin && strchr(":;,.)'>\\", end[-1]))
        end--;
    return end;
}

// "rtsp://user:password@host/?key=value", and "user:password@host" as rtspsrc takes a proxy.
static void hide_urls(char *text)
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

        begin = end ? hide(begin, end) : begin;
        if (url)
            text = hide_query(begin, url_end(begin));
        else
            text = end ? begin : text + strcspn(text, between);
    }
}

static bool is_name(char byte)
{
    return isalnum((unsigned char)byte) || byte == '-' || byte == '_';
}

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), end_length = strlen(end);

    return length >= end_length && strcasecmp(&name[length - end_length], end) == 0;
}

// By name alone, where no more is known of the text than that.
static bool is_secret(const char *name)
{
    static const char *const parts[] = {
        "password", "passwd",     "passphrase", "secret", "token", "apikey", "pwd",
        "psw",      "credential", "signature",  "cookie", "jwt",   "auth"};
    static const char *const last[] = {"pw", "pass", "pas", "api-key", "api_key", "-key", "_key"};

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (strcasestr(name, parts[i]))
            return true;
    }
    for (size_t i = 0; i < sizeof last / sizeof last[0]; i++) {
        if (ends_with(name, last[i]))
            return true;
    }
    return strcasecmp(name, "key") == 0;
}

// Properties and fields of caps in which nobody keeps a secret. A pipeline's others may be one: a
// plugin names its properties as it likes.
static const char harmless[] =
    " "
    "alignment allowed animation-mode async background-color bitrate blocksize brightness "
    "buffer-size caps clock-rate colorimetry contrast device device-fd device-index "
    "display-name do-timestamp drop drop-on-latency encoding-name exposure extra-controls "
    "flip-method foreground-color format fps framerate gain height horizontal-speed hue "
    "index interlace-mode io-mode is-live key-int-max latency leaky level location loop "
    "max-buffers max-size-buffers max-size-bytes max-size-time media method mode motion "
    "n-threads name num-buffers parsed pattern payload pipeline pixel-aspect-ratio port "
    "profile protocols qos quality retry saturation sensor-id sensor-mode speed-preset "
    "start-index stop-index stream-format sync systemstream tcp-timeout threads timeout "
    "tune uri url user-id views width ";

static bool is_harmless(const char *name)
{
    char word[72];

    snprintf(word, sizeof word, " %s ", name);
    return strcasestr(harmless, word) != NULL;
}

// Whether it holds a pipeline of GStreamer: one says so, or has a link, or begins with a source.
static bool holds_pipeline(const char *text)
{
    static const char source[] = "src";

    if (strcasestr(text, "pipeline") || strstr(text, " ! ") || strstr(text, "property "))
        return true;
    while ((text = strstr(text, source))) {
        text += strlen(source);
        text += strspn(text, "0123456789");
        if (isspace((unsigned char)*text))
            return true;
    }
    return false;
}

// Hides the value behind "name=", "name = (string)" and the like. Returns its end.
static char *hide_value(char *value, bool query)
{
    size_t escapes;

    value += strspn(value, BLANKS);
    if (*value == '(') {
        value += strcspn(value, ")");
        value += *value == ')';
        value += strspn(value, BLANKS);
    }
    escapes = strspn(value, "\\");
    if (value[escapes] == '"' || value[escapes] == '\'') {
        char *begin = value + escapes + 1;

        return hide(begin, quoted_end(begin, escapes, begin[-1]));
    }
    return hide(value, plain_end(value, query));
}

// Where the name begins that ends at `end`; `ret_name` gets it, or the end of a long one.
static char *find_name(char *start, char *end, char *ret_name, size_t size)
{
    char *name = end;

    while (name > start && is_name(name[-1]))
        name--;
    size_t length = (size_t)(end - name) < size ? (size_t)(end - name) : size - 1;
    memcpy(ret_name, end - length, length);
    ret_name[length] = '\0';
    return name;
}

static void hide_values(char *text, bool pipeline)
{
    char *start = text, name[64];

    while ((text = strchr(text, '='))) {
        char *end = text;

        while (end > start && isspace((unsigned char)end[-1]))
            end--;
        char *begin = find_name(start, end, name, sizeof name);
        bool query = begin > start && (begin[-1] == '?' || begin[-1] == '&');
        bool file = strcmp(name, "credentials") == 0 && end < text; // a key of ours
        // "expected KEY=VALUE", and what we say of rtsp.auth
        bool ours = strncmp(text, "=VALUE", strlen("=VALUE")) == 0 ||
                    strncmp(text, "= \"none\"", strlen("= \"none\"")) == 0;
        bool hidden = query || (is_secret(name) && !file && !ours) ||
                      (pipeline && *name && !is_harmless(name));

        text = hidden ? hide_value(text + 1, query) : text + 1;
    }
}

// A sentence has such a word before a colon as well ("it wants a password: …").
static bool is_prose(const char *start, const char *name, size_t length)
{
    return name > start + 1 && name[-1] == ' ' && isalnum((unsigned char)name[-2]) &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz") >= length;
}

// The file that a message of ours is about, in quotes: «cannot read "tokens": …», «"/etc/tokens":
// got …».
static bool is_file(const char *start, const char *name)
{
    static const char *const before[] = {"cannot read \"", "cannot open \"", "users: \"",
                                         "tokens: \""};

    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) {
        size_t length = strlen(before[i]);

        if ((size_t)(name - start) >= length && strncmp(name - length, before[i], length) == 0)
            return true;
    }
    return name > start && name[-1] == '/';
}

// "Authorization: Basic …" and "user-pw: …", up to the end of the line or of a text in quotes. The
// name of a key in a message of ours ("cameras[0].password: unknown key") stands behind a dot.
static void hide_headers(char *text)
{
    char *start = text, name[64];

    while ((text = strchr(text, ':'))) {
        char *end = text;

        while (end > start && strchr("\\\"", end[-1]))
            end--;
        bool quoted = end < text;
        char *begin = find_name(start, end, name, sizeof name);
        bool key = begin > start && (begin[-1] == '.' || begin[-1] == ']');
        bool scheme = strncmp(text, "://", strlen("://")) == 0;

        text += 1 + strspn(text + 1, " \t");
        if (key || scheme || !is_secret(name) || (quoted && is_file(start, begin)) ||
            is_prose(start, begin, (size_t)(end - begin))) {
            continue;
        }
        size_t escapes = quoted ? strspn(text, "\\") : 0;
        if (quoted && text[escapes] == '"') {
            text += escapes + 1;
            text = hide(text, quoted_end(text, escapes, '"'));
        } else {
            text = hide(text, text + strcspn(text, "\r\n\""));
        }
    }
}

// GStreamer's «could not set property "user-pw" in element "rtspsrc0" to "x"».
static void hide_refused(char *text)
{
    static const char phrase[] = "property ", to[] = " to ";
    char name[64], *begin, *last;

    while ((text = strstr(text, phrase))) {
        text += strlen(phrase);
        size_t quotes = strspn(text, "\\\"'");
        text += quotes;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "\\\"' "), text);
        size_t line = strcspn(text, "\r\n");
        begin = memmem(text, line, to, strlen(to));
        if (!quotes || !begin || is_harmless(name))
            continue;
        begin += strlen(to);
        begin += strspn(begin, "\\\"'");
        last = memrchr(begin, '"', line - (size_t)(begin - text));
        text = hide(begin, last ? last : text + line);
    }
}

void redact(char *text)
{
    bool pipeline = holds_pipeline(text);

    hide_refused(text);
    hide_urls(text);
    hide_values(text, pipeline);
    hide_headers(text);
}

char *redact_format(const char *format, va_list arguments)
{
    char *text;

    if (vasprintf(&text, format, arguments) < 0)
        return NULL;
    redact(text);
    return text;
}
