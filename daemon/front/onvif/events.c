// ONVIF's Events service, by pull points (ONVIF Core, section 9.2), and what of WS-BaseNotification
// ends and prolongs them. PullMessages answers what there is; that it waits is HTTP's
// (onvif_route.c).
#include "daemon/front/onvif/onvif.h"

#include <errno.h>
#include <string.h>

#define CONCRETE_SET "http://www.onvif.org/ver10/tev/topicExpression/ConcreteSet"

#define SOURCES_MAX 3

static const struct {
    const char *path; // as clients name it, without prefixes
    const char *topic, *state;
    struct {
        const char *name, *value; // value NULL: the camera's name
    } sources[SOURCES_MAX];       // up to one without a name
} topics[PULL_TOPIC_COUNT] = {
    [PULL_MOTION_ALARM] = {"VideoSource/MotionAlarm",
                           "tns1:VideoSource/MotionAlarm",
                           "State",
                           {{"Source", NULL}}},
    [PULL_CELL_MOTION] = {"RuleEngine/CellMotionDetector/Motion",
                          "tns1:RuleEngine/CellMotionDetector/Motion",
                          "IsMotion",
                          {{"VideoSourceConfigurationToken", NULL},
                           {"VideoAnalyticsConfigurationToken", NULL},
                           {"Rule", "motion"}}},
};

static int64_t wall_now_ns(void)
{
    return g_get_real_time() * NS_PER_US;
}

static void append_time(struct onvif_ask *ask, const char *element, int64_t wall_ns)
{
    g_autofree char *text = soap_time(wall_ns);

    soap_append(ask->answer, "<%s>%s</%s>", element, text, element);
}

static void append_end(struct onvif_ask *ask, const char *element, const struct pull_point *point)
{
    append_time(ask, element, wall_now_ns() + pull_point_end_ns(point) - clock_now_ns());
}

// How long a client wants a pull point to live.
static int read_life(struct onvif_ask *ask, const char *name, int64_t *ret_ns)
{
    const char *text = soap_request_find(ask->request, name);

    *ret_ns = PULL_POINT_LIFE_S * NS_PER_S;
    if (!text || soap_read_duration(text, wall_now_ns(), ret_ns) == 0)
        return 0;
    return soap_fault_set(&ask->fault, "ter:InvalidArgVal", NULL,
                          "%s: got \"%s\", allowed: a duration such as PT10M, or a time to come",
                          name, text);
}

static int answer_capabilities(struct onvif_ask *ask)
{
    soap_append(ask->answer,
                "<tev:Capabilities WSSubscriptionPolicySupport=\"false\""
                " WSPausableSubscriptionManagerInterfaceSupport=\"false\""
                " MaxNotificationProducers=\"1\" MaxPullPoints=\"%d\""
                " PersistentNotificationStorage=\"false\"/>",
                PULL_POINTS_MAX);
    return 0;
}

// The topics, in words of the specification.
static int answer_properties(struct onvif_ask *ask)
{
    g_string_append(
        ask->answer,
        "<tev:TopicNamespaceLocation>http://www.onvif.org/onvif/ver10/topics/topicns.xml"
        "</tev:TopicNamespaceLocation><wsnt:FixedTopicSet>true</wsnt:FixedTopicSet>"
        "<wstop:TopicSet><tns1:VideoSource><MotionAlarm wstop:topic=\"true\">"
        "<tt:MessageDescription IsProperty=\"true\"><tt:Source>"
        "<tt:SimpleItemDescription Name=\"Source\" Type=\"tt:ReferenceToken\"/></tt:Source>"
        "<tt:Data><tt:SimpleItemDescription Name=\"State\" Type=\"xsd:boolean\"/></tt:Data>"
        "</tt:MessageDescription></MotionAlarm></tns1:VideoSource>"
        "<tns1:RuleEngine><CellMotionDetector><Motion wstop:topic=\"true\">"
        "<tt:MessageDescription IsProperty=\"true\"><tt:Source>"
        "<tt:SimpleItemDescription Name=\"VideoSourceConfigurationToken\""
        " Type=\"tt:ReferenceToken\"/>"
        "<tt:SimpleItemDescription Name=\"VideoAnalyticsConfigurationToken\""
        " Type=\"tt:ReferenceToken\"/>"
        "<tt:SimpleItemDescription Name=\"Rule\" Type=\"xsd:string\"/></tt:Source>"
        "<tt:Data><tt:SimpleItemDescription Name=\"IsMotion\" Type=\"xsd:boolean\"/></tt:Data>"
        "</tt:MessageDescription></Motion></CellMotionDetector></tns1:RuleEngine>"
        "</wstop:TopicSet><wsnt:TopicExpressionDialect>" CONCRETE_SET
        "</wsnt:TopicExpressionDialect><wsnt:TopicExpressionDialect>"
        "http://docs.oasis-open.org/wsn/t-1/TopicExpression/Concrete"
        "</wsnt:TopicExpressionDialect><tev:MessageContentFilterDialect>"
        "http://www.onvif.org/ver10/tev/messageContentFilter/ItemFilter"
        "</tev:MessageContentFilterDialect><tev:MessageContentSchemaLocation>"
        "http://www.onvif.org/onvif/ver10/schema/onvif.xsd</tev:MessageContentSchemaLocation>");
    return 0;
}

// Whether an expression such as "tns1:RuleEngine//." or "tns1:VideoSource/MotionAlarm" has the
// topic in it. Prefixes are not looked at: all topics are of one namespace.
static bool has_topic(const char *expression, const char *path)
{
    g_auto(GStrv) parts = g_strsplit(expression, "/", 0);
    g_autoptr(GString) plain = g_string_new(NULL);
    bool is_tree = g_str_has_suffix(expression, "//.");

    for (char **part = parts; *part; part++) {
        const char *colon = strchr(*part, ':'), *name = g_strstrip(*part);

        name = colon ? colon + 1 : name;
        if (*name && strcmp(name, ".") != 0)
            g_string_append_printf(plain, "%s%s", plain->len ? "/" : "", name);
    }
    if (strcmp(plain->str, path) == 0)
        return true;
    return is_tree && strncmp(path, plain->str, plain->len) == 0 &&
           (plain->len == 0 || path[plain->len] == '/');
}

// The topics that a filter lets through, a bit each; without one all of them.
static int read_topics(struct onvif_ask *ask, unsigned *ret_topics)
{
    const char *expression = soap_request_find(ask->request, "TopicExpression");
    g_auto(GStrv) choices = g_strsplit(expression ? expression : "//.", "|", 0);

    *ret_topics = 0;
    for (char **choice = choices; *choice; choice++) {
        for (unsigned i = 0; i < PULL_TOPIC_COUNT; i++)
            *ret_topics |= has_topic(g_strstrip(*choice), topics[i].path) ? 1U << i : 0;
    }
    if (*ret_topics)
        return 0;
    return soap_fault_set(&ask->fault, "ter:InvalidArgVal", "ter:InvalidFilterFault",
                          "TopicExpression: got \"%s\", allowed: %s and %s", expression,
                          topics[0].topic, topics[1].topic);
}

static int answer_create(struct onvif_ask *ask)
{
    struct pull_client client = {.user = ask->user, .camera = ask->camera, .role = ask->role};
    struct pull_point *point;
    int64_t life_ns;
    int r = read_life(ask, "InitialTerminationTime", &life_ns);

    r = r < 0 ? r : read_topics(ask, &client.topics);
    if (r < 0)
        return r;
    point = pull_points_add(ask->points, &client, ask->model->config, life_ns);
    if (!point) {
        r = soap_fault_set(&ask->fault, "ter:Action", "ter:MaxNotificationProducers",
                           "all of %d pull points are in use, try again later", PULL_POINTS_MAX);
        ask->fault.is_server = true;
        return r;
    }
    soap_append(ask->answer,
                "<tev:SubscriptionReference><wsa5:Address>%s/onvif/" ONVIF_PULL_POINT_PATH
                "/%s</wsa5:Address></tev:SubscriptionReference>",
                ask->base, pull_point_id(point));
    append_time(ask, "wsnt:CurrentTime", wall_now_ns());
    append_end(ask, "wsnt:TerminationTime", point);
    return 0;
}

// The pull point that is asked. Clients make another one after this fault.
static int find_point(struct onvif_ask *ask, struct pull_point **ret_point)
{
    *ret_point =
        ask->point ? pull_points_find(ask->points, ask->point, ask->user, ask->role) : NULL;
    if (*ret_point)
        return 0;
    return soap_fault_set(&ask->fault, "ter:InvalidArgVal", "ter:ResourceUnknown",
                          "there is no such pull point, make one by CreatePullPointSubscription");
}

static void append_item(struct onvif_ask *ask, const char *name, const char *value)
{
    soap_append(ask->answer, "<tt:SimpleItem Name=\"%s\" Value=\"%s\"/>", name, value);
}

static void append_message(struct onvif_ask *ask, const struct pull_message *message)
{
    g_autofree char *time = soap_time(message->wall_ns);

    soap_append(ask->answer,
                "<wsnt:NotificationMessage><wsnt:Topic Dialect=\"" CONCRETE_SET
                "\">%s</wsnt:Topic><wsnt:Message><tt:Message UtcTime=\"%s\""
                " PropertyOperation=\"%s\"><tt:Source>",
                topics[message->topic].topic, time,
                message->is_initial ? "Initialized" : "Changed");
    for (int i = 0; i < SOURCES_MAX && topics[message->topic].sources[i].name; i++) {
        const char *value = topics[message->topic].sources[i].value;

        append_item(ask, topics[message->topic].sources[i].name, value ? value : message->camera);
    }
    g_string_append(ask->answer, "</tt:Source><tt:Data>");
    append_item(ask, topics[message->topic].state, message->is_moving ? "true" : "false");
    g_string_append(ask->answer,
                    "</tt:Data></tt:Message></wsnt:Message></wsnt:NotificationMessage>");
}

static int answer_pull(struct onvif_ask *ask)
{
    const char *limit_text = soap_request_find(ask->request, "MessageLimit");
    long limit = limit_text ? strtol(limit_text, NULL, 10) : PULL_POINT_MESSAGES_MAX;
    struct pull_message message;
    struct pull_point *point;
    int r = find_point(ask, &point);

    if (r < 0)
        return r;
    append_time(ask, "tev:CurrentTime", wall_now_ns());
    append_end(ask, "tev:TerminationTime", point);
    for (long i = 0; i < MAX(limit, 1) && pull_point_take(point, ask->model->config, &message);
         i++) {
        append_message(ask, &message);
    }
    return 0;
}

static int answer_synchronization_point(struct onvif_ask *ask)
{
    struct pull_point *point;
    int r = find_point(ask, &point);

    if (r == 0)
        pull_point_synchronize(ask->points, point, ask->model->config);
    return r;
}

static int answer_renew(struct onvif_ask *ask)
{
    struct pull_point *point;
    int64_t life_ns;
    int r = find_point(ask, &point);

    r = r < 0 ? r : read_life(ask, "TerminationTime", &life_ns);
    if (r < 0)
        return r;
    pull_point_renew(point, life_ns);
    append_end(ask, "wsnt:TerminationTime", point);
    append_time(ask, "wsnt:CurrentTime", wall_now_ns());
    return 0;
}

static int answer_unsubscribe(struct onvif_ask *ask)
{
    struct pull_point *point;
    int r = find_point(ask, &point);

    if (r == 0)
        pull_points_remove(ask->points, point);
    return r;
}

const struct onvif_operation onvif_event_operations[] = {
    {"GetServiceCapabilities", answer_capabilities, true},
    {"GetEventProperties", answer_properties, false},
    {"CreatePullPointSubscription", answer_create, false},
    {ONVIF_PULL, answer_pull, false},
    {"SetSynchronizationPoint", answer_synchronization_point, false},
    {NULL, NULL, false},
};

const struct onvif_operation onvif_notification_operations[] = {
    {"Renew", answer_renew, false},
    {"Unsubscribe", answer_unsubscribe, false},
    {NULL, NULL, false},
};
