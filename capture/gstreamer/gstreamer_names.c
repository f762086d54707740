#include "capture/gstreamer/gstreamer_names.h"

#include <gst/gst.h>
#include <stdbool.h>
#include <string.h>

static bool is_kind(const char *name)
{
    GstElementFactory *factory = gst_element_factory_find(name);
    bool found = factory || strcmp(name, "pipeline") == 0;

    gst_clear_object(&factory);
    return found;
}

// How much of a word is the name of a kind, with a number behind it; else all of it. A kind whose
// own name ends in a digit has a '-' before the number: "queue2-0".
static size_t kept_length(const char *word, size_t length)
{
    size_t kept = length;
    char kind[64];

    while (kept > 0 && g_ascii_isdigit(word[kept - 1]))
        kept--;
    kept -= kept > 1 && kept < length && word[kept - 1] == '-';
    if (kept == length || kept == 0 || kept >= sizeof kind)
        return length;
    g_strlcpy(kind, word, kept + 1);
    return is_kind(kind) ? kept : length;
}

void gstreamer_names_settle(char *text)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    char *out = text;

    while (*text) {
        size_t length = strspn(text, letters), between;
        size_t kept = kept_length(text, length);

        memmove(out, text, kept);
        out += kept;
        text += length;
        between = strcspn(text, letters);
        memmove(out, text, between);
        out += between;
        text += between;
    }
    *out = 0;
}
