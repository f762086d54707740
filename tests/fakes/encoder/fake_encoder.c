// A GStreamer plugin with a "v4l2h264enc" that fails as encoders' drivers do: x264enc behind a
// door. $FAKE_ENCODER says from which frame on, 0 being the first of the trial:
//
//   hang:N     no call with a frame returns any more
//   swallow:N  frames go in and nothing comes out
//   fail:N     each call with a frame is an error
//   try:FILE   the first frame tries what a decoder that was taken over would, and writes to the
//              file what errno it got of each ("execve 1"), 0 being none
//              also for the files of $FAKE_ENCODER_SECRETS and the socket $FAKE_ENCODER_SOCKET
//   slow:FILE  each frame takes as many nanoseconds a pixel as the file says, now; without it, none
#include <errno.h>
#include <fcntl.h>
#include <gst/gst.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define DESCRIPTION                                                                                \
    "x264enc tune=zerolatency speed-preset=ultrafast key-int-max=30"                               \
    " ! video/x-h264,profile=constrained-baseline"

struct fake_encoder {
    GstBin parent;
    unsigned frames, good; // pushed, and let through
    gboolean hangs, fails;
    const char *slow;  // the file; NULL: it is not
    const char *tries; // the file; NULL: it does not, or no more
};

struct fake_encoder_class {
    GstBinClass parent;
};

static void take_time(const struct fake_encoder *encoder, GstPad *pad)
{
    g_autoptr(GstCaps) caps = gst_pad_get_current_caps(pad);
    g_autofree char *text = NULL;
    int width = 0, height = 0;

    if (encoder->slow && g_file_get_contents(encoder->slow, &text, NULL, NULL)) {
        gst_structure_get_int(gst_caps_get_structure(caps, 0), "width", &width);
        gst_structure_get_int(gst_caps_get_structure(caps, 0), "height", &height);
        g_usleep((gulong)(atof(text) * width * height / 1000));
    }
}

static void tell(FILE *file, const char *call, long result)
{
    fprintf(file, "%s %d\n", call, result < 0 ? errno : 0);
}

static long open_memory(pid_t pid)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    return open(path, O_RDWR | O_CLOEXEC);
}

// Asks the control socket as a process that this one has forked, twice, so that its parent is gone:
// a status of HTTP, or 0.
static int ask_control_socket(const char *path)
{
    static const char request[] = "GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n";
    char answer[16] = "";
    int ends[2], status = 0;

    if (pipe(ends) < 0)
        return 0;
    if (fork() == 0) {
        if (fork() == 0) {
            struct sockaddr_un address = {.sun_family = AF_UNIX};
            int fd = socket(AF_UNIX, SOCK_STREAM, 0);

            snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
            usleep(200000); // until its parent has ended
            if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
                write(fd, request, sizeof request - 1) > 0 &&
                read(fd, answer, sizeof answer - 1) > 12) {
                status = atoi(answer + strlen("HTTP/1.1 "));
            }
            dprintf(ends[1], "%d", status);
        }
        _exit(0);
    }
    close(ends[1]);
    if (read(ends[0], answer, sizeof answer - 1) > 0)
        status = atoi(answer);
    close(ends[0]);
    return status;
}

// $FAKE_ENCODER_SECRETS has paths of files, separated by colons; $FAKE_ENCODER_SOCKET the control
// socket's.
static void try_secrets(FILE *file)
{
    const char *secrets = getenv("FAKE_ENCODER_SECRETS"), *socket = getenv("FAKE_ENCODER_SOCKET");
    g_auto(GStrv) paths = g_strsplit(secrets ? secrets : "", ":", -1);

    for (char **path = paths; *path; path++) {
        g_autofree char *base = g_path_get_basename(*path);
        g_autofree char *read_name = g_strconcat("read-", base, NULL);
        g_autofree char *write_name = g_strconcat("write-", base, NULL);
        g_autofree char *remove_name = g_strconcat("replace-", base, NULL);

        tell(file, read_name, open(*path, O_RDONLY | O_CLOEXEC));
        tell(file, write_name, open(*path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        tell(file, remove_name, rename(*path, *path));
    }
    if (socket)
        fprintf(file, "control-socket %d\n", ask_control_socket(socket));
}

// Each call does no harm where it is let through; what it opens stays open.
static void try_all(const char *path)
{
    FILE *file = fopen(path, "we");
    char byte, *const none[] = {NULL};
    struct iovec here = {&byte, 1}, there = {&byte, 1};
    pid_t front = getppid();

    if (!file)
        return;
    tell(file, "execve", execve("/nonexistent", none, none));
    tell(file, "execveat", syscall(SYS_execveat, AT_FDCWD, "/nonexistent", none, none, 0));
    tell(file, "socket-packet", socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
    tell(file, "socket-inet", socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    tell(file, "socket-inet6", socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    tell(file, "socket-netlink", socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0));
    tell(file, "socket-unix", socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    tell(file, "ptrace", ptrace(PTRACE_SEIZE, front, NULL, NULL));
    tell(file, "process_vm_readv", syscall(SYS_process_vm_readv, front, &here, 1, &there, 1, 0));
    tell(file, "process_vm_writev", syscall(SYS_process_vm_writev, front, &here, 1, &there, 1, 0));
    tell(file, "pidfd_getfd", syscall(438, -1, 0, 0));
    tell(file, "io_uring_setup", syscall(425, 0, NULL));
    tell(file, "memory", open_memory(front));
    tell(file, "own-memory", open_memory(getpid()));
    tell(file, "kill", kill(front, 0));
    try_secrets(file);
    fclose(file);
}

static GstPadProbeReturn on_frame(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    struct fake_encoder *encoder = data;

    if (encoder->tries) {
        try_all(encoder->tries);
        encoder->tries = NULL;
    }
    take_time(encoder, pad);
    if (encoder->slow || encoder->frames++ < encoder->good)
        return GST_PAD_PROBE_OK;
    while (encoder->hangs)
        poll(NULL, 0, -1);
    if (encoder->fails) {
        GST_ELEMENT_ERROR(encoder, STREAM, ENCODE, ("the fake encoder fails"), (NULL));
        gst_buffer_unref(GST_PAD_PROBE_INFO_BUFFER(info));
        GST_PAD_PROBE_INFO_FLOW_RETURN(info) = GST_FLOW_ERROR;
        return GST_PAD_PROBE_HANDLED;
    }
    return GST_PAD_PROBE_DROP;
}

static void add_pad(GstElement *bin, GstElement *inside, const char *name)
{
    GstPad *target = gst_element_get_static_pad(inside, name);

    gst_element_add_pad(bin, gst_ghost_pad_new(name, target));
    gst_object_unref(target);
}

static void fake_encoder_init(GTypeInstance *instance, gpointer type_class)
{
    struct fake_encoder *encoder = (struct fake_encoder *)instance;
    GstElement *inside = gst_parse_bin_from_description(DESCRIPTION, TRUE, NULL);
    GstPad *entry = gst_element_get_static_pad(inside, "sink");
    const char *fault = getenv("FAKE_ENCODER");

    (void)type_class;
    encoder->hangs = g_str_has_prefix(fault, "hang:");
    encoder->fails = g_str_has_prefix(fault, "fail:");
    encoder->good = (unsigned)atoi(strchr(fault, ':') + 1);
    encoder->tries = g_str_has_prefix(fault, "try:") ? strchr(fault, ':') + 1 : NULL;
    if (encoder->tries)
        encoder->good = G_MAXUINT;
    encoder->slow = g_str_has_prefix(fault, "slow:") ? strchr(fault, ':') + 1 : NULL;
    gst_bin_add(GST_BIN(encoder), inside);
    add_pad(GST_ELEMENT(encoder), inside, "sink");
    add_pad(GST_ELEMENT(encoder), inside, "src");
    gst_pad_add_probe(entry, GST_PAD_PROBE_TYPE_BUFFER, on_frame, encoder, NULL);
    gst_object_unref(entry);
}

static void fake_encoder_class_init(gpointer type_class, gpointer data)
{
    (void)data;
    gst_element_class_set_static_metadata(type_class, "Encoder that fails", "Codec/Encoder/Video",
                                          "For edged's tests", "edged");
}

static gboolean plugin_init(GstPlugin *plugin)
{
    GType type = g_type_register_static_simple(
        GST_TYPE_BIN, "EdgedFakeEncoder", sizeof(struct fake_encoder_class),
        fake_encoder_class_init, sizeof(struct fake_encoder), fake_encoder_init, 0);

    return gst_element_register(plugin, "v4l2h264enc", GST_RANK_NONE, type);
}

#define PACKAGE "edged"
GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, fake_encoder, "An encoder that fails",
                  plugin_init, EDGED_VERSION, "MIT/X11", PACKAGE, "edged")
