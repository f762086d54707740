// Finds the first encoder that works: element by element, of each the ways into it, best first.
// What hung before, or was silent on trial, comes last: it may have been the machine that was slow.
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
    unsigned last;            // elements to be tried last, a bit for each
    struct error reasons;     // why those before do not work
    struct error passed_over; // those of them that take surfaces as they are
};

// Tries the ways into an element, best first.
static int search_ways(struct search *search, const struct encoder_element *element,
                       struct encoder **ret_encoder)
{
    bool silent = false;

    for (size_t i = 0; i < ENCODER_WAYS_MAX && element->ways[i].fragment; i++) {
        const struct encoder_way *way = &element->ways[i];
        struct error reason = {0};

        if (way->surfaces && !search->settings->surfaces) {
            continue;
        }
        int r = encoder_open(element, way, search->settings, search->trial, search->watches,
                             search->output, search->context, &reason, ret_encoder);
        if (r == 0) {
            return 0;
        }
        silent |= r == -ETIMEDOUT;
        add_reason(&search->reasons, element->name, way->how, reason.text);
        if (way->surfaces) {
            add_reason(&search->passed_over, element->name, way->how, reason.text);
        }
    }
    if (silent && search->watches) { // the next view need not wait for it as well
        search->watches->passed_over |= 1U << element->id;
    }
    return -ENOSYS;
}

// The elements that are tried last, or the others.
static int search_elements(struct search *search, bool last, struct encoder **ret_encoder)
{
    const struct encoder_settings *settings = search->settings;
    bool any = settings->element == CONFIG_ENCODER_AUTO;
    const struct encoder_element *element;

    for (size_t i = 0; (element = encoder_element_at(i)); i++) {
        if (config_encoder_codec(element->id) != settings->codec ||
            (!any && settings->element != element->id) ||
            (search->last >> element->id & 1) != last) {
            continue;
        }
        if (any && settings->without >> element->id & 1) {
            add_reason(&search->reasons, element->name, "", "this board has no such hardware");
        } else if (search_ways(search, element, ret_encoder) == 0) {
            return 0;
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
                            .last = watches ? watches->passed_over : 0,
                            .reasons = {"no encoder works"}};

    if (search_elements(&search, false, ret_encoder) < 0 &&
        search_elements(&search, true, ret_encoder) < 0) {
        return error_set(error, -ENOSYS, "%s", search.reasons.text);
    }
    if (search.passed_over.text[0]) {
        *error = search.passed_over;
    }
    return 0;
}
