#include "daemon/front/status/facts.h"

#include "daemon/common/json.h"

#include <math.h>

struct scope {
    bool is_list;
    char *labels; // of the scope around it; owned
};

// A metric with its samples so far.
struct metric {
    const char *name, *type, *help;
    GString *samples; // owned
};

struct facts {
    JsonBuilder *builder; // owned; NULL: metrics are written
    GArray *scopes;       // owned; of struct scope
    GString *labels;      // owned; `camera="front",view="edges"`
    GPtrArray *metrics;   // owned; of struct metric, in the order of their first samples
    GHashTable *by_name;  // owned; of the same
};

static void free_metric(gpointer data)
{
    struct metric *metric = data;

    g_string_free(metric->samples, TRUE);
    g_free(metric);
}

struct facts *facts_new(enum facts_format format)
{
    struct facts *facts = g_new0(struct facts, 1);

    facts->builder = format == FACTS_JSON ? json_builder_new() : NULL;
    facts->scopes = g_array_new(FALSE, FALSE, sizeof(struct scope));
    facts->labels = g_string_new(NULL);
    facts->metrics = g_ptr_array_new_with_free_func(free_metric);
    facts->by_name = g_hash_table_new(g_str_hash, g_str_equal);
    return facts;
}

static char *join_metrics(const GPtrArray *metrics)
{
    GString *text = g_string_sized_new(16384);

    for (guint i = 0; i < metrics->len; i++) {
        const struct metric *metric = g_ptr_array_index(metrics, i);

        g_string_append_printf(text, "# HELP %s %s\n# TYPE %s %s\n%s", metric->name, metric->help,
                               metric->name, metric->type, metric->samples->str);
    }
    return g_string_free(text, FALSE);
}

char *facts_finish(struct facts *facts)
{
    g_autoptr(JsonNode) root = facts->builder ? json_builder_get_root(facts->builder) : NULL;
    char *text = root ? json_text(root, true) : join_metrics(facts->metrics);

    if (facts->builder)
        g_object_unref(facts->builder);
    g_array_unref(facts->scopes);
    g_string_free(facts->labels, TRUE);
    g_ptr_array_unref(facts->metrics);
    g_hash_table_unref(facts->by_name);
    g_free(facts);
    return text;
}

bool facts_are_json(const struct facts *facts)
{
    return facts->builder;
}

static void begin(struct facts *facts, const char *json, bool is_list)
{
    const struct scope scope = {is_list, g_strdup(facts->labels->str)};

    g_array_append_val(facts->scopes, scope);
    if (facts->builder && json)
        json_builder_set_member_name(facts->builder, json);
    if (facts->builder && is_list)
        json_builder_begin_array(facts->builder);
    else if (facts->builder)
        json_builder_begin_object(facts->builder);
}

void facts_begin(struct facts *facts, const char *json)
{
    begin(facts, json, false);
}

void facts_begin_list(struct facts *facts, const char *json)
{
    begin(facts, json, true);
}

void facts_end(struct facts *facts)
{
    struct scope scope = g_array_index(facts->scopes, struct scope, facts->scopes->len - 1);

    g_array_set_size(facts->scopes, facts->scopes->len - 1);
    g_string_assign(facts->labels, scope.labels);
    g_free(scope.labels);
    if (facts->builder && scope.is_list)
        json_builder_end_array(facts->builder);
    else if (facts->builder)
        json_builder_end_object(facts->builder);
}

void facts_add_label(struct facts *facts, const char *label, const char *value)
{
    g_autofree char *valid = g_utf8_make_valid(value, -1);
    GString *labels = facts->labels;

    g_string_append_printf(labels, "%s%s=\"", labels->len ? "," : "", label);
    for (const char *c = valid; *c; c++) {
        if (*c == '\n') {
            g_string_append(labels, "\\n");
            continue;
        }
        if (*c == '\\' || *c == '"')
            g_string_append_c(labels, '\\');
        g_string_append_c(labels, *c);
    }
    g_string_append_c(labels, '"');
}

void facts_drop_labels(struct facts *facts)
{
    g_string_truncate(facts->labels, 0);
}

// Begins a sample of `name`, followed by `suffix`; its value and a line end are to follow.
static GString *begin_sample(struct facts *facts, const char *name, const char *suffix,
                             const char *type, const char *help)
{
    struct metric *metric = g_hash_table_lookup(facts->by_name, name);

    if (!metric) {
        metric = g_new(struct metric, 1);
        *metric = (struct metric){name, type, help, g_string_new(NULL)};
        g_ptr_array_add(facts->metrics, metric);
        g_hash_table_insert(facts->by_name, (char *)name, metric);
    }
    g_string_append_printf(metric->samples, "%s%s", name, suffix);
    if (facts->labels->len)
        g_string_append_printf(metric->samples, "{%s}", facts->labels->str);
    g_string_append_c(metric->samples, ' ');
    return metric->samples;
}

static void add_double_sample(GString *samples, const char *format, double value)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE]; // with a point, whatever the locale says

    g_string_append(samples, g_ascii_formatd(number, sizeof number, format, value));
    g_string_append_c(samples, '\n');
}

static const char *type_of(const char *metric)
{
    return g_str_has_suffix(metric, "_total") ? "counter" : "gauge";
}

void facts_add_text(struct facts *facts, const char *json, const char *value)
{
    if (facts->builder)
        json_add_string(facts->builder, json, value);
}

void facts_add_element(struct facts *facts, const char *value)
{
    if (facts->builder)
        json_builder_add_string_value(facts->builder, value);
}

void facts_add_time(struct facts *facts, const char *json, int64_t wall_ns)
{
    if (facts->builder)
        json_add_time(facts->builder, json, wall_ns);
}

void facts_add_null(struct facts *facts, const char *json)
{
    if (facts->builder)
        json_add_null(facts->builder, json);
}

void facts_add_flag(struct facts *facts, const char *json, bool value, const char *metric,
                    const char *help)
{
    if (facts->builder && json)
        json_add_flag(facts->builder, json, value);
    else
        facts_add_count(facts, NULL, value, metric, help);
}

void facts_add_count(struct facts *facts, const char *json, uint64_t value, const char *metric,
                     const char *help)
{
    if (facts->builder && json) {
        json_add_integer(facts->builder, json, (int64_t)value);
    } else if (!facts->builder && metric) {
        g_string_append_printf(begin_sample(facts, metric, "", type_of(metric), help),
                               "%" G_GUINT64_FORMAT "\n", value);
    }
}

void facts_add_number(struct facts *facts, const char *json, double value, const char *metric,
                      const char *format, const char *help)
{
    if (facts->builder && json)
        json_add_number(facts->builder, json, value);
    else if (!facts->builder && metric && !isnan(value))
        add_double_sample(begin_sample(facts, metric, "", type_of(metric), help), format, value);
}

void facts_add_labelled(struct facts *facts, const char *label, const char *label_value,
                        uint64_t value, const char *metric, const char *help)
{
    gsize before = facts->labels->len;

    facts_add_label(facts, label, label_value);
    facts_add_count(facts, NULL, value, metric, help);
    g_string_truncate(facts->labels, before);
}

void facts_add_info(struct facts *facts, const char *json, const char *value, const char *metric,
                    const char *label, const char *help)
{
    facts_add_text(facts, json, value);
    if (value[0])
        facts_add_labelled(facts, label, value, 1, metric, help);
}

static void add_buckets(struct facts *facts, const struct histogram *histogram, const char *metric,
                        const char *help)
{
    gsize before = facts->labels->len;
    uint64_t below = 0;

    for (unsigned i = 0; i <= HISTOGRAM_BUCKETS; i++) {
        bool is_last = i == HISTOGRAM_BUCKETS;
        char bound[G_ASCII_DTOSTR_BUF_SIZE] = "+Inf";

        below += histogram->buckets[i];
        if (!is_last && (i < HISTOGRAM_COARSE_FIRST || i > HISTOGRAM_COARSE_LAST ||
                         (i - HISTOGRAM_COARSE_FIRST) % 2 != 0)) {
            continue;
        }
        if (!is_last)
            g_ascii_formatd(bound, sizeof bound, "%g", histogram_bound_s(i));
        facts_add_label(facts, "le", bound);
        g_string_append_printf(begin_sample(facts, metric, "_bucket", "histogram", help),
                               "%" G_GUINT64_FORMAT "\n", below);
        g_string_truncate(facts->labels, before);
    }
}

void facts_add_histogram(struct facts *facts, const struct histogram *histogram, bool buckets,
                         const char *metric, const char *help)
{
    static const struct {
        const char *json;
        double share;
    } percentiles[] = {{"p50", 0.50}, {"p95", 0.95}, {"p99", 0.99}};
    const char *type = buckets ? "histogram" : "summary";

    if (facts->builder) {
        for (size_t i = 0; i < ARRAY_LENGTH(percentiles); i++) {
            json_add_number(facts->builder, percentiles[i].json,
                            histogram_percentile_ms(histogram, percentiles[i].share));
        }
        json_add_number(facts->builder, "mean",
                        histogram->count ? histogram->sum_s / histogram->count * 1e3 : 0);
        json_add_integer(facts->builder, "count", (int64_t)histogram->count);
        return;
    }
    if (buckets)
        add_buckets(facts, histogram, metric, help);
    add_double_sample(begin_sample(facts, metric, "_sum", type, help), "%.9f", histogram->sum_s);
    g_string_append_printf(begin_sample(facts, metric, "_count", type, help),
                           "%" G_GUINT64_FORMAT "\n", histogram->count);
}
