#include "daemon/front/model/keeping.h"

#include "daemon/common/log.h"
#include "daemon/front/model/settings_file.h"
#include "daemon/front/model/slow_write.h"

#include <glib.h>
#include <string.h>

#define APART_MS 100
#define RETRY_MS 30000
#define END_NS (2 * NS_PER_S) // with what edged waits for otherwise, less than systemd's 5 s

// A write on its way, with its result.
struct keeping_work {
    char *store, *config_path;    // owned
    struct config_overrides kept; // owned
    GHashTable *who;              // as in struct keeping, of what is new in it; owned
    uint64_t number;
    struct error error;
    int r;
};

struct keeping {
    char *store, *config_path;     // owned
    struct config_overrides kept;  // what the file is to say, number `asked`; owned
    struct config_overrides saved; // what it says, number `written`; owned
    uint64_t asked, written, failed;
    GHashTable *who;          // by path, who asked for what no write has yet; owned
    struct error error;       // of the last failure
    struct slow_write *write; // under way; owned; NULL: none
    int64_t begun_ns;         // when the last write began
    guint timer;              // of the next one; GLib source id; 0: none
    void (*told)(void *context);
    void *context;
};

typedef void change_visitor(void *context, const char *path, const char *value);

// Calls `visit` for each setting that is another in `now`; `value` is NULL for one that is not
// there any more, and "taken away" for one that takes the file's away.
static void each_change(const struct config_overrides *before, const struct config_overrides *now,
                        change_visitor *visit, void *context)
{
    for (size_t i = 0; i < now->count; i++) {
        const struct config_override *one = &now->list[i];
        const struct config_override *old = config_overrides_find(before, one->path);

        if (!old || g_strcmp0(old->value, one->value) != 0)
            visit(context, one->path, one->value ? one->value : "taken away");
    }
    for (size_t i = 0; i < before->count; i++) {
        if (!config_overrides_find(now, before->list[i].path))
            visit(context, before->list[i].path, NULL);
    }
}

// At most one line a setting in each write, so that no limit has to leave out any.
static void log_change(void *context, const char *path, const char *value)
{
    const struct keeping_work *work = context;
    const char *who = g_hash_table_lookup(work->who, path);

    if (value)
        log_notice("%s kept by %s: %.1000s", path, who, value);
    else
        log_notice("%s unset by %s", path, who);
}

static void name_change(void *context, const char *path, const char *value)
{
    GString *names = context;

    (void)value;
    g_string_append_printf(names, "%s%s", names->len ? ", " : "", path);
}

struct author {
    GHashTable *who;
    const char *name;
};

static void note_author(void *context, const char *path, const char *value)
{
    const struct author *author = context;

    (void)value;
    g_hash_table_replace(author->who, g_strdup(path), g_strdup(author->name));
}

static GHashTable *new_who(void)
{
    return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
}

// A write has failed; the next one has its changes as well.
static void take_back_who(struct keeping *keeping, GHashTable *who)
{
    GHashTableIter all;
    gpointer path, name;

    g_hash_table_iter_init(&all, who);
    while (g_hash_table_iter_next(&all, &path, &name)) {
        if (!g_hash_table_contains(keeping->who, path))
            g_hash_table_insert(keeping->who, g_strdup(path), g_strdup(name));
    }
}

static void copy_overrides(struct config_overrides *target, const struct config_overrides *from)
{
    config_overrides_finish(target);
    if (config_overrides_add(target, from) < 0) {
        g_error("no memory for settings"); // ends edged, as GLib does without memory
    }
}

static void run_write(void *work)
{
    struct keeping_work *own = work;

    own->r = settings_file_write(own->store, own->config_path, &own->kept, &own->error);
}

static void begin(struct keeping *keeping);

static gboolean on_timer(gpointer data)
{
    struct keeping *keeping = data;

    keeping->timer = 0;
    begin(keeping);
    return G_SOURCE_REMOVE;
}

static void plan(struct keeping *keeping, int64_t delay_ms)
{
    g_clear_handle_id(&keeping->timer, g_source_remove);
    keeping->timer = g_timeout_add((guint)MAX(delay_ms, 0), on_timer, keeping);
}

static void plan_next(struct keeping *keeping)
{
    plan(keeping, APART_MS - (clock_now_ns() - keeping->begun_ns) / NS_PER_MS);
}

// Takes what came of a write that has run.
static void end(struct keeping *keeping)
{
    struct keeping_work *work = slow_write_end(TAKE(keeping->write));

    if (work->r < 0) {
        if (keeping->failed <= keeping->written) { // the first since one that did not
            log_error("cannot keep settings: %s, trying again; they last until edged ends",
                      work->error.text);
        }
        keeping->error = work->error;
        keeping->failed = work->number;
        take_back_who(keeping, work->who);
    } else {
        each_change(&keeping->saved, &work->kept, log_change, work);
        copy_overrides(&keeping->saved, &work->kept);
        keeping->written = work->number;
    }
    config_overrides_finish(&work->kept);
    g_hash_table_unref(work->who);
    g_free(work->store);
    g_free(work->config_path);
    g_free(work);
}

static void on_ended(void *context)
{
    struct keeping *keeping = context;

    end(keeping);
    if (keeping_is_pending(keeping))
        plan_next(keeping);
    else if (keeping_is_unsaved(keeping))
        plan(keeping, RETRY_MS);
    keeping->told(keeping->context);
}

static void begin(struct keeping *keeping)
{
    struct keeping_work *work = g_new0(struct keeping_work, 1);

    work->store = g_strdup(keeping->store);
    work->config_path = g_strdup(keeping->config_path);
    work->number = keeping->asked;
    copy_overrides(&work->kept, &keeping->kept);
    work->who = keeping->who;
    keeping->who = new_who();
    keeping->begun_ns = clock_now_ns();
    keeping->write = slow_write_begin(run_write, work, on_ended, keeping);
}

uint64_t keeping_put(struct keeping *keeping, const struct config_overrides *kept, const char *who)
{
    struct author author = {keeping->who, who};

    each_change(keeping_is_unsaved(keeping) ? &keeping->kept : &keeping->saved, kept, note_author,
                &author);
    copy_overrides(&keeping->kept, kept);
    if (!keeping->write)
        plan_next(keeping);
    return ++keeping->asked;
}

void keeping_hurry(struct keeping *keeping)
{
    if (keeping_is_pending(keeping) && !keeping->write) {
        g_clear_handle_id(&keeping->timer, g_source_remove);
        begin(keeping);
    }
}

enum keeping_state keeping_state(const struct keeping *keeping, uint64_t number,
                                 const char **ret_why)
{
    *ret_why = keeping->error.text;
    return keeping->written >= number  ? KEEPING_DONE
           : keeping->failed >= number ? KEEPING_FAILED
                                       : KEEPING_PENDING;
}

bool keeping_is_pending(const struct keeping *keeping)
{
    return keeping->asked > MAX(keeping->written, keeping->failed);
}

bool keeping_is_unsaved(const struct keeping *keeping)
{
    return keeping->asked > keeping->written;
}

const struct config_overrides *keeping_saved(const struct keeping *keeping)
{
    return keeping ? &keeping->saved : NULL;
}

void keeping_reread(struct keeping *keeping, const struct config_overrides *saved)
{
    copy_overrides(&keeping->saved, saved);
}

struct keeping *keeping_new(const char *store, const char *config_path,
                            const struct config_overrides *saved, void (*told)(void *context),
                            void *context)
{
    struct keeping *keeping = g_new0(struct keeping, 1);

    keeping->store = g_strdup(store);
    keeping->config_path = g_strdup(config_path);
    keeping->told = told;
    keeping->context = context;
    keeping->who = new_who();
    copy_overrides(&keeping->saved, saved);
    return keeping;
}

// Writes what is not written. A disk that does not answer may hold up the end of edged only so long
// that systemd need not kill it.
static void write_rest(struct keeping *keeping)
{
    int64_t until_ns = clock_now_ns() + END_NS;
    bool is_stuck = false, has_tried = false;

    while (!is_stuck && (keeping->write || (keeping_is_unsaved(keeping) && !has_tried))) {
        has_tried = !keeping->write;
        if (has_tried)
            begin(keeping);
        is_stuck = !slow_write_wait(keeping->write, until_ns);
        if (is_stuck)
            slow_write_end(TAKE(keeping->write));
        else
            end(keeping);
    }
    if (keeping_is_unsaved(keeping)) {
        g_autoptr(GString) names = g_string_new(NULL);

        each_change(&keeping->saved, &keeping->kept, name_change, names);
        log_error("not kept, because %s %s: %s", keeping->store,
                  is_stuck ? "is still being written" : "cannot be written", names->str);
    }
}

void keeping_free(struct keeping *keeping)
{
    if (!keeping)
        return;
    g_clear_handle_id(&keeping->timer, g_source_remove);
    write_rest(keeping);
    config_overrides_finish(&keeping->kept);
    config_overrides_finish(&keeping->saved);
    g_hash_table_unref(keeping->who);
    g_free(keeping->store);
    g_free(keeping->config_path);
    g_free(keeping);
}
