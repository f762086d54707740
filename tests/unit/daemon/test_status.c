// Status as JSON and as metrics, from the same facts: a table of what each fact is called in both,
// and the format, which json-glib and Prometheus' promtool read.
#include "tests/unit/daemon/filled_facts.h"
#include "tests/unit/text_table.h"

#include <json-glib/json-glib.h>

static char *metrics;
static JsonParser *json;

static int setup(void **state)
{
    char name[] = HOSTILE_NAME;
    g_autofree char *text = filled_text(FACTS_JSON, name);

    (void)state;
    json = json_parser_new();
    // As 98765432 and 3725.5, but not 0.033333333333333333.
    assert_false(g_regex_match_simple("[0-9]\\.0*[1-9][0-9]{6}", text, 0, 0));
    assert_true(json_parser_load_from_data(json, text, -1, NULL));
    metrics = filled_text(FACTS_METRICS, name);
    assert_true(g_utf8_validate(metrics, -1, NULL));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    g_object_unref(json);
    g_free(metrics);
    return 0;
}

static char *text_of(JsonNode *value)
{
    GType type = json_node_get_value_type(value);

    if (type == G_TYPE_STRING)
        return json_node_dup_string(value);
    if (type == G_TYPE_DOUBLE)
        return g_strdup_printf("%.12g", json_node_get_double(value));
    return g_strdup_printf("%" G_GINT64_FORMAT, json_node_get_int(value));
}

// The value at `path` (JSONPath without "$."), or how many there are.
static char *member_at(const char *path)
{
    g_autofree char *expression = g_strconcat("$.", path, NULL);
    g_autoptr(JsonNode) found = json_path_query(expression, json_parser_get_root(json), NULL);
    JsonArray *values = json_node_get_array(found);
    guint count = json_array_get_length(values);

    return count == 1 && JSON_NODE_HOLDS_VALUE(json_array_get_element(values, 0))
               ? text_of(json_array_get_element(values, 0))
               : g_strdup_printf("%u value%s", count, count == 1 ? "" : "s");
}

static char *sample_of(const char *series)
{
    g_autofree char *line = g_strconcat("\n", series, " ", NULL);
    const char *found = strstr(metrics, line);

    return found ? g_strndup(found + strlen(line), strcspn(found + strlen(line), "\n"))
                 : g_strdup("none");
}

// The value that all names of a fact, between " | ", have in common.
static void tell_fact(const char *input, GString *output)
{
    g_auto(GStrv) names = g_strsplit(input, " | ", -1);

    for (char **name = names; *name; name++) {
        g_autofree char *value =
            g_str_has_prefix(*name, "edged_") ? sample_of(*name) : member_at(*name);

        if (name == names)
            g_string_assign(output, value);
        else if (strcmp(value, output->str) != 0)
            g_string_append_printf(output, ", as %s %s", *name, value);
    }
}

TEST(test_each_fact_has_its_name_in_both_forms, setup, teardown)
{
    text_table_check("tests/unit/tables/status.txt", tell_fact);
}

TEST(test_the_version_is_told, setup, teardown)
{
    g_autofree char *version = member_at("version");
    g_autofree char *sample =
        sample_of("edged_info{version=\"" EDGED_VERSION "\",backend=\"cpu\"}");

    assert_string_equal(version, EDGED_VERSION);
    assert_string_equal(sample, "1");
}

// promtool of Debian's package prometheus, where it is.
TEST(test_promtool_has_nothing_to_object_to, setup, teardown)
{
    char *promtool = g_find_program_in_path("promtool");
    bool found = promtool != NULL;

    g_free(promtool);
    if (!found)
        SKIP("promtool is not installed: apt install prometheus has it");
    FILE *pipe = popen("promtool check metrics", "w");

    assert_non_null(pipe);
    fputs(metrics, pipe);
    assert_int_equal(pclose(pipe), 0);
}

RUN_TESTS(NULL, NULL)
