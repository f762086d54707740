// `edgectl watch`: the motion events of the running edged, a line each, as they come.
#include "daemon/ctl/commands.h"

#include "daemon/common/standard_output.h"
#include "daemon/ctl/arguments.h"
#include "daemon/ctl/client.h"
#include "daemon/ctl/events/event_follower.h"
#include "daemon/ctl/events/event_programs.h"
#include "daemon/ctl/json_get.h"

#include <errno.h>
#include <glib-unix.h>
#include <stdio.h>
#include <string.h>

#define RECONNECT_S 60
#define RECONNECT_S_MAX 86400
#define EXEC_TIMEOUT_S 30
#define EXEC_TIMEOUT_S_MAX 3600

static const char usage[] =
    "Usage: edgectl watch [OPTION]... [--exec PROGRAM [ARGUMENT]...]\n"
    "Motion in the cameras' regions, a line for each beginning and end, as it happens.\n"
    "\n"
    "  --json            each as one line of JSON; edged(8) explains the fields\n"
    "  --camera NAME     only of this camera\n"
    "  --region NAME     only of regions of this name\n"
    "  --reconnect-s N   how long edged may be away before it is gone, 0 to 86400; 60\n"
    "  --config FILE     the running edged's configuration, which names its control socket\n"
    "  --socket PATH     the control socket, as `control.socket` in edged.conf\n"
    "  --exec-timeout N  seconds that a program may take, 1 to 3600; 30\n"
    "  --exec PROGRAM [ARGUMENT]...\n"
    "                    run it for each event, which is in its environment (edgectl(1)); the\n"
    "                    last option, as all that follows is the program's\n";

struct watch {
    const char *config, *socket, *camera, *region; // NULL: not given
    bool json;
    int reconnect_s, exec_timeout_s;
    char **command;                  // the program and its arguments; NULL: none
    struct event_programs *programs; // owned; NULL: none
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
    if (strcmp(reason, "still") != 0) {
        printf(" (%s)", reason);
    }
}

static void print_event(JsonObject *event)
{
    print_time(event);
    printf("%s/%s  ", get_string(event, "camera"), get_string(event, "region"));
    if (strcmp(get_string(event, "event"), "motion_started") == 0) {
        print_started(event);
    } else {
        print_ended(event);
    }
    putchar('\n');
}

static int on_event(void *context, const char *json)
{
    const struct watch *watch = context;
    g_autoptr(JsonObject) event = NULL;

    if (client_parse(json, NULL, &event) < 0) {
        return -EPROTO;
    }
    if (watch->json) {
        puts(json);
    } else {
        print_event(event);
    }
    if (watch->programs) {
        event_programs_take(watch->programs, event, json);
    }
    return standard_output_flush() ? 0 : -EIO;
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

static int run_loop(struct watch *watch, const char *socket, struct error *error)
{
    g_autoptr(GMainLoop) loop = g_main_loop_new(NULL, FALSE);
    g_autofree char *page = make_page(watch);
    const struct event_follower follower = {socket, page, watch->reconnect_s, on_event, watch};
    guint term = g_unix_signal_add(SIGTERM, on_stop_signal, loop);
    guint interrupt = g_unix_signal_add(SIGINT, on_stop_signal, loop);
    int r = event_follower_run(&follower, loop, error);

    event_programs_free(TAKE(watch->programs));
    g_source_remove(term);
    g_source_remove(interrupt);
    return r;
}

static int follow(struct watch *watch)
{
    _cleanup_(cleanup_free) char *path = NULL;
    struct error error = {0};
    int r = client_choose_socket(watch->config, watch->socket, &error, &path);

    r = r < 0 ? r : run_loop(watch, path, &error);
    if (ferror(stdout)) {
        return 1; // main() says what is wrong with the output
    }
    if (r == -EPROTO && !error.text[0]) {
        error_set(&error, r, "edged's event is no JSON object: are both of one version?");
    }
    if (r < 0) {
        fprintf(stderr, "edgectl: %s\n", error.text);
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
        {"config", .text = &watch.config},
        {"socket", .text = &watch.socket},
        {"reconnect-s", .number = &watch.reconnect_s, .maximum = RECONNECT_S_MAX},
        {"exec-timeout", .number = &watch.exec_timeout_s, .minimum = 1,
         .maximum = EXEC_TIMEOUT_S_MAX},
        {"exec", .words = &watch.command},
        {0},
    };
    const struct command_line line = {.command = "watch", .usage = usage, .options = options};
    int status;

    if (!command_line_parse(&line, argc, argv, &status)) {
        return status;
    }
    if (watch.command && !can_run(watch.command[0])) {
        return 2;
    }
    watch.programs = watch.command ? event_programs_new(watch.command, watch.exec_timeout_s) : NULL;
    return follow(&watch);
}
