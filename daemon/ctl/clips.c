// `edgectl clips`: what the running edged has recorded, and what is done with it.
#include "daemon/ctl/commands.h"

#include "daemon/client/client.h"
#include "daemon/common/json.h"
#include "daemon/ctl/arguments.h"
#include "daemon/ctl/process/whole_file.h"
#include "daemon/ctl/table.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PAGE_CLIPS 1000 // that edged tells at once

static const char usage[] =
    "Usage: edgectl clips [list] [--from TIME] [--to TIME] [--camera NAME] [--limit N] [--json]\n"
    "                     " CLIENT_SYNOPSIS "\n"
    "       edgectl clips show|keep|unkeep|delete " CLIENT_SYNOPSIS " ID…\n"
    "       edgectl clips export [--force] " CLIENT_SYNOPSIS " ID [FILE]\n"
    "Lists clips, the newest first; shows all that is known of some; keeps some for ever, or no\n"
    "longer; deletes some; or writes one to FILE, \"-\" for standard output, which is named after "
    "its\n"
    "camera, view and time without it.\n"
    "\n"
    "  --from TIME    clips that end later: \"2026-11-27 08:15:03\" as in the table, with or\n"
    "                 without a zone (+01:00), or seconds since 1970\n"
    "  --to TIME      clips that begin earlier\n"
    "  --camera NAME  clips of this camera\n"
    "  --limit N      so many at most, default 100; 0 is all of them\n"
    "  --json         print JSON\n"
    "  --force        write over a FILE that is there\n" CLIENT_HELP;

struct clips_options {
    struct client_options where;
    const char *from, *to, *camera;
    int limit;
    bool json, force;
    const char *target; // of an export; NULL: not named
};

// The list
// ---------------------------------------------------------------------

static void append_parameter(GString *page, const char *name, const char *value)
{
    if (value) {
        g_string_append_printf(page, "&%s=", name);
        g_string_append_uri_escaped(page, value, NULL, FALSE);
    }
}

// The same of a time. One without a zone, as in the table, is this machine's or that of $TZ, which
// edged does not know; edged judges what is no time.
static void append_time(GString *page, const char *name, const char *value)
{
    g_autoptr(GTimeZone) here = g_time_zone_new_local();
    g_autoptr(GDateTime) time = value ? g_date_time_new_from_iso8601(value, here) : NULL;
    g_autoptr(GDateTime) utc = time ? g_date_time_to_utc(time) : NULL;
    g_autofree char *text = utc ? g_date_time_format_iso8601(utc) : NULL;

    append_parameter(page, name, text ? text : value);
}

// Adds the clips older than `before` (0: than none) to the list. Returns how many they are.
static int add_page(const struct client *client, const struct clips_options *options,
                    JsonArray *list, int64_t before, struct error *error)
{
    guint have = json_array_get_length(list);
    int64_t limit = options->limit ? MIN(options->limit - have, PAGE_CLIPS) : PAGE_CLIPS;
    g_autoptr(GString) page = g_string_new("/v1/clips?");
    _cleanup_(cleanup_free) char *body = NULL;
    g_autoptr(JsonArray) told = NULL;

    g_string_append_printf(page, "limit=%" PRId64, limit);
    append_time(page, "from", options->from);
    append_time(page, "to", options->to);
    append_parameter(page, "camera", options->camera);
    if (before)
        g_string_append_printf(page, "&before=%" PRId64, before);
    int r = client_get(client, page->str, error, &body);
    r = r < 0 ? r : client_parse_array(body, error, &told);
    if (r < 0)
        return r;
    g_autoptr(GList) clips = json_array_get_elements(told);
    for (GList *item = clips; item; item = item->next) {
        if (JSON_NODE_HOLDS_OBJECT((JsonNode *)item->data))
            json_array_add_element(list, json_node_copy(item->data));
    }
    return (int)(json_array_get_length(list) - have);
}

// In the time zone of this machine, or of $TZ.
static char *local_time(JsonObject *clip, const char *name, const char *format)
{
    g_autoptr(GDateTime) time = g_date_time_new_from_iso8601(get_string(clip, name), NULL);
    g_autoptr(GDateTime) local = time ? g_date_time_to_local(time) : NULL;

    return local ? g_date_time_format(local, format) : g_strdup("");
}

// The regions that began the clip and its marks: "door, gate; kept".
static char *describe(JsonObject *clip)
{
    static const struct {
        const char *member, *word;
    } marks[] = {
        {"always", "always"}, {"triggered", "signal"}, {"open", "goes on"}, {"keep", "kept"}};
    g_autoptr(GList) regions = get_list(clip, "regions");
    GString *text = g_string_new(NULL);

    for (GList *item = regions; item; item = item->next) {
        g_string_append_printf(text, "%s%s", text->len ? ", " : "",
                               json_node_get_string(item->data));
    }
    for (size_t i = 0; i < ARRAY_LENGTH(marks); i++) {
        if (get_boolean(clip, marks[i].member))
            g_string_append_printf(text, "%s%s", text->len ? "; " : "", marks[i].word);
    }
    if (get_number(clip, "gap") > 0)
        g_string_append_printf(text, "; %.1f s are missing", get_number(clip, "gap"));
    return g_string_free(text, FALSE);
}

static void print_table(JsonArray *list)
{
    static const char *const titles[] = {"ID", "VIEW", "BEGIN", "SECONDS", "SIZE", "CAUSE"};
    struct table *table = table_new(titles, ARRAY_LENGTH(titles));
    g_autoptr(GList) clips = json_array_get_elements(list);

    for (GList *item = clips; item; item = item->next) {
        JsonObject *clip = json_node_get_object(item->data);
        g_autofree char *begin = local_time(clip, "start", "%Y-%m-%d %H:%M:%S"),
                        *size = g_format_size((guint64)get_number(clip, "bytes")),
                        *cause = describe(clip);

        table_add(table, "%.0f", get_number(clip, "id"));
        table_add(table, "%s/%s", get_string(clip, "camera"), get_string(clip, "view"));
        table_add(table, "%s", begin);
        table_add(table, "%.1f", get_number(clip, "duration"));
        table_add(table, "%s", size);
        table_add(table, "%s", cause);
    }
    table_print(table, stdout);
    table_free(table);
}

// Whether a view is recorded, of those that are shown.
static int find_recorded(const struct client *client, struct error *error, bool *ret_found)
{
    _cleanup_(cleanup_free) char *body = NULL;
    g_autoptr(JsonArray) views = NULL;
    int r = client_get(client, "/v1/views", error, &body);

    r = r == 0 ? client_parse_array(body, error, &views) : r;
    *ret_found = false;
    for (guint i = 0; r == 0 && i < json_array_get_length(views); i++) {
        JsonObject *view = json_array_get_object_element(views, i);

        *ret_found |= strcmp(get_string(view, "recorded"), "off") != 0;
    }
    return r;
}

// Says that there are none; an error if there is no such camera either. A camera that is gone from
// the configuration may still have clips.
static int say_none(const struct client *client, const char *camera, struct error *error)
{
    _cleanup_(cleanup_free) char *body = NULL;
    g_autoptr(JsonArray) cameras = NULL;
    g_autoptr(GString) names = g_string_new(NULL);
    bool is_recorded;
    int r = camera ? client_get(client, "/v1/cameras", error, &body) : 0;

    r = r == 0 && body ? client_parse_array(body, error, &cameras) : r;
    r = r < 0 ? r : find_recorded(client, error, &is_recorded);
    if (r < 0)
        return r;
    for (guint i = 0; cameras && i < json_array_get_length(cameras); i++) {
        const char *name = get_string(json_array_get_object_element(cameras, i), "name");

        camera = camera && strcmp(camera, name) == 0 ? NULL : camera;
        g_string_append_printf(names, "%s\"%s\"", i ? ", " : "", name);
    }
    if (camera) {
        return error_set(error, -ENOENT, "no camera \"%s\" and no clips of one; cameras: %s",
                         camera, names->str);
    }
    puts(is_recorded ? "there are no clips"
                     : "there are no clips: no camera records (record.mode is \"off\")");
    return 0;
}

static int list_clips(const struct client *client, const struct clips_options *options,
                      struct error *error)
{
    g_autoptr(JsonArray) list = json_array_new();
    int64_t before = 0;
    int count = 1;

    while (count > 0 && (!options->limit || json_array_get_length(list) < (guint)options->limit)) {
        count = add_page(client, options, list, before, error);
        if (count > 0) {
            guint last = json_array_get_length(list) - 1;
            double id = get_number(json_array_get_object_element(list, last), "id");

            if (!(id >= 1 && id < (before ? (double)before : 0x1p53))) {
                return error_set(error, -EPROTO,
                                 "edged's list of clips is in no order: the last has number %.0f, "
                                 "asked was for clips before %" PRId64,
                                 id, before);
            }
            before = (int64_t)id;
        }
    }
    if (count < 0)
        return count;
    if (options->json) {
        g_autoptr(JsonNode) root = json_node_init_array(json_node_alloc(), list);
        g_autofree char *text = json_text(root, true);

        puts(text);
    } else if (json_array_get_length(list) == 0) {
        return say_none(client, options->camera, error);
    } else {
        print_table(list);
    }
    return 0;
}

// One clip
// ---------------------------------------------------------------------

static int read_clip(const struct client *client, const char *page, struct error *error,
                     JsonObject **ret_clip)
{
    _cleanup_(cleanup_free) char *body = NULL;
    int r = client_get(client, page, error, &body);

    return r < 0 ? r : client_parse(body, error, ret_clip);
}

static int show_clip(const struct client *client, const char *page,
                     const struct clips_options *options, struct error *error)
{
    g_autoptr(JsonObject) clip = NULL;
    int r = read_clip(client, page, error, &clip);

    (void)options;
    if (r == 0) {
        g_autoptr(JsonNode) root = json_node_init_object(json_node_alloc(), clip);
        g_autofree char *text = json_text(root, true);

        puts(text);
    }
    return r;
}

static int keep_clip(const struct client *client, const char *page,
                     const struct clips_options *options, struct error *error)
{
    _cleanup_(cleanup_free) char *body = NULL;

    (void)options;
    return client_patch(client, page, "{\"keep\": true}", error, &body);
}

static int unkeep_clip(const struct client *client, const char *page,
                       const struct clips_options *options, struct error *error)
{
    _cleanup_(cleanup_free) char *body = NULL;

    (void)options;
    return client_patch(client, page, "{\"keep\": false}", error, &body);
}

static int delete_clip(const struct client *client, const char *page,
                       const struct clips_options *options, struct error *error)
{
    (void)options;
    return client_delete(client, page, error);
}

// "front-plain-2026-11-27T081503Z.mp4", as a browser would name it.
static int choose_name(const struct client *client, const char *page, struct error *error,
                       char **ret_name)
{
    g_autoptr(JsonObject) clip = NULL;
    int r = read_clip(client, page, error, &clip);

    if (r < 0)
        return r;
    g_autoptr(GDateTime) time = g_date_time_new_from_iso8601(get_string(clip, "start"), NULL);
    g_autofree char *begin = time ? g_date_time_format(time, "%Y-%m-%dT%H%M%SZ") : NULL;
    *ret_name = g_strdup_printf("%s-%s-%s.mp4", get_string(clip, "camera"),
                                get_string(clip, "view"), begin ? begin : "");
    g_strdelimit(*ret_name, "/\n\t", '_');
    return 0;
}

static int write_file(const struct client *client, const char *page, const char *target,
                      struct error *error)
{
    struct whole_file file = {0};
    int r = whole_file_new(target, error, &file);
    FILE *stream = r == 0 ? fopen(file.path, "w") : NULL;

    if (stream) {
        r = client_download(client, page, stream, error);
        if (fclose(stream) != 0 && r == 0)
            r = error_set(error, -errno, "%s: %s", target, strerror(errno));
    } else if (r == 0) {
        r = error_set(error, -errno, "%s: %s", target, strerror(errno));
    }
    r = r < 0 ? r : whole_file_publish(&file, target, error);
    whole_file_finish(&file);
    return r;
}

static int export_clip(const struct client *client, const char *page,
                       const struct clips_options *options, struct error *error)
{
    g_autofree char *video = g_strconcat(page, ".mp4", NULL), *name = g_strdup(options->target);
    int r = name ? 0 : choose_name(client, page, error, &name);

    if (r < 0)
        return r;
    if (whole_file_is_standard(name))
        return client_download(client, video, stdout, error);
    if (!options->force && access(name, F_OK) == 0)
        return error_set(error, -EEXIST, "%s is there; --force writes over it", name);
    r = write_file(client, video, name, error);
    if (r == 0)
        puts(name);
    return r;
}

// The command
// ---------------------------------------------------------------------

static const struct clips_action {
    const char *name;
    int most; // clips
    // `page` is the clip's; NULL: the list.
    int (*run)(const struct client *client, const char *page, const struct clips_options *options,
               struct error *error);
} actions[] = {
    {"list", 0, NULL},
    {"show", G_MAXINT, show_clip},
    {"keep", G_MAXINT, keep_clip},
    {"unkeep", G_MAXINT, unkeep_clip},
    {"delete", G_MAXINT, delete_clip},
    {"export", 1, export_clip},
};

// NULL: there is none of that name, or it does not take so many clips.
static const struct clips_action *find_action(const char *name, int clips)
{
    for (size_t i = 0; i < ARRAY_LENGTH(actions); i++) {
        if (strcmp(actions[i].name, name) == 0) {
            return clips <= actions[i].most && (clips > 0) == (actions[i].most > 0) ? &actions[i]
                                                                                    : NULL;
        }
    }
    return NULL;
}

// Runs an action on each clip that is named, up to the first that fails.
static int run_action(const struct clips_action *action, char **ids, int count,
                      const struct clips_options *options, struct error *error)
{
    _cleanup_(client_cleanup) struct client *client = NULL;
    struct error why = {0};
    int r = client_new(&options->where, error, &client);

    if (r == 0 && !action->run)
        return list_clips(client, options, error);
    for (int i = 0; i < count && r == 0; i++) {
        g_autofree char *page = g_strdup_printf("/v1/clips/%s", ids[i]);

        if (!g_ascii_string_to_unsigned(ids[i], 10, 1, G_MAXINT64, NULL, NULL)) {
            return error_set(error, -EINVAL,
                             "\"%s\" is no number of a clip: `edgectl clips` lists them", ids[i]);
        }
        r = action->run(client, page, options, &why);
        if (r < 0)
            error_set(error, r, "clip %s: %s", ids[i], why.text);
    }
    return r;
}

int ctl_clips(int argc, char **argv)
{
    struct clips_options clips = {.limit = 100};
    const struct command_option options[] = {
        {"from", .text = &clips.from},     {"to", .text = &clips.to},
        {"camera", .text = &clips.camera}, {"limit", .number = &clips.limit, .maximum = 1000000},
        {"json", .flag = &clips.json},     {"force", .flag = &clips.force},
        CLIENT_OPTIONS(&clips.where),      {0}};
    const struct command_line line = {
        .command = "clips", .usage = usage, .options = options, .takes_more = true};
    struct error error = {0};
    int status;

    if (!command_line_parse(&line, argc, argv, &status))
        return status;
    char **words = argv + optind;
    const char *name = words[0] ? words[0] : "list";
    int count = MAX(argc - optind - 1, 0);
    if (strcmp(name, "export") == 0 && count == 2) {
        clips.target = words[2];
        count = 1;
    }
    const struct clips_action *action = find_action(name, count);
    if (!action) {
        fputs("edgectl: clips takes list; show, keep, unkeep or delete with numbers of clips; or "
              "export with one and perhaps a file\n`edgectl clips --help` explains them.\n",
              stderr);
        return 2;
    }
    int r = run_action(action, words + 1, count, &clips, &error);
    if (r < 0)
        fprintf(stderr, "edgectl: %s\n", error.text);
    return r < 0 ? 1 : 0;
}
