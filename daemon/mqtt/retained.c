#include "daemon/mqtt/retained.h"

#include <string.h>

void retained_init(struct retained *retained)
{
    *retained = (struct retained){
        .told = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
        .current = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
    };
}

void retained_finish(struct retained *retained)
{
    g_hash_table_unref(retained->told);
    g_hash_table_unref(retained->current);
}

void retained_forget(struct retained *retained)
{
    g_hash_table_remove_all(retained->told);
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

void retained_begin(struct retained *retained)
{
    g_hash_table_remove_all(retained->current);
}

void retained_end(struct retained *retained, struct broker *broker)
{
    GHashTableIter each;
    gpointer topic;

    g_hash_table_iter_init(&each, retained->told);
    while (g_hash_table_iter_next(&each, &topic, NULL)) {
        if (!g_hash_table_contains(retained->current, topic)) {
            retained_take_back(broker, topic);
            g_hash_table_iter_remove(&each);
        }
    }
    retained->tells_again = false;
}

void retained_look_at(const struct retained *retained, struct broker *broker, const char *topic)
{
    if (!g_hash_table_contains(retained->current, topic))
        retained_take_back(broker, topic);
}

void retained_take_back(struct broker *broker, const char *topic)
{
    broker_publish(broker, topic, "", 0, 1, true);
}
