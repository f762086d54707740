// The messages of edged-mqtt to Home Assistant, and which requests the commands of a broker's
// clients become. mqtt_front.json is in the form in which Home Assistant 2025.4.4 takes it.
#include "tests/unit/unit.h"

#include "daemon/client/client.h"
#include "daemon/common/json.h"
#include "daemon/mqtt/command.h"
#include "daemon/mqtt/discovery.h"

#include <errno.h>
#include <string.h>

#define FOLDER "tests/unit/daemon/"

static JsonObject *parse(const char *text)
{
    struct error error = {0};
    JsonObject *object = NULL;

    assert_int_equal(client_parse(text, &error, &object), 0);
    return object;
}

static char *read_file(const char *path)
{
    char *text = NULL;

    assert_true(g_file_get_contents(path, &text, NULL, NULL));
    return text;
}

static int setup(void **state)
{
    struct edged_state *edged = g_new0(struct edged_state, 1);
    g_autofree char *text = read_file(FOLDER "mqtt_edged.json");
    g_autoptr(JsonObject) told = parse(text);

    edged->id = "jetson-3f2a";
    edged->topic = "edged/jetson-3f2a";
    edged->schema = json_object_ref(json_object_get_object_member(told, "schema"));
    edged->config = json_object_ref(json_object_get_object_member(told, "config"));
    edged->status = json_object_ref(json_object_get_object_member(told, "status"));
    *state = edged;
    return 0;
}

static int teardown(void **state)
{
    struct edged_state *edged = *state;

    json_object_unref(edged->schema);
    json_object_unref(edged->config);
    json_object_unref(edged->status);
    g_free(edged);
    return 0;
}

TEST(test_home_assistant_is_told_each_entity_of_a_camera, setup, teardown)
{
    g_autofree char *file = read_file(FOLDER "mqtt_front.json");
    g_autoptr(JsonObject) wanted = parse(file);
    g_autoptr(JsonNode) root = json_node_init_object(json_node_alloc(), wanted);
    g_autofree char *expected = json_text(root, false);
    g_autofree char *text = discovery_of_camera(*state, "front");

    assert_string_equal(text, expected);
}

TEST(test_what_is_too_long_for_home_assistant_leaves_out_rare_settings, setup, teardown)
{
    const struct edged_state *edged = *state;
    JsonObject *views = json_object_get_object_member(settings_of(edged, "front"), "views");

    for (int i = 0; i < 40; i++) {
        g_autofree char *name = g_strdup_printf("view%d", i);

        json_object_set_object_member(views, name, parse("{\"gain\": 1, \"blur\": 0}"));
    }
    g_autofree char *text = discovery_of_camera(edged, "front");
    assert_non_null(strstr(text, "\"views_view39_gain\""));
    assert_null(strstr(text, "\"label_text\""));
}

TEST(test_entities_that_are_gone_are_marked_by_their_platform, setup, teardown)
{
    static const char old[] = "{\"cmps\":{\"a\":{\"p\":\"number\",\"name\":\"x\"},"
                              "\"b\":{\"p\":\"switch\"},\"c\":{},\"d\":7}}";
    g_autofree char *marked =
        discovery_with_removed("{\"cmps\":{\"b\":{\"p\":\"switch\",\"name\":\"y\"}}}", old);
    g_autofree char *none = discovery_with_removed(marked, old);

    assert_string_equal(
        marked, "{\"cmps\":{\"b\":{\"p\":\"switch\",\"name\":\"y\"},\"a\":{\"p\":\"number\"}}}");
    assert_null(none);
    assert_null(discovery_with_removed(marked, "no JSON"));
    assert_null(discovery_with_removed(marked, "{\"cmps\":[]}"));
}

static const struct {
    const char *topic, *payload;
    const char *page, *json; // NULL: it is refused
    const char *sentence;
} commands[] = {
    {"front/armed", "OFF", "/v1/config?keep=1", "{\"cameras\":{\"front\":{\"armed\":false}}}",
     NULL},
    {"front/views/edges/gain", "2.5", "/v1/config?keep=1",
     "{\"cameras\":{\"front\":{\"views\":{\"edges\":{\"gain\":2.5}}}}}", NULL},
    {"front/views/edges/gain", "2.0", "/v1/config?keep=1",
     "{\"cameras\":{\"front\":{\"views\":{\"edges\":{\"gain\":2}}}}}", NULL},
    {"front/views/edges/blur", "5", "/v1/config?keep=1",
     "{\"cameras\":{\"front\":{\"views\":{\"edges\":{\"blur\":5}}}}}", NULL},
    {"front/label/text", "\"Gate\"\\", "/v1/config?keep=1",
     "{\"cameras\":{\"front\":{\"label\":{\"text\":\"\\\"Gate\\\"\\\\\"}}}}", NULL},
    {"front/record", "30", "/v1/cameras/front/record", "{\"duration_s\": 30.000}", NULL},
    {"front/record", "0", "/v1/cameras/front/record", "{\"record\": false}", NULL},
    {"front/record", "0.5", NULL, NULL, "got \"0.5\", allowed: 1 to 86400"},
    {"front/record", "", NULL, NULL, "got \"\", allowed: 1 to 86400"},
    {"front/armed", "true", NULL, NULL, "got \"true\", allowed: ON, OFF"},
    {"front/views/edges/blur", "4", NULL, NULL, "got \"4\", allowed: 0, 3, 5"},
    {"front/views/edges/gain", "nan", NULL, NULL, "got \"nan\", allowed: a number"},
    {"front/views/edges/gain", "1 ", NULL, NULL, "allowed: a number"},
    {"front/views/edges/polygon", "[]", NULL, NULL, "there is no setting"},
    {"front/fps", "10", NULL, NULL, "there is no setting \"fps\""},
    {"front/source", "auto", NULL, NULL, "there is no setting \"source\""},
    {"front", "1", NULL, NULL, "there is no setting"},
    {"back/armed", "ON", NULL, NULL, "there is no camera \"back\""},
    {"", "ON", NULL, NULL, "there is no camera \"\""},
    {"front/label/text", "\xff", NULL, NULL, "the payload is no text"},
};

TEST(test_commands_become_requests_or_are_told_what_is_allowed, setup, teardown)
{
    for (size_t i = 0; i < ARRAY_LENGTH(commands); i++) {
        struct command command;
        struct error error = {0};
        int r = command_read(*state, commands[i].topic, commands[i].payload,
                             strlen(commands[i].payload), &error, &command);

        if (commands[i].page) {
            assert_int_equal(r, 0);
            assert_string_equal(command.page, commands[i].page);
            assert_string_equal(command.json, commands[i].json);
        } else {
            assert_int_equal(r, -EINVAL);
            assert_non_null(strstr(error.text, commands[i].sentence));
        }
        command_finish(&command);
    }
}

TEST(test_a_payload_is_a_text_of_some_length, setup, teardown)
{
    g_autofree char *large = g_strnfill(COMMAND_SIZE_MAX + 1, 'x');
    struct command command;
    struct error error = {0};

    assert_int_equal(
        command_read(*state, "front/label/text", large, COMMAND_SIZE_MAX, &error, &command), 0);
    command_finish(&command);
    assert_int_equal(
        command_read(*state, "front/label/text", large, COMMAND_SIZE_MAX + 1, &error, &command),
        -EINVAL);
    assert_int_equal(command_read(*state, "front/label/text", "a\0b", 3, &error, &command),
                     -EINVAL);
}

RUN_TESTS(NULL, NULL)
