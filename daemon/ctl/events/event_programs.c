#include "daemon/ctl/events/event_programs.h"

#include "daemon/ctl/client.h"

#include <glib.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define GRACE_S 2

struct event_programs {
    char *const *command; // borrowed
    int timeout_s;
    GHashTable *running; // of struct program by its region; owned
    unsigned ran, failed, ended, skipped;
};

struct program {
    struct event_programs *programs; // borrowed
    char *region;                    // "camera/region"; owned
    GPid pid;
    guint child, timer; // GLib source ids
    unsigned skipped;   // events of its region, since it runs
    bool ended;         // at its time limit, or with edgectl
};

struct event_programs *event_programs_new(char *const *command, int timeout_s)
{
    struct event_programs *programs = g_new0(struct event_programs, 1);

    programs->command = command;
    programs->timeout_s = timeout_s;
    programs->running = g_hash_table_new(g_str_hash, g_str_equal);
    return programs;
}

static void program_free(struct program *program)
{
    g_clear_handle_id(&program->timer, g_source_remove);
    g_free(program->region);
    g_free(program);
}

static gboolean on_grace_over(gpointer data)
{
    struct program *program = data;

    program->timer = 0;
    kill(-program->pid, SIGKILL);
    return G_SOURCE_REMOVE;
}

static void end_program(struct program *program)
{
    program->ended = true;
    kill(-program->pid, SIGTERM);
    g_clear_handle_id(&program->timer, g_source_remove);
    program->timer = g_timeout_add_seconds(GRACE_S, on_grace_over, program);
}

static gboolean on_timeout(gpointer data)
{
    struct program *program = data;

    fprintf(stderr, "edgectl: %s: %s is ended after %d s, its time limit\n", program->region,
            program->programs->command[0], program->programs->timeout_s);
    program->timer = 0;
    end_program(program);
    program->programs->ended++;
    return G_SOURCE_REMOVE;
}

static void say_failed(const struct program *program, int status)
{
    const struct event_programs *programs = program->programs;

    fprintf(stderr, "edgectl: %s: %s failed with %s %d (%u of %u so far)\n", program->region,
            programs->command[0], WIFSIGNALED(status) ? "signal" : "exit status",
            WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), programs->failed,
            programs->ran);
}

static void on_child(GPid pid, int status, gpointer data)
{
    struct program *program = data;
    struct event_programs *programs = program->programs;

    (void)pid;
    if (!program->ended && status != 0) {
        programs->failed++;
        say_failed(program, status);
    }
    if (program->skipped > 0) {
        fprintf(stderr, "edgectl: %s: events skipped while %s ran: %u (%u so far)\n",
                program->region, programs->command[0], program->skipped, programs->skipped);
    }
    g_hash_table_remove(programs->running, program->region);
    program_free(program);
}

// The text of a member: text, a number or the box, which is all that an event has.
static char *value_text(JsonNode *node)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE];

    if (JSON_NODE_HOLDS_OBJECT(node)) {
        JsonObject *box = json_node_get_object(node);

        return g_strdup_printf("%.0f,%.0f,%.0f,%.0f", get_number(box, "x"), get_number(box, "y"),
                               get_number(box, "width"), get_number(box, "height"));
    }
    if (json_node_get_value_type(node) == G_TYPE_STRING) {
        return g_strdup(json_node_get_string(node));
    }
    if (json_node_get_value_type(node) == G_TYPE_INT64) {
        return g_strdup_printf("%" G_GINT64_FORMAT, json_node_get_int(node));
    }
    return g_strdup(g_ascii_formatd(number, sizeof number, "%.6g", json_node_get_double(node)));
}

static char **make_environment(JsonObject *event, const char *json)
{
    char **environment = g_environ_setenv(g_get_environ(), "EDGED_JSON", json, TRUE);
    GList *names = json_object_get_members(event);

    for (GList *each = names; each; each = each->next) {
        g_autofree char *capitals = g_ascii_strup(each->data, -1);
        g_autofree char *name = g_strconcat("EDGED_", capitals, NULL);
        JsonNode *node = json_object_get_member(event, each->data);

        if (JSON_NODE_HOLDS_OBJECT(node) || JSON_NODE_HOLDS_VALUE(node)) {
            g_autofree char *value = value_text(node);

            environment = g_environ_setenv(environment, name, value, TRUE);
        }
    }
    g_list_free(names);
    return environment;
}

// Called between fork and exec.
static void lead_a_group(gpointer data)
{
    (void)data;
    setpgid(0, 0);
    dup2(STDERR_FILENO, STDOUT_FILENO);
}

static void start(struct event_programs *programs, const char *region, JsonObject *event,
                  const char *json)
{
    g_auto(GStrv) environment = make_environment(event, json);
    g_autoptr(GError) error = NULL;
    struct program *program;
    GPid pid;

    programs->ran++;
    if (!g_spawn_async(NULL, (char **)programs->command, environment,
                       G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_SEARCH_PATH, lead_a_group, NULL, &pid,
                       &error)) {
        programs->failed++;
        fprintf(stderr, "edgectl: %s: %s (%u of %u failed so far)\n", region, error->message,
                programs->failed, programs->ran);
        return;
    }
    program = g_new0(struct program, 1);
    program->programs = programs;
    program->region = g_strdup(region);
    program->pid = pid;
    program->child = g_child_watch_add(pid, on_child, program);
    program->timer = g_timeout_add_seconds((guint)programs->timeout_s, on_timeout, program);
    g_hash_table_insert(programs->running, program->region, program);
}

void event_programs_take(struct event_programs *programs, JsonObject *event, const char *json)
{
    g_autofree char *region =
        g_strdup_printf("%s/%s", get_string(event, "camera"), get_string(event, "region"));
    struct program *program = g_hash_table_lookup(programs->running, region);

    if (program) {
        program->skipped++;
        programs->skipped++;
    } else {
        start(programs, region, event, json);
    }
}

static gboolean on_deadline(gpointer data)
{
    bool *over = data;

    *over = true;
    return G_SOURCE_REMOVE;
}

// A program that was killed and does not end is left behind.
static void end_all(struct event_programs *programs)
{
    GHashTableIter each;
    gpointer program;
    bool over = false;
    guint deadline = g_timeout_add_seconds(GRACE_S + 1, on_deadline, &over);

    g_hash_table_iter_init(&each, programs->running);
    while (g_hash_table_iter_next(&each, NULL, &program)) {
        programs->ended += !((struct program *)program)->ended;
        end_program(program);
    }
    while (g_hash_table_size(programs->running) > 0 && !over) {
        g_main_context_iteration(NULL, TRUE);
    }
    if (!over) {
        g_source_remove(deadline);
    }
    g_hash_table_iter_init(&each, programs->running);
    while (g_hash_table_iter_next(&each, NULL, &program)) {
        g_source_remove(((struct program *)program)->child);
        program_free(program);
    }
}

void event_programs_free(struct event_programs *programs)
{
    if (!programs) {
        return;
    }
    end_all(programs);
    if (programs->ran > 0) {
        fprintf(stderr, "edgectl: %s: runs %u, failed %u, ended %u, events skipped %u\n",
                programs->command[0], programs->ran, programs->failed, programs->ended,
                programs->skipped);
    }
    g_hash_table_unref(programs->running);
    g_free(programs);
}
