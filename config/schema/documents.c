// The documents made from the schema: edged.conf and edged.conf(5).
#include "config/config.h"
#include "config/diff.h"
#include "config/schema/schema_value.h"

#include <errno.h>
#include <string.h>

#define COMMENT_COLUMNS 88

static int example_group(FILE *file, const struct schema_group *group, const void *object,
                         int indent);

// The allowed values, the default and who uses the key, as sentences.
static void print_facts(FILE *file, const struct schema_group *group, const struct schema_key *key)
{
    fputs("Allowed: ", file);
    schema_print_allowed(file, key);
    fputs(". Default: ", file);
    if (key->default_note)
        fputs(key->default_note, file);
    else if (key->type == SCHEMA_STRING || key->type == SCHEMA_WORD)
        fprintf(file, "\"%s\"", key->default_text);
    else if (key->type == SCHEMA_WORDS)
        fprintf(file, "[\"%s\"]", key->default_text);
    else
        fputs(key->default_text, file);
    fputs(".", file);
    if (key->used_by) {
        fprintf(file, " Only with %s = ", group->selector->name);
        schema_print_selected(file, group, key->used_by);
        fputs(".", file);
    }
    if (key->cost)
        fprintf(file, " A change: %s.", config_cost_text(key->cost));
    if (key->reveals == SCHEMA_REVEALS_PRIVATE && group == &schema_camera &&
        key->type != SCHEMA_LIST) {
        fputs(" Where the file has private parts, only an administrator changes it over the "
              "network.",
              file);
    } else if (key->reveals == SCHEMA_REVEALS_PICTURE) {
        fputs(" Over the network a change that shows the camera's own picture takes a role that "
              "may watch a view of it already, or admin.",
              file);
    }
}

// The facts as text; the caller frees it. NULL without memory.
static char *facts(const struct schema_group *group, const struct schema_key *key)
{
    _cleanup_(cleanup_free) char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    if (!file)
        return NULL;
    print_facts(file, group, key);
    bool failed = ferror(file);
    if (fclose(file) != 0 || failed)
        return NULL;
    return TAKE(text);
}

// Comment lines, broken at spaces.
static void print_comment(FILE *file, int indent, const char *text)
{
    size_t room = (size_t)(COMMENT_COLUMNS - indent - 2);

    while (*text) {
        size_t length = strlen(text);

        if (length > room) {
            const char *space = memrchr(text, ' ', room + 1);

            length = space ? (size_t)(space - text) : length;
        }
        fprintf(file, "%*s# %.*s\n", indent, "", (int)length, text);
        text += length;
        text += strspn(text, " ");
    }
}

// A possible value of a key that has no default.
static const char *example_of(const struct schema_key *key)
{
    switch (key->type) {
    case SCHEMA_BLOCK:
        return "[32, 8]";
    case SCHEMA_WORDS:
        return "[\"blur5\", \"scharr\", \"threshold\"]";
    case SCHEMA_NAMES:
        return key->rule == &schema_name_rule ? "( \"door\", \"yard\" )"
                                              : "( \"camera.example.org\" )";
    case SCHEMA_POINTS:
        return "( [0.25, 0.5], [0.75, 0.5], [0.75, 1.0], [0.25, 1.0] )";
    case SCHEMA_NUMBER:
        return "0.5";
    default:
        return "\"door\"";
    }
}

// One element of a list: the first, or one with every default where there is none.
static int example_element(FILE *file, const struct schema_key *key, const void *object, int indent)
{
    size_t count;
    const char *elements = schema_get_list(key, object, &count);
    _cleanup_(cleanup_free) void *element = count ? NULL : calloc(1, key->group->size);
    int r = 0;

    if (count > 0)
        return example_group(file, key->group, elements, indent);
    r = element ? schema_set_defaults(key->group, element) : -ENOMEM;
    if (r == 0)
        r = example_group(file, key->group, element, indent);
    if (element)
        schema_clear(key->group, element);
    return r;
}

static int example_value(FILE *file, const struct schema_key *key, const void *object, int indent)
{
    int r = 0;

    switch (key->type) {
    case SCHEMA_GROUP:
        fputs("{\n", file);
        r = example_group(file, key->group, object, indent + 2);
        fprintf(file, "%*s}", indent, "");
        break;
    case SCHEMA_LIST:
        fprintf(file, "(\n%*s{\n", indent + 2, "");
        r = example_element(file, key, object, indent + 4);
        fprintf(file, "%*s}\n%*s)", indent + 2, "", indent, "");
        break;
    case SCHEMA_CONTROLS:
        fputs("{ }", file);
        break;
    case SCHEMA_INTEGER:
    case SCHEMA_BOOLEAN:
        schema_print_value(file, key, object);
        break;
    default:
        if (schema_is_unset(key, object))
            fputs(example_of(key), file);
        else
            schema_print_value(file, key, object);
    }
    return r;
}

static int example_key(FILE *file, const struct schema_group *group, const struct schema_key *key,
                       const void *object, int indent)
{
    bool idle = !schema_has_effect(group, key, object);
    _cleanup_(cleanup_free) char *text = key->type == SCHEMA_GROUP ? NULL : facts(group, key);
    int r;

    print_comment(file, indent, key->help);
    if (text)
        print_comment(file, indent, text);
    fprintf(file, "%*s%s%s = ", indent, "", idle ? "# " : "", key->name);
    r = example_value(file, key, object, indent);
    fputs(";\n", file);
    return r;
}

// A key that has no value, commented out as a whole.
static int example_unset(FILE *file, const struct schema_group *group, const struct schema_key *key,
                         const void *object, int indent)
{
    _cleanup_(cleanup_free) char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    int r;

    if (!stream)
        return -ENOMEM;
    r = example_key(stream, group, key, object, 0);
    bool failed = ferror(stream);
    if (fclose(stream) != 0 || failed)
        return -ENOMEM;
    for (char *rest = text, *line = strsep(&rest, "\n"); rest; line = strsep(&rest, "\n")) {
        const char *mark = *line == '#' ? "" : *line ? "# " : "#";

        fprintf(file, "%*s%s%s\n", indent, "", mark, line);
    }
    return r;
}

// Every key of the group as it stands in `object`; those without effect there, and groups and lists
// without a value, commented out.
static int example_group(FILE *file, const struct schema_group *group, const void *object,
                         int indent)
{
    int r = 0;

    for (size_t i = 0; i < group->key_count && r == 0; i++) {
        const struct schema_key *key = &group->keys[i];
        bool limits = key->type == SCHEMA_POINTS && key->used_by; // else a good example
        bool is_whole =
            indent == 0 || key->type == SCHEMA_LIST || key->type == SCHEMA_NAMES || limits;

        fputs(i ? "\n" : "", file);
        r = is_whole && schema_is_unset(key, object)
                ? example_unset(file, group, key, object, indent)
                : example_key(file, group, key, object, indent);
    }
    return r;
}

int config_write_example(FILE *file)
{
    _cleanup_(cleanup_config) struct config *config = NULL;
    int r = config_parse("", "defaults", NULL, &config);

    if (r < 0)
        return r;
    fputs(
        "# The configuration of edged: every key with its default. See edged.conf(5).\n"
        "# Made from config/schema/schema.c. `edged --check` finds every mistake in one run;\n"
        "# @include \"FILE\" at the start of a line takes in another file, relative to this one.\n"
        "# Unless a key says otherwise, a reload changes kernels, views and regions between two\n"
        "# frames, and restarts a camera for its other keys; `edged --check --diff OLD` shows "
        "which.\n"
        "\n",
        file);
    r = example_group(file, &schema_root, config, 0);
    return r == 0 && ferror(file) ? -EIO : r;
}

// Text in roff: a hyphen stays a hyphen, a backslash and an opening dot or quote are no command.
static void print_roff(FILE *file, const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", file);
    for (; *text; text++) {
        if (*text == '-')
            fputs("\\-", file);
        else if (*text == '\\')
            fputs("\\e", file);
        else
            fputc(*text, file);
    }
    fputc('\n', file);
}

static void man_key(FILE *file, const struct schema_group *group, const struct schema_key *key)
{
    _cleanup_(cleanup_free) char *text = facts(group, key);

    fprintf(file, ".TP\n.B %s\n", key->name);
    print_roff(file, key->help);
    print_roff(file, text ? text : "");
}

// The groups of the kernels have the same keys, which are therefore described once: those of the
// gradient, the only one with rows.
static void man_kernels(FILE *file, const struct schema_group *kernels)
{
    const struct schema_group *gradient = kernels->keys[CONFIG_KERNEL_GRADIENT].group;

    for (size_t i = 0; i < kernels->key_count; i++) {
        fprintf(file, ".TP\n.B kernels.%s\n", kernels->keys[i].name);
        print_roff(file, kernels->keys[i].help);
    }
    fputs(".PP\nEach of these groups has the key\n.BR block ;\n.B rows\nis a key of\n"
          ".B kernels.gradient\nonly:\n",
          file);
    for (size_t i = 0; i < gradient->key_count; i++)
        man_key(file, gradient, &gradient->keys[i]);
}

// A sentence's end for the cost of a change.
static const char *const changes[] = {
    [CONFIG_COST_FRAME] = "takes effect between two frames",
    [CONFIG_COST_VIEW] = "starts the view anew",
    [CONFIG_COST_CAMERA] = "starts the camera anew",
    [CONFIG_COST_START] = "waits for a restart",
};

// `around`: the cost of a change in the group around this one.
static void man_group(FILE *file, const struct schema_group *group, enum config_cost around)
{
    if (*group->title) {
        fprintf(file, ".SS \"%s\"\n", group->title);
        print_roff(file, group->help);
        if (group->cost != around)
            fprintf(file, "Unless a key says otherwise, a change %s.\n", changes[group->cost]);
    }
    if (group == &schema_kernels) {
        man_kernels(file, group);
        return;
    }
    for (size_t i = 0; i < group->key_count; i++) {
        if (group->keys[i].type != SCHEMA_GROUP)
            man_key(file, group, &group->keys[i]);
    }
    for (size_t i = 0; i < group->key_count; i++) {
        if (group->keys[i].group)
            man_group(file, group->keys[i].group, group->cost);
    }
}

static const char man_top[] =
    ".\\\" Made from config/schema/schema.c.\n"
    ".TH EDGED.CONF 5 \"\" edged \"edged\"\n"
    ".SH NAME\n"
    "edged.conf \\- configuration of the edge camera daemon edged\n"
    ".SH SYNOPSIS\n"
    ".I /etc/edged/edged.conf\n"
    ".SH DESCRIPTION\n"
    "The file is in the syntax of libconfig: keys and values as in\n"
    ".BR \"key = value;\" ,\n"
    "groups in braces, lists in parentheses, strings in double quotes, comments after # or\n"
    "//. A line that begins with\n"
    ".B @include\n"
    "and a file name in double quotes includes that file, relative to this one.\n"
    "Every key has a default. Without a file edged streams the first camera it finds, or a\n"
    "moving pattern that says NO CAMERA.\n"
    ".PP\n"
    ".B edged \\-\\-check\n"
    "writes every error as\n"
    ".BR \"FILE:LINE: error: key.path: what it got, what is allowed\" ,\n"
    "without LINE for a file that cannot be read. Warnings have the same form; with warnings\n"
    "alone the exit status is 0. A key that has no effect (see\n"
    ".B Only with\n"
    "below) is a warning; for stages, and for polygon and mask of a view, it is an error.\n"
    "A region\\(aqs mask that cannot be read is a warning, too.\n"
    ".PP\n"
    "Each key says what a change of it costs at a reload:\n"
    ".I between two frames\n"
    "means that no viewer loses a frame;\n"
    ".I this view starts anew\n"
    "means that its viewers get a new encoder and continue at a key frame;\n"
    ".I this camera starts anew\n"
    "means that the camera process is replaced, and its viewers see the slate for a moment;\n"
    ".I when edged is started again\n"
    "means that the change has no effect until then. The rest goes on undisturbed.\n"
    ".B edged \\-\\-check \\-\\-diff OLD\n"
    "shows the cost of each difference between the file and the file\n"
    ".IR OLD .\n"
    ".PP\n"
    "While edged runs,\n"
    ".B edgectl set\n"
    "changes keys of pictures, encoding, regions, recording and kernels over the file, until a\n"
    "reload or, with\n"
    ".BR \\-\\-keep ,\n"
    "for good. On the machine itself\n"
    ".B edgectl set \\-\\-keep\n"
    "also changes the keys that only this file can have; see SET in\n"
    ".BR edgectl (1).\n"
    ".PP\n"
    "Unless a key or its group says otherwise, a change starts this camera anew.\n"
    ".SH KEYS\n";

static const char man_end[] =
    ".SH EXAMPLES\n"
    "A camera on USB, with two views:\n"
    ".PP\n"
    ".nf\n"
    "cameras = ( {\n"
    "  name = \"front\";  source = \"v4l2\";  device = \"/dev/video0\";\n"
    "  width = 1280;  height = 720;  fps = 30;\n"
    "  views = ( { view = \"edges\"; gain = 1.5; }, { view = \"camera\"; } );\n"
    "} );\n"
    ".fi\n"
    ".PP\n"
    "A camera in the network. Its login is the line user:password of a file that only its\n"
    "owner and group can read (chmod 640):\n"
    ".PP\n"
    ".nf\n"
    "cameras = ( {\n"
    "  name = \"gate\";  source = \"rtsp\";  url = \"rtsp://192.168.1.20/stream1\";\n"
    "  credentials = \"gate.credentials\";\n"
    "} );\n"
    ".fi\n"
    ".PP\n"
    "A region: motion at a door is an event. The corners are shares of width and height:\n"
    ".PP\n"
    ".nf\n"
    "cameras = ( {\n"
    "  regions = ( { name = \"door\";\n"
    "                polygon = ( [0.4, 0.3], [0.6, 0.3], [0.6, 0.9], [0.4, 0.9] ); } );\n"
    "} );\n"
    ".fi\n"
    ".PP\n"
    "A view of your own, in H.265: smooth, find edges, thicken them, draw them in red:\n"
    ".PP\n"
    ".nf\n"
    "cameras = ( {\n"
    "  views = ( { name = \"mine\";  stages = [\"blur5\", \"canny\", \"dilate\", \"mark\"];\n"
    "              codec = \"h265\"; } );\n"
    "} );\n"
    ".fi\n"
    ".PP\n"
    "Streams and the page for other machines, and a clip of each motion event, from 5 s before it\n"
    "on. `sudo edgectl passwd anna` makes the user, and `sudo edgectl setup` writes all of it:\n"
    ".PP\n"
    ".nf\n"
    "rtsp    = { address = \"0.0.0.0\";  users = \"rtsp.users\"; };\n"
    "http    = { address = \"0.0.0.0\";  tls = true; };\n"
    "storage = { max_size = \"16G\"; };\n"
    "cameras = ( {\n"
    "  regions = ( { name = \"picture\"; } );\n"
    "  record  = { mode = \"events\"; };\n"
    "} );\n"
    ".fi\n"
    ".PP\n"
    "More examples are in config/README.md of the installed documents, in\n"
    "/usr/share/doc/edged for the packages.\n"
    ".SH SEE ALSO\n"
    ".BR edged (8),\n"
    ".BR edgectl (1),\n"
    ".BR v4l2\\-ctl (1)\n";

int config_write_man_page(FILE *file)
{
    fputs(man_top, file);
    man_group(file, &schema_root, schema_root.cost);
    fputs(man_end, file);
    return ferror(file) ? -EIO : 0;
}
