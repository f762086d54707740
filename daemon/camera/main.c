// edged-camera: one process per camera. As a service systemd starts it when edged connects to
// edged-camera.socket; otherwise edged starts it, with the link on the fd that it names.

#include "board/board.h"
#include "daemon/camera/camera.h"
#include "daemon/camera/unit_line.h"
#include "daemon/common/confine.h"
#include "daemon/common/crash.h"
#include "daemon/common/gst_start.h"
#include "daemon/common/log.h"

#include <errno.h>
#include <gst/gst.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <systemd/sd-daemon.h>

#define LINK_ARGUMENTS 3  // this program, the link, the camera's name for lists of processes
#define OOM_SCORE_ADJ 500 // as if the process used half of the machine's memory in addition

// When memory runs out the kernel should kill a camera process, which is replaced, rather than the
// front.
static void raise_oom_score(void)
{
    FILE *file = fopen("/proc/self/oom_score_adj", "r+e");
    int score;

    if (file && fscanf(file, "%d", &score) == 1 && score < OOM_SCORE_ADJ) {
        rewind(file);
        fprintf(file, "%d", OOM_SCORE_ADJ);
    }
    if (file && fclose(file))
        log_debug("oom_score_adj: %s", strerror(errno));
}

// CUDA starts this setuid program itself where the GPU's nodes are missing, which it can no more
// once the process is confined.
static void make_gpu_nodes(void)
{
    char *const arguments[] = {"nvidia-modprobe", "-u", "-c", "0", NULL};
    char *const environment[] = {NULL};
    pid_t pid;

    if (access("/dev/nvidia-uvm", F_OK) < 0 &&
        posix_spawnp(&pid, arguments[0], NULL, NULL, arguments, environment) == 0) {
        waitpid(pid, NULL, 0);
    }
}

// Before GStreamer, whose plugin scanner is a program, and before any other thread.
// GStreamer and CUDA keep caches, in folders that are made while that is allowed.
static void confine_begin(const struct camera_start_received *received)
{
    g_mkdir_with_parents(g_get_user_cache_dir(), 0700);
    make_gpu_nodes();
    int r = confine_first(received->start.hidden, received->start.file_fds, received->file_count);
    if (r)
        log_debug("landlock: %s, going on without it", strerror(-r));
}

// When everything is opened that needs more. On a Jetson, NVIDIA's codecs start lsmod to learn
// which GPU there is, and do without the hardware if they cannot.
static void confine_rest(const struct camera *camera, const struct board *board)
{
    const struct config_camera *settings = camera_settings(camera);
    const struct confinement confinement = {
        .network =
            settings->source == CONFIG_SOURCE_RTSP || settings->source == CONFIG_SOURCE_GSTREAMER,
        .programs = board_is_jetson(board->profile) || board->l4t[0] != '\0',
    };
    int r = confine_calls(&confinement);
    if (r) {
        log_write(LOG_WARNING, LOG_EVENT_NONE, settings->name, NULL,
                  "seccomp: %s, going on without the filter of system calls", strerror(-r));
    }
}

// Without systemd: the front decides when this process ends, by closing the link; a front that dies
// takes it along. Ctrl-C on a terminal reaches both and is the front's to handle.
static int take_arguments(int argc, char **argv, struct camera_start_received *ret_start)
{
    static const char option[] = "--link-fd=";

    if (argc < LINK_ARGUMENTS || strncmp(argv[1], option, strlen(option)) != 0) {
        fprintf(stderr, "edged-camera is started by systemd or by edged; allowed: --link-fd=FD "
                        "CAMERA [HIDDEN-FILE]...\n");
        return -EINVAL;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    ret_start->start = (struct camera_start){.link_fd = atoi(argv[1] + strlen(option)),
                                             .hidden = (const char *const *)argv + LINK_ARGUMENTS};
    return 0;
}

static int take_start(int argc, char **argv, struct camera_start_received *ret_start)
{
    struct error error = {0};

    if (argc > 1 || sd_listen_fds(1) != 1)
        return take_arguments(argc, argv, ret_start);
    int r = unit_line_open(SD_LISTEN_FDS_START, &error, ret_start);
    if (r < 0)
        log_error("%s, ending", error.text);
    return r;
}

// For `edged --check`, which is without GStreamer: says whether GStreamer has what a pipeline
// names, without starting it. The pipeline comes by standard input, because it may hold a password;
// GStreamer's complaint goes to standard output.
static int check_pipeline(void)
{
    _cleanup_(cleanup_free) char *pipeline = NULL;
    g_autoptr(GError) failure = NULL;
    size_t size = 0;

    if (getdelim(&pipeline, &size, '\0', stdin) < 0)
        return 0;
    gst_init(NULL, NULL);
    GstElement *element =
        gst_parse_launch_full(pipeline, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &failure);
    if (element)
        gst_object_unref(gst_object_ref_sink(element));
    if (failure)
        fputs(failure->message, stdout);
    return failure ? 1 : 0;
}

int main(int argc, char **argv)
{
    _cleanup_(camera_start_finish) struct camera_start_received start = {.file_count = 0};
    struct camera *camera = NULL;
    struct error error = {0};
    struct board board;

    if (argc == 2 && strcmp(argv[1], "--check-pipeline") == 0)
        return check_pipeline();
    if (argc == 2 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-v") == 0)) {
        puts("edged-camera " EDGED_VERSION);
        return 0;
    }
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        puts("edged starts edged-camera itself or has systemd start it, one for each camera. See "
             "edged(8).");
        return 0;
    }
    log_set_program("edged-camera");
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    raise_oom_score(); // while its file in /proc is this user's
    // Before there is anything in it.
    if (!confine_landlock_version())
        confine_memory();
    if (take_start(argc, argv, &start) < 0)
        return 2;
    crash_watch("edged-camera");
    confine_begin(&start);
    board_read("", &board);
    gst_start(board.profile);

    int r = camera_new(start.start.link_fd, &error, &camera);
    if (r) {
        log_error("%s, ending", error.text);
        return 1;
    }
    confine_rest(camera, &board);
    r = camera_run(camera);
    if (r == -ENOTRECOVERABLE) {
        unit_line_tell_exit(1);
        _exit(1);
    }
    camera_free(camera);
    gst_deinit();
    return r ? 1 : 0;
}
