// `edgectl status`: what the running edged does, as tables or as its JSON; `edgectl reload`, which
// has it load its configuration again, and prints the verdict; and `edgectl page`, which prints the
// address of its page.
#include "daemon/ctl/status.h"

#include "daemon/client/client.h"
#include "daemon/common/json.h"
#include "daemon/ctl/arguments.h"
#include "daemon/ctl/commands.h"
#include "daemon/ctl/table.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char status_usage[] =
    "Usage: edgectl status [--json] " CLIENT_SYNOPSIS "\n"
    "The state of the running edged: its cameras, its mounts, their viewers and latency.\n"
    "\n"
    "  --json         the whole status as JSON; edgectl(1) explains the fields\n" CLIENT_HELP;

static const char reload_usage[] =
    "Usage: edgectl reload [--json] " CLIENT_SYNOPSIS "\n"
    "Has the running edged load its configuration again, as SIGHUP does, and waits for the "
    "verdict:\n"
    "errors and warnings go to standard error, and the exit status is 1 when it was refused.\n"
    "\n"
    "  --json         the verdict as JSON; edgectl(1) explains the fields\n" CLIENT_HELP;

static const char page_usage[] =
    "Usage: edgectl page [--json] " CLIENT_SYNOPSIS "\n"
    "Prints the address of the running edged's page, for a browser on this machine. Without users "
    "it\n"
    "holds a secret, with which the page may change settings, until edged ends: show it to "
    "nobody.\n"
    "With --host it is the address there, without a secret: the page asks for a user.\n"
    "\n"
    "  --json         the same as JSON: {\"url\": ...}\n" CLIENT_HELP;

static void print_summary(JsonObject *status)
{
    int64_t minutes = (int64_t)get_number(status, "uptime_s") / 60;
    int viewers = (int)get_number(status, "viewers");

    printf("edged %s, %s, up %d h %02d min, %d viewer%s, %s\n", get_string(status, "version"),
           get_string(status, "backend"), (int)(minutes / 60), (int)(minutes % 60), viewers,
           viewers == 1 ? "" : "s", get_string(status, "rtsp"));
}

// Prints the other URLs by which edged is reached, and the certificate's fingerprint, which clients
// should compare.
static void print_network(JsonObject *status)
{
    JsonObject *certificate = get_object(status, "certificate");

    if (get_string(status, "rtsps")[0] &&
        strcmp(get_string(status, "rtsps"), get_string(status, "rtsp")) != 0) {
        printf("inside TLS: %s\n", get_string(status, "rtsps"));
    }
    if (get_string(status, "http")[0])
        printf("page, status and metrics: %s\n", get_string(status, "http"));
    if (get_string(status, "certificate_error")[0]) {
        printf("certificate: none, so nothing is served inside TLS until a reload can: %s\n",
               get_string(status, "certificate_error"));
    }
    if (certificate) {
        printf("certificate: %s, until %.10s\n", get_string(certificate, "fingerprint"),
               get_string(certificate, "expires"));
    }
}

// Prints that the last reload was refused, so that the file is not what is in use.
static void print_configuration(JsonObject *status)
{
    JsonObject *verdict = get_object(status, "configuration");
    g_autoptr(GList) problems = verdict ? get_list(verdict, "problems") : NULL;

    if (!verdict || get_boolean(verdict, "successful"))
        return;
    printf("the reload at %s was refused, the configuration of %s is in use:\n",
           get_string(verdict, "time"), get_string(verdict, "applied"));
    for (GList *item = problems; item; item = item->next)
        printf("  %s\n", json_node_get_string(item->data));
}

void status_print_settings(const struct client *client, const char *title)
{
    _cleanup_(cleanup_free) char *body = NULL;
    g_autoptr(JsonObject) reply = NULL;
    g_autoptr(GList) settings = NULL;

    if (client_get(client, "/v1/config/settings", NULL, &body) < 0 ||
        client_parse(body, NULL, &reply) < 0) {
        return;
    }
    settings = get_list(reply, "settings");
    if (settings)
        fputs(title, stdout);
    for (GList *item = settings; item; item = item->next) {
        JsonObject *one = json_node_get_object(item->data);
        g_autofree char *running = json_text(json_object_get_member(one, "running"), false);
        g_autofree char *file = json_text(json_object_get_member(one, "file"), false);

        printf("%s: %s = %s, over %s (%s)\n", get_string(one, "from"), get_string(one, "key"),
               strcmp(running, "null") == 0 ? "nothing" : running,
               strcmp(file, "null") == 0 ? "none" : file, get_string(one, "file_from"));
    }
}

// Prints what the recorder has, or why nothing is recorded.
static void print_recorder(JsonObject *status)
{
    JsonObject *recorder = get_object(status, "recorder");
    JsonObject *storage = get_object(status, "storage");
    const char *state = recorder ? get_string(recorder, "state") : "off";

    if (strcmp(state, "off") == 0)
        return;
    printf("recorder: %s", state);
    if (get_string(recorder, "error")[0])
        printf(", %s", get_string(recorder, "error"));
    if (get_number(recorder, "free_bytes") > 0) {
        g_autofree char *bytes = g_format_size((guint64)get_number(recorder, "clip_bytes"));
        g_autofree char *left = g_format_size((guint64)get_number(recorder, "free_bytes"));

        printf(", %.0f clips and %.0f being written, %s, %s free", get_number(recorder, "clips"),
               get_number(recorder, "open_clips"), bytes, left);
    }
    if (storage && get_number(storage, "days") >= 0.05)
        printf(", %.1f days", get_number(storage, "days"));
    if (storage && get_number(storage, "lost_clips") > 0)
        printf(", %.0f clips lost", get_number(storage, "lost_clips"));
    putchar('\n');
}

static void print_trials(JsonObject *camera)
{
    g_autoptr(GList) trials = get_list(camera, "encoder_trials");

    for (GList *item = trials; item; item = item->next) {
        JsonObject *trial = json_node_get_object(item->data);
        double took_ms = get_number(trial, "took_ms");

        printf("%s: encoder %s failed its trial", get_string(camera, "name"),
               get_string(trial, "encoder"));
        if (took_ms > 0)
            printf(" after %.0f ms", took_ms);
        printf(": %s\n", get_string(trial, "reason"));
    }
}

// Prints what is wrong with a camera, and its GPU: the name, or why there is none.
static void print_remarks(JsonObject *camera)
{
    g_autoptr(GList) passed_over = get_list(camera, "encoders_passed_over");
    const char *name = get_string(camera, "name");
    int faults = (int)get_number(camera, "gpu_faults");

    if (get_string(camera, "error")[0])
        printf("%s: %s\n", name, get_string(camera, "error"));
    for (GList *item = passed_over; item; item = item->next)
        printf("%s: %s hung and is tried last\n", name, json_node_get_string(item->data));
    print_trials(camera);
    if (get_string(camera, "gpu")[0]) {
        printf("%s: GPU: %s", name, get_string(camera, "gpu"));
        if (faults)
            printf(", %d fault%s since the start", faults, faults == 1 ? "" : "s");
        putchar('\n');
    }
}

// Prints how often each stage was computed, and how often another view used its result.
static void print_stages(JsonObject *camera)
{
    g_autoptr(GList) stages = get_list(camera, "stages");
    const char *separator = ": stages computed (shared): ";

    for (GList *item = stages; item; item = item->next) {
        JsonObject *stage = json_node_get_object(item->data);

        printf("%s%s%s %.0f (%.0f)", item == stages ? get_string(camera, "name") : "", separator,
               get_string(stage, "name"), get_number(stage, "runs"), get_number(stage, "shared"));
        separator = ", ";
    }
    if (stages)
        putchar('\n');
}

// Prints the warmest part of the board, and what is known of its power and its GPU.
static void print_board(JsonObject *status)
{
    JsonObject *board = get_object(status, "board");
    g_autoptr(GList) zones = board ? get_list(board, "zones") : NULL;
    JsonObject *warmest = NULL;
    const char *separator = "board: ";

    for (GList *item = zones; item; item = item->next) {
        JsonObject *zone = json_node_get_object(item->data);

        if (!warmest || get_number(zone, "celsius") > get_number(warmest, "celsius"))
            warmest = zone;
    }
    if (warmest) {
        printf("%s%s %.1f C", separator, get_string(warmest, "name"),
               get_number(warmest, "celsius"));
        separator = ", ";
    }
    if (board && get_string(board, "power_mode")[0]) {
        printf("%spower mode %s", separator, get_string(board, "power_mode"));
        separator = ", ";
    }
    if (board && get_number(board, "gpu_hz") > 0) {
        printf("%sGPU %.0f%% at %.0f of %.0f MHz", separator, get_number(board, "gpu_load") * 100,
               get_number(board, "gpu_hz") / 1e6, get_number(board, "gpu_hz_max") / 1e6);
        separator = ", ";
    }
    if (board && get_number(board, "throttled") > 0) {
        printf("%sslowed down by %s", separator, get_string(board, "throttled_by"));
        separator = ", ";
    }
    if (separator[0] == ',')
        putchar('\n');
}

static void print_cameras(JsonObject *status)
{
    static const char *const titles[] = {"CAMERA", "STATE",   "BACKEND", "FPS",
                                         "FRAMES", "DROPPED", "PATH"};
    struct table *table = table_new(titles, ARRAY_LENGTH(titles));
    g_autoptr(GList) cameras = get_list(status, "cameras");

    for (GList *item = cameras; item; item = item->next) {
        JsonObject *camera = json_node_get_object(item->data);

        table_add(table, "%s", get_string(camera, "name"));
        table_add(table, "%s", get_string(camera, "state"));
        table_add(table, "%s", get_string(camera, "backend"));
        table_add(table, "%.1f", get_number(camera, "fps"));
        table_add(table, "%.0f", get_number(camera, "frames"));
        table_add(table, "%.0f", get_number(camera, "dropped"));
        table_add(table, "%s", get_string(camera, "path"));
    }
    putchar('\n');
    table_print(table, stdout);
    table_free(table);
    for (GList *item = cameras; item; item = item->next) {
        print_remarks(json_node_get_object(item->data));
        print_stages(json_node_get_object(item->data));
    }
}

static void add_region(struct table *table, JsonObject *camera, JsonObject *region)
{
    JsonObject *box = get_object(region, "box");
    bool moving = get_boolean(region, "moving");

    table_add(table, "%s/%s", get_string(camera, "name"), get_string(region, "name"));
    table_add(table, moving ? "moving" : "still");
    table_add(table, "%.1f%%", get_number(region, "share") * 100);
    table_add(table, "%.0f", get_number(region, "events"));
    if (box && get_number(box, "width") > 0) {
        table_add(table, "%.0fx%.0f at %.0f,%.0f", get_number(box, "width"),
                  get_number(box, "height"), get_number(box, "x"), get_number(box, "y"));
    } else {
        table_add(table, "-");
    }
}

// Cameras have them only where the configuration says so.
static void print_regions(JsonObject *status)
{
    static const char *const titles[] = {"REGION", "STATE", "SHARE", "EVENTS", "BOX"};
    struct table *table = table_new(titles, ARRAY_LENGTH(titles));
    g_autoptr(GList) cameras = get_list(status, "cameras");

    for (GList *item = cameras; item; item = item->next) {
        JsonObject *camera = json_node_get_object(item->data);
        g_autoptr(GList) regions = get_list(camera, "regions");

        for (GList *region = regions; region; region = region->next)
            add_region(table, camera, json_node_get_object(region->data));
    }
    if (table_has_rows(table)) {
        putchar('\n');
        table_print(table, stdout);
    }
    table_free(table);
}

static void add_percentile(struct table *table, JsonObject *latency, const char *name)
{
    if (latency && get_number(latency, "count") > 0)
        table_add(table, "%.1f", get_number(latency, name));
    else
        table_add(table, "-");
}

static void print_mounts(JsonObject *status)
{
    // Latency from capture to RTP.
    static const char *const titles[] = {"MOUNT", "VIEWERS", "KBPS", "P50 MS", "P95 MS"};
    struct table *table = table_new(titles, ARRAY_LENGTH(titles));
    g_autoptr(GList) mounts = get_list(status, "mounts");

    for (GList *item = mounts; item; item = item->next) {
        JsonObject *mount = json_node_get_object(item->data);
        JsonObject *latency = get_object(get_object(mount, "latency_ms"), "capture_to_rtp");

        table_add(table, "%s%s%s", get_string(mount, "url"),
                  get_string(mount, "alias")[0] ? ", " : "", get_string(mount, "alias"));
        table_add(table, "%.0f", get_number(mount, "viewers"));
        table_add(table, "%.0f", get_number(mount, "bitrate_kbps"));
        add_percentile(table, latency, "p50");
        add_percentile(table, latency, "p95");
    }
    putchar('\n');
    table_print(table, stdout);
    table_free(table);
    for (GList *item = mounts; item; item = item->next) {
        JsonObject *mount = json_node_get_object(item->data);
        const char *recorded = get_string(mount, "recorded");

        if (strcmp(recorded, "off") != 0) {
            printf("%s is recorded (%s), so it is computed all the time\n",
                   get_string(mount, "path"), recorded);
        }
    }
}

static void print_status(JsonObject *status)
{
    print_summary(status);
    print_network(status);
    print_configuration(status);
    print_board(status);
    print_recorder(status);
    print_cameras(status);
    print_regions(status);
    print_mounts(status);
}

// Prints the verdict of a reload.
static void print_verdict(JsonObject *verdict)
{
    g_autoptr(GList) problems = get_list(verdict, "problems");

    for (GList *item = problems; item; item = item->next)
        fprintf(stderr, "%s\n", json_node_get_string(item->data));
    if (get_boolean(verdict, "successful"))
        printf("configuration reloaded from %s\n", get_string(verdict, "path"));
    else
        fputs("edgectl: the configuration was refused, the one before stays in use\n", stderr);
}

static void print_page(JsonObject *page)
{
    puts(get_string(page, "url"));
}

struct question {
    const char *usage, *page;
    bool posted; // it has the reply tell whether it was "successful"
    void (*print)(JsonObject *reply);
};

static int fetch(const struct client *client, const struct client_options *where,
                 const struct question *question, struct error *error, char **ret_body)
{
    if (question->posted)
        return client_post(client, question->page, NULL, error, ret_body);
    if (where->host && question->print == print_page) { // the link is for the control socket alone
        int r = client_get(client, "/v1/session", error, ret_body);

        if (r == 0) {
            g_free(*ret_body);
            *ret_body = g_strdup_printf("{\"url\":\"%s/\"}", client_name(client));
        }
        return r;
    }
    return client_get(client, question->page, error, ret_body);
}

// Asks the running edged, and prints its reply.
static int ask(int argc, char **argv, const struct question *question)
{
    _cleanup_(client_cleanup) struct client *client = NULL;
    _cleanup_(cleanup_free) char *body = NULL;
    struct client_options where = {0};
    g_autoptr(JsonObject) reply = NULL;
    struct error error = {0};
    bool json = false;
    const struct command_option options[] = {{"json", .flag = &json}, CLIENT_OPTIONS(&where), {0}};
    const struct command_line line = {
        .command = argv[0], .usage = question->usage, .options = options};
    int status;

    if (!command_line_parse(&line, argc, argv, &status))
        return status;
    int r = client_new(&where, &error, &client);
    r = r < 0 ? r : fetch(client, &where, question, &error, &body);
    r = r < 0 ? r : client_parse(body, &error, &reply);
    if (r < 0) {
        fprintf(stderr, "edgectl: %s\n", error.text);
        return 1;
    }
    if (json) {
        puts(body);
    } else {
        question->print(reply);
        if (question->print == print_status)
            status_print_settings(client, "");
    }
    return !question->posted || get_boolean(reply, "successful") ? 0 : 1;
}

int ctl_status(int argc, char **argv)
{
    static const struct question question = {status_usage, "/v1/status", false, print_status};

    return ask(argc, argv, &question);
}

int ctl_reload(int argc, char **argv)
{
    static const struct question question = {reload_usage, "/v1/reload", true, print_verdict};

    return ask(argc, argv, &question);
}

int ctl_page(int argc, char **argv)
{
    static const struct question question = {page_usage, "/v1/page-link", false, print_page};

    return ask(argc, argv, &question);
}
