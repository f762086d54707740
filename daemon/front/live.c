#include "daemon/front/live.h"

#include "config/schema/schema.h"
#include "daemon/common/log.h"
#include "daemon/common/service_files.h"
#include "daemon/front/settings_file.h"

#include <errno.h>
#include <string.h>

#define SAVE_AFTER_MS 1000
#define HTTP_OK 200
#define HTTP_BAD_REQUEST 400
#define HTTP_FORBIDDEN 403
#define HTTP_NOT_FOUND 404
#define HTTP_UNPROCESSABLE 422
#define HTTP_ERROR 500

// Loading
// ---------------------------------------------------------------------

static void warn_of_change(const struct config_file *file, const struct config_override *kept,
                           FILE *problems)
{
    _cleanup_(cleanup_free) char *now = config_value_text(config_file_plain(file), kept->path);

    if (g_strcmp0(now, kept->in_file) != 0) {
        fprintf(problems,
                "settings: warning: %s: kept as %s, and the file's value has changed from %s to %s "
                "since; `edgectl unset %s` takes the file's\n",
                kept->path, kept->value ? kept->value : "nothing",
                kept->in_file ? kept->in_file : "none", now ? now : "none", kept->path);
    }
}

// Adds what fits the file to what is in effect. The usual case, that all of it does, is tried
// first.
static int lay_kept(struct live *live, FILE *problems, struct config **ret_config)
{
    int r = config_overrides_add(&live->in_effect, &live->kept);

    r = r < 0 ? r : config_file_load(live->file, &live->in_effect, NULL, ret_config);
    if (r == -EINVAL) {
        config_overrides_finish(&live->in_effect);
        r = config_file_load(live->file, &live->in_effect, NULL, ret_config);
        for (size_t i = 0; i < live->kept.count && r == 0; i++) {
            const struct config_override *kept = &live->kept.list[i];
            struct config *config = NULL;

            config_overrides_set(&live->in_effect, kept->path, kept->value, NULL);
            if (config_file_load(live->file, &live->in_effect, NULL, &config) == 0) {
                config_free(*ret_config);
                *ret_config = config;
                continue;
            }
            config_overrides_unset(&live->in_effect, kept->path);
            fprintf(problems,
                    "settings: warning: %s: kept as %s, which does not fit the file any more, "
                    "going on without; `edgectl unset %s` forgets it\n",
                    kept->path, kept->value ? kept->value : "nothing", kept->path);
        }
    }
    for (size_t i = 0; i < live->kept.count && r == 0; i++) {
        if (config_overrides_find(&live->in_effect, live->kept.list[i].path)) {
            warn_of_change(live->file, &live->kept.list[i], problems);
        }
    }
    return r;
}

// A running edged and `edged --check` beside it find the same file for the system's configuration.
static char *find_store(const char *path)
{
    g_autofree char *real = path ? realpath(path, NULL) : NULL;
    char *store = NULL;

    if (!getenv("STATE_DIRECTORY") && real && strcmp(real, CONFIG_DEFAULT_PATH) == 0) {
        return g_strdup("/var/lib/edged/" SETTINGS_FILE_NAME);
    }
    return state_path(SETTINGS_FILE_NAME, &store) < 0 ? NULL : store;
}

int live_load(const char *path, bool is_look, FILE *problems, struct live *ret_live,
              struct config **ret_config)
{
    struct live live = {.path = g_strdup(path), .store = find_store(path)};
    int r = config_file_read(path, problems, &live.file);

    if (r == 0) {
        settings_file_read(live.store, path, is_look, problems, &live.kept);
        r = config_overrides_add(&live.saved, &live.kept);
        r = r < 0 ? r : lay_kept(&live, problems, ret_config);
    }
    if (r < 0) {
        live_finish(&live);
        return r;
    }
    *ret_live = live;
    return 0;
}

void live_take(struct live *live, struct live *next)
{
    live_finish(live);
    *live = *next;
    *next = (struct live){0};
}

// Keeping
// ---------------------------------------------------------------------

static bool has(const struct config_overrides *overrides, const struct config_override *override)
{
    const struct config_override *found = config_overrides_find(overrides, override->path);

    return found && g_strcmp0(found->value, override->value) == 0;
}

// Logs what will be kept that is not yet, and what is that will not be: at most one line a setting
// in each SAVE_AFTER_MS, so that no limit has to leave out any.
static void log_kept(const struct live *live)
{
    for (size_t i = 0; i < live->kept.count; i++) {
        const struct config_override *one = &live->kept.list[i];

        if (!has(&live->saved, one)) {
            log_notice("%s kept by %s: %.1000s", one->path, live->keeper,
                       one->value ? one->value : "taken away");
        }
    }
    for (size_t i = 0; i < live->saved.count; i++) {
        const char *path = live->saved.list[i].path;

        if (!config_overrides_find(&live->kept, path)) {
            log_notice("%s unset by %s", path, live->keeper);
        }
    }
}

void live_save(struct live *live)
{
    struct error error = {0};

    g_clear_handle_id(&live->save_timer, g_source_remove);
    if (live->is_unsaved) {
        if (settings_file_write(live->store, live->path, &live->kept, &error) < 0) {
            log_error("cannot keep settings: %s, they last until edged ends", error.text);
        } else {
            log_kept(live);
            config_overrides_finish(&live->saved);
            config_overrides_add(&live->saved, &live->kept);
            g_clear_pointer(&live->keeper, g_free);
        }
    }
    live->is_unsaved = false;
}

static gboolean on_save(gpointer data)
{
    struct live *live = data;

    live->save_timer = 0;
    live_save(live);
    return G_SOURCE_REMOVE;
}

void live_finish(struct live *live)
{
    live_save(live);
    config_overrides_finish(&live->kept);
    config_overrides_finish(&live->saved);
    config_overrides_finish(&live->in_effect);
    g_free(live->keeper);
    config_file_free(live->file);
    free(live->store);
    g_free(live->path);
    *live = (struct live){0};
}

// Where the value is from that a setting lies over.
static const char *file_origin(const struct live *live, const char *path)
{
    const char *origin = config_file_origin(live->file, path);

    return origin ? origin : "default";
}

void live_tell(const struct live *live)
{
    for (size_t i = 0; i < live->in_effect.count; i++) {
        const struct config_override *one = &live->in_effect.list[i];
        _cleanup_(cleanup_free) char *plain =
            config_value_text(config_file_plain(live->file), one->path);

        printf("%s: kept: %s = %s, over %s (%s)\n", live->store, one->path,
               one->value ? one->value : "nothing", plain ? plain : "none",
               file_origin(live, one->path));
    }
}

// Changing
// ---------------------------------------------------------------------

// The candidates of a change.
struct draft {
    struct config_overrides asked, resets, in_effect, kept;
};

static void finish_draft(struct draft *change)
{
    config_overrides_finish(&change->asked);
    config_overrides_finish(&change->resets);
    config_overrides_finish(&change->in_effect);
    config_overrides_finish(&change->kept);
}

static bool is_in(const struct config *config, const char *path)
{
    struct config_place place;

    return config_find(config, path, NULL, &place) == 0 && place.object;
}

// Copies what is said now and lays the change over it. A region that only a setting made is
// forgotten when it is taken away, not remembered as being away.
static int lay_change(const struct live *live, struct draft *change)
{
    const struct config *plain = config_file_plain(live->file);
    int r = config_overrides_add(&change->in_effect, &live->in_effect);

    r = r < 0 ? r : config_overrides_add(&change->kept, &live->kept);
    for (size_t i = 0; i < change->resets.count; i++) {
        config_overrides_unset(&change->in_effect, change->resets.list[i].path);
        config_overrides_unset(&change->kept, change->resets.list[i].path);
    }
    for (size_t i = 0; i < change->asked.count && r == 0; i++) {
        const struct config_override *one = &change->asked.list[i];
        _cleanup_(cleanup_free) char *in_file = config_value_text(plain, one->path);

        if (!one->value && !is_in(plain, one->path)) {
            config_overrides_unset(&change->in_effect, one->path);
            config_overrides_unset(&change->kept, one->path);
            continue;
        }
        r = config_overrides_set(&change->in_effect, one->path, one->value, NULL);
        r = r < 0 ? r : config_overrides_set(&change->kept, one->path, one->value, in_file);
    }
    return r;
}

// Values as they are written in a file, so that equal ones are equal texts.
static int tidy(struct config_overrides *overrides, const struct config *config)
{
    int r = 0;

    for (size_t i = 0; i < overrides->count && r == 0; i++) {
        struct config_override *one = &overrides->list[i];
        char *text = one->value ? config_value_text(config, one->path) : NULL;

        if (text) {
            free(one->value);
            one->value = text;
        }
    }
    return r;
}

static unsigned status_of(int r)
{
    return r == -EBADMSG  ? HTTP_BAD_REQUEST
           : r == -EPERM  ? HTTP_FORBIDDEN
           : r == -ENOENT ? HTTP_NOT_FOUND
           : r == -EINVAL ? HTTP_UNPROCESSABLE
                          : HTTP_ERROR;
}

// Takes the first error that the load wrote apart: "settings: error: KEY: SENTENCE", or a line that
// tells of a key of the file.
static void take_fault(const char *problems, struct config_fault *fault)
{
    static const char prefix[] = "settings: error: ";
    const char *line = strstr(problems, prefix), *colon;

    line = line ? line + strlen(prefix) : problems;
    colon = strstr(line, ": ");
    if (line != problems && colon) {
        snprintf(fault->key, sizeof fault->key, "%.*s", (int)(colon - line), line);
        line = colon + 2;
    }
    error_format(&fault->error, "%.*s", (int)strcspn(line, "\n"), line);
}

// Those of the keys of this change.
static void print_warnings(FILE *file, const struct draft *change, const char *problems)
{
    static const char prefix[] = "settings: warning: ";
    g_auto(GStrv) lines = g_strsplit(problems, "\n", -1);
    const char *separator = "";

    for (char **line = lines; *line; line++) {
        const char *path = *line + strlen(prefix);
        const char *end = g_str_has_prefix(*line, prefix) ? strstr(path, ": ") : NULL;
        g_autofree char *key = end ? g_strndup(path, (gsize)(end - path)) : NULL;

        if (key && config_overrides_find(&change->asked, key)) {
            fputs(separator, file);
            config_print_json_string(file, path);
            separator = ",";
        }
    }
}

static void print_changed(FILE *file, const struct config_overrides *list,
                          const struct config *before, const struct config *after,
                          enum config_cost *cost)
{
    for (size_t i = 0; i < list->count; i++) {
        const char *path = list->list[i].path;
        g_autofree char *old = config_json_at(before, path), *new = config_json_at(after, path);
        struct config_place place;

        if (g_strcmp0(old, new) == 0 || (config_find(after, path, NULL, &place) < 0 &&
                                         config_find(before, path, NULL, &place) < 0)) {
            continue;
        }
        enum config_cost own = schema_cost(place.group, place.key);

        fprintf(file, "%s{\"key\":\"%s\",\"before\":%s,\"after\":%s,\"cost\":\"%s\"}",
                *cost ? "," : "", path, old, new, config_cost_word(own));
        *cost = own > *cost ? own : *cost;
    }
}

static char *tell_change(const struct live_request *request, const struct draft *change,
                         const char *problems, const struct config *before,
                         const struct config *after)
{
    enum config_cost cost = CONFIG_COST_NONE; // the greatest
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    if (!file) {
        return NULL;
    }
    fputs("{\"changed\":[", file);
    print_changed(file, &change->asked, before, after, &cost);
    print_changed(file, &change->resets, before, after, &cost);
    fprintf(file, "],\"cost\":\"%s\",\"kept\":%s,\"dry_run\":%s,\"warnings\":[",
            config_cost_word(cost), request->is_kept && !request->is_dry ? "true" : "false",
            request->is_dry ? "true" : "false");
    print_warnings(file, change, problems);
    fputs("]}\n", file);
    fclose(file);
    return text;
}

static void swap_overrides(struct config_overrides *a, struct config_overrides *b)
{
    struct config_overrides between = *a;

    *a = *b;
    *b = between;
}

static void take_change(struct live *live, const struct live_request *request, struct draft *change)
{
    swap_overrides(&live->in_effect, &change->in_effect);
    if (!request->is_kept) {
        return;
    }
    swap_overrides(&live->kept, &change->kept);
    if (!live->keeper) {
        live->keeper = g_strdup(request->who);
    } else if (!strstr(live->keeper, request->who)) {
        // Which of two who keep in the same second kept what is not worth a second writing.
        char *both = g_strconcat(live->keeper, " or ", request->who, NULL);
        g_free(live->keeper);
        live->keeper = both;
    }
    live->is_unsaved = true;
    if (!live->save_timer) {
        live->save_timer = g_timeout_add(SAVE_AFTER_MS, on_save, live);
    }
}

// Nobody has a view recorded that they may not watch. Fault and result are those of a view that a
// path names.
static int check_recorded(const struct draft *change, const struct config *config,
                          struct live_request *request)
{
    for (size_t i = 0; i < change->asked.count; i++) {
        const char *path = change->asked.list[i].path;
        const struct config_view *view;
        struct config_place place;

        if (!g_str_has_suffix(path, ".record.view") ||
            config_find(config, path, NULL, &place) < 0) {
            continue;
        }
        view = config_record_view(place.object);
        if (config_view_role(view) > request->role) {
            snprintf(request->fault.key, sizeof request->fault.key, "%s", path);
            return error_set(&request->fault.error, -ENOENT,
                             "got \"%s\", which is not there for this user", view->name);
        }
    }
    return 0;
}

static int check_change(const struct live *live, const struct config *running,
                        struct live_request *request, struct draft *change, FILE *problems,
                        struct config **ret_config)
{
    int r = config_patch_read(running, &live->kept, request->role, request->text, request->size,
                              &request->fault, &change->asked, &change->resets);

    if (r == 0 && request->is_kept && !live->store) {
        return error_set(&request->fault.error, -EINVAL,
                         "got keep, but there is no place to keep settings in: set "
                         "STATE_DIRECTORY, XDG_STATE_HOME or HOME");
    }
    r = r < 0 ? r : lay_change(live, change);
    r = r < 0 ? r : config_file_load(live->file, &change->in_effect, problems, ret_config);
    return r < 0 ? r : check_recorded(change, *ret_config, request);
}

void live_change(struct live *live, const struct config *running, struct live_request *request,
                 struct config **ret_config)
{
    _cleanup_(finish_draft) struct draft change = {0};
    _cleanup_(cleanup_config) struct config *config = NULL;
    _cleanup_(cleanup_free) char *text = NULL;
    size_t size;
    FILE *problems = open_memstream(&text, &size);
    int r = problems ? check_change(live, running, request, &change, problems, &config) : -ENOMEM;

    *ret_config = NULL;
    if (problems) {
        fclose(problems);
    }
    if (r < 0) {
        if (!*request->fault.error.text) {
            take_fault(text && *text ? text : strerror(-r), &request->fault);
        }
        request->status = status_of(r);
        return;
    }
    tidy(&change.in_effect, config);
    tidy(&change.kept, config);
    request->reply = tell_change(request, &change, text, running, config);
    request->status = HTTP_OK;
    if (!request->is_dry) {
        take_change(live, request, &change);
        *ret_config = TAKE(config);
    }
}

struct description {
    FILE *file;
    const struct live *live;
    const struct config *running;
    const char *separator;
};

static void describe_key(struct description *to, const char *path)
{
    const struct config_override *over = config_overrides_find(&to->live->in_effect, path);
    g_autofree char *plain = config_json_at(config_file_plain(to->live->file), path);
    g_autofree char *running = config_json_at(to->running, path);
    const char *origin = file_origin(to->live, path);
    bool kept = over && has(&to->live->kept, over);

    fprintf(to->file,
            "%s{\"key\":\"%s\",\"file\":%s,\"running\":%s,\"kept\":%s,\"from\":", to->separator,
            path, plain, running, kept ? "true" : "false");
    config_print_json_string(to->file, kept ? "kept" : over ? "set" : origin);
    fputs(",\"file_from\":", to->file);
    config_print_json_string(to->file, origin);
    fputc('}', to->file);
    to->separator = ",";
}

static void describe_each(void *context, const char *path, const struct config_place *place)
{
    (void)place;
    describe_key(context, path);
}

char *live_describe(const struct live *live, const struct config *running, enum config_role role,
                    bool is_all)
{
    struct description to = {.live = live, .running = running, .separator = ""};
    char *text = NULL;
    size_t size;

    to.file = open_memstream(&text, &size);
    if (!to.file) {
        return NULL;
    }
    fputs("{\"settings\":[", to.file);
    for (size_t i = 0; !is_all && i < live->in_effect.count; i++) {
        const char *path = live->in_effect.list[i].path;
        struct config_place place;

        if (config_find(running, path, NULL, &place) < 0 || place.role <= role) {
            describe_key(&to, path);
        }
    }
    if (is_all) {
        config_each_key(running, role, describe_each, &to);
    }
    fputs("]}\n", to.file);
    fclose(to.file);
    return text;
}
