// Messages of a broker to edged-mqtt: commands, whose topic ends at the first byte 0, and messages
// of discovery that it has kept. What comes of a command is a change of one setting of that camera,
// or a recording of it; a mark of a removed entity has nothing but its platform.
//
// Parsers: daemon/mqtt/command.c daemon/mqtt/discovery.c daemon/mqtt/settings.c
#include "tests/fuzz/fuzz.h"

#include "daemon/client/client.h"
#include "daemon/mqtt/command.h"
#include "daemon/mqtt/discovery.h"

static const char schema[] =
    "{\"properties\":{\"cameras\":{\"additionalProperties\":{\"properties\":{"
    "\"armed\":{\"type\":\"boolean\",\"x-cost\":\"frame\",\"x-remote\":true},"
    "\"gain\":{\"type\":\"number\",\"x-cost\":\"frame\",\"x-remote\":true},"
    "\"blur\":{\"enum\":[0,3,\"x\"],\"x-cost\":\"frame\",\"x-remote\":true},"
    "\"text\":{\"type\":\"string\",\"x-cost\":\"frame\",\"x-remote\":true}}}}}}";
static const char config[] =
    "{\"cameras\":{\"front\":{\"armed\":true,\"gain\":1.5,\"blur\":3,\"text\":\"\"}}}";

static JsonObject *parse(const char *text)
{
    JsonObject *object = NULL;

    fuzz_claim(client_parse(text, NULL, &object) == 0);
    return object;
}

static const struct edged_state *find_edged(void)
{
    static struct edged_state edged;

    if (!edged.config) {
        edged = (struct edged_state){.id = "a",
                                     .topic = "edged/a",
                                     .schema = parse(schema),
                                     .config = parse(config),
                                     .status = parse("{}")};
    }
    return &edged;
}

static void check_patch(const char *json)
{
    g_autoptr(JsonObject) patch = parse(json);
    JsonObject *cameras = get_object(patch, "cameras"), *front = get_object(cameras, "front");

    fuzz_claim(json_object_get_size(patch) == 1 && json_object_get_size(cameras) == 1);
    fuzz_claim(front && json_object_get_size(front) == 1);
}

static void check_command(const char *topic, const char *payload, size_t size)
{
    struct error error = {0};
    struct command command;

    if (command_read(find_edged(), topic, payload, size, &error, &command) < 0) {
        fuzz_claim(error.text[0] && !command.page && !command.json);
        return;
    }
    if (command.is_patch)
        check_patch(command.json);
    else
        fuzz_claim(strcmp(command.page, "/v1/cameras/front/record") == 0);
    command_finish(&command);
}

static void check_discovery(const char *old)
{
    static const char wanted[] = "{\"cmps\":{\"a\":{\"p\":\"switch\"}}}";
    g_autofree char *marked = discovery_with_removed(wanted, old);

    if (marked) {
        g_autoptr(JsonObject) message = parse(marked);
        g_autofree char *again = discovery_with_removed(marked, old);

        fuzz_claim(json_object_get_size(get_object(message, "cmps")) > 1 && !again);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    size_t length = strlen(text), rest = length < size ? length + 1 : size;

    check_command(text, (const char *)data + rest, size - rest);
    check_discovery(text);
    free(text);
    return 0;
}
