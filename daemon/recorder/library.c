#include "daemon/recorder/library.h"

#include <string.h>

void library_init(struct library *library)
{
    *library = (struct library){g_ptr_array_new_with_free_func(g_free), 1};
}

void library_finish(struct library *library)
{
    g_clear_pointer(&library->clips, g_ptr_array_unref);
}

struct recording *library_add(struct library *library, const struct recording *recording)
{
    struct recording *own = g_memdup(recording, sizeof *recording);

    own->id = library->next_id++;
    g_ptr_array_add(library->clips, own);
    return own;
}

// Where the first clip is whose id is not smaller.
static guint place_of(const struct library *library, uint64_t id)
{
    guint low = 0, high = library->clips->len;

    while (low < high) {
        guint middle = low + (high - low) / 2;
        const struct recording *recording = library->clips->pdata[middle];

        if (recording->id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

struct recording *library_find(const struct library *library, uint64_t id)
{
    guint place = place_of(library, id);
    struct recording *found = place < library->clips->len ? library->clips->pdata[place] : NULL;

    return found && found->id == id ? found : NULL;
}

void library_forget(struct library *library, uint64_t id)
{
    if (library_find(library, id)) {
        g_ptr_array_remove_index(library->clips, place_of(library, id));
    }
}

static bool is_asked_for(const struct recording *recording, const struct record_list *question)
{
    return (!question->to_wall_ns || recording->start_wall_ns < question->to_wall_ns) &&
           recording->end_wall_ns >= question->from_wall_ns && !recording->is_leaving &&
           (!question->camera[0] || strcmp(recording->camera, question->camera) == 0);
}

GPtrArray *library_list(const struct library *library, const struct record_list *question)
{
    guint most = question->count ? MIN(question->count, RECORD_LIST_MAX) : RECORD_LIST_MAX;
    guint place =
        question->before_id ? place_of(library, question->before_id) : library->clips->len;
    GPtrArray *found = g_ptr_array_new();

    while (place-- > 0 && found->len < most) {
        struct recording *recording = library->clips->pdata[place];

        if (is_asked_for(recording, question)) {
            g_ptr_array_add(found, recording);
        }
    }
    return found;
}

void library_count(const struct library *library, struct record_state_report *report)
{
    for (guint i = 0; i < library->clips->len; i++) {
        const struct recording *recording = library->clips->pdata[i];

        report->clips += !recording->is_open;
        report->open_clips += recording->is_open;
        report->kept_clips += recording->is_kept;
        report->clip_bytes += recording->bytes;
    }
}
