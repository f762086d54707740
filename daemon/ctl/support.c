// `edgectl support`: what somebody who helps wants to see, in one archive, without passwords.
//
// Each file of the archive is what a command says. The command runs in a process of its own that
// is ended at a deadline, and its output stays in memory until redact() has been over it, so that
// nothing else of it ever lies on a disk.
#include "daemon/ctl/commands.h"

#include "config/parse/config_text.h"
#include "config/redact.h"
#include "daemon/ctl/arguments.h"

#include <fcntl.h>
#include <getopt.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <libconfig.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define DEADLINE_S 120
#define UNITS                                                                                      \
    "--unit=edged.service --unit=edged.socket --unit='edged-camera@*' --unit=edged-camera.socket " \
    "--unit=edged-recorder.service --unit=edged-recorder.socket --unit=edged-mqtt.service"

static const char usage[] =
    "Usage: edgectl support [--config FILE] [--output FILE]\n"
    "Makes one archive of what helps to find out what is wrong: status, log, the checks of\n"
    "`edgectl doctor`, configuration, versions and devices, without passwords. As root it has\n"
    "the whole log.\n"
    "\n"
    "  --config FILE  the configuration; without it " CONFIG_DEFAULT_PATH ", if it is there\n"
    "  --output FILE  the archive; without it edged-support-DATE-TIME.tar.gz\n";

static int print_text(const struct config_text *text)
{
    config_t tree;
    int status = 0;

    config_init(&tree);
    if (config_read_string(&tree, text->text) == CONFIG_TRUE) {
        config_write(&tree, stdout);
    } else {
        puts("It is no configuration: see doctor.md.");
        status = 1;
    }
    config_destroy(&tree);
    return status;
}

// Prints the file that --config names, with what it includes, as libconfig has read it: without its
// comments, which may say anything, and with strings that are written in pieces in one piece, so
// that redact() sees a URL as a whole. Like a command of edgectl.
static int print_config(int argc, char **argv)
{
    _cleanup_(config_problems_finish) struct config_problems problems = {0};
    struct config_text text = {.problems = &problems};
    int status = 1, r;

    if (argc < 3) {
        puts("There is none that can be read.");
        return 1;
    }
    r = config_text_read(&text, argv[2]);
    config_problems_print(&problems, stdout);
    if (r == 0)
        status = print_text(&text);
    config_text_finish(&text);
    return status;
}

static const struct support_member {
    const char *name;
    int (*run)(int argc, char **argv); // a command of edgectl; NULL: the next
    const char *argument;              // of it; NULL: none
    const char *shell;                 // one for sh
} members[] = {
    {"status.json", ctl_status, "--json", NULL},
    {"doctor.md", ctl_doctor, "--report", NULL},
    {"edged.conf", print_config, NULL, NULL},
    // The redaction would take "key" for a secret.
    {"settings.conf", .shell = "sed 's/{ key = /{ setting = /' "
                               "\"${STATE_DIRECTORY:-/var/lib/edged}/settings.conf\""},
    {"journal.txt", .shell = "journalctl " UNITS " --output=short-iso --lines=20000 --no-pager"},
    // Older ones, too. Resolving their addresses needs the programs as built then.
    {"crashes.txt", .shell =
                        "journalctl " UNITS " --output=short-iso --lines=2000 --no-pager "
                        "--grep='crashed by signal|stands at|threads of process|hangs'\n"
                        "coredumpctl --no-pager list edged edged-camera edged-recorder edged-mqtt"},
    {"kernel.txt", .shell = "journalctl --dmesg --output=short-iso --lines=2000 --no-pager"},
    {"service.txt", .shell = "systemctl --no-pager --full status edged.service edged.socket "
                             "edged-camera.socket 'edged-camera@*' edged-recorder.service "
                             "edged-recorder.socket edged-mqtt.service\n"
                             "systemctl --no-pager cat edged.service edged.socket "
                             "edged-camera.socket edged-camera@.service edged-recorder.service "
                             "edged-recorder.socket edged-mqtt.service"},
    {"versions.txt", .shell = "echo edgectl " EDGED_VERSION "; edged --version; uname -srvm\n"
                              "cat /etc/os-release /etc/nv_tegra_release\n"
                              "tr '\\0' '\\n' </proc/device-tree/model\n"
                              "dpkg-query --show 'edged*' 'libgstreamer*' 'gstreamer1.0-*' "
                              "nvidia-l4t-core 'libnvidia-compute-*'\n"
                              "nvidia-smi; gst-inspect-1.0 --version"},
    {"devices.txt", .shell = "id edged; df -h; free -m; v4l2-ctl --list-devices\n"
                             "ls -l /dev/video* /dev/media* /dev/dri /dev/nv*"},
};

// In a process of its own; does not return.
static void run_member(const struct support_member *member, const char *config_path)
{
    const char *arguments[] = {"", NULL, NULL, NULL, NULL};
    int count = 1, status;

    alarm(DEADLINE_S);
    if (member->shell) {
        execl("/bin/sh", "sh", "-c", member->shell, NULL);
        _exit(127);
    }
    if (member->argument)
        arguments[count++] = member->argument;
    if (config_path) {
        arguments[count++] = "--config";
        arguments[count++] = config_path;
    }
    optind = 0; // getopt_long() begins anew
    status = member->run(count, (char **)(void *)arguments);
    fflush(NULL);
    _exit(status);
}

// Runs it with its output in the file `output`.
static int run_into(const struct support_member *member, const char *config_path, int output)
{
    int status, nothing;
    pid_t child = fork();

    if (child < 0)
        return -errno;
    if (child == 0) {
        nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (dup2(nothing, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
            dup2(output, STDERR_FILENO) < 0) {
            _exit(127);
        }
        run_member(member, config_path);
    }
    if (waitpid(child, &status, 0) < 0)
        return -errno;
    if (WIFSIGNALED(status)) {
        dprintf(output, "\nended by signal %d (%d: it took %d s)\n", WTERMSIG(status), SIGALRM,
                DEADLINE_S);
    }
    return 0;
}

// One at a time: each is a message of its own.
static void redact_lines(char *text)
{
    char *out = text, *line = text, *next;

    do {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        redact(line);
        size_t length = strlen(line);
        memmove(out, line, length);
        out += length;
        if (next)
            *out++ = '\n';
        line = next;
    } while (line);
    *out = '\0';
}

// Skips the configuration's warnings, which come before the status and are no JSON; doctor.md has
// them.
static char *skip_warnings(const struct support_member *member, char *text)
{
    char *status = member->run == ctl_status && *text != '{' ? strstr(text, "\n{") : NULL;

    return status ? status + 1 : text;
}

static int add_member(const char *folder, const struct support_member *member,
                      const char *config_path)
{
    _cleanup_(cleanup_close) int fd = memfd_create(member->name, MFD_CLOEXEC);
    g_autofree char *text = NULL, *path = g_build_filename(folder, member->name, NULL);
    g_autofree char *output = g_strdup_printf("/proc/self/fd/%d", fd);
    g_autoptr(GError) error = NULL;
    int r = fd < 0 ? -errno : run_into(member, config_path, fd);

    if (r < 0 || !g_file_get_contents(output, &text, NULL, &error)) {
        fprintf(stderr, "edgectl: %s is left out: %s\n", member->name,
                r < 0 ? strerror(-r) : error->message);
        return 0;
    }
    redact_lines(text);
    if (!g_file_set_contents(path, skip_warnings(member, text), -1, &error)) {
        fprintf(stderr, "edgectl: %s\n", error->message);
        return -EIO;
    }
    return 0;
}

// Runs a program, which says itself what is wrong.
static bool call(const char *const *arguments)
{
    int status = -1;

    return g_spawn_sync(NULL, (char **)(void *)arguments, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL,
                        NULL, NULL, &status, NULL) &&
           status == 0;
}

// Fills the folder `name` in `parent`, and packs it.
static int pack(const char *parent, const char *name, const char *config_path, const char *output)
{
    g_autofree char *folder = g_build_filename(parent, name, NULL);
    g_autofree char *quoted = g_shell_quote(output);
    const char *const tar[] = {"tar", "-czf", output, "-C", parent, name, NULL};

    if (g_mkdir(folder, 0700) < 0) {
        fprintf(stderr, "edgectl: cannot make %s: %s\n", folder, strerror(errno));
        return 1;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(members); i++) {
        if (add_member(folder, &members[i], config_path) < 0)
            return 1;
    }
    if (!call(tar)) {
        fprintf(stderr, "edgectl: cannot write %s\n", output);
        g_unlink(output); // the half of it that there may be
        return 1;
    }
    printf("%s: %zu files, without passwords; have a look before you hand it on: tar -xzf %s\n",
           output, ARRAY_LENGTH(members), quoted);
    return 0;
}

static int make_archive(const char *config_path, const char *output)
{
    g_autoptr(GDateTime) now = g_date_time_new_now_local();
    g_autofree char *name = g_date_time_format(now, "edged-support-%Y%m%d-%H%M%S");
    g_autofree char *archive = output ? g_strdup(output) : g_strconcat(name, ".tar.gz", NULL);
    g_autoptr(GError) error = NULL;
    g_autofree char *parent = NULL;
    int status;

    umask(077); // for the log has who watches
    parent = g_dir_make_tmp("edged-support-XXXXXX", &error);
    if (!parent) {
        fprintf(stderr, "edgectl: %s\n", error->message);
        return 1;
    }
    const char *const remove[] = {"rm", "-r", parent, NULL};

    status = pack(parent, name, config_path, archive);
    call(remove);
    return status;
}

int ctl_support(int argc, char **argv)
{
    const char *config_path = access(CONFIG_DEFAULT_PATH, R_OK) == 0 ? CONFIG_DEFAULT_PATH : NULL;
    const char *output = NULL;
    const struct command_option options[] = {
        {"config", .text = &config_path}, {"output", .text = &output}, {0}};
    const struct command_line line = {.command = "support", .usage = usage, .options = options};
    int status;

    return command_line_parse(&line, argc, argv, &status) ? make_archive(config_path, output)
                                                          : status;
}
