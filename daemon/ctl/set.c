// `edgectl set`, `unset` and `diff`: settings of a running edged over its configuration file.
#include "daemon/ctl/commands.h"

#include "config/diff.h"
#include "config/schema/schema_value.h"
#include "daemon/client/client.h"
#include "daemon/common/json.h"
#include "daemon/ctl/arguments.h"
#include "daemon/ctl/set_file.h"
#include "daemon/ctl/table.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char set_usage[] =
    "Usage: edgectl set [--keep] [--dry-run] [--json] " CLIENT_SYNOPSIS "\n"
    "                   KEY=VALUE...\n"
    "Changes settings of the running edged, for example cameras.front.views.edges.gain=2, until "
    "the\n"
    "next reload or restart. All of them are taken, or none.\n"
    "\n"
    "  --keep         keep them over reloads and restarts, until `edgectl unset`; a key that only\n"
    "                 the configuration file has is changed there, and the file is loaded again\n"
    "  --dry-run      only say what would change, and what that costs\n"
    "  --json         the reply as JSON; edgectl(1) explains the fields\n" CLIENT_HELP;

static const char unset_usage[] =
    "Usage: edgectl unset [--dry-run] [--json] " CLIENT_SYNOPSIS "\n"
    "                     KEY...\n"
    "Forgets settings of the running edged, kept ones as well: the file's values count again. A "
    "key\n"
    "that only the configuration file has is taken out of it.\n"
    "\n"
    "  --dry-run      only say what would change, and what that costs\n"
    "  --json         the reply as JSON; edgectl(1) explains the fields\n" CLIENT_HELP;

static const char diff_usage[] =
    "Usage: edgectl diff [--all] [--json] " CLIENT_SYNOPSIS "\n"
    "The settings of the running edged that differ from its configuration file, and where they "
    "are\n"
    "from.\n"
    "\n"
    "  --all          every key, and where its value is from\n"
    "  --json         the reply as JSON; edgectl(1) explains the fields\n" CLIENT_HELP;

struct set_options {
    struct client_options where;
    bool keep, dry_run, json, all;
};

// The key at the end of a path, whatever elements of lists are called; NULL: there is none.
static const struct schema_key *find_key(const char *path)
{
    g_auto(GStrv) parts = g_strsplit(path, ".", -1);
    const struct schema_group *group = &schema_root;
    const struct schema_key *key = NULL;

    for (char **part = parts; *part && group; part++) {
        key = schema_find_key(group, *part);
        group = key ? key->group : NULL;
        if (key && key->type == SCHEMA_LIST && !*++part)
            return NULL;
        if (!group)
            return part[1] ? NULL : key;
    }
    return NULL;
}

// Words and corners as people write them: "blur5,canny" and "0.1:0.2,0.9:0.2,0.5:0.8".
static char *list_to_json(const struct schema_key *key, const char *text)
{
    g_auto(GStrv) parts = g_strsplit(text, ",", -1);
    GString *json = g_string_new("[");

    for (char **part = parts; *part; part++) {
        if (key->type == SCHEMA_POINTS) {
            g_strdelimit(*part, ":", ',');
            g_string_append_printf(json, "%s[%s]", part == parts ? "" : ",", *part);
        } else {
            g_autofree char *word = g_strescape(g_strstrip(*part), NULL);

            g_string_append_printf(json, "%s\"%s\"", part == parts ? "" : ",", word);
        }
    }
    return g_string_free(g_string_append_c(json, ']'), FALSE);
}

// The value of the key that `text` stands for: JSON where it is some, else a list, else a string.
static JsonNode *read_value(const char *path, const char *text)
{
    const struct schema_key *key = find_key(path);
    bool is_word = key && (key->type == SCHEMA_STRING || key->type == SCHEMA_WORD);
    bool is_list = key && (key->type == SCHEMA_WORDS || key->type == SCHEMA_NAMES ||
                           key->type == SCHEMA_POINTS);
    g_autofree char *list = is_list && *text != '[' ? list_to_json(key, text) : NULL;
    JsonNode *node = is_word ? NULL : json_from_string(list ? list : text, NULL);

    if (!node)
        node = json_node_init_string(json_node_alloc(), text);
    return node;
}

// Puts a value into nested objects as its path says; takes over `value`.
static void put(JsonObject *object, const char *path, JsonNode *value)
{
    g_auto(GStrv) parts = g_strsplit(path, ".", -1);
    char **part = parts;

    for (; part[0] && part[1]; part++) {
        JsonObject *inner = get_object(object, *part);

        if (!inner) {
            inner = json_object_new();
            json_object_set_object_member(object, *part, inner);
        }
        object = inner;
    }
    json_object_set_member(object, part[0] ? part[0] : "", value);
}

// The merge patch of the arguments; NULL: one of them was refused, as was said.
static JsonObject *read_patch(char **arguments, bool is_unset)
{
    JsonObject *patch = json_object_new();

    for (char **at = arguments; *at; at++) {
        const char *equals = strchr(*at, '=');
        g_autofree char *path = equals ? g_strndup(*at, (gsize)(equals - *at)) : g_strdup(*at);

        if (!equals == !is_unset) {
            fprintf(stderr, "edgectl: got \"%s\", allowed: %s\n", *at,
                    is_unset ? "KEY" : "KEY=VALUE");
            json_object_unref(patch);
            return NULL;
        }
        put(patch, path,
            equals ? read_value(path, equals + 1) : json_node_init_null(json_node_alloc()));
    }
    return patch;
}

static void print_node(JsonObject *object, const char *name)
{
    g_autofree char *text = json_text(json_object_get_member(object, name), false);

    fputs(strcmp(text, "null") == 0 ? "none" : text, stdout);
}

static const char *cost_text(const char *word)
{
    return strcmp(word, "frame") == 0    ? config_cost_text(CONFIG_COST_FRAME)
           : strcmp(word, "view") == 0   ? config_cost_text(CONFIG_COST_VIEW)
           : strcmp(word, "camera") == 0 ? config_cost_text(CONFIG_COST_CAMERA)
                                         : config_cost_text(CONFIG_COST_START);
}

static void print_reply(JsonObject *reply)
{
    g_autoptr(GList) changed = get_list(reply, "changed");
    g_autoptr(GList) warnings = get_list(reply, "warnings");

    for (GList *item = changed; item; item = item->next) {
        JsonObject *change = json_node_get_object(item->data);

        printf("%s: ", get_string(change, "key"));
        print_node(change, "before");
        fputs(" -> ", stdout);
        print_node(change, "after");
        printf(", %s\n", cost_text(get_string(change, "cost")));
    }
    if (!changed)
        puts("nothing has changed");
    for (GList *item = warnings; item; item = item->next)
        fprintf(stderr, "edgectl: warning: %s\n", json_node_get_string(item->data));
}

// Whether what was to be kept is on the disk: 0, or 1 if it could not be written. A warning of the
// reply has said why.
static int tell_kept(JsonObject *reply)
{
    if (strcmp(get_string(reply, "kept"), "pending") == 0) {
        fputs("edgectl: in effect, but the disk is slow: it will be kept once it is written\n",
              stderr);
        return 0;
    }
    return get_boolean(reply, "kept") ? 0 : 1;
}

static void print_settings(JsonObject *reply)
{
    static const char *const titles[] = {"SETTING", "FROM", "FILE", "RUNNING"};
    g_autoptr(GList) settings = get_list(reply, "settings");
    struct table *table = table_new(titles, ARRAY_LENGTH(titles));

    for (GList *item = settings; item; item = item->next) {
        JsonObject *one = json_node_get_object(item->data);
        g_autofree char *file = json_text(json_object_get_member(one, "file"), false);
        g_autofree char *running = json_text(json_object_get_member(one, "running"), false);

        table_add(table, "%s", get_string(one, "key"));
        table_add(table, "%s", get_string(one, "from"));
        table_add(table, "%s", strcmp(file, "null") == 0 ? "none" : file);
        table_add(table, "%s", strcmp(running, "null") == 0 ? "none" : running);
    }
    if (settings)
        table_print(table, stdout);
    else
        puts("edged runs as its configuration file says");
    table_free(table);
}

// Says which clips would go if edged started with what its file says of storage now.
static void print_excess(const struct client *client, const struct client_options *where)
{
    const char *path = where->config_path ? where->config_path : CONFIG_DEFAULT_PATH;
    _cleanup_(cleanup_config) struct config *config = NULL;
    _cleanup_(cleanup_free) char *body = NULL;
    g_autoptr(JsonObject) reply = NULL;

    if (where->socket || where->host || config_load(path, NULL, &config) < 0)
        return;
    g_autofree char *page = g_strdup_printf(
        "/v1/clips/excess?max_size=%s&min_free=%s&max_age_days=%d", config->storage.max_size,
        config->storage.min_free, config->storage.max_age_days);
    if (client_get(client, page, NULL, &body) < 0 || client_parse(body, NULL, &reply) < 0 ||
        get_number(reply, "clips") == 0) {
        return;
    }
    g_autofree char *size = g_format_size((guint64)get_number(reply, "bytes"));
    printf("storage: a restart deletes %.0f clips, %s, by the limits in %s\n",
           get_number(reply, "clips"), size, path);
}

// Sends the patch, or asks for what is set if it is NULL, and prints the reply.
static int ask(const struct set_options *options, const char *query, JsonObject *patch)
{
    _cleanup_(client_cleanup) struct client *client = NULL;
    _cleanup_(cleanup_free) char *body = NULL;
    g_autoptr(JsonObject) reply = NULL;
    g_autofree char *page = NULL, *text = NULL;
    struct error error = {0};
    int r = client_new(&options->where, &error, &client);

    if (patch) {
        g_autoptr(JsonNode) root = json_node_init_object(json_node_alloc(), patch);

        text = json_to_string(root, FALSE);
        page = g_strdup_printf("/v1/config?%s%s", query, options->dry_run ? "&dry_run=1" : "");
    }
    if (r == 0) {
        r = patch ? client_patch(client, page, text, &error, &body)
                  : client_get(client,
                               options->all ? "/v1/config/settings?all=1" : "/v1/config/settings",
                               &error, &body);
    }
    r = r < 0 ? r : client_parse(body, &error, &reply);
    if (r < 0) {
        fprintf(stderr, "edgectl: %s\n", error.text);
        return 1;
    }
    if (options->json)
        fputs(body, stdout);
    else if (patch)
        print_reply(reply);
    else
        print_settings(reply);
    if (!patch && !options->json)
        print_excess(client, &options->where);
    return patch && strcmp(query, "keep=1") == 0 && !options->dry_run ? tell_kept(reply) : 0;
}

// Whether only the file can have the key of an argument.
static bool is_of_file(const char *argument)
{
    g_autofree char *path = g_strndup(argument, strcspn(argument, "="));
    const struct schema_key *key = find_key(path);

    return key && !key->remote;
}

// Changes keys that only the file can have. Returns the exit status.
static int change_file(const struct set_options *options, char **arguments, bool is_unset)
{
    g_autoptr(JsonObject) reply = NULL;
    struct error error = {0};

    for (char **at = arguments; *at; at++) {
        if (!is_of_file(*at)) {
            fprintf(stderr,
                    "edgectl: %s changes while edged runs, and others here only in the file: set "
                    "them one after the other\n",
                    *at);
            return 1;
        }
    }
    if (!options->keep && !is_unset) {
        fprintf(stderr, "edgectl: %s: can only be changed in the file, by --keep\n", *arguments);
        return 1;
    }
    if (set_file_change(&options->where, arguments, options->dry_run, &error, &reply) < 0) {
        fprintf(stderr, "edgectl: %s\n", error.text);
        return 1;
    }
    if (options->json) {
        g_autoptr(JsonNode) root = json_node_init_object(json_node_alloc(), reply);
        g_autofree char *text = json_to_string(root, FALSE);

        puts(text);
        return 0;
    }
    print_reply(reply);
    if (get_boolean(reply, "kept"))
        printf("kept in %s\n", get_string(reply, "file"));
    return 0;
}

static int change(int argc, char **argv, const char *usage, bool is_unset)
{
    struct set_options set = {0};
    const struct command_option options[] = {{"dry-run", .flag = &set.dry_run},
                                             {"json", .flag = &set.json},
                                             CLIENT_OPTIONS(&set.where),
                                             {is_unset ? NULL : "keep", .flag = &set.keep},
                                             {0}};
    const struct command_line line = {.command = argv[0],
                                      .usage = usage,
                                      .options = options,
                                      .argument_count = 1,
                                      .takes_more = true,
                                      .takes = is_unset ? "keys" : "settings, KEY=VALUE"};
    g_autoptr(JsonObject) patch = NULL;
    int status;

    if (!command_line_parse(&line, argc, argv, &status))
        return status;
    patch = read_patch(argv + optind, is_unset);
    for (char **at = argv + optind; patch && *at && !set.where.host && !set.where.socket; at++) {
        if (is_of_file(*at))
            return change_file(&set, argv + optind, is_unset);
    }
    return patch ? ask(&set, is_unset || set.keep ? "keep=1" : "keep=0", patch) : 2;
}

int ctl_set(int argc, char **argv)
{
    return change(argc, argv, set_usage, false);
}

int ctl_unset(int argc, char **argv)
{
    return change(argc, argv, unset_usage, true);
}

int ctl_diff(int argc, char **argv)
{
    struct set_options diff = {0};
    const struct command_option options[] = {
        {"all", .flag = &diff.all}, {"json", .flag = &diff.json}, CLIENT_OPTIONS(&diff.where), {0}};
    const struct command_line line = {.command = "diff", .usage = diff_usage, .options = options};
    int status;

    return command_line_parse(&line, argc, argv, &status) ? ask(&diff, "", NULL) : status;
}
