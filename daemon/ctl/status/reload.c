// `edgectl reload`: has the running edged load its configuration again, and prints the verdict.
#include "daemon/ctl/commands.h"

#include "daemon/ctl/arguments.h"
#include "daemon/ctl/client.h"
#include "daemon/ctl/json_get.h"

#include <stdio.h>

static const char usage[] =
    "Usage: edgectl reload [--json] [--config FILE | --socket PATH]\n"
    "Has the running edged load its configuration again, as SIGHUP does, and waits for the "
    "verdict:\n"
    "errors and warnings go to standard error, and the exit status is 1 when it was refused.\n"
    "\n"
    "  --json         the verdict as JSON; edgectl(1) explains the fields\n"
    "  --config FILE  the running edged's configuration, which names its control socket\n"
    "  --socket PATH  the control socket, as `control.socket` in edged.conf\n";

// Prints the verdict. Returns whether the configuration was taken.
static bool print_verdict(JsonObject *verdict)
{
    bool successful = get_boolean(verdict, "successful");
    JsonArray *problems = json_object_has_member(verdict, "problems")
                              ? json_object_get_array_member(verdict, "problems")
                              : NULL;

    for (guint i = 0; problems && i < json_array_get_length(problems); i++) {
        fprintf(stderr, "%s\n", json_array_get_string_element(problems, i));
    }
    if (successful) {
        printf("configuration reloaded from %s\n", get_string(verdict, "path"));
    } else {
        fputs("edgectl: the configuration was refused, the one before stays in use\n", stderr);
    }
    return successful;
}

static int reload(const char *config_path, const char *socket, bool json)
{
    _cleanup_(cleanup_free) char *path = NULL, *body = NULL;
    g_autoptr(JsonParser) parser = json_parser_new();
    struct error error = {0};

    if (client_choose_socket(config_path, socket, &error, &path) < 0 ||
        client_post(path, "/v1/reload", &error, &body) < 0) {
        fprintf(stderr, "edgectl: %s\n", error.text);
        return 1;
    }
    if (!json_parser_load_from_data(parser, body, -1, NULL) ||
        !JSON_NODE_HOLDS_OBJECT(json_parser_get_root(parser))) {
        fputs("edgectl: edged's reply is no JSON object: are both of one version?\n", stderr);
        return 1;
    }
    JsonObject *verdict = json_node_get_object(json_parser_get_root(parser));
    if (json) {
        puts(body);
        return get_boolean(verdict, "successful") ? 0 : 1;
    }
    return print_verdict(verdict) ? 0 : 1;
}

int ctl_reload(int argc, char **argv)
{
    const char *config_path = NULL, *socket = NULL;
    bool json = false;
    const struct command_option options[] = {{"json", .flag = &json},
                                             {"config", .text = &config_path},
                                             {"socket", .text = &socket},
                                             {0}};
    const struct command_line line = {.command = "reload", .usage = usage, .options = options};
    int status;

    return command_line_parse(&line, argc, argv, &status) ? reload(config_path, socket, json)
                                                          : status;
}
