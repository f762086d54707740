// `edgectl top`: what the running edged does and what it costs, once a second, from two readings of
// its status.
//
// describe() makes one JSON object of them, which is what --json prints and what the tables are
// drawn from. Unknown values are null there and "-" in a table.
#include "daemon/ctl/commands.h"

#include "daemon/client/client.h"
#include "daemon/common/json.h"
#include "daemon/common/standard_output.h"
#include "daemon/ctl/arguments.h"
#include "daemon/ctl/progress.h"
#include "daemon/ctl/table.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define DELAY_S 1
#define DELAY_S_MAX 3600
#define ITERATIONS_MAX 1000000
#define ROWS 24
#define COLUMNS 80
#define ENTER_SCREEN "\033[?1049h\033[?25l"
#define LEAVE_SCREEN "\033[?25h\033[?1049l"

static const char usage[] =
    "Usage: edgectl top [-b | --json] [-n COUNT] [-d SECONDS]\n"
    "                   " CLIENT_SYNOPSIS "\n"
    "The running edged and its costs, once a second. `q` ends it.\n"
    "\n"
    "  -b, --batch    print one table after the other; so it does where standard output is\n"
    "                 not a terminal, then once without -n\n"
    "  --json         a line of JSON each time instead; edgectl(1) explains the fields\n"
    "  -n, --iterations N\n"
    "                 end after so many\n"
    "  -d, --delay SECONDS\n"
    "                 between two; 1 without it\n" CLIENT_HELP;

static const char *const steps[] = {"capture", "compute", "encode", "link", "capture_to_rtp"};

struct top {
    struct client *client;   // owned
    int delay_s, iterations; // 0: no end
    bool batch, json;
    JsonObject *before; // owned; the status read last, NULL: none yet
    int64_t before_ns;
};

// From two readings to what is shown
// ---------------------------------------------------------------------

// The object of a list whose texts `key` and `other` are those of `like`; NULL: there is none.
static JsonObject *find_like(JsonObject *root, const char *list, JsonObject *like, const char *key,
                             const char *other)
{
    g_autoptr(GList) elements = root ? get_list(root, list) : NULL;

    for (GList *item = elements; item; item = item->next) {
        JsonObject *object = json_node_get_object(item->data);

        if (strcmp(get_string(object, key), get_string(like, key)) == 0 &&
            strcmp(get_string(object, other), get_string(like, other)) == 0) {
            return object;
        }
    }
    return NULL;
}

// How much a counter grew a second; NAN where it was not there before, or begins anew.
static double rate(JsonObject *before, JsonObject *now, const char *name, double seconds)
{
    double grown = before ? get_number(now, name) - get_number(before, name) : -1;

    return grown >= 0 && seconds > 0 ? grown / seconds : NAN;
}

// Percent of one core.
static double cpu_percent(JsonObject *before, JsonObject *now, double seconds)
{
    JsonObject *process = get_object(now, "process"),
               *process_before = get_object(before, "process");

    if (!process || !process_before ||
        get_number(process, "pid") != get_number(process_before, "pid")) {
        return NAN;
    }
    return 100 * rate(process_before, process, "cpu_s", seconds);
}

// The mean of a step's times between the readings, in milliseconds; NAN: there was no frame.
static double mean_ms(JsonObject *before, JsonObject *now, const char *step)
{
    JsonObject *latency = get_object(get_object(now, "latency_ms"), step),
               *latency_before = get_object(get_object(before, "latency_ms"), step);

    if (!latency || !latency_before)
        return NAN;
    double count = get_number(latency, "count"), count_before = get_number(latency_before, "count");
    double sum =
        get_number(latency, "mean") * count - get_number(latency_before, "mean") * count_before;
    return count > count_before ? sum / (count - count_before) : NAN;
}

static void add_latency(JsonBuilder *json, JsonObject *mount)
{
    JsonObject *all = get_object(mount, "latency_ms");

    json_begin_object(json, "latency_ms");
    for (size_t i = 0; i < ARRAY_LENGTH(steps); i++) {
        JsonObject *latency = get_object(all, steps[i]);
        bool any = latency && get_number(latency, "count") > 0;

        json_begin_object(json, steps[i]);
        json_add_number(json, "p50", any ? get_number(latency, "p50") : NAN);
        json_add_number(json, "p95", any ? get_number(latency, "p95") : NAN);
        json_builder_end_object(json);
    }
    json_builder_end_object(json);
}

static void add_view(JsonBuilder *json, JsonObject *before, JsonObject *mount, double fps,
                     double seconds)
{
    JsonObject *mount_before = find_like(before, "mounts", mount, "camera", "view");

    json_builder_begin_object(json);
    json_add_string(json, "name", get_string(mount, "view"));
    json_add_number(json, "viewers", get_number(mount, "viewers"));
    json_add_number(json, "fps", rate(mount_before, mount, "access_units", seconds));
    json_add_number(json, "bitrate_kbps", get_number(mount, "bitrate_kbps"));
    json_add_number(json, "dropped", get_number(mount, "dropped"));
    json_add_number(json, "compute_ms", mean_ms(mount_before, mount, "compute"));
    json_add_number(json, "frame_ms", fps > 0 ? 1000 / fps : NAN);
    json_add_string(json, "encoder", get_string(mount, "encoder"));
    json_add_string(json, "governor", get_string(mount, "governor"));
    add_latency(json, mount);
    json_builder_end_object(json);
}

static void add_camera(JsonBuilder *json, JsonObject *before, JsonObject *now, JsonObject *camera,
                       double seconds)
{
    JsonObject *camera_before = find_like(before, "cameras", camera, "name", "source");
    g_autoptr(GList) mounts = get_list(now, "mounts");

    json_builder_begin_object(json);
    json_add_string(json, "name", get_string(camera, "name"));
    json_add_string(json, "state", get_string(camera, "state"));
    json_add_string(json, "error", get_string(camera, "error"));
    json_add_string(json, "backend", get_string(camera, "backend"));
    json_add_string(json, "gpu", get_string(camera, "gpu"));
    json_add_string(json, "path", get_string(camera, "path"));
    json_add_number(json, "fps", get_number(camera, "fps"));
    json_add_number(json, "dropped",
                    get_number(camera, "dropped") + get_number(camera, "corrupted"));
    json_add_number(json, "cpu_percent", cpu_percent(camera_before, camera, seconds));
    json_begin_list(json, "views");
    for (GList *item = mounts; item; item = item->next) {
        JsonObject *mount = json_node_get_object(item->data);

        if (strcmp(get_string(mount, "camera"), get_string(camera, "name")) == 0)
            add_view(json, before, mount, get_number(camera, "fps"), seconds);
    }
    json_builder_end_array(json);
    json_builder_end_object(json);
}

// Of the warmest part of the board; NAN: it is not known.
static double find_celsius(JsonObject *status)
{
    JsonObject *board = get_object(status, "board");
    g_autoptr(GList) zones = board ? get_list(board, "zones") : NULL;
    double celsius = NAN;

    for (GList *item = zones; item; item = item->next)
        celsius = fmax(celsius, get_number(json_node_get_object(item->data), "celsius"));
    return celsius;
}

// The facts of `now` that are shown; the caller json_node_unref()s them.
static JsonNode *describe(JsonObject *before, JsonObject *now, double seconds)
{
    g_autoptr(JsonBuilder) json = json_builder_new();
    g_autoptr(GList) cameras = get_list(now, "cameras");

    json_builder_begin_object(json);
    json_add_string(json, "version", get_string(now, "version"));
    json_add_number(json, "uptime_s", get_number(now, "uptime_s"));
    json_add_number(json, "viewers", get_number(now, "viewers"));
    json_add_number(json, "front_cpu_percent", cpu_percent(before, now, seconds));
    json_add_number(json, "celsius", find_celsius(now));
    json_begin_list(json, "cameras");
    for (GList *item = cameras; item; item = item->next)
        add_camera(json, before, now, json_node_get_object(item->data), seconds);
    json_builder_end_array(json);
    json_builder_end_object(json);
    return json_builder_get_root(json);
}

// Tables
// ---------------------------------------------------------------------

static bool is_known(JsonObject *object, const char *name)
{
    JsonNode *node = json_object_get_member(object, name);

    return node && !JSON_NODE_HOLDS_NULL(node);
}

static void add_number(struct table *table, JsonObject *object, const char *name, int digits)
{
    if (is_known(object, name))
        table_add(table, "%.*f", digits, get_number(object, name));
    else
        table_add(table, "-");
}

static void add_text(struct table *table, JsonObject *object, const char *name)
{
    table_add(table, "%s", get_string(object, name)[0] ? get_string(object, name) : "-");
}

static void draw_summary(FILE *file, JsonObject *shown)
{
    int64_t minutes = (int64_t)get_number(shown, "uptime_s") / 60;
    int viewers = (int)get_number(shown, "viewers");

    fprintf(file, "edged %s, up %d h %02d min, %d viewer%s", get_string(shown, "version"),
            (int)(minutes / 60), (int)(minutes % 60), viewers, viewers == 1 ? "" : "s");
    if (is_known(shown, "front_cpu_percent"))
        fprintf(file, ", front process %.1f%% CPU", get_number(shown, "front_cpu_percent"));
    if (is_known(shown, "celsius"))
        fprintf(file, ", %.1f C", get_number(shown, "celsius"));
    fputs("\n\n", file);
}

static void draw_cameras(FILE *file, JsonObject *shown)
{
    static const char *const titles[] = {"CAMERA", "STATE",   "FPS",     "CPU%",
                                         "DROPS",  "BACKEND", "GPU/PATH"};
    struct table *table = table_new(titles, ARRAY_LENGTH(titles));
    g_autoptr(GList) cameras = get_list(shown, "cameras");

    for (GList *item = cameras; item; item = item->next) {
        JsonObject *camera = json_node_get_object(item->data);
        bool on_gpu = g_str_has_prefix(get_string(camera, "backend"), "CUDA");

        add_text(table, camera, "name");
        add_text(table, camera, "state");
        add_number(table, camera, "fps", 1);
        add_number(table, camera, "cpu_percent", 1);
        add_number(table, camera, "dropped", 0);
        add_text(table, camera, "backend");
        add_text(table, camera, get_string(camera, "error")[0] ? "error" : on_gpu ? "gpu" : "path");
    }
    table_print(table, file);
    table_free(table);
}

static void add_view_row(struct table *table, JsonObject *camera, JsonObject *view)
{
    JsonObject *latency = get_object(view, "latency_ms");

    table_add(table, "%s/%s", get_string(camera, "name"), get_string(view, "name"));
    add_number(table, view, "viewers", 0);
    add_number(table, view, "fps", 1);
    add_number(table, view, "bitrate_kbps", 0);
    add_number(table, view, "dropped", 0);
    for (size_t i = 0; i < ARRAY_LENGTH(steps); i++) {
        JsonObject *step = get_object(latency, steps[i]);

        if (is_known(step, "p50"))
            table_add(table, "%.1f/%.1f", get_number(step, "p50"), get_number(step, "p95"));
        else
            table_add(table, "-");
    }
    if (is_known(view, "compute_ms") && is_known(view, "frame_ms")) {
        table_add(table, "%.2f of %.1f", get_number(view, "compute_ms"),
                  get_number(view, "frame_ms"));
    } else {
        table_add(table, "-");
    }
    add_text(table, view, "encoder");
    add_text(table, view, "governor");
}

static void draw_views(FILE *file, JsonObject *shown)
{
    // Latencies are milliseconds, p50/p95.
    static const char *const titles[] = {"VIEW",     "VIEWERS", "FPS",     "KBPS", "DROPS",
                                         "CAPTURE",  "COMPUTE", "ENCODE",  "LINK", "TOTAL",
                                         "MS/FRAME", "ENCODER", "GOVERNOR"};
    struct table *table = table_new(titles, ARRAY_LENGTH(titles));
    g_autoptr(GList) cameras = get_list(shown, "cameras");

    for (GList *item = cameras; item; item = item->next) {
        JsonObject *camera = json_node_get_object(item->data);
        g_autoptr(GList) views = get_list(camera, "views");

        for (GList *view = views; view; view = view->next)
            add_view_row(table, camera, json_node_get_object(view->data));
    }
    fputc('\n', file);
    table_print(table, file);
    table_free(table);
}

// The caller g_free()s the text.
static char *draw(JsonObject *shown)
{
    _cleanup_(cleanup_free) char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    if (file) {
        draw_summary(file, shown);
        draw_cameras(file, shown);
        draw_views(file, shown);
        fclose(file);
    }
    return g_strdup(text ? text : "edgectl: out of memory\n");
}

// The screen
// ---------------------------------------------------------------------

static volatile sig_atomic_t resized;

static void note_resize(int number)
{
    (void)number;
    resized = 1;
}

static struct winsize window_size(void)
{
    struct winsize size = {0};

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_row || !size.ws_col)
        size = (struct winsize){.ws_row = ROWS, .ws_col = COLUMNS};
    return size;
}

// Draws what fits over what is there, so that nothing flickers.
static void show_on_screen(const char *text)
{
    struct winsize size = window_size();
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    fputs("\033[H", stdout);
    for (unsigned row = 0; row < size.ws_row && lines[row]; row++) {
        g_autofree char *valid = g_utf8_make_valid(lines[row], -1);
        glong length = MIN(g_utf8_strlen(valid, -1), (glong)size.ws_col);
        g_autofree char *cut = g_utf8_substring(valid, 0, length);

        printf("%s%s\033[K", row ? "\n" : "", cut);
    }
    fputs("\033[J", stdout);
    fflush(stdout);
}

// Waits until the next reading is due, or there is a window of another size to draw in. False: it
// is to end.
static bool wait_for_next(const struct top *top, bool keys, int64_t until_ns, bool *ret_redraw)
{
    struct pollfd input = {.fd = keys ? STDIN_FILENO : -1, .events = POLLIN};
    int64_t left_ms;
    char key = 0;

    *ret_redraw = false;
    while (!interrupt_seen() && (left_ms = (until_ns - clock_now_ns()) / NS_PER_MS) > 0) {
        if (poll(&input, 1, (int)left_ms) > 0 && (read(STDIN_FILENO, &key, 1) <= 0 || key == 'q'))
            return false;
        if (resized && !top->batch) {
            resized = 0;
            *ret_redraw = true;
            return true;
        }
    }
    return !interrupt_seen();
}

static void forget(struct top *top)
{
    if (top->before)
        json_object_unref(TAKE(top->before));
}

// Asks edged. The caller json_node_unref()s *ret_shown, the facts to show.
static int read_status(struct top *top, struct error *error, JsonNode **ret_shown)
{
    JsonObject *now = NULL;
    int64_t now_ns = clock_now_ns();
    int r = client_read_status(top->client, error, &now);

    if (r < 0)
        return r;
    *ret_shown = describe(top->before, now, (double)(now_ns - top->before_ns) / (double)NS_PER_S);
    forget(top);
    top->before = now;
    top->before_ns = now_ns;
    return 0;
}

// Between two readings, and for the first rates, `delay_s` pass.
static int run_batch(struct top *top, struct error *error)
{
    bool redraw;

    for (int count = 0; top->iterations == 0 || count <= top->iterations; count++) {
        g_autoptr(JsonNode) shown = NULL;
        int64_t until_ns = clock_now_ns() + top->delay_s * NS_PER_S;
        int r = read_status(top, error, &shown);

        if (r < 0)
            return r;
        if (count > 0 && top->json) {
            g_autofree char *text = json_text(shown, false);

            puts(text);
        } else if (count > 0) {
            g_autofree char *text = draw(json_node_get_object(shown));

            printf("%s%s", count > 1 ? "\n" : "", text);
        }
        bool is_last = top->iterations > 0 && count == top->iterations;
        if (!standard_output_flush() || is_last || !wait_for_next(top, false, until_ns, &redraw))
            return 0;
    }
    return 0;
}

// Until somebody types q. While edged does not answer, the reason is shown.
static void run_on_screen(struct top *top, bool keys)
{
    g_autofree char *text = NULL;
    int64_t until_ns = 0;
    bool redraw = false;

    for (int count = 0; top->iterations == 0 || count < top->iterations; count += !redraw) {
        if (!redraw) {
            g_autoptr(JsonNode) shown = NULL;
            struct error error = {0};
            int r = read_status(top, &error, &shown);

            g_free(text);
            text = r < 0 ? g_strconcat("edgectl: ", error.text, "\n", NULL)
                         : draw(json_node_get_object(shown));
            until_ns = clock_now_ns() + top->delay_s * NS_PER_S;
        }
        show_on_screen(text);
        if (!wait_for_next(top, keys, until_ns, &redraw))
            return;
    }
}

// On the other screen of the terminal, which is left as it was.
static void run_on_terminal(struct top *top)
{
    const struct sigaction on_resize = {.sa_handler = note_resize};
    struct termios before, raw;
    bool keys = tcgetattr(STDIN_FILENO, &before) == 0;

    sigaction(SIGWINCH, &on_resize, NULL);
    if (keys) {
        raw = before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    fputs(ENTER_SCREEN, stdout);
    run_on_screen(top, keys);
    fputs(LEAVE_SCREEN, stdout);
    fflush(stdout);
    if (keys)
        tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

int ctl_top(int argc, char **argv)
{
    struct top top = {.delay_s = DELAY_S};
    struct client_options where = {0};
    struct error error = {0};
    const struct command_option options[] = {
        {"batch", 'b', .flag = &top.batch},
        {"json", .flag = &top.json},
        {"iterations", 'n', .number = &top.iterations, .minimum = 1, .maximum = ITERATIONS_MAX},
        {"delay", 'd', .number = &top.delay_s, .minimum = 1, .maximum = DELAY_S_MAX},
        CLIENT_OPTIONS(&where),
        {0}};
    const struct command_line line = {.command = "top", .usage = usage, .options = options};
    int status;

    if (!command_line_parse(&line, argc, argv, &status))
        return status;
    bool on_terminal = isatty(STDOUT_FILENO);
    top.batch |= top.json || !on_terminal;
    top.iterations = !on_terminal && top.iterations == 0 ? 1 : top.iterations;
    interrupt_watch();
    int r = client_new(&where, &error, &top.client);
    if (r == 0 && top.batch)
        r = run_batch(&top, &error);
    else if (r == 0)
        run_on_terminal(&top);
    if (r < 0)
        fprintf(stderr, "edgectl: %s\n", error.text);
    forget(&top);
    client_free(top.client);
    return r < 0 ? 1 : 0;
}
