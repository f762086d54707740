#include "daemon/recorder/clip_faults.h"

#include "daemon/common/log.h"

#include <string.h>

void clip_faults_init(struct clip_faults *faults)
{
    *faults = (struct clip_faults){.views = g_hash_table_new_full(NULL, NULL, NULL, g_free)};
}

void clip_faults_finish(struct clip_faults *faults)
{
    g_hash_table_unref(faults->views);
}

static const char *view_name(const char *camera, const char *view)
{
    g_autofree char *name = g_strconcat(camera, "/", view, NULL);

    return g_intern_string(name);
}

const char *clip_faults_view(const struct recording *recording)
{
    return view_name(recording->camera, recording->view);
}

void clip_faults_lose(struct clip_faults *faults, const struct recording *recording,
                      const char *path, int result)
{
    const char *view = clip_faults_view(recording);
    char *sentence =
        g_strdup_printf("cannot write clips of %s in %s: %s", view, path, strerror(-result));

    faults->lost++;
    if (!g_hash_table_contains(faults->views, view))
        log_error("%s; trying again", sentence);
    g_hash_table_replace(faults->views, (gpointer)view, sentence);
}

void clip_faults_forget(struct clip_faults *faults, const struct recording *recording)
{
    if (g_hash_table_size(faults->views) > 0 &&
        g_hash_table_remove(faults->views, clip_faults_view(recording))) {
        log_notice("clips of %s can be written again", clip_faults_view(recording));
    }
}

void clip_faults_drop(struct clip_faults *faults, const char *camera, const char *view)
{
    g_hash_table_remove(faults->views, view_name(camera, view));
}

void clip_faults_lack_room(struct clip_faults *faults, const struct library *library,
                           const char *path)
{
    struct record_state_report report = {0};
    bool is_news = faults->no_room[0] == '\0';

    library_count(library, &report);
    g_autofree char *kept = g_format_size(report.kept_bytes);
    g_snprintf(faults->no_room, sizeof faults->no_room,
               "%s%s leave no room for others in %s, so clips are deleted as soon as they end "
               "(storage.max_size, storage.min_free)",
               report.kept_bytes ? "clips that are kept, of "
                                 : "clips of events and those that are open",
               report.kept_bytes ? kept : "", path);
    faults->lost++;
    if (is_news)
        log_warning("%s", faults->no_room);
}

void clip_faults_have_room(struct clip_faults *faults)
{
    faults->no_room[0] = '\0';
}

const char *clip_faults_sentence(const struct clip_faults *faults)
{
    GHashTableIter views;
    gpointer sentence;

    g_hash_table_iter_init(&views, faults->views);
    return g_hash_table_iter_next(&views, NULL, &sentence) ? sentence : faults->no_room;
}
