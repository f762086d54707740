#include "daemon/front/model/verdict.h"

#include <glib.h>
#include <string.h>

void reload_verdict_set(struct reload_verdict *verdict, bool refused,
                        struct config_problems *problems)
{
    verdict->refused = refused;
    verdict->at_ns = g_get_real_time() * NS_PER_US;
    if (!refused)
        verdict->applied_at_ns = verdict->at_ns;
    config_problems_finish(&verdict->problems);
    verdict->problems = *problems;
    *problems = (struct config_problems){0};
}

void reload_verdict_add_refusal(struct reload_verdict *verdict, const char *camera,
                                const char *reason)
{
    g_autofree char *sentence =
        g_strdup_printf("camera %s: %s, keeping its settings before", camera, reason);

    for (size_t i = 0; i < verdict->problems.count; i++) {
        if (strcmp(verdict->problems.list[i].sentence, sentence) == 0)
            return;
    }
    config_problems_tell(&verdict->problems, true, NULL, "%s", sentence);
    verdict->refused = true;
}

void reload_verdict_finish(struct reload_verdict *verdict)
{
    config_problems_finish(&verdict->problems);
    *verdict = (struct reload_verdict){0};
}
