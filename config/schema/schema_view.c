// The keys of a view and of its label, and what a name in a path may look like.
#include "config/config.h"
#include "config/schema/schema.h"

#include <errno.h>
#include <string.h>

// The pictures that a stage of a custom view takes and makes. A stage that wants gray also takes a
// camera's picture, which is turned gray, and a mask.
enum stage_picture { CAMERA = 1, GRAY = 2, MASK = 4, COLOUR = 8, SAME = 16 };
enum { ANY_GRAY = CAMERA | GRAY | MASK };

#define WORD(name, word, takes, makes) [CONFIG_STAGE_##name] = (word),
static const char *const stages_words[] = {CONFIG_STAGES(WORD) NULL};

#define TYPE(name, word, takes, makes) [CONFIG_STAGE_##name] = {takes, makes},
static const struct {
    unsigned takes; // a set
    enum stage_picture makes;
} types[] = {CONFIG_STAGES(TYPE)};

static enum stage_picture made_of(unsigned stage, enum stage_picture input)
{
    enum stage_picture makes = types[stage].makes;

    return makes != SAME ? makes : input == MASK ? MASK : GRAY;
}

static const char *name_picture(enum stage_picture picture)
{
    return picture == CAMERA ? "the camera's picture"
           : picture == GRAY ? "gray"
           : picture == MASK ? "a mask"
                             : "a colour picture";
}

static int refuse(const struct config_words *stages, size_t index, enum stage_picture input,
                  struct error *error)
{
    const char *word = stages_words[stages->list[index]], *separator = "";
    char allowed[256] = "";

    for (unsigned stage = 0; stage < CONFIG_STAGE_COUNT; stage++) {
        size_t length = strlen(allowed);

        if (types[stage].takes & input) {
            snprintf(allowed + length, sizeof allowed - length, "%s\"%s\"", separator,
                     stages_words[stage]);
            separator = ", ";
        }
    }
    if (index == 0) {
        return error_set(error, -EINVAL, "got \"%s\" first, on %s, allowed there: %s", word,
                         name_picture(input), allowed);
    }
    return error_set(error, -EINVAL, "got \"%s\" after \"%s\", which makes %s, allowed there: %s",
                     word, stages_words[stages->list[index - 1]], name_picture(input),
                     *allowed ? allowed : "nothing");
}

// Whether each of the stages takes what the one before it makes, the first the camera's picture.
// -EINVAL with "got …, allowed there: …" in `error`.
static int stages_check(const struct config_words *stages, struct error *error)
{
    enum stage_picture picture = CAMERA;

    for (size_t i = 0; i < stages->count; i++) {
        if (!(types[stages->list[i]].takes & picture))
            return refuse(stages, i, picture, error);
        picture = made_of(stages->list[i], picture);
    }
    return 0;
}

bool config_view_is_masked(const struct config_view *view)
{
    return view->polygon_count > 0 || (view->mask && *view->mask);
}

static bool has_mask_stage(const struct config_view *view)
{
    for (size_t i = 0; i < view->stages.count; i++) {
        if (view->stages.list[i] == CONFIG_STAGE_MASK)
            return true;
    }
    return false;
}

int config_view_check_mask(const struct config_view *view, struct error *error,
                           const char **ret_key)
{
    bool masked = config_view_is_masked(view);

    if (view->polygon_count > 0 && *view->mask) {
        *ret_key = "mask";
        return error_refuse(error, -EINVAL, "got a mask beside a polygon,", "one of the two");
    }
    if (view->view != CONFIG_VIEW_CUSTOM || masked == has_mask_stage(view))
        return 0;
    if (masked) {
        *ret_key = *view->mask ? "mask" : "polygon";
        return error_refuse(error, -EINVAL, "got a %s, but no \"mask\" among the stages,",
                            "with that stage where it is to be applied, or without a %s", *ret_key,
                            *ret_key);
    }
    *ret_key = "stages";
    return error_refuse(error, -EINVAL, "got \"mask\", but the view has none,",
                        "with mask = \"FILE\", a .pgm or .png, or with a polygon");
}

bool config_view_remembers(const struct config_view *view)
{
    bool remembers = view->view == CONFIG_VIEW_MOTION;

    for (size_t i = 0; view->view == CONFIG_VIEW_CUSTOM && i < view->stages.count; i++)
        remembers = remembers || view->stages.list[i] == CONFIG_STAGE_DIFFERENCE;
    return remembers;
}

// The picture that a custom view ends in, CAMERA of others.
static enum stage_picture made_by(const struct config_view *view)
{
    enum stage_picture picture = CAMERA;

    for (size_t i = 0; view->view == CONFIG_VIEW_CUSTOM && i < view->stages.count; i++)
        picture = made_of(view->stages.list[i], picture);
    return picture;
}

bool config_view_is_colour(const struct config_view *view)
{
    return view->view == CONFIG_VIEW_DIRECTION || config_view_reads_colour(view) ||
           made_by(view) == COLOUR;
}

bool config_view_reads_colour(const struct config_view *view)
{
    size_t count = view->view == CONFIG_VIEW_CUSTOM ? view->stages.count : 0;

    switch (view->view) {
    case CONFIG_VIEW_CAMERA:
    case CONFIG_VIEW_MOTION:
    case CONFIG_VIEW_OVERLAY:
    case CONFIG_VIEW_SPLIT:
        return true;
    default:
        return made_by(view) == COLOUR && view->stages.list[count - 1] != CONFIG_STAGE_DIRECTION;
    }
}

#define NAME_LENGTH_MAX 32
#define LABEL_CHARACTERS_MAX 64

static bool accepts_name(const char *string)
{
    size_t length = strspn(string, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                   "0123456789_-");

    return length >= 1 && length <= NAME_LENGTH_MAX && string[length] == '\0';
}

const struct schema_rule schema_name_rule = {
    accepts_name,
    "1 to 32 of the characters A-Z a-z 0-9 _ -",
};

int config_colour_parse(const char *colour, uint8_t ret_rgb[3])
{
    bool valid = strlen(colour) == 7 && colour[0] == '#' &&
                 strspn(colour + 1, "0123456789abcdefABCDEF") == 6;
    unsigned long bits = valid ? strtoul(colour + 1, NULL, 16) : 0;

    for (unsigned i = 0; i < 3; i++)
        ret_rgb[i] = (uint8_t)(bits >> (16 - 8 * i));
    return valid ? 0 : -EINVAL;
}

static bool accepts_colour(const char *string)
{
    uint8_t rgb[3];

    return config_colour_parse(string, rgb) == 0;
}

static const struct schema_rule colour_rule = {
    accepts_colour,
    "\"#rrggbb\", red, green and blue in two hexadecimal digits each",
};

static const char *const view_words[] = {
    [CONFIG_VIEW_CAMERA] = "camera",
    [CONFIG_VIEW_GRAY] = "gray",
    [CONFIG_VIEW_EDGES] = "edges",
    [CONFIG_VIEW_BINARY] = "binary",
    [CONFIG_VIEW_CANNY] = "canny",
    [CONFIG_VIEW_MOTION] = "motion",
    [CONFIG_VIEW_OVERLAY] = "overlay",
    [CONFIG_VIEW_DIRECTION] = "direction",
    [CONFIG_VIEW_SPLIT] = "split",
    [CONFIG_VIEW_CUSTOM] = "custom",
    NULL,
};
static const char *const operator_words[] = {
    [CONFIG_OPERATOR_SOBEL] = "sobel",
    [CONFIG_OPERATOR_SOBEL5] = "sobel5",
    [CONFIG_OPERATOR_SCHARR] = "scharr",
    [CONFIG_OPERATOR_PREWITT] = "prewitt",
    NULL,
};
static const int blur_sides[] = {0, 3, 5};
static const char *const norm_words[] = {[CONFIG_NORM_L2] = "l2", [CONFIG_NORM_L1] = "l1", NULL};
static const char *const morphology_words[] = {
    [CONFIG_MORPHOLOGY_NONE] = "none",     [CONFIG_MORPHOLOGY_ERODE] = "erode",
    [CONFIG_MORPHOLOGY_DILATE] = "dilate", [CONFIG_MORPHOLOGY_OPEN] = "open",
    [CONFIG_MORPHOLOGY_CLOSE] = "close",   NULL,
};
static const char *const mark_words[] = {
    [CONFIG_MARK_TINT] = "tint", [CONFIG_MARK_RED] = "red", NULL};
static const char *const thresholds_words[] = {
    [CONFIG_THRESHOLDS_FIXED] = "fixed",
    [CONFIG_THRESHOLDS_MEDIAN] = "median",
    NULL,
};
static const char *const codec_words[] = {[CONFIG_CODEC_H264] = "h264",
                                          [CONFIG_CODEC_H265] = "h265",
                                          [CONFIG_CODEC_MJPEG] = "mjpeg",
                                          NULL};
static const char *const encoder_words[] = {
    [CONFIG_ENCODER_AUTO] = "auto",
    [CONFIG_ENCODER_NVV4L2] = "nvv4l2h264enc",
    [CONFIG_ENCODER_V4L2] = "v4l2h264enc",
    [CONFIG_ENCODER_NVCUDA] = "nvcudah264enc",
    [CONFIG_ENCODER_NVENC] = "nvh264enc",
    [CONFIG_ENCODER_X264] = "x264enc",
    [CONFIG_ENCODER_OPENH264] = "openh264enc",
    [CONFIG_ENCODER_NVV4L2_H265] = "nvv4l2h265enc",
    [CONFIG_ENCODER_V4L2_H265] = "v4l2h265enc",
    [CONFIG_ENCODER_X265] = "x265enc",
    [CONFIG_ENCODER_TURBOJPEG] = "turbojpeg",
    NULL,
};
static const char *const governor_words[] = {
    [CONFIG_GOVERNOR_RATE_SIZE] = "rate-size",
    [CONFIG_GOVERNOR_SIZE_RATE] = "size-rate",
    [CONFIG_GOVERNOR_RATE] = "rate",
    [CONFIG_GOVERNOR_SIZE] = "size",
    [CONFIG_GOVERNOR_OFF] = "off",
    NULL,
};
static const char *const role_words[] = {
    [CONFIG_ROLE_VIEWER] = "viewer",
    [CONFIG_ROLE_OPERATOR] = "operator",
    [CONFIG_ROLE_ADMIN] = "admin",
    NULL,
};

// The sides of a split may be kinds of views, which have its keys.
#define SPLIT SCHEMA_BIT(CONFIG_VIEW_SPLIT)
#define WITH_THRESHOLD (SPLIT | SCHEMA_BIT(CONFIG_VIEW_BINARY) | SCHEMA_BIT(CONFIG_VIEW_OVERLAY))
#define WITH_GRADIENT                                                                              \
    (SCHEMA_BIT(CONFIG_VIEW_EDGES) | SCHEMA_BIT(CONFIG_VIEW_DIRECTION) | WITH_THRESHOLD)
#define CUSTOM SCHEMA_BIT(CONFIG_VIEW_CUSTOM)
// Those of one plane before they are shown, or painted. Of a split each side has its own.
#define MASKED                                                                                     \
    (SCHEMA_BIT(CONFIG_VIEW_GRAY) | SCHEMA_BIT(CONFIG_VIEW_EDGES) |                                \
     SCHEMA_BIT(CONFIG_VIEW_BINARY) | SCHEMA_BIT(CONFIG_VIEW_CANNY) |                              \
     SCHEMA_BIT(CONFIG_VIEW_MOTION) | SCHEMA_BIT(CONFIG_VIEW_OVERLAY) | CUSTOM)
// Accepts the letters of capture/letters.h: ASCII, and the letters of Latin-1, which are two bytes
// of UTF-8 each.
static bool accepts_label(const char *string)
{
    size_t count = 0;

    for (const uint8_t *at = (const uint8_t *)string; *at; at++, count++) {
        if (*at == 0xc3 && at[1] >= 0x80 && at[1] <= 0xbf && at[1] != 0x97 && at[1] != 0xb7)
            at++;
        else if (*at < ' ' || *at > '~')
            return false;
    }
    return count <= LABEL_CHARACTERS_MAX;
}

static const struct schema_rule label_rule = {
    accepts_label,
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
    {"text", SCHEMA_STRING, .remote = true, LABEL_FIELD(text), .rule = &label_rule,
     .default_text = "", .help = "A line of text."},
    {"clock", SCHEMA_BOOLEAN, .remote = true, LABEL_FIELD(clock), .default_text = "false",
     .help = "Whether the local date and time of the picture are written, to the second."},
    {"camera", SCHEMA_BOOLEAN, .remote = true, LABEL_FIELD(camera), .default_text = "false",
     .help = "Whether the camera's name is written."},
    {"size", SCHEMA_INTEGER, .remote = true, LABEL_FIELD(size), .minimum = 1, .maximum = 4,
     .default_text = "2",
     .help = "How large the letters are: a capital has about 1.5 % of the picture's height for "
             "each, less where a line would not fit."},
    {"corner", SCHEMA_WORD, .remote = true, LABEL_FIELD(corner), .words = corner_words,
     .default_text = "top-left", .help = "The corner of the picture in which the label is."},
};
const struct schema_group schema_label = {
    .title = "cameras.views.label",
    .help = "Text in a view's picture, white on black: the time and the camera's name "
            "in one line, a text in another. Without any of the three there is no label. A view of "
            "the camera's own picture is copied for it.",
    .keys = label_keys,
    .key_count = ARRAY_LENGTH(label_keys),
    .cost = CONFIG_COST_FRAME,
};

#define VIEW_FIELD(member) .offset = offsetof(struct config_view, member)
static const struct schema_key view_keys[] = {
    {"name", SCHEMA_STRING, VIEW_FIELD(name), .aside = true, .cost = CONFIG_COST_VIEW,
     .rule = &schema_name_rule, .default_note = "the word of \"view\"",
     .help = "The stream is rtsp://HOST:PORT/CAMERA/NAME; unique in its camera."},
    {"view", SCHEMA_WORD, .remote = true, .reveals = SCHEMA_REVEALS_PICTURE, VIEW_FIELD(view),
     .cost = CONFIG_COST_VIEW, .words = view_words, .default_text = "edges",
     .help = "The picture: the camera's own, its luma, the strength of its edges, strong edges in "
             "white, thin edges by Canny's detector, what moves in red, strong edges in a colour "
             "over the picture, the direction in which gray gets brighter as a hue, two of these "
             "side by side, or your own stages."},
    {"stages", SCHEMA_WORDS, .remote = true, .reveals = SCHEMA_REVEALS_PICTURE, VIEW_FIELD(stages),
     .cost = CONFIG_COST_VIEW, .words = stages_words, .check = stages_check, .default_note = "none",
     .used_by = CUSTOM, .needed_by = CUSTOM, .implies = CONFIG_VIEW_CUSTOM,
     .help =
         "A view of your own, of stages in their order; view may be left out. The first stage that "
         "wants gray gets the camera's picture in gray. threshold, canny and difference make a "
         "mask of 0 and 255, which is gray, too. mark shows a mask in red in the camera's picture, "
         "overlay in a colour; direction colours gray; these three end the view. mask blackens "
         "what the view's mask or polygon leaves out. Options are keys of the view."},
    {"operator", SCHEMA_WORD, .remote = true, VIEW_FIELD(op), .words = operator_words,
     .default_text = "sobel", .used_by = WITH_GRADIENT,
     .help = "The filters that measure the gradient; sobel5 looks at 5x5 pixels, the others at "
             "3x3. Their strengths differ: take gain to match."},
    {"blur", SCHEMA_INTEGER, .remote = true, VIEW_FIELD(blur), .unit = "pixels",
     .choices = blur_sides, .maximum = 5, .default_text = "0",
     .used_by = WITH_GRADIENT | SCHEMA_BIT(CONFIG_VIEW_CANNY),
     .help = "The side of the square of binomial weights that smooths the picture before its "
             "gradient is measured; 0 leaves it as it is."},
    {"norm", SCHEMA_WORD, .remote = true, VIEW_FIELD(norm), .words = norm_words,
     .default_text = "l2", .used_by = WITH_GRADIENT | CUSTOM,
     .help = "Edge strength from the gradient: l2 is sqrt(gx^2 + gy^2), l1 is |gx| + |gy|."},
    {"gain", SCHEMA_NUMBER, .remote = true, VIEW_FIELD(gain), .unit = "factor", .minimum = 0.01,
     .maximum = 100, .default_text = "1.0", .used_by = WITH_GRADIENT | CUSTOM,
     .help = "Multiplies the edge strength before it is rounded and limited to 255."},
    {"threshold", SCHEMA_INTEGER, .remote = true, VIEW_FIELD(threshold), .unit = "gray levels",
     .minimum = 1, .maximum = 255, .word = "otsu", .word_value = CONFIG_THRESHOLD_OTSU,
     .default_note = "25 with view = \"motion\" or difference among stages, else 80",
     .used_by = WITH_THRESHOLD | CUSTOM | SCHEMA_BIT(CONFIG_VIEW_MOTION),
     .help = "binary: edges at least this strong become white, all else black. overlay: they are "
             "drawn in its colour. motion: a pixel has moved if its gray differs by more than this "
             "from the last frame. otsu: the best one for each frame; in a motion view where "
             "nothing moves it marks noise."},
    {"colour", SCHEMA_STRING, .remote = true, VIEW_FIELD(colour), .rule = &colour_rule,
     .default_text = "#00ff00", .used_by = SPLIT | CUSTOM | SCHEMA_BIT(CONFIG_VIEW_OVERLAY),
     .help = "The colour of the drawn edges: red, green and blue as on the web."},
    {"morphology", SCHEMA_WORD, .remote = true, VIEW_FIELD(morphology), .words = morphology_words,
     .default_text = "none", .used_by = SPLIT | SCHEMA_BIT(CONFIG_VIEW_BINARY),
     .help = "How white shapes are changed: erode removes their outermost pixels, dilate adds a "
             "pixel all around; open is erode, then dilate, and removes specks; close is dilate, "
             "then erode, and fills holes."},
    {"times", SCHEMA_INTEGER, .remote = true, VIEW_FIELD(times), .unit = "times", .minimum = 1,
     .maximum = 8, .default_text = "1", .used_by = SPLIT | SCHEMA_BIT(CONFIG_VIEW_BINARY) | CUSTOM,
     .help = "How often morphology, or a stage of your own that erodes or dilates, does it."},
    {"erode", SCHEMA_INTEGER, .remote = true, VIEW_FIELD(erode), .unit = "times", .minimum = 0,
     .maximum = 8, .default_text = "1", .used_by = SPLIT | SCHEMA_BIT(CONFIG_VIEW_MOTION),
     .help = "How many times a moving area loses its outermost pixels, so that noise does not "
             "count as motion."},
    {"mark", SCHEMA_WORD, .remote = true, VIEW_FIELD(mark), .words = mark_words,
     .default_text = "tint", .used_by = SPLIT | CUSTOM | SCHEMA_BIT(CONFIG_VIEW_MOTION),
     .help = "How the camera's picture shows what has moved, or the mask of your own stages. tint: "
             "red becomes 255, green and blue are halved, which shows on white, too. red: red "
             "becomes 255, green and blue stay."},
    {"thresholds", SCHEMA_WORD, .remote = true, VIEW_FIELD(thresholds), .words = thresholds_words,
     .default_text = "fixed", .used_by = SPLIT | SCHEMA_BIT(CONFIG_VIEW_CANNY),
     .help = "fixed uses low and high. median uses 0.67 and 1.33 times the median of each frame's "
             "gray, rounded down."},
    {"low", SCHEMA_NUMBER, .remote = true, VIEW_FIELD(low), .unit = "gradient", .minimum = 0,
     .maximum = 32767, .default_text = "50",
     .used_by = SPLIT | CUSTOM | SCHEMA_BIT(CONFIG_VIEW_CANNY),
     .help = "Thin edges with sqrt(gx^2 + gy^2) above this are drawn if they are connected to a "
             "strong one, as in cv2.Canny."},
    {"high", SCHEMA_NUMBER, .remote = true, VIEW_FIELD(high), .unit = "gradient", .minimum = 0,
     .maximum = 32767, .default_text = "150",
     .used_by = SPLIT | CUSTOM | SCHEMA_BIT(CONFIG_VIEW_CANNY),
     .help = "Thin edges with sqrt(gx^2 + gy^2) above this are strong. If low is higher, the two "
             "are swapped."},
    {"polygon", SCHEMA_POINTS, .remote = true, .reveals = SCHEMA_REVEALS_PICTURE,
     VIEW_FIELD(polygon), .minimum = 3, .maximum = 64,
     .count_offset = offsetof(struct config_view, polygon_count),
     .default_note = "the whole picture, or the mask", .used_by = MASKED, .strict = true,
     .help = "The corners of the part that the view is limited to, as those of a region. All else "
             "is black, or for overlay and motion the camera's picture as it is; the part gets no "
             "edge of its own. The sides of a split have their own."},
    {"mask", SCHEMA_STRING, VIEW_FIELD(mask), .default_text = "", .used_by = MASKED, .strict = true,
     .help = "A picture instead of a polygon, a .pgm or .png of any size, white (at least 128) "
             "where the view looks, stretched over the camera's. A relative name is one beside "
             "this file. A reload reads it again if it has changed. Where it cannot be read any "
             "more when another change builds the view anew, the view is black, and the log says "
             "why."},
    {"label", SCHEMA_GROUP, .group = &schema_label, .help = "Text in the picture, white on black."},
    // Not remote: a side may show a view that the one who asks may not watch.
    {"left", SCHEMA_STRING, VIEW_FIELD(left), .cost = CONFIG_COST_VIEW, .rule = &schema_name_rule,
     .default_text = "camera", .used_by = SPLIT,
     .help = "The picture on the left: the name of another view of this camera, or a kind of view "
             "with this view's keys."},
    {"right", SCHEMA_STRING, VIEW_FIELD(right), .cost = CONFIG_COST_VIEW, .rule = &schema_name_rule,
     .default_text = "edges", .used_by = SPLIT,
     .help = "The picture on the right, as for left. Both are shown whole, so the stream is twice "
             "as wide as the camera's picture, of at most 2048 pixels."},
    {"codec", SCHEMA_WORD, .remote = true, VIEW_FIELD(codec), .aside = true,
     .cost = CONFIG_COST_VIEW, .words = codec_words, .default_text = "h264",
     .help = "The compression of the stream. H.265 needs fewer bits for the same picture, but "
             "several times the work on the CPU, and not every player supports it. MJPEG, for what "
             "plays nothing else, needs many times the bits and takes at most 2040x2040 pixels."},
    {"encoder", SCHEMA_WORD, .remote = true, VIEW_FIELD(encoder), .aside = true,
     .cost = CONFIG_COST_VIEW, .words = encoder_words, .default_text = "auto",
     .help = "The GStreamer encoder; auto takes the first for the codec that the board has "
             "hardware for and that encodes a trial frame. Those with 265 in their names make "
             "H.265, turbojpeg makes MJPEG without GStreamer, the others H.264."},
    {"governor", SCHEMA_WORD, .remote = true, VIEW_FIELD(governor), .aside = true,
     .cost = CONFIG_COST_VIEW, .words = governor_words, .default_text = "rate",
     .help = "How edged reduces the load, and in which order, while the encoder is slower than the "
             "camera: rate drops every second frame, then three of four; size halves width and "
             "height, which some players and recorders do not support in the middle of a stream. A "
             "Jetson's encoder and MJPEG reduce the rate alone. edged goes back when the encoder "
             "keeps up. off: when ten frames wait, the oldest are dropped."},
    {"bitrate_kbps", SCHEMA_INTEGER, .remote = true, VIEW_FIELD(bitrate_kbps), .aside = true,
     .unit = "kbit/s", .minimum = 64, .maximum = 100000, .default_text = "4000",
     .help = "The bit rate the encoder aims at. Before GStreamer 1.18, x265enc starts anew for "
             "another one. MJPEG has jpeg_quality instead."},
    {"jpeg_quality", SCHEMA_INTEGER, .remote = true, VIEW_FIELD(jpeg_quality), .aside = true,
     .unit = "percent", .minimum = 1, .maximum = 95, .default_text = "80",
     .help = "libjpeg's quality for the view's JPEGs: those of /snapshot.jpg and /stream.mjpg, and "
             "its stream with codec = \"mjpeg\"."},
    {"keyframe_s", SCHEMA_NUMBER, .remote = true, VIEW_FIELD(keyframe_s), .aside = true,
     .unit = "seconds", .minimum = 0.1, .maximum = 10, .default_text = "1.0",
     .help = "The time between key frames. A new viewer also gets one, at most four a second."},
    {"allow", SCHEMA_WORDS, VIEW_FIELD(allow), .aside = true, .words = role_words,
     .default_text = "viewer",
     .help = "The roles that may watch. An operator may do what a viewer may, and an admin "
             "everything, so the lowest role in the list decides. Without users it has no effect. "
             "A reload that takes the role away disconnects those viewers."},
};
const struct schema_group schema_view = {
    .title = "cameras.views",
    .help = "One stream of a camera. A view costs nothing while nobody watches it.",
    .keys = view_keys,
    .key_count = ARRAY_LENGTH(view_keys),
    .cost = CONFIG_COST_FRAME,
    .size = sizeof(struct config_view),
    .selector = &view_keys[1],
};

int config_split_side(const struct config_view *split, unsigned side, struct config_view *ret_side,
                      struct error *error)
{
    const struct config_view *named = side ? split->right_view : split->left_view;
    const char *word = side ? split->right : split->left;

    for (unsigned kind = 0; !named && kind < CONFIG_VIEW_SPLIT; kind++) {
        if (strcmp(view_words[kind], word) == 0) {
            *ret_side = *split;
            ret_side->view = (enum config_view_kind)kind;
            if (ret_side->threshold == 0)
                ret_side->threshold = kind == CONFIG_VIEW_MOTION ? 25 : 80;
            return 0;
        }
    }
    if (!named || named->view == CONFIG_VIEW_SPLIT) {
        return error_refuse(error, -ENOENT, "got \"%s\",",
                            "the name of another view of the camera, or a kind of view, but no "
                            "split",
                            word);
    }
    *ret_side = *named;
    return 0;
}

const char *config_view_kind_name(enum config_view_kind kind)
{
    return view_words[kind];
}

const char *config_role_name(enum config_role role)
{
    return role_words[role];
}

int config_role_parse(const char *name, enum config_role *ret_role)
{
    for (unsigned i = 0; role_words[i]; i++) {
        if (strcmp(role_words[i], name) == 0) {
            *ret_role = (enum config_role)i;
            return 0;
        }
    }
    return -EINVAL;
}

enum config_role config_view_role(const struct config_view *view)
{
    unsigned least = CONFIG_ROLE_ADMIN;

    for (size_t i = 0; i < view->allow.count; i++)
        least = view->allow.list[i] < least ? view->allow.list[i] : least;
    return (enum config_role)least;
}

bool config_view_has_label(const struct config_view *view)
{
    return view->label.clock || view->label.camera || (view->label.text && *view->label.text);
}

const char *config_codec_name(enum config_codec codec)
{
    return codec_words[codec];
}

const char *config_encoder_name(enum config_encoder encoder)
{
    return encoder_words[encoder];
}

enum config_codec config_encoder_codec(enum config_encoder encoder)
{
    return encoder == CONFIG_ENCODER_TURBOJPEG     ? CONFIG_CODEC_MJPEG
           : encoder >= CONFIG_ENCODER_NVV4L2_H265 ? CONFIG_CODEC_H265
                                                   : CONFIG_CODEC_H264;
}

const char *config_codec_title(enum config_codec codec)
{
    static const char *const titles[] = {"H.264", "H.265", "MJPEG"};

    return titles[codec];
}
