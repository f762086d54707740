// Pull points of ONVIF's events: each keeps what its client has not fetched yet. Main loop only.
//
// There are two topics, of which some clients know one alone and Home Assistant makes an entity of
// each: both say of a camera whether something moves in any of its regions. A new pull point begins
// with how each camera is now, as clients do not ask for that after edged was started again.
//
// All is bounded: the pull points, what one keeps, and its life. When there are too many messages,
// one goes that a later one of the same camera and topic has overtaken, so the newest of each
// stays. A user who has most pull points gives one up for a user who has at least two fewer.
#pragma once

#include "daemon/front/events/event_feed.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define PULL_POINTS_MAX 8
#define PULL_POINT_MESSAGES_MAX 100 // beside the newest two of each camera
#define PULL_POINT_LIFE_S 600       // where the client names none
#define PULL_POINT_LIFE_MIN_S 10
#define PULL_POINT_LIFE_MAX_S 3600
#define PULL_POINT_IDLE_S 60 // then it makes room for another
#define PULL_POINT_ID_SIZE 33

// Clients know them by topics[] and answer_properties() of events.c.
enum pull_topic { PULL_MOTION_ALARM, PULL_CELL_MOTION, PULL_TOPIC_COUNT };

struct pull_message {
    enum pull_topic topic;
    char camera[40];
    bool is_moving;
    bool is_initial;       // how it was when the client asked, not a change
    enum config_role role; // the least that may watch the camera, as it was then
    int64_t wall_ns;
};

// A request that waits for a message; the caller's, zeroed before pull_wait_begin().
struct pull_wait {
    void (*wake)(void *context); // there is something to answer
    void *context;
    struct pull_point *point; // borrowed; NULL: it is gone, or does not wait
    guint timer;              // GLib source id
};

struct pull_points;

// `feed` is borrowed. Always succeeds.
struct pull_points *pull_points_new(struct event_feed *feed);
// Takes NULL. No request may wait any more.
void pull_points_free(struct pull_points *points);
// Answers all that wait, and lets none wait any more.
void pull_points_stop(struct pull_points *points);

// The client of a pull point. All is borrowed.
struct pull_client {
    const char *user;   // "": nobody is asked
    const char *camera; // the only one that is of interest; NULL: all
    enum config_role role;
    unsigned topics; // a bit for each enum pull_topic
};

// Makes one that lives for `life_ns` (cut to what is allowed), with how each camera of `config` is
// now. NULL: there are as many as may be, all are in use, and no user has more than this one would.
// Borrowed.
struct pull_point *pull_points_add(struct pull_points *points, const struct pull_client *client,
                                   const struct config *config, int64_t life_ns);
// The one of that id and user, who from now on hears what `role` may. NULL: there is none.
// Borrowed. It is in use now.
struct pull_point *pull_points_find(struct pull_points *points, const char *id, const char *user,
                                    enum config_role role);
// Removes it; a request that waits for it is woken.
void pull_points_remove(struct pull_points *points, struct pull_point *point);

const char *pull_point_id(const struct pull_point *point); // hexadecimal digits
int64_t pull_point_end_ns(const struct pull_point *point); // CLOCK_MONOTONIC
void pull_point_renew(struct pull_point *point, int64_t life_ns);
// Adds how each camera is now, unless messages are waiting that will tell.
void pull_point_synchronize(struct pull_points *points, struct pull_point *point,
                            const struct config *config);
// Takes the oldest message of a camera that its user may watch, by `config` if that has it still,
// and drops those before it. False: there is none.
bool pull_point_take(struct pull_point *point, const struct config *config,
                     struct pull_message *ret_message);

// Waits for a message of `point`, at most for `timeout_ms`; `wake` is then called once, from the
// main loop. A request that waits already is woken without one. False: there is a message, or edged
// stops: answer now.
bool pull_wait_begin(struct pull_points *points, struct pull_point *point, unsigned timeout_ms,
                     struct pull_wait *wait);
// Does not wait any more. Takes one that did not begin.
void pull_wait_end(struct pull_wait *wait);
