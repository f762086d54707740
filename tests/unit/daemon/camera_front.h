// A whole camera process, in a thread, spoken to over the link as the front does.
#pragma once

#include "daemon/camera/camera.h"
#include "daemon/link/link.h"
#include "tests/unit/stopwatch.h"
#include "tests/unit/unit.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define UNITS_MAX 400
#define LOSSLESS_FPS 20
#define EVENTS_MAX 16

struct process {
    int fd; // the camera's end
    pthread_t thread;
    int result;
    struct error error;
};

struct front {
    struct process process;
    struct link *link;
    uint32_t number; // of the newest settings
    char hello[32], fatal[512], gpu_fault[512];
    struct link_telemetry telemetry;
    unsigned slates, telemetries, units;
    struct link_access_unit lives[UNITS_MAX];
    uint32_t views[UNITS_MAX]; // which view a unit is of
    struct link_event events[EVENTS_MAX];
    unsigned event_count;
};

// Called between camera_run() and camera_free(), in the process's thread. May be NULL.
static void (*front_before_free)(void);

static void *run_process(void *context)
{
    struct process *process = context;
    struct camera *camera = NULL;

    process->result = camera_new(process->fd, &process->error, &camera);
    if (!process->result) {
        process->result = camera_run(camera);
        if (front_before_free)
            front_before_free();
        camera_free(camera);
    }
    return NULL;
}

// Tells the process what it is to be; messages call its views by their place.
static void send_settings(struct front *front, const char *text)
{
    struct link_configuration head = {.number = ++front->number};
    struct iovec pieces[] = {{&head, sizeof head}, {(void *)text, strlen(text)}};

    for (uint32_t i = 0; i < LINK_VIEWS_MAX; i++)
        head.views[i] = i;
    assert_int_equal(link_send(front->link, LINK_CONFIGURE, 0, pieces, 2), 0);
}

static void begin(struct front *front, const char *settings)
{
    int fds[2];

    memset(front, 0, sizeof *front);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    front->process.fd = fds[0];
    assert_int_equal(link_new(fds[1], 1 << 20, &front->link), 0);
    send_settings(front, settings);
    assert_int_equal(pthread_create(&front->process.thread, NULL, run_process, &front->process), 0);
}

static void end(struct front *front, int expected)
{
    link_free(front->link);
    pthread_join(front->process.thread, NULL);
    assert_int_equal(front->process.result, expected);
}

static int handle(void *context, struct link_message *message)
{
    struct front *front = context;

    switch (message->header.type) {
    case LINK_HELLO:
        snprintf(front->hello, sizeof front->hello, "%s", (char *)message->payload);
        break;
    case LINK_FATAL:
        snprintf(front->fatal, sizeof front->fatal, "%s", (char *)message->payload);
        break;
    case LINK_GPU_FAULT:
        snprintf(front->gpu_fault, sizeof front->gpu_fault, "%s", (char *)message->payload);
        break;
    case LINK_SLATE:
        front->slates++;
        break;
    case LINK_TELEMETRY:
        assert_int_equal(message->header.size, sizeof front->telemetry);
        memcpy(&front->telemetry, message->payload, sizeof front->telemetry);
        front->telemetries++;
        break;
    case LINK_ACCESS_UNIT:
        assert_true(front->units < UNITS_MAX);
        front->views[front->units] = message->header.view;
        memcpy(&front->lives[front->units++], message->payload, sizeof front->lives[0]);
        break;
    case LINK_EVENT:
        assert_int_equal(message->header.size, sizeof front->events[0]);
        assert_true(front->event_count < EVENTS_MAX);
        memcpy(&front->events[front->event_count++], message->payload, sizeof front->events[0]);
        break;
    default:
        fail_msg("message of type %u", message->header.type);
    }
    return 0;
}

// Handles messages until `done`.
static void until(struct front *front, bool (*done)(const struct front *))
{
    int64_t deadline = clock_now_ns() + PATIENCE_NS;

    while (!done(front)) {
        struct pollfd readable = {.fd = link_fd(front->link), .events = POLLIN};

        assert_true(clock_now_ns() < deadline);
        poll(&readable, 1, 100);
        int r = link_receive(front->link, handle, front);
        assert_true(!r || done(front));
    }
}

static inline bool is_live(const struct front *front)
{
    return front->telemetry.state == LINK_CAMERA_LIVE;
}

// The newest settings count, or have been refused.
static inline bool is_configured(const struct front *front)
{
    return front->telemetry.configuration == front->number;
}

static inline bool has_10_units(const struct front *front)
{
    return front->units >= 10;
}

static inline bool has_20_units(const struct front *front)
{
    return front->units >= 20;
}

static inline bool has_40_units(const struct front *front)
{
    return front->units >= 40;
}

static inline uint64_t count_dropped(const struct front *front)
{
    return front->telemetry.dropped + front->telemetry.views[0].dropped;
}

// Frames missing between those that came.
static inline uint64_t count_missing(const struct front *front)
{
    uint64_t first = front->lives[0].sequence, last = front->lives[front->units - 1].sequence;

    return last - first + 1 - front->units;
}

static inline bool has_told_of_losses(const struct front *front)
{
    return count_dropped(front) >= count_missing(front);
}

// Has a camera of LOSSLESS_FPS, which `run` begins and `finish` ends, lose no frame but those that
// it counts, and by the clock none.
static inline void assert_no_frame_is_lost(void (*run)(struct front *front),
                                           void (*finish)(struct front *front))
{
    struct front front;

    run(&front);
    until(&front, has_told_of_losses);
    uint64_t dropped = count_dropped(&front);
    finish(&front);
    assert_true(dropped == 0 || !by_the_clock());
}
