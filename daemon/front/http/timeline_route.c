// A timeline: for each camera a character for each step of a span of time, and the days that have
// clips. The recorder makes a lane for each view (daemon/recorder/timeline.h); here those that the
// client is shown become the lanes of their cameras.

#include "daemon/front/http/handlers.h"

#include "daemon/common/json.h"
#include "daemon/front/http/clip_request.h"
#include "daemon/front/model/front_camera.h"

#include <string.h>

#define SPAN_DAYS_MAX 3660

struct camera_lane {
    char camera[RECORD_NAME_SIZE];
    uint8_t steps[]; // as those of struct record_lane
};

// The question
// ---------------------------------------------------------------------

// By how much the clock of a time in a query is ahead of UTC: "2026-11-27T08:15:03+01:00". Seconds
// since 1970 are UTC.
static int64_t read_utc_offset(const char *text)
{
    g_autoptr(GDateTime) time = g_date_time_new_from_iso8601(text, NULL);

    return time ? g_date_time_get_utc_offset(time) * NS_PER_US : 0;
}

static bool read_steps(const char *text, uint32_t *ret_steps)
{
    guint64 steps;

    if (!text || !g_ascii_string_to_unsigned(text, 10, 1, RECORD_STEPS_MAX, &steps, NULL))
        return false;
    *ret_steps = (uint32_t)steps;
    return true;
}

static HTTP_RESULT refuse(const struct http_call *call, const char *key, const char *allowed)
{
    const char *got = http_query(call, key);

    return got ? http_refuse_value(call->connection, key, got, allowed)
               : http_refuse(call->connection, MHD_HTTP_BAD_REQUEST, key, "is missing,", allowed);
}

// Reads the query. Whether it can; else the request is refused, as *ret_result.
static bool read_query(const struct http_call *call, struct clip_request *asked,
                       HTTP_RESULT *ret_result)
{
    const char *from = http_query(call, "from"), *to = http_query(call, "to");
    struct record_timeline *timeline = &asked->timeline;
    int64_t from_ns, to_ns;

    if (!from || !clips_route_read_time(from, &from_ns)) {
        *ret_result = refuse(call, "from", CLIPS_ROUTE_TIMES);
    } else if (!to || !clips_route_read_time(to, &to_ns)) {
        *ret_result = refuse(call, "to", CLIPS_ROUTE_TIMES);
    } else if (to_ns <= from_ns || to_ns - from_ns > SPAN_DAYS_MAX * RECORD_DAY_NS) {
        *ret_result = refuse(call, "to", "a time after `from`, by up to 3660 days");
    } else if (!read_steps(http_query(call, "steps"), &timeline->steps)) {
        *ret_result = refuse(call, "steps", "1 to 2000");
    } else {
        asked->utc_offset_ns = read_utc_offset(from);
        // Since midnight of the clock that `from` is told by, which may be behind UTC.
        int64_t day_ns = (from_ns + asked->utc_offset_ns + RECORD_DAY_NS) % RECORD_DAY_NS;

        asked->to_wall_ns = to_ns;
        timeline->from_wall_ns = from_ns;
        timeline->step_ns = MAX((to_ns - from_ns) / timeline->steps, 1);
        timeline->first_day_wall_ns = from_ns - day_ns;
        timeline->days = (uint32_t)((to_ns - 1 - from_ns + day_ns) / RECORD_DAY_NS) + 1;
        return true;
    }
    return false;
}

// The lanes
// ---------------------------------------------------------------------

static size_t lane_size(const struct clip_request *asked)
{
    return asked->timeline.steps + asked->timeline.days;
}

// The lane of a camera, which is empty if it is new.
static struct camera_lane *find_lane(struct clip_request *asked, const char *camera)
{
    for (guint i = 0; i < asked->lanes->len; i++) {
        struct camera_lane *lane = asked->lanes->pdata[i];

        if (strcmp(lane->camera, camera) == 0)
            return lane;
    }
    struct camera_lane *lane = g_malloc0(sizeof *lane + lane_size(asked));

    g_strlcpy(lane->camera, camera, sizeof lane->camera);
    g_ptr_array_add(asked->lanes, lane);
    return lane;
}

static void take_lane(struct clip_request *asked, const struct record_lane *told,
                      const uint8_t *steps, size_t size)
{
    if (!told->camera[0] || size != lane_size(asked) ||
        !clip_request_shows(asked, told->camera, told->view)) {
        return;
    }
    struct camera_lane *lane = find_lane(asked, told->camera);

    for (size_t i = 0; i < size; i++)
        lane->steps[i] = MAX(lane->steps[i], MIN(steps[i], RECORD_STEP_MOTION));
}

// Makes the lanes of the cameras that are configured, which come first, whether they have clips or
// not.
static void add_cameras(struct clip_request *asked)
{
    for (guint i = 0; i < asked->model->cameras->len; i++) {
        const struct front_camera *camera = asked->model->cameras->pdata[i];

        if (front_camera_is_shown(camera, asked->role))
            find_lane(asked, front_camera_name(camera));
    }
}

// The reply
// ---------------------------------------------------------------------

static void write_lane(JsonBuilder *builder, const struct camera_lane *lane, uint32_t steps)
{
    g_autofree char *text = g_malloc(steps + 1);

    for (uint32_t i = 0; i < steps; i++)
        text[i] = (char)('0' + lane->steps[i]);
    text[steps] = 0;
    json_builder_begin_object(builder);
    json_add_string(builder, "camera", lane->camera);
    json_add_string(builder, "steps", text);
    json_builder_end_object(builder);
}

static bool has_day(const struct clip_request *asked, uint32_t day)
{
    bool any = false;

    for (guint i = 0; i < asked->lanes->len && !any; i++) {
        const struct camera_lane *lane = asked->lanes->pdata[i];

        any = lane->steps[asked->timeline.steps + day];
    }
    return any;
}

// The days as the clock of `from` calls them: "2026-11-27".
static void write_days(JsonBuilder *builder, const struct clip_request *asked)
{
    const struct record_timeline *timeline = &asked->timeline;

    for (uint32_t day = 0; day < timeline->days; day++) {
        int64_t at_ns = timeline->first_day_wall_ns + asked->utc_offset_ns + day * RECORD_DAY_NS;

        if (has_day(asked, day)) {
            g_autoptr(GDateTime) date = g_date_time_new_from_unix_utc(at_ns / NS_PER_S);
            g_autofree char *text = g_date_time_format(date, "%Y-%m-%d");

            json_builder_add_string_value(builder, text);
        }
    }
}

static HTTP_RESULT reply_timeline(const struct http_call *call, struct clip_request *asked)
{
    const struct record_timeline *timeline = &asked->timeline;
    int64_t span_ns = asked->to_wall_ns - timeline->from_wall_ns;
    g_autoptr(JsonBuilder) builder = json_builder_new();

    json_builder_begin_object(builder);
    json_add_time(builder, "from", timeline->from_wall_ns);
    json_add_time(builder, "to", asked->to_wall_ns);
    json_add_number(builder, "step_s", (double)span_ns / timeline->steps / (double)NS_PER_S);
    json_begin_list(builder, "lanes");
    for (guint i = 0; i < asked->lanes->len; i++)
        write_lane(builder, asked->lanes->pdata[i], timeline->steps);
    json_builder_end_array(builder);
    json_begin_list(builder, "days");
    write_days(builder, asked);
    json_builder_end_array(builder);
    clip_request_free(asked);
    return http_reply(call->connection, MHD_HTTP_OK, "application/json", json_end_line(builder));
}

HTTP_RESULT timeline_route_show(struct http_call *call)
{
    struct clip_request *asked;
    HTTP_RESULT result = MHD_NO;

    if (clip_request_continue(call, &result))
        return result;
    asked = clip_request_new(call);
    if (!read_query(call, asked, &result)) {
        clip_request_free(asked);
        return result;
    }
    asked->lanes = g_ptr_array_new_with_free_func(g_free);
    asked->take_lane = take_lane;
    add_cameras(asked);
    return clip_request_ask(call, asked, RECORD_TIMELINE, 0, &asked->timeline,
                            sizeof asked->timeline, reply_timeline);
}
