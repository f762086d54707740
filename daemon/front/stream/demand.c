#include "daemon/front/stream/demand.h"

#include "config/base.h"

#define BEGIN_INTERVAL_NS (250 * NS_PER_MS)
#define REPAIR_INTERVAL_NS NS_PER_S

void demand_set_handler(struct demand *demand, stream_demand_handler *handler, void *context)
{
    demand->handler = handler;
    demand->context = context;
    if (!handler)
        demand_drop_key_frame(demand);
}

void demand_finish(struct demand *demand)
{
    g_clear_handle_id(&demand->call, g_source_remove);
    demand_drop_key_frame(demand);
}

static gboolean on_call(gpointer data)
{
    struct demand *demand = data;
    bool key_frame = demand->key_frame;

    demand->call = 0;
    demand->key_frame = false;
    if (demand->handler)
        demand->handler(demand->context, demand->stream, key_frame);
    return G_SOURCE_REMOVE;
}

void demand_report(struct demand *demand)
{
    if (!demand->call)
        demand->call = g_idle_add_full(G_PRIORITY_HIGH, on_call, demand, NULL);
}

static void ask(struct demand *demand, int64_t now_ns)
{
    demand->asked_ns = demand->came_ns = now_ns;
    demand->key_frame = true;
    demand_report(demand);
}

static gboolean on_timer(gpointer data)
{
    struct demand *demand = data;

    demand->timer = 0;
    ask(demand, clock_now_ns());
    return G_SOURCE_REMOVE;
}

void demand_key_frame(struct demand *demand, enum demand_reason reason)
{
    int64_t now_ns = clock_now_ns(), wait_ns = demand_wait_ns(demand, reason, now_ns);

    if (demand->timer && demand->timer_ns <= now_ns + wait_ns)
        return;
    demand_drop_key_frame(demand);
    if (wait_ns > 0) {
        demand->timer_ns = now_ns + wait_ns;
        demand->timer = g_timeout_add((guint)(wait_ns / NS_PER_MS + 1), on_timer, demand);
        return;
    }
    ask(demand, now_ns);
}

void demand_take_key_frame(struct demand *demand)
{
    demand->came_ns = clock_now_ns();
    demand_drop_key_frame(demand);
}

void demand_drop_key_frame(struct demand *demand)
{
    g_clear_handle_id(&demand->timer, g_source_remove);
}

int64_t demand_wait_ns(const struct demand *demand, enum demand_reason reason, int64_t now_ns)
{
    int64_t due_ns = reason == DEMAND_BEGIN ? demand->asked_ns + BEGIN_INTERVAL_NS
                                            : demand->came_ns + REPAIR_INTERVAL_NS;

    return MAX(due_ns - now_ns, 0);
}
