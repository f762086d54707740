// edged-camera: started by edged, one process per camera, with the link on the fd it names.

#include "board/board.h"
#include "capture/nvmm/nvbufsurface.h"
#include "daemon/camera/camera.h"
#include "daemon/common/confine.h"
#include "daemon/common/log.h"

#include <errno.h>
#include <gst/gst.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

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
    if (file && fclose(file)) {
        log_debug("oom_score_adj: %s", strerror(errno));
    }
}

// No screen is needed on a Jetson, and images of its pictures for the GPU are made without one. Any
// other machine may have a pipeline that films its screen.
static void hide_displays(void)
{
    struct board board;

    board_read("", &board);
    if (board_has_encoder(board.profile)) {
        nvbufsurface_hide_displays();
    }
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
static void confine_first(void)
{
    make_gpu_nodes();
    int r = confine_memory();
    if (r) {
        log_debug("landlock: %s, going on without it", strerror(-r));
    }
}

// When everything is opened that needs more. On a Jetson, NVIDIA's codecs start lsmod to learn
// which GPU there is, and do without the hardware if they cannot.
static void confine_rest(const struct camera *camera)
{
    const struct config_camera *settings = camera_settings(camera);
    struct board board;

    board_read("", &board);
    const struct confinement confinement = {
        .network =
            settings->source == CONFIG_SOURCE_RTSP || settings->source == CONFIG_SOURCE_GSTREAMER,
        .programs = board.profile->sm != 0 || board.l4t[0] != '\0',
    };
    int r = confine_calls(&confinement);
    if (r) {
        log_write(LOG_WARNING, LOG_EVENT_NONE, settings->name, NULL,
                  "seccomp: %s, going on without the filter of system calls", strerror(-r));
    }
}

static int parse_link_fd(int argc, char **argv)
{
    static const char option[] = "--link-fd=";

    if (argc < 2 || strncmp(argv[1], option, strlen(option)) != 0) {
        fprintf(stderr, "edged-camera is started by edged; allowed: --link-fd=FD\n");
        return -1;
    }
    return atoi(argv[1] + strlen(option));
}

// For `edged --check`, which is without GStreamer: says whether GStreamer has what a pipeline
// names, without starting it. The pipeline comes by standard input, because it may hold a password;
// GStreamer's complaint goes to standard output.
static int check_pipeline(void)
{
    _cleanup_(cleanup_free) char *pipeline = NULL;
    g_autoptr(GError) failure = NULL;
    size_t size = 0;

    if (getdelim(&pipeline, &size, '\0', stdin) < 0) {
        return 0;
    }
    gst_init(NULL, NULL);
    GstElement *element =
        gst_parse_launch_full(pipeline, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &failure);
    if (element) {
        gst_object_unref(gst_object_ref_sink(element));
    }
    if (failure) {
        fputs(failure->message, stdout);
    }
    return failure ? 1 : 0;
}

int main(int argc, char **argv)
{
    struct camera *camera = NULL;
    struct error error = {0};

    if (argc == 2 && strcmp(argv[1], "--check-pipeline") == 0) {
        return check_pipeline();
    }
    if (argc == 2 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-v") == 0)) {
        puts("edged-camera " EDGED_VERSION);
        return 0;
    }
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        puts("edged starts edged-camera itself, one for each camera. See edged(8).");
        return 0;
    }
    int fd = parse_link_fd(argc, argv);

    log_set_program("edged-camera");
    if (fd < 0) {
        return 2;
    }
    // The front decides when this process ends, by closing the link; a front that dies takes it
    // along. Ctrl-C on a terminal reaches both and is the front's to handle.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    raise_oom_score();
    confine_first();
    hide_displays();
    gst_init(NULL, NULL);

    int r = camera_new(fd, &error, &camera);
    if (r) {
        log_error("%s, ending", error.text);
        return 1;
    }
    confine_rest(camera);
    r = camera_run(camera);
    if (r == -ENOTRECOVERABLE) {
        _exit(1);
    }
    camera_free(camera);
    gst_deinit();
    return r ? 1 : 0;
}
