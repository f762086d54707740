// `edgectl watch`: the events of the running edged, a line each, as they come.
#include "daemon/client/client.h"
#include "daemon/client/event_stream.h"
#include "daemon/common/standard_output.h"
#include "daemon/ctl/arguments.h"
#include "daemon/ctl/commands.h"

#include <errno.h>
#include <glib-unix.h>
#include <glib.h>
#include <json-glib/json-glib.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define GRACE_S 2

// The program that `edgectl watch --exec` runs for each event: one at a time for a region, for the
// state of a camera and for a clip, none for longer than its time limit. Of the events that come
// meanwhile it then gets the newest, so that the last it hears of a region is how that is. Runs in
// GLib's default main context.
//
// The event is in the program's environment: each field that edgectl(1) lists in capitals after
// EDGED_, the box as X,Y,WIDTH,HEIGHT, names of regions with commas in between, and the JSON itself
// as EDGED_JSON. It reads nothing and
// writes to standard error. It leads a process group, which gets SIGTERM at the time limit and
// SIGKILL 2 s later.
struct event_programs {
    char *const
        *command; // a program, looked up in PATH, and its arguments, NULL at the end; borrowed
    int timeout_s;
    GHashTable *running; // of struct program by its subject; owned
    unsigned ran, failed, ended, skipped;
    bool is_ending; // no more are started
};

struct program {
    struct event_programs *programs; // borrowed
    char *subject;                   // "camera/region", "camera", "camera/clip 17"; owned
    GPid pid;
    guint child, timer; // GLib source ids
    JsonObject *next;   // the newest event of its subject since it runs; owned; NULL: none
    char *next_json;    // owned
    unsigned skipped;   // events before that, since it runs
    bool ended;         // at its time limit, or with edgectl
};

static struct event_programs *event_programs_new(char *const *command, int timeout_s)
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
    g_clear_pointer(&program->next, json_object_unref);
    g_free(program->next_json);
    g_free(program->subject);
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

    fprintf(stderr, "edgectl: %s: %s is ended after %d s, its time limit\n", program->subject,
            program->programs->command[0], program->programs->timeout_s);
    program->timer = 0;
    end_program(program);
    program->programs->ended++;
    return G_SOURCE_REMOVE;
}

static void say_failed(const struct program *program, int status)
{
    const struct event_programs *programs = program->programs;

    fprintf(stderr, "edgectl: %s: %s failed with %s %d (%u of %u so far)\n", program->subject,
            programs->command[0], WIFSIGNALED(status) ? "signal" : "exit status",
            WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), programs->failed,
            programs->ran);
}

static void start(struct event_programs *programs, const char *subject, JsonObject *event,
                  const char *json);

static void on_child(GPid pid, int status, gpointer data)
{
    struct program *program = data;
    struct event_programs *programs = program->programs;

    (void)pid;
    if (program->next && programs->is_ending) {
        program->skipped++;
        programs->skipped++;
    }
    if (!program->ended && status != 0) {
        programs->failed++;
        say_failed(program, status);
    }
    if (program->skipped > 0) {
        fprintf(stderr, "edgectl: %s: events skipped while %s ran: %u (%u so far)\n",
                program->subject, programs->command[0], program->skipped, programs->skipped);
    }
    g_hash_table_remove(programs->running, program->subject);
    if (program->next && !programs->is_ending)
        start(programs, program->subject, program->next, program->next_json);
    program_free(program);
}

static char *join(JsonArray *names)
{
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < json_array_get_length(names); i++) {
        const char *name = json_node_get_string(json_array_get_element(names, i));

        g_string_append_printf(text, "%s%s", i ? "," : "", name ? name : "");
    }
    return g_string_free(text, FALSE);
}

// The text of a member: text, a number, a truth, the box, names or nothing, which is all that an
// event has.
static char *value_text(JsonNode *node)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE];

    if (JSON_NODE_HOLDS_ARRAY(node))
        return join(json_node_get_array(node));
    if (JSON_NODE_HOLDS_OBJECT(node)) {
        JsonObject *box = json_node_get_object(node);

        return g_strdup_printf("%.0f,%.0f,%.0f,%.0f", get_number(box, "x"), get_number(box, "y"),
                               get_number(box, "width"), get_number(box, "height"));
    }
    if (JSON_NODE_HOLDS_NULL(node))
        return g_strdup("");
    if (json_node_get_value_type(node) == G_TYPE_STRING)
        return g_strdup(json_node_get_string(node));
    if (json_node_get_value_type(node) == G_TYPE_INT64)
        return g_strdup_printf("%" G_GINT64_FORMAT, json_node_get_int(node));
    if (json_node_get_value_type(node) == G_TYPE_BOOLEAN)
        return g_strdup(json_node_get_boolean(node) ? "true" : "false");
    return g_strdup(g_ascii_formatd(number, sizeof number, "%.6g", json_node_get_double(node)));
}

static char **make_environment(JsonObject *event, const char *json)
{
    // No others: EDGED_TOKEN and EDGED_CAMERA_PROGRAM mean something to edgectl and edged.
    static const char *const fields[] = {
        "event", "camera",     "region", "number", "time",     "time_ns", "started", "share",
        "peak",  "box",        "clip",   "reason", "state",    "live",    "error",   "id",
        "view",  "duration_s", "start",  "end",    "duration", "regions", "url",     "picture"};
    char **environment = g_environ_setenv(g_get_environ(), "EDGED_JSON", json, TRUE);

    for (size_t i = 0; i < ARRAY_LENGTH(fields); i++) {
        JsonNode *node = json_object_get_member(event, fields[i]);
        g_autofree char *capitals = g_ascii_strup(fields[i], -1);
        g_autofree char *name = g_strconcat("EDGED_", capitals, NULL);
        g_autofree char *value = node ? value_text(node) : NULL;

        if (value)
            environment = g_environ_setenv(environment, name, value, TRUE);
    }
    return environment;
}

// Called between fork and exec.
static void lead_a_group(gpointer data)
{
    (void)data;
    setpgid(0, 0);
    dup2(STDERR_FILENO, STDOUT_FILENO);
}

static void start(struct event_programs *programs, const char *subject, JsonObject *event,
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
        fprintf(stderr, "edgectl: %s: %s (%u of %u failed so far)\n", subject, error->message,
                programs->failed, programs->ran);
        return;
    }
    program = g_new0(struct program, 1);
    program->programs = programs;
    program->subject = g_strdup(subject);
    program->pid = pid;
    program->child = g_child_watch_add(pid, on_child, program);
    program->timer = g_timeout_add_seconds((guint)programs->timeout_s, on_timeout, program);
    g_hash_table_insert(programs->running, program->subject, program);
}

static void take_next(struct program *program, JsonObject *event, const char *json)
{
    if (program->next) {
        program->skipped++;
        program->programs->skipped++;
        json_object_unref(program->next);
        g_free(program->next_json);
    }
    program->next = json_object_ref(event);
    program->next_json = g_strdup(json);
}

// The thing whose state the newest event tells alone. The caller g_free()s it.
static char *subject_of(JsonObject *event)
{
    const char *camera = get_string(event, "camera"), *region = get_string(event, "region");

    if (json_object_has_member(event, "id"))
        return g_strdup_printf("%s/clip %.0f", camera, get_number(event, "id"));
    return *region   ? g_strdup_printf("%s/%s", camera, region)
           : *camera ? g_strdup(camera)
                     : g_strdup(get_string(event, "event"));
}

// Runs the program for an event, `json` in one line; while one of the same subject runs,
// afterwards. An event that another one follows by then is skipped. Says on stderr what goes wrong.
static void event_programs_take(struct event_programs *programs, JsonObject *event,
                                const char *json)
{
    g_autofree char *subject = subject_of(event);
    struct program *program = g_hash_table_lookup(programs->running, subject);

    if (program)
        take_next(program, event, json);
    else
        start(programs, subject, event, json);
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

    programs->is_ending = true;

    g_hash_table_iter_init(&each, programs->running);
    while (g_hash_table_iter_next(&each, NULL, &program)) {
        programs->ended += !((struct program *)program)->ended;
        end_program(program);
    }
    while (g_hash_table_size(programs->running) > 0 && !over)
        g_main_context_iteration(NULL, TRUE);
    if (!over)
        g_source_remove(deadline);
    g_hash_table_iter_init(&each, programs->running);
    while (g_hash_table_iter_next(&each, NULL, &program)) {
        g_source_remove(((struct program *)program)->child);
        program_free(program);
    }
}

// Ends the programs that run, and says on stderr how many ran, failed, were ended and were skipped.
// Takes NULL.
static void event_programs_free(struct event_programs *programs)
{
    if (!programs)
        return;
    end_all(programs);
    if (programs->ran > 0) {
        fprintf(stderr, "edgectl: %s: runs %u, failed %u, ended %u, events skipped %u\n",
                programs->command[0], programs->ran, programs->failed, programs->ended,
                programs->skipped);
    }
    g_hash_table_unref(programs->running);
    g_free(programs);
}

#define RETRY_MS 500
#define RECONNECT_S 60
#define RECONNECT_S_MAX 86400
#define EXEC_TIMEOUT_S 30
#define EXEC_TIMEOUT_S_MAX 3600

static const char usage[] =
    "Usage: edgectl watch [OPTION]... " CLIENT_SYNOPSIS "\n"
    "                     [--exec PROGRAM [ARGUMENT]...]\n"
    "Motion in the cameras' regions as it begins and ends, the states of cameras, clips as they\n"
    "end, and changes of settings, a line each.\n"
    "\n"
    "  --json         each as one line of JSON; edged(8) explains the fields\n"
    "  --camera NAME  only of this camera\n"
    "  --region NAME  only of regions of this name\n"
    "  --reconnect-s N\n"
    "                 how long edged may be away before it is gone, 0 to 86400; 60\n"
    "  --exec-timeout N\n"
    "                 seconds that a program may take, 1 to 3600; 30\n"
    "  --exec PROGRAM [ARGUMENT]...\n"
    "                 run it for each event, which is in its environment (edgectl(1)); the\n"
    "                 last option, as all that follows is the program's\n" CLIENT_HELP;

struct watch {
    // The command line.
    struct client_options where;
    const char *camera, *region; // NULL: not given
    bool json;
    int reconnect_s, exec_timeout_s;
    char **command; // the program and its arguments; NULL: none

    struct client *client;           // owned
    char *page;                      // what it is asked; owned
    struct event_programs *programs; // owned; NULL: none
    GMainLoop *loop;                 // owned
    struct event_stream stream;
    guint retry, output; // GLib source ids; 0: none
    gint64 lost_us;      // when the connection was lost
    bool is_unread;      // standard output is a pipe whose reader has closed it
    int result;          // why the loop ended
    struct error error;
};

// Prints the event's time in the time zone of this machine.
static void print_time(JsonObject *event)
{
    g_autoptr(GDateTime) utc = g_date_time_new_from_iso8601(get_string(event, "time"), NULL);
    g_autoptr(GDateTime) local = utc ? g_date_time_to_local(utc) : NULL;
    g_autofree char *text = local ? g_date_time_format(local, "%Y-%m-%d %H:%M:%S") : NULL;

    printf("%s  ", text ? text : "-");
}

static void print_started(JsonObject *event)
{
    JsonObject *box = get_object(event, "box");

    printf("motion began, %.1f%%", get_number(event, "share") * 100);
    if (box) {
        printf(", %.0fx%.0f at %.0f,%.0f", get_number(box, "width"), get_number(box, "height"),
               get_number(box, "x"), get_number(box, "y"));
    }
}

static void print_ended(JsonObject *event)
{
    const char *reason = get_string(event, "reason");

    printf("motion ended after %.1f s, at most %.1f%%", get_number(event, "duration_s"),
           get_number(event, "peak") * 100);
    if (strcmp(reason, "still") != 0)
        printf(" (%s)", reason);
}

static void print_state(JsonObject *event)
{
    const char *error = get_string(event, "error");

    printf("%s%s%s", get_string(event, "state"), *error ? ": " : "", error);
}

static void print_clip(JsonObject *event)
{
    printf("clip %.0f of %s ended after %.1f s: %s", get_number(event, "id"),
           get_string(event, "view"), get_number(event, "duration"), get_string(event, "url"));
}

static void print_settings(JsonObject *event)
{
    (void)event;
    fputs("the settings have changed", stdout);
}

static const struct {
    const char *event;
    void (*print)(JsonObject *event);
} kinds[] = {
    {"motion_started", print_started},    {"motion_ended", print_ended},
    {"camera_state", print_state},        {"clip_ended", print_clip},
    {"settings_changed", print_settings},
};

static void print_event(JsonObject *event)
{
    const char *camera = get_string(event, "camera"), *region = get_string(event, "region");
    const char *name = get_string(event, "event");
    size_t i = 0;

    print_time(event);
    if (*camera)
        printf("%s%s%s  ", camera, *region ? "/" : "", region);
    while (i < ARRAY_LENGTH(kinds) && strcmp(kinds[i].event, name) != 0)
        i++;
    if (i < ARRAY_LENGTH(kinds))
        kinds[i].print(event);
    else // of a newer edged
        fputs(name, stdout);
    putchar('\n');
}

static int take_event(void *context, const char *json)
{
    struct watch *watch = context;
    g_autoptr(JsonObject) event = NULL;

    if (client_parse(json, NULL, &event) < 0) {
        return error_set(&watch->error, -EPROTO,
                         "edged's event is no JSON object: are both of one version?");
    }
    if (watch->json)
        puts(json);
    else
        print_event(event);
    if (watch->programs)
        event_programs_take(watch->programs, event, json);
    return standard_output_flush() ? 0 : -EIO;
}

static void end(struct watch *watch, int result)
{
    watch->result = result;
    g_main_loop_quit(watch->loop);
}

static gboolean on_retry(gpointer data);

static void on_lost(void *context, int result, const char *how)
{
    struct watch *watch = context;

    if (result < 0) {
        if (!watch->error.text[0])
            error_set(&watch->error, result, "%s", how);
        end(watch, result);
        return;
    }
    if (watch->reconnect_s == 0) {
        end(watch, error_set(&watch->error, -ETIMEDOUT, "%s", how));
        return;
    }
    fprintf(stderr, "edgectl: %s, trying for %d s to come back\n", how, watch->reconnect_s);
    watch->lost_us = g_get_monotonic_time();
    watch->retry = g_timeout_add(RETRY_MS, on_retry, watch);
}

static gboolean on_retry(gpointer data)
{
    struct watch *watch = data;
    struct error error = {0};
    int away_s, r = event_stream_connect(&watch->stream, &error);

    away_s = (int)((g_get_monotonic_time() - watch->lost_us) / G_USEC_PER_SEC);
    if (r < 0 && r != -EINVAL && away_s < watch->reconnect_s)
        return G_SOURCE_CONTINUE;
    watch->retry = 0;
    if (r == 0) {
        fputs("edgectl: edged is back\n", stderr);
    } else if (r == -EINVAL) {
        watch->error = error;
        end(watch, r);
    } else {
        error_set(&watch->error, -ETIMEDOUT, "edged has been away for %d s: %s", away_s,
                  error.text);
        end(watch, -ETIMEDOUT);
    }
    return G_SOURCE_REMOVE;
}

static char *make_page(const struct watch *watch)
{
    g_autofree char *camera =
        watch->camera ? g_uri_escape_string(watch->camera, NULL, FALSE) : NULL;
    g_autofree char *region =
        watch->region ? g_uri_escape_string(watch->region, NULL, FALSE) : NULL;

    return g_strconcat("/v1/events", camera || region ? "?" : "", camera ? "camera=" : "",
                       camera ? camera : "", camera && region ? "&" : "", region ? "region=" : "",
                       region, NULL);
}

static gboolean on_stop_signal(gpointer loop)
{
    g_main_loop_quit(loop);
    return G_SOURCE_CONTINUE;
}

// The reader of `edgectl watch | head -1` has closed the pipe; the next event may be hours away.
static gboolean on_output(gint fd, GIOCondition condition, gpointer data)
{
    struct watch *watch = data;

    (void)fd;
    watch->output = 0;
    watch->is_unread = condition & G_IO_ERR;
    if (watch->is_unread)
        g_main_loop_quit(watch->loop);
    return G_SOURCE_REMOVE;
}

static int run_loop(struct watch *watch)
{
    const struct event_stream_handler handler = {take_event, on_lost, watch};
    guint term, interrupt;

    watch->loop = g_main_loop_new(NULL, FALSE);
    watch->page = make_page(watch);
    event_stream_init(&watch->stream, watch->client, watch->page, &handler);
    term = g_unix_signal_add(SIGTERM, on_stop_signal, watch->loop);
    interrupt = g_unix_signal_add(SIGINT, on_stop_signal, watch->loop);
    watch->output = g_unix_fd_add(STDOUT_FILENO, G_IO_ERR, on_output, watch);
    watch->result = event_stream_connect(&watch->stream, &watch->error);
    if (watch->result == 0)
        g_main_loop_run(watch->loop);
    event_stream_finish(&watch->stream);
    g_clear_handle_id(&watch->retry, g_source_remove);
    g_clear_handle_id(&watch->output, g_source_remove);
    event_programs_free(TAKE(watch->programs));
    g_source_remove(term);
    g_source_remove(interrupt);
    g_main_loop_unref(watch->loop);
    g_free(watch->page);
    return watch->result;
}

static int follow(struct watch *watch)
{
    int r = client_new(&watch->where, &watch->error, &watch->client);

    r = r < 0 ? r : run_loop(watch);
    client_free(watch->client);
    if (watch->is_unread) {
        raise(SIGPIPE); // as the next line would
    }
    if (ferror(stdout)) {
        return 1; // main() says what is wrong with the output
    }
    if (r < 0) {
        fprintf(stderr, "edgectl: %s\n", watch->error.text);
        return 1;
    }
    return 0;
}

static bool can_run(const char *program)
{
    g_autofree char *path = g_find_program_in_path(program);

    if (!path) {
        fprintf(stderr, "edgectl: --exec: there is no program \"%s\" that can be run%s\n", program,
                strchr(program, '/') ? "" : " in PATH");
    }
    return path;
}

int ctl_watch(int argc, char **argv)
{
    struct watch watch = {.reconnect_s = RECONNECT_S, .exec_timeout_s = EXEC_TIMEOUT_S};
    const struct command_option options[] = {
        {"json", .flag = &watch.json},
        {"camera", .text = &watch.camera},
        {"region", .text = &watch.region},
        CLIENT_OPTIONS(&watch.where),
        {"reconnect-s", .number = &watch.reconnect_s, .maximum = RECONNECT_S_MAX},
        {"exec-timeout", .number = &watch.exec_timeout_s, .minimum = 1,
         .maximum = EXEC_TIMEOUT_S_MAX},
        {"exec", .words = &watch.command},
        {0},
    };
    const struct command_line line = {.command = "watch", .usage = usage, .options = options};
    int status;

    if (!command_line_parse(&line, argc, argv, &status))
        return status;
    if (watch.command && !can_run(watch.command[0]))
        return 2;
    watch.programs = watch.command ? event_programs_new(watch.command, watch.exec_timeout_s) : NULL;
    return follow(&watch);
}
