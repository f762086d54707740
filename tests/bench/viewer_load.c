// Many viewers in one process: `viewer_load URL COUNT SECONDS`. Each has a connection of its own
// and is sent RTP over it (RFC 2326, section 10.12). What comes is looked at, not kept: sequence
// numbers that are missing, and markers, each of which ends a frame.
//
// Prints "playing" once every viewer has seen frames for 2 s, then a line of counts for so many
// seconds, and hangs up a second later: in both moments its caller can look at the server.

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define HEADER_SIZE 16u // of an interleaved packet: 4 bytes, then 12 of RTP
#define REPLY_MAX 8192

struct viewer {
    int fd;
    char session[80];
    uint8_t header[HEADER_SIZE];
    size_t header_size; // bytes of it that have come
    size_t rest;        // bytes of the packet's payload still to come
    bool in_reply;      // a text, up to its empty line
    unsigned line_ends; // of CR LF CR LF, those seen in a row
    bool begun;         // `sequence` is valid
    uint16_t sequence;  // of the newest packet
    uint64_t packets, bytes, lost, frames;
    int64_t frame_ns, gap_ns; // when the newest frame ended, the longest time between two
};

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "viewer_load: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void write_all(int fd, const char *text)
{
    if (send(fd, text, strlen(text), MSG_NOSIGNAL) != (ssize_t)strlen(text))
        fail("send");
}

// A reply whose status is 200, its head alone: a body has to fit into what is read with it.
static void read_reply(int fd, char *reply)
{
    size_t size = 0;

    reply[0] = '\0';
    while (!strstr(reply, "\r\n\r\n")) {
        ssize_t count = recv(fd, reply + size, REPLY_MAX - 1 - size, 0);

        if (count <= 0)
            fail("recv");
        size += (size_t)count;
        reply[size] = '\0';
    }
    if (strncmp(reply, "RTSP/1.0 200 ", 13) != 0) {
        fprintf(stderr, "viewer_load: %s", reply);
        exit(1);
    }
}

static void set_up(struct viewer *viewer, const struct sockaddr_in *address, const char *url)
{
    char text[1024], reply[REPLY_MAX];
    const int buffer = 262144;

    viewer->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (viewer->fd < 0)
        fail("socket");
    setsockopt(viewer->fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    if (connect(viewer->fd, (const struct sockaddr *)address, sizeof *address) < 0)
        fail("connect");
    snprintf(text, sizeof text,
             "SETUP %s/stream=0 RTSP/1.0\r\nCSeq: 1\r\n"
             "Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n\r\n",
             url);
    write_all(viewer->fd, text);
    read_reply(viewer->fd, reply);
    const char *session = strstr(reply, "Session: ");
    if (!session || sscanf(session, "Session: %79[^;\r]", viewer->session) != 1)
        fail("no Session");
}

static void play(const struct viewer *viewer, const char *url)
{
    char text[1024];

    snprintf(text, sizeof text, "PLAY %s RTSP/1.0\r\nCSeq: 2\r\nSession: %s\r\n\r\n", url,
             viewer->session);
    write_all(viewer->fd, text);
}

static void take_header(struct viewer *viewer)
{
    const uint8_t *header = viewer->header;
    uint16_t sequence = (uint16_t)(header[6] << 8 | header[7]);
    int64_t time_ns;

    viewer->rest = ((size_t)header[2] << 8 | header[3]) - (HEADER_SIZE - 4);
    viewer->header_size = 0;
    if (header[1] != 0) // RTCP
        return;
    viewer->lost += viewer->begun ? (uint16_t)(sequence - viewer->sequence - 1) : 0;
    viewer->sequence = sequence;
    viewer->begun = true;
    viewer->packets++;
    viewer->bytes += viewer->rest + HEADER_SIZE;
    if (header[5] & 0x80) {
        time_ns = now_ns();
        if (viewer->frame_ns && time_ns - viewer->frame_ns > viewer->gap_ns)
            viewer->gap_ns = time_ns - viewer->frame_ns;
        viewer->frame_ns = time_ns;
        viewer->frames++;
    }
}

static void take_reply_byte(struct viewer *viewer, uint8_t byte)
{
    bool expected = byte == (viewer->line_ends % 2 ? '\n' : '\r');

    viewer->line_ends = expected ? viewer->line_ends + 1 : byte == '\r';
    viewer->in_reply = viewer->line_ends < 4;
}

static void take(struct viewer *viewer, const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        size_t count = 1;

        if (viewer->rest > 0) {
            count = viewer->rest < size ? viewer->rest : size;
            viewer->rest -= count;
        } else if (viewer->in_reply) {
            take_reply_byte(viewer, *bytes);
        } else if (viewer->header_size == 0 && *bytes != '$') {
            viewer->in_reply = true;
            viewer->line_ends = 0;
        } else {
            viewer->header[viewer->header_size++] = *bytes;
            if (viewer->header_size == HEADER_SIZE)
                take_header(viewer);
        }
        bytes += count;
        size -= count;
    }
}

static void read_some(struct viewer *viewer)
{
    static uint8_t bytes[262144];
    ssize_t size = recv(viewer->fd, bytes, sizeof bytes, MSG_DONTWAIT);

    if (size == 0 || (size < 0 && errno != EAGAIN))
        fail("a viewer was hung up on");
    take(viewer, bytes, size > 0 ? (size_t)size : 0);
}

static bool all_have_frames(const struct viewer *viewers, int count)
{
    for (int i = 0; i < count; i++) {
        if (viewers[i].frames == 0)
            return false;
    }
    return true;
}

// Reads until `end_ns`, or (0) until each has seen a frame.
static void watch(int epoll, const struct viewer *viewers, int count, int64_t end_ns)
{
    struct epoll_event events[256];

    while (end_ns ? now_ns() < end_ns : !all_have_frames(viewers, count)) {
        int ready = epoll_wait(epoll, events, 256, 100);

        for (int i = 0; i < ready; i++)
            read_some(events[i].data.ptr);
    }
}

static void forget_counts(struct viewer *viewers, int count)
{
    for (int i = 0; i < count; i++) {
        struct viewer *viewer = &viewers[i];

        viewer->packets = viewer->bytes = viewer->lost = viewer->frames = 0;
        viewer->gap_ns = 0;
    }
}

static void print_counts(const struct viewer *viewers, int count)
{
    uint64_t packets = 0, bytes = 0, lost = 0, fewest = UINT64_MAX, most = 0;
    int64_t gap_ns = 0;

    for (int i = 0; i < count; i++) {
        const struct viewer *viewer = &viewers[i];

        packets += viewer->packets;
        bytes += viewer->bytes;
        lost += viewer->lost;
        fewest = viewer->frames < fewest ? viewer->frames : fewest;
        most = viewer->frames > most ? viewer->frames : most;
        gap_ns = viewer->gap_ns > gap_ns ? viewer->gap_ns : gap_ns;
    }
    printf("{\"packets\": %ju, \"bytes\": %ju, \"lost\": %ju, \"fewest_frames\": %ju,"
           " \"most_frames\": %ju, \"longest_gap_ms\": %jd}\n",
           (uintmax_t)packets, (uintmax_t)bytes, (uintmax_t)lost, (uintmax_t)fewest,
           (uintmax_t)most, (intmax_t)(gap_ns / 1000000));
}

static struct sockaddr_in read_address(const char *url)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    char host[64];
    int port;

    if (sscanf(url, "rtsp://%63[^:]:%d/", host, &port) != 2 ||
        inet_pton(AF_INET, host, &address.sin_addr) != 1) {
        fail("the URL is to be rtsp://NUMERIC-ADDRESS:PORT/PATH");
    }
    address.sin_port = htons((uint16_t)port);
    return address;
}

int main(int argc, char **argv)
{
    const struct rlimit files = {65536, 65536};

    if (argc != 4) {
        fprintf(stderr, "usage: viewer_load URL COUNT SECONDS\n");
        return 2;
    }
    int count = atoi(argv[2]), epoll = epoll_create1(EPOLL_CLOEXEC);
    const struct sockaddr_in address = read_address(argv[1]);
    struct viewer *viewers = calloc((size_t)count, sizeof *viewers);
    if (!viewers || epoll < 0)
        fail("no memory");
    setrlimit(RLIMIT_NOFILE, &files);
    for (int i = 0; i < count; i++)
        set_up(&viewers[i], &address, argv[1]);
    for (int i = 0; i < count; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &viewers[i]};

        play(&viewers[i], argv[1]);
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, viewers[i].fd, &event) < 0)
            fail("epoll_ctl");
    }
    watch(epoll, viewers, count, 0);
    watch(epoll, viewers, count, now_ns() + INT64_C(2000000000)); // until all is settled
    puts("playing");
    fflush(stdout);
    forget_counts(viewers, count);
    watch(epoll, viewers, count, now_ns() + (int64_t)(atof(argv[3]) * 1e9));
    print_counts(viewers, count);
    fflush(stdout);
    watch(epoll, viewers, count, now_ns() + INT64_C(1000000000));
    return 0;
}
