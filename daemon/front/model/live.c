#include "daemon/front/model/live.h"

#include "config/schema/schema.h"
#include "daemon/common/log.h"
#include "daemon/common/service_files.h"
#include "daemon/front/model/inverse.h"
#include "daemon/front/model/patch.h"
#include "daemon/front/model/settings_file.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#define HTTP_OK 200
#define HTTP_BAD_REQUEST 400
#define HTTP_FORBIDDEN 403
#define HTTP_NOT_FOUND 404
#define HTTP_UNPROCESSABLE 422
#define HTTP_ERROR 500

// Bound when edged starts.
static const char *const bound_keys[] = {"rtsp.address", "rtsp.port", "control.socket"};

// Loading
// ---------------------------------------------------------------------

static bool is_in(const struct config *config, const char *path)
{
    struct config_place place;

    return config_find(config, path, NULL, &place) == 0 && place.object;
}

// The file's value at a path, as a kept setting remembers it: "" if the camera, view or region is
// there and says nothing of the key; NULL: it is not there. The caller frees it.
static char *value_in_file(const struct config *plain, const char *path)
{
    char *value = config_value_text(plain, path);

    return value || !is_in(plain, path) ? value : strdup("");
}

// For people.
static const char *or_none(const char *value)
{
    return value && *value ? value : "none";
}

static void warn_of_change(const struct config_file *file, const struct config_override *kept,
                           struct config_problems *problems)
{
    _cleanup_(cleanup_free) char *now = config_value_text(config_file_plain(file), kept->path);

    if (strcmp(or_none(now), or_none(kept->in_file)) != 0 &&
        strcmp(or_none(now), or_none(kept->value)) != 0) {
        config_problems_warn_setting(
            problems, kept->path,
            "kept as %s, and the file's value has changed from %s to %s since; `edgectl unset %s` "
            "takes the file's",
            kept->value ? kept->value : "nothing", or_none(kept->in_file), or_none(now),
            kept->path);
    }
}

// Whether the file had the region that a kept setting belongs to, and has it no more. The setting
// alone would make another one of that name, with a default for every other key. Of a key that the
// file left out, versions before did not remember whether it had the region; another key tells.
static bool is_gone(const struct live *live, const struct config_override *kept)
{
    const char *key = strrchr(kept->path, '.');
    bool was_there = kept->in_file;

    for (size_t i = 0; key && kept->value && i < live->kept.count && !was_there; i++) {
        const struct config_override *other = &live->kept.list[i];

        was_there =
            other->in_file && strncmp(other->path, kept->path, (size_t)(key - kept->path) + 1) == 0;
    }
    return was_there && !is_in(config_file_plain(live->file), kept->path);
}

// Takes the values that `in_use` is bound to, as they would stand in the file.
static int take_bound(struct live *live, const struct config *in_use)
{
    int r = 0;

    for (size_t i = 0; in_use && i < ARRAY_LENGTH(bound_keys) && r == 0; i++) {
        _cleanup_(cleanup_free) char *value = config_value_text(in_use, bound_keys[i]);

        r = config_overrides_set(&live->bound, bound_keys[i], value ? value : "\"\"", NULL);
    }
    return r;
}

void live_tell_bound(const struct live *live, bool is_error, struct config_problems *problems)
{
    g_autoptr(GString) stays = g_string_new(NULL);

    for (size_t i = 0; i < live->bound.count; i++) {
        const struct config_override *one = &live->bound.list[i];
        _cleanup_(cleanup_free) char *file =
            config_value_text(config_file_plain(live->file), one->path);

        if (strcmp(file ? file : "\"\"", one->value) != 0) {
            g_string_append_printf(stays, "%s%s stays %s", stays->len ? ", " : "", one->path,
                                   one->value);
        }
    }
    if (stays->len) {
        config_problems_tell(problems, is_error, live->path, "%s until edged is started again",
                             stays->str);
    }
}

// The file with settings over it, at the addresses that are bound.
static int load(const struct live *live, const struct config_overrides *over,
                struct config_problems *problems, struct config **ret_config)
{
    _cleanup_(cleanup_overrides) struct config_overrides all = {0};
    int r = config_overrides_add(&all, over);

    r = r < 0 ? r : config_overrides_add(&all, &live->bound);
    return r < 0 ? r : config_file_load(live->file, &all, problems, ret_config);
}

// Adds the kept settings to what is in effect one by one, and names those that do not fit.
static int lay_fitting(struct live *live, const struct config_overrides *allowed,
                       struct config_problems *problems, struct config **ret_config)
{
    int r = load(live, &live->in_effect, problems, ret_config);

    for (size_t i = 0; i < allowed->count && r == 0; i++) {
        const struct config_override *kept = &allowed->list[i];
        struct config *config = NULL;

        config_overrides_set(&live->in_effect, kept->path, kept->value, NULL);
        if (!is_gone(live, kept) && load(live, &live->in_effect, NULL, &config) == 0) {
            config_free(*ret_config);
            *ret_config = config;
            continue;
        }
        config_overrides_unset(&live->in_effect, kept->path);
        config_problems_warn_setting(
            problems, kept->path,
            "kept as %s, which does not fit the file any more, going on without; `edgectl unset "
            "%s` forgets it",
            kept->value ? kept->value : "nothing", kept->path);
    }
    return r;
}

// The kept settings that show nothing that the file hides, and those of an administrator.
static int find_allowed(const struct live *live, struct config_problems *problems,
                        struct config_overrides *ret_allowed)
{
    int r = config_overrides_add(ret_allowed, &live->kept);

    for (size_t i = 0; i < live->kept.count && r == 0; i++) {
        const struct config_override *kept = &live->kept.list[i];

        if (kept->by_admin || !config_override_uncovers(config_file_plain(live->file), kept))
            continue;
        config_overrides_unset(ret_allowed, kept->path);
        config_problems_warn_setting(
            problems, kept->path,
            "kept as %s, which may show what the file's privacy hides, going on without; `edgectl "
            "set --keep` keeps it as an administrator, `edgectl unset %s` forgets it",
            kept->value ? kept->value : "nothing", kept->path);
    }
    return r;
}

// Adds what fits the file to what is in effect. The usual case, that all of it does, is tried
// first.
static int lay_kept(struct live *live, struct config_problems *problems, struct config **ret_config)
{
    _cleanup_(cleanup_overrides) struct config_overrides allowed = {0};
    int r = find_allowed(live, problems, &allowed);

    r = r < 0 ? r : config_overrides_add(&live->in_effect, &allowed);
    for (size_t i = 0; i < allowed.count && r == 0; i++)
        r = is_gone(live, &allowed.list[i]) ? -EINVAL : 0;
    r = r < 0 ? r : load(live, &live->in_effect, NULL, ret_config);
    if (r == -EINVAL) {
        config_overrides_finish(&live->in_effect);
        r = lay_fitting(live, &allowed, problems, ret_config);
    }
    for (size_t i = 0; i < live->kept.count && r == 0; i++) {
        if (config_overrides_find(&live->in_effect, live->kept.list[i].path))
            warn_of_change(live->file, &live->kept.list[i], problems);
    }
    return r;
}

// A running edged and `edged --check` beside it find the same file for the system's configuration.
static char *find_store(const char *path)
{
    g_autofree char *real = path ? realpath(path, NULL) : NULL;
    char *store = NULL;

    if (!getenv("STATE_DIRECTORY") && real && strcmp(real, CONFIG_DEFAULT_PATH) == 0)
        return g_strdup("/var/lib/edged/" SETTINGS_FILE_NAME);
    return state_path(SETTINGS_FILE_NAME, &store) < 0 ? NULL : store;
}

// Reads and loads all. Beside a running edged `before` is its live, and `in_use` its configuration.
static int load_all(struct live *live, const struct live *before, const struct config *in_use,
                    bool is_look, struct config_problems *problems, struct config **ret_config)
{
    int r = config_file_read(live->path, problems, &live->file);

    if (r < 0)
        return r;
    if (before && before->keeping && keeping_is_unsaved(before->keeping))
        r = config_overrides_add(&live->kept, &before->kept);
    else
        settings_file_read(live->store, live->path, is_look, problems, &live->kept);
    r = r < 0 ? r : take_bound(live, in_use);
    r = r < 0 ? r : lay_kept(live, problems, ret_config);
    if (r < 0)
        live_tell_bound(live, true, problems);
    return r;
}

int live_load(const char *path, bool is_look, FILE *problems, struct live *ret_live,
              struct config **ret_config)
{
    _cleanup_(config_problems_finish) struct config_problems found = {0};

    *ret_live = (struct live){.path = g_strdup(path), .store = find_store(path)};
    int r = load_all(ret_live, NULL, NULL, is_look, &found, ret_config);

    config_problems_print(&found, problems);
    if (r < 0)
        live_finish(ret_live);
    return r;
}

int live_reload(const struct live *before, const struct config *in_use,
                struct config_problems *problems, struct live *ret_live, struct config **ret_config)
{
    *ret_live = (struct live){.path = g_strdup(before->path), .store = g_strdup(before->store)};
    int r = load_all(ret_live, before, in_use, false, problems, ret_config);

    if (r < 0)
        live_finish(ret_live);
    return r;
}

void live_keep(struct live *live, void (*told)(void *context), void *context)
{
    if (live->store)
        live->keeping = keeping_new(live->store, live->path, &live->kept, told, context);
}

void live_take(struct live *live, struct live *next)
{
    next->keeping = TAKE(live->keeping);
    if (next->keeping && !keeping_is_unsaved(next->keeping))
        keeping_reread(next->keeping, &next->kept);
    live_finish(live);
    *live = *next;
    *next = (struct live){0};
}

void live_finish(struct live *live)
{
    keeping_free(live->keeping);
    config_overrides_finish(&live->kept);
    config_overrides_finish(&live->in_effect);
    config_overrides_finish(&live->bound);
    config_file_free(live->file);
    free(live->store);
    g_free(live->path);
    *live = (struct live){0};
}

static bool has(const struct config_overrides *overrides, const struct config_override *override)
{
    const struct config_override *found =
        overrides ? config_overrides_find(overrides, override->path) : NULL;

    return found && g_strcmp0(found->value, override->value) == 0;
}

// Where the value is from that a setting lies over. The caller frees it.
static char *file_origin(const struct live *live, const char *path)
{
    char *origin = config_file_origin(live->file, path);

    return origin ? origin : strdup("default");
}

void live_tell(const struct live *live)
{
    for (size_t i = 0; i < live->in_effect.count; i++) {
        const struct config_override *one = &live->in_effect.list[i];
        _cleanup_(cleanup_free) char *plain =
            config_value_text(config_file_plain(live->file), one->path);
        _cleanup_(cleanup_free) char *origin = file_origin(live, one->path);

        printf("%s: kept: %s = %s, over %s (%s)\n", live->store, one->path,
               one->value ? one->value : "nothing", plain ? plain : "none", origin);
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

// A value that an administrator kept stays theirs when somebody else keeps it again.
static int keep(const struct live *live, const struct config_override *asked, const char *in_file,
                enum config_role uncovers, struct config_overrides *kept)
{
    const struct config_override *before = config_overrides_find(&live->kept, asked->path);
    bool by_admin = uncovers == CONFIG_ROLE_ADMIN ||
                    (before && before->by_admin && g_strcmp0(before->value, asked->value) == 0);
    int r = config_overrides_set(kept, asked->path, asked->value, in_file);

    if (r == 0)
        kept->list[kept->count - 1].by_admin = by_admin;
    return r;
}

// Copies what is said now and lays the change over it. A region that only a setting made is
// forgotten when it is taken away, not remembered as being away. One of the file that was taken
// away comes back with the file's values when something is set in it.
static int lay_change(const struct live *live, enum config_role uncovers, struct draft *change)
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
        _cleanup_(cleanup_free) char *in_file = value_in_file(plain, one->path);

        if (!one->value && !is_in(plain, one->path)) {
            config_overrides_unset(&change->in_effect, one->path);
            config_overrides_unset(&change->kept, one->path);
            continue;
        }
        config_overrides_bring_back(&change->in_effect, one->path);
        config_overrides_bring_back(&change->kept, one->path);
        r = config_overrides_set(&change->in_effect, one->path, one->value, NULL);
        r = r < 0 ? r : keep(live, one, in_file, uncovers, &change->kept);
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

// Takes the first error of a load: of a setting, or else of the file, as a line with its place.
static void take_fault(const struct config_problems *problems, int r, struct fault *fault)
{
    const struct config_problem *of_setting = config_problems_first_error(problems, true);
    const struct config_problem *first =
        of_setting ? of_setting : config_problems_first_error(problems, false);
    g_autofree char *line = first ? config_problem_line(first) : NULL;

    if (!first) {
        error_set(&fault->error, r, "%s", strerror(-r));
    } else if (of_setting || !line) {
        g_strlcpy(fault->key, first->path ? first->path : "", sizeof fault->key);
        g_strlcpy(fault->error.text, first->sentence, sizeof fault->error.text);
        fault->error.allowed = first->allowed;
    } else {
        error_set(&fault->error, r, "%s", line);
    }
}

// Those of the keys of this change. Returns how many.
static unsigned print_warnings(FILE *file, const struct draft *change,
                               const struct config_problems *problems)
{
    unsigned count = 0;

    for (size_t i = 0; i < problems->count; i++) {
        const struct config_problem *one = &problems->list[i];

        if (one->is_setting && !one->is_error && config_overrides_find(&change->asked, one->path)) {
            g_autofree char *text = g_strconcat(one->path, ": ", one->sentence, NULL);

            fputs(count++ ? "," : "", file);
            config_print_json_string(file, text);
        }
    }
    return count;
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

static char *tell_change(const struct live *live, struct live_request *request,
                         const struct draft *change, const struct config_problems *problems,
                         const struct config *before, const struct config *after)
{
    g_autofree char *inverse =
        inverse_of_change(&live->in_effect, before, after, &change->asked, &change->resets);
    enum config_cost cost = CONFIG_COST_NONE; // the greatest
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    if (!file)
        return NULL;
    fputs("{\"changed\":[", file);
    print_changed(file, &change->asked, before, after, &cost);
    print_changed(file, &change->resets, before, after, &cost);
    fprintf(file, "],\"inverse\":%s,\"cost\":\"%s\",\"dry_run\":%s,\"warnings\":[", inverse,
            config_cost_word(cost), request->is_dry ? "true" : "false");
    request->warnings = print_warnings(file, change, problems);
    fclose(file);
    return text;
}

char *live_reply(const char *begun, unsigned warnings, enum live_kept kept, const char *why)
{
    static const char *const words[] = {[LIVE_NOT_KEPT] = "false",
                                        [LIVE_KEPT_PENDING] = "\"pending\"",
                                        [LIVE_KEPT] = "true",
                                        [LIVE_KEEP_FAILED] = "false"};
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    if (!file)
        return NULL;
    fputs(begun, file);
    if (kept == LIVE_KEEP_FAILED) {
        g_autofree char *warning =
            g_strdup_printf("in effect, but cannot be kept: %s; trying again", why);

        fputs(warnings ? "," : "", file);
        config_print_json_string(file, warning);
    }
    fprintf(file, "],\"kept\":%s}\n", words[kept]);
    fclose(file);
    return text;
}

enum live_kept live_kept(const struct live *live, uint64_t number, const char **ret_why)
{
    static const enum live_kept states[] = {[KEEPING_PENDING] = LIVE_KEPT_PENDING,
                                            [KEEPING_DONE] = LIVE_KEPT,
                                            [KEEPING_FAILED] = LIVE_KEEP_FAILED};

    return number ? states[keeping_state(live->keeping, number, ret_why)] : LIVE_NOT_KEPT;
}

static void swap_overrides(struct config_overrides *a, struct config_overrides *b)
{
    struct config_overrides between = *a;

    *a = *b;
    *b = between;
}

static void take_change(struct live *live, struct live_request *request, struct draft *change)
{
    swap_overrides(&live->in_effect, &change->in_effect);
    if (!request->is_kept)
        return;
    swap_overrides(&live->kept, &change->kept);
    if (live->keeping)
        request->number = keeping_put(live->keeping, &live->kept, request->who);
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
                        struct live_request *request, struct draft *change,
                        struct config_problems *problems, struct config **ret_config)
{
    int r = patch_read(running, &live->kept, request->role, request->text, request->size,
                       &request->fault, &change->asked, &change->resets);

    if (r == 0 && request->is_kept && !live->store) {
        return error_set(&request->fault.error, -EINVAL,
                         "got keep, but there is no place to keep settings in: set "
                         "STATE_DIRECTORY, XDG_STATE_HOME or HOME");
    }
    r = r < 0 ? r : lay_change(live, request->uncovers, change);
    r = r < 0 ? r : load(live, &change->in_effect, problems, ret_config);
    r = r < 0 ? r
              : config_check_reveals(config_file_plain(live->file), running, *ret_config,
                                     &change->asked, &change->resets, request->uncovers,
                                     &request->fault);
    return r < 0 ? r : check_recorded(change, *ret_config, request);
}

void live_change(struct live *live, const struct config *running, struct live_request *request,
                 struct config **ret_config)
{
    _cleanup_(finish_draft) struct draft change = {0};
    _cleanup_(config_problems_finish) struct config_problems problems = {0};
    _cleanup_(cleanup_config) struct config *config = NULL;
    int r = check_change(live, running, request, &change, &problems, &config);

    *ret_config = NULL;
    if (r < 0) {
        if (!*request->fault.error.text)
            take_fault(&problems, r, &request->fault);
        request->status = status_of(r);
        return;
    }
    tidy(&change.in_effect, config);
    tidy(&change.kept, config);
    request->reply = tell_change(live, request, &change, &problems, running, config);
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
    _cleanup_(cleanup_free) char *origin = file_origin(to->live, path);
    bool kept = over && has(&to->live->kept, over);
    bool saved = kept && has(keeping_saved(to->live->keeping), over);

    fprintf(to->file,
            "%s{\"key\":\"%s\",\"file\":%s,\"running\":%s,\"kept\":%s,\"from\":", to->separator,
            path, plain, running,
            saved  ? "true"
            : kept ? "\"pending\""
                   : "false");
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
    if (!to.file)
        return NULL;
    fputs("{\"settings\":[", to.file);
    for (size_t i = 0; !is_all && i < live->in_effect.count; i++) {
        const char *path = live->in_effect.list[i].path;
        struct config_place place;

        if (config_find(running, path, NULL, &place) < 0 || place.role <= role)
            describe_key(&to, path);
    }
    if (is_all)
        config_each_key(running, role, describe_each, &to);
    fputs("]}\n", to.file);
    fclose(to.file);
    return text;
}
