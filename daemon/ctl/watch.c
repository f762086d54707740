#include "daemon/ctl/watch.h"

#include "config/base.h"
#include "daemon/ctl/client.h"
#include "daemon/ctl/json_get.h"
#include "daemon/standard_output.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define DATA "data: "

static const char usage[] =
    "Usage: edgectl watch [--json] [--camera NAME] [--region NAME] [--socket PATH]\n"
    "Motion in the cameras' regions, a line for each beginning and end, as it happens.\n"
    "\n"
    "  --json         each as one line of JSON; edged(8) explains the fields\n"
    "  --camera NAME  only of this camera\n"
    "  --region NAME  only of regions of this name\n"
    "  --socket PATH  the control socket, as `control.socket` in edged.conf\n";

struct watch {
    const char *socket, *camera, *region; // NULL: not given
    bool json;
};

// The time of day where edgectl runs.
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

static int print_event(const char *text)
{
    g_autoptr(JsonParser) parser = json_parser_new();
    JsonNode *root;

    if (!json_parser_load_from_data(parser, text, -1, NULL) ||
        !(root = json_parser_get_root(parser)) || !JSON_NODE_HOLDS_OBJECT(root)) {
        return -EPROTO;
    }
    JsonObject *event = json_node_get_object(root);
    print_time(event);
    printf("%s/%s  ", get_string(event, "camera"), get_string(event, "region"));
    if (strcmp(get_string(event, "event"), "motion_started") == 0) {
        print_started(event);
    } else {
        print_ended(event);
    }
    putchar('\n');
    return 0;
}

static int on_line(void *context, const char *line)
{
    const struct watch *watch = context;
    int r = 0;

    if (strncmp(line, DATA, strlen(DATA)) != 0) {
        return 0; // its id, its name, or a sign of life
    }
    if (watch->json) {
        puts(line + strlen(DATA));
    } else {
        r = print_event(line + strlen(DATA));
    }
    return standard_output_flush() ? r : -EIO;
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

static int follow(struct watch *watch)
{
    g_autofree char *page = make_page(watch);
    _cleanup_(cleanup_free) char *path = NULL;
    struct error error = {0};
    int r = client_find_socket(watch->socket, &error, &path);

    r = r < 0 ? r : client_follow(path, page, on_line, watch, &error);
    if (ferror(stdout)) {
        return 1; // main() says why
    }
    if (r == -EPROTO && !error.text[0]) {
        error_set(&error, r, "edged's event is no JSON object: are both of one version?");
    }
    if (r < 0) {
        fprintf(stderr, "edgectl: %s\n", error.text);
        return 1;
    }
    fputs("edgectl: edged ended the stream\n", stderr);
    return 0;
}

int ctl_watch(int argc, char **argv)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'},         {"camera", required_argument, NULL, 'c'},
        {"region", required_argument, NULL, 'r'}, {"socket", required_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},         {0},
    };
    struct watch watch = {0};
    int option;

    optind = 0; // main's own options were parsed before
    while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
        switch (option) {
        case 'j':
            watch.json = true;
            break;
        case 'c':
            watch.camera = optarg;
            break;
        case 'r':
            watch.region = optarg;
            break;
        case 's':
            watch.socket = optarg;
            break;
        case 'h':
            fputs(usage, stdout);
            return 0;
        default:
            fputs(usage, stderr);
            return 2;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "edgectl: watch takes no argument \"%s\"\n%s", argv[optind], usage);
        return 2;
    }
    return follow(&watch);
}
