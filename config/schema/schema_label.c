// The keys of a label, which is written into a view's picture.
#include "config/schema/schema.h"

#include "config/config.h"

#include <string.h>

#define CHARACTERS_MAX 64

// What capture/letters.h has: ASCII, and the letters of Latin-1, which are two bytes of UTF-8 each.
static bool accepts_text(const char *string)
{
    size_t count = 0;

    for (const uint8_t *at = (const uint8_t *)string; *at; at++, count++) {
        if (*at == 0xc3 && at[1] >= 0x80 && at[1] <= 0xbf && at[1] != 0x97 && at[1] != 0xb7) {
            at++;
        } else if (*at < ' ' || *at > '~') {
            return false;
        }
    }
    return count <= CHARACTERS_MAX;
}

static const struct schema_rule text_rule = {
    accepts_text,
    "at most 64 of the characters of ASCII and the letters of western Europe's languages (À to ÿ)",
};
static const char *const corner_words[] = {
    [CONFIG_CORNER_TOP_LEFT] = "top-left",
    [CONFIG_CORNER_TOP_RIGHT] = "top-right",
    [CONFIG_CORNER_BOTTOM_LEFT] = "bottom-left",
    [CONFIG_CORNER_BOTTOM_RIGHT] = "bottom-right",
    NULL,
};

#define LABEL_FIELD(member) .offset = offsetof(struct config_view, label.member)
static const struct schema_key label_keys[] = {
    {"text", SCHEMA_STRING, .remote = true, LABEL_FIELD(text), .rule = &text_rule,
     .default_text = "", .help = "A line of text."},
    {"clock", SCHEMA_BOOLEAN, .remote = true, LABEL_FIELD(clock), .default_text = "false",
     .help = "Whether the local date and time of the picture are written, to the second."},
    {"camera", SCHEMA_BOOLEAN, .remote = true, LABEL_FIELD(camera), .default_text = "false",
     .help = "Whether the camera's name is written."},
    {"size", SCHEMA_INTEGER, .remote = true, LABEL_FIELD(size), .minimum = 1, .maximum = 4,
     .default_text = "2",
     .help = "How large the letters are: a capital has about 1.5 % of the picture's height for "
             "each. They are made smaller where a line would not fit into the picture."},
    {"corner", SCHEMA_WORD, .remote = true, LABEL_FIELD(corner), .words = corner_words,
     .default_text = "top-left", .help = "The corner of the picture in which the label is."},
};
const struct schema_group schema_label = {
    .title = "cameras.views.label",
    .help = "What is written into a view's picture, white on black: the time and the camera's name "
            "in one line, a text in another. Without any of the three there is no label. A view of "
            "the camera's own picture is copied for it.",
    .keys = label_keys,
    .key_count = ARRAY_LENGTH(label_keys),
    .cost = CONFIG_COST_FRAME,
};

bool config_view_has_label(const struct config_view *view)
{
    return view->label.clock || view->label.camera || (view->label.text && *view->label.text);
}
