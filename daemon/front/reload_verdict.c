#include "daemon/front/reload_verdict.h"

#include "config/base.h"

#include <glib.h>
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

void reload_verdict_add(struct facts *facts, const struct reload_verdict *verdict)
{
    g_auto(GStrv) lines = g_strsplit(verdict->problems ? verdict->problems : "", "\n", -1);

    facts_add_text(facts, "path", verdict->path ? verdict->path : "");
    facts_add_flag(facts, "successful", !verdict->refused, "edged_config_last_reload_successful",
                   "1, or 0 when the last reload was refused.");
    facts_add_time(facts, "time", verdict->at_ns);
    facts_add_time(facts, "applied", verdict->applied_at_ns);
    facts_add_number(facts, NULL, (double)verdict->applied_at_ns / (double)NS_PER_S,
                     "edged_config_last_reload_success_timestamp_seconds", "%.3f",
                     "When the configuration in use was loaded, since 1970.");
    facts_begin_list(facts, "problems");
    for (char **line = lines; *line; line++) {
        if (**line) {
            facts_add_element(facts, *line);
        }
    }
    facts_end(facts);
}

char *reload_verdict_json(const struct reload_verdict *verdict)
{
    struct facts *facts = facts_new(FACTS_JSON);

    facts_begin(facts, NULL);
    reload_verdict_add(facts, verdict);
    facts_end(facts);
    return facts_finish(facts);
}
