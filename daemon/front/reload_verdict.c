#include "daemon/front/reload_verdict.h"

#include "config/base.h"
#include "daemon/common/json_members.h"

#include <stdio.h>
#include <string.h>

void reload_verdict_set(struct reload_verdict *verdict, bool refused, char *problems)
{
    verdict->refused = refused;
    verdict->at_ns = g_get_real_time() * NS_PER_US;
    if (!refused) {
        verdict->applied_at_ns = verdict->at_ns;
    }
    free(verdict->problems);
    verdict->problems = problems;
}

void reload_verdict_add_refusal(struct reload_verdict *verdict, const char *camera,
                                const char *reason)
{
    g_autofree char *line =
        g_strdup_printf("camera %s: %s, keeping its settings before\n", camera, reason);
    char *problems = NULL;

    if (verdict->problems && strstr(verdict->problems, line)) {
        return;
    }
    if (asprintf(&problems, "%s%s", verdict->problems ? verdict->problems : "", line) >= 0) {
        free(verdict->problems);
        verdict->problems = problems;
        verdict->refused = true;
    }
}

void reload_verdict_finish(struct reload_verdict *verdict)
{
    free(verdict->problems);
    *verdict = (struct reload_verdict){0};
}

void reload_verdict_add(JsonBuilder *builder, const struct reload_verdict *verdict)
{
    g_auto(GStrv) lines = g_strsplit(verdict->problems ? verdict->problems : "", "\n", -1);

    json_builder_begin_object(builder);
    json_add_string(builder, "path", verdict->path ? verdict->path : "");
    json_builder_set_member_name(builder, "successful");
    json_builder_add_boolean_value(builder, !verdict->refused);
    json_add_time(builder, "time", verdict->at_ns);
    json_add_time(builder, "applied", verdict->applied_at_ns);
    json_builder_set_member_name(builder, "problems");
    json_builder_begin_array(builder);
    for (char **line = lines; *line; line++) {
        if (**line) {
            json_builder_add_string_value(builder, *line);
        }
    }
    json_builder_end_array(builder);
    json_builder_end_object(builder);
}

char *reload_verdict_json(const struct reload_verdict *verdict)
{
    g_autoptr(JsonBuilder) builder = json_builder_new();
    g_autoptr(JsonNode) root = NULL;

    reload_verdict_add(builder, verdict);
    root = json_builder_get_root(builder);
    return json_to_string(root, TRUE);
}
