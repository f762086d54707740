#include "daemon/mqtt/retained.h"

#include "config/base.h"

#include <string.h>

void retained_init(struct retained *retained)
{
    *retained = (struct retained){
        .told = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
        .current = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
        .gone = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
    };
}

void retained_finish(struct retained *retained)
{
    g_hash_table_unref(retained->told);
    g_hash_table_unref(retained->current);
    g_hash_table_unref(retained->gone);
}

void retained_forget(struct retained *retained)
{
    g_hash_table_remove_all(retained->told);
    g_hash_table_remove_all(retained->current);
    g_hash_table_remove_all(retained->gone);
}

void retained_tell(struct retained *retained, struct broker *broker, char *topic,
                   const char *payload)
{
    g_hash_table_add(retained->current, g_strdup(topic));
    if (!broker_is_connected(broker) ||
        (!retained->tells_again && g_strcmp0(retained_last(retained, topic), payload) == 0)) {
        g_free(topic);
        return;
    }
    broker_publish(broker, topic, payload, strlen(payload), 1, true);
    g_hash_table_insert(retained->told, topic, g_strdup(payload));
}

void retained_keep(struct retained *retained, char *topic)
{
    if (!g_hash_table_contains(retained->told, topic))
        g_hash_table_insert(retained->told, g_strdup(topic), g_strdup(""));
    g_hash_table_add(retained->current, topic);
}

const char *retained_last(const struct retained *retained, const char *topic)
{
    return g_hash_table_lookup(retained->told, topic);
}

void retained_doubt(struct retained *retained, const char *topic)
{
    g_hash_table_remove(retained->told, topic);
}

void retained_doubt_all(struct retained *retained)
{
    retained->tells_again = true;
}

void retained_begin(struct retained *retained)
{
    g_hash_table_remove_all(retained->current);
}

static void take_back_rest(struct retained *retained, struct broker *broker, const char *prefix)
{
    GHashTableIter each;
    gpointer topic;

    g_hash_table_iter_init(&each, retained->told);
    while (g_hash_table_iter_next(&each, &topic, NULL)) {
        if (!g_hash_table_contains(retained->current, topic) && g_str_has_prefix(topic, prefix)) {
            retained_take_back(broker, topic);
            g_hash_table_iter_remove(&each);
        }
    }
}

void retained_end(struct retained *retained, struct broker *broker, const char *first)
{
    g_autofree char *prefix = g_strconcat(first, "/", NULL);

    take_back_rest(retained, broker, prefix);
    take_back_rest(retained, broker, "");
    retained->tells_again = false;
}

void retained_look_back(struct retained *retained, struct broker *broker, const char *own)
{
    static const char *const levels[] = {"+/available", "+/+/motion", "+/views/#", "+/regions/#"};

    g_hash_table_remove_all(retained->gone);
    for (size_t i = 0; i < ARRAY_LENGTH(levels); i++) {
        g_autofree char *topics = g_strconcat(own, "/", levels[i], NULL);

        broker_ask_retained(broker, topics);
    }
}

// Others may write below the topic of this edged as well: a camera is known by its availability.
static bool tells_of_camera(const char *topic, const char *payload, const char *camera)
{
    return strcmp(topic + strlen(camera), "/available") == 0 &&
           (strcmp(payload, "online") == 0 || strcmp(payload, "offline") == 0);
}

void retained_take_old(struct retained *retained, struct broker *broker, const char *topic,
                       const char *payload, const char *gone)
{
    if (gone && tells_of_camera(topic, payload, gone) &&
        g_hash_table_add(retained->gone, g_strdup(gone))) {
        g_autofree char *all = g_strconcat(gone, "/#", NULL);

        broker_ask_retained(broker, all);
    }
    if (*payload && (gone ? g_hash_table_contains(retained->gone, gone)
                          : !g_hash_table_contains(retained->current, topic))) {
        retained_take_back(broker, topic);
    }
}

void retained_take_back(struct broker *broker, const char *topic)
{
    broker_publish(broker, topic, "", 0, 1, true);
}
