// Finds the first encoder that works: element by element, of each the ways into it, best first.
#include "daemon/camera/encoder_private.h"

#include <errno.h>

static void add_reason(struct error *reasons, const char *element, const char *how,
                       const char *reason)
{
    struct error before = *reasons;

    error_set(reasons, -ENOSYS, "%s%s%s%s: %s", before.text, before.text[0] ? "; " : "", element,
              how, reason);
}

// What encoder_new() is told, and what it finds.
struct search {
    const struct encoder_settings *settings;
    struct frame *trial;
    struct encoder_watches *watches;
    encoder_output *output;
    void *context;
    struct error reasons;     // why those before do not work
    struct error passed_over; // those of them that take surfaces as they are
};

// Tries the ways into an element, best first.
static int search_ways(struct search *search, const struct encoder_element *element,
                       struct encoder **ret_encoder)
{
    for (size_t i = 0; i < ENCODER_WAYS_MAX && element->ways[i].fragment; i++) {
        const struct encoder_way *way = &element->ways[i];
        struct error reason = {0};

        if (way->surfaces && !search->settings->surfaces) {
            continue;
        }
        if (encoder_open(element, way, search->settings, search->trial, search->watches,
                         search->output, search->context, &reason, ret_encoder) == 0) {
            return 0;
        }
        add_reason(&search->reasons, element->name, way->how, reason.text);
        if (way->surfaces) {
            add_reason(&search->passed_over, element->name, way->how, reason.text);
        }
    }
    return -ENOSYS;
}

int encoder_new(const struct encoder_settings *settings, struct frame *trial,
                struct encoder_watches *watches, encoder_output *output, void *context,
                struct error *error, struct encoder **ret_encoder)
{
    struct search search = {.settings = settings,
                            .trial = trial,
                            .watches = watches,
                            .output = output,
                            .context = context,
                            .reasons = {"no encoder works"}};
    const struct encoder_element *element;

    for (size_t i = 0; (element = encoder_element_at(i)); i++) {
        if (config_encoder_codec(element->id) != settings->codec ||
            (settings->element != CONFIG_ENCODER_AUTO && settings->element != element->id)) {
            continue;
        }
        const char *objection =
            encoder_element_objection(element, settings, watches ? watches->passed_over : 0);
        if (objection) {
            add_reason(&search.reasons, element->name, "", objection);
        } else if (search_ways(&search, element, ret_encoder) == 0) {
            if (search.passed_over.text[0]) {
                *error = search.passed_over;
            }
            return 0;
        }
    }
    return error_set(error, -ENOSYS, "%s", search.reasons.text);
}
