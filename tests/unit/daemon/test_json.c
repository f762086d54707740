// JSON of strangers as it is parsed: all of RFC 8259, and nothing else.
#include "tests/unit/text_table.h"

#include "daemon/common/json.h"

#include <errno.h>
#include <string.h>

static void tell(const char *input, GString *output)
{
    g_autoptr(JsonNode) root = NULL;
    struct error error = {0};

    if (json_parse(input, strlen(input), &error, &root) == 0) {
        g_autofree char *text = json_text(root, false);

        g_string_append(output, text);
        return;
    }
    const char *end = strstr(error.text, " in an object,");
    const char *reason = error.text + strlen(end ? "the body " : "the body is ");
    g_string_append_len(output, reason, end ? end - reason : (gssize)strcspn(reason, ","));
}

TEST(test_json_is_taken_as_the_rfc_has_it)
{
    text_table_check("tests/unit/tables/json.txt", tell);
}

static int parse_nested(unsigned depth, const char *opening, const char *closing)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(JsonNode) root = NULL;
    struct error error = {0};

    for (unsigned i = 0; i < depth; i++)
        g_string_append(text, opening);
    g_string_append(text, "1");
    for (unsigned i = 0; i < depth; i++)
        g_string_append(text, closing);
    int r = json_parse(text->str, text->len, &error, &root);
    assert_true(r == 0 || strstr(error.text, "nested too deep"));
    return r;
}

TEST(test_it_is_nested_32_deep_at_most)
{
    assert_int_equal(parse_nested(32, "[", "]"), 0);
    assert_int_equal(parse_nested(33, "[", "]"), -EINVAL);
    assert_int_equal(parse_nested(32, "{\"a\":", "}"), 0);
    assert_int_equal(parse_nested(33, "{\"a\":", "}"), -EINVAL);
    assert_int_equal(parse_nested(1000000, "[", "]"), -EINVAL);
}

TEST(test_a_zero_byte_is_no_end)
{
    g_autoptr(JsonNode) root = NULL;

    assert_int_equal(json_parse("[1]\0", 4, NULL, &root), -EINVAL);
    assert_int_equal(json_parse("[\0]", 3, NULL, &root), -EINVAL);
    assert_int_equal(json_parse("[\"\0\"]", 5, NULL, &root), -EINVAL);
}

RUN_TESTS(NULL, NULL)
