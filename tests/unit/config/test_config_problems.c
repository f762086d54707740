// Every mistake in a configuration gets its sentence, word for word, with what is allowed told
// apart, and keys become the values that they should, also on the way back from their text: the
// cases of problems.txt.
#include "config/live/live.h"
#include "config/problems.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

static void check_values(const struct config *config, const char *values, const char *text)
{
    _cleanup_(cleanup_free) char *copy = strdup(values);
    char *rest = copy;

    for (char *value; (value = strsep(&rest, "\n")) && *value;) {
        char *path = strsep(&value, " ");
        _cleanup_(cleanup_free) char *found = config_value_text(config, path);

        if (strcmp(found ? found : "none", value) != 0)
            fail_msg("of\n%s\n%s is %s, not %s", text, path, found ? found : "none", value);
    }
}

// Whether each error tells apart what its sentence says of what is allowed.
static void check_allowed(const struct config_problems *problems)
{
    for (size_t i = 0; i < problems->count; i++) {
        const struct config_problem *one = &problems->list[i];
        const char *mark = strstr(one->sentence, " allowed: ");
        const char *expected = mark ? mark + strlen(" allowed: ") : one->sentence;

        if (one->is_error)
            assert_string_equal(one->sentence + one->allowed, expected);
    }
}

// `values`: lines of a path and a value; "": the text is only parsed.
static void check(const char *text, const char *expected, const char *values)
{
    _cleanup_(cleanup_free) char *found = NULL;
    _cleanup_(config_problems_finish) struct config_problems problems = {0};
    _cleanup_(cleanup_config) struct config *config = NULL;
    size_t size;
    FILE *file = open_memstream(&found, &size);

    assert_non_null(file);
    assert_int_equal(config_check_text(text, "t", &problems, &config),
                     strstr(expected, ": error: ") ? -EINVAL : 0);
    config_problems_print(&problems, file);
    fclose(file);
    check_allowed(&problems);
    if (strcmp(found, expected) != 0)
        fail_msg("of\n%s\nis said\n%snot\n%s", text, found, expected);
    if (*values) {
        _cleanup_(cleanup_free) char *formatted = NULL, *formatted_again = NULL;
        _cleanup_(cleanup_config) struct config *again = NULL;

        check_values(config, values, text);
        assert_int_equal(config_format(config, SIZE_MAX, &formatted), 0);
        assert_int_equal(config_parse(formatted, "formatted", stderr, &again), 0);
        check_values(again, values, formatted);
        assert_int_equal(config_format(again, SIZE_MAX, &formatted_again), 0);
        assert_string_equal(formatted_again, formatted);
    }
}

// A case while it is read.
struct reading {
    char text[4096], expected[8192], values[4096];
    bool has_expected;
    size_t count;
};

static void append(char *text, size_t size, const char *prefix, const char *line)
{
    size_t length = strlen(text);

    assert_true(length + strlen(prefix) + strlen(line) < size);
    snprintf(text + length, size - length, "%s%s", prefix, line);
}

static void take_line(struct reading *reading, const char *line)
{
    if (*line == '\n') {
        if (*reading->text) {
            assert_true(reading->has_expected);
            check(reading->text, reading->expected, reading->values);
            *reading = (struct reading){.count = reading->count + 1};
        }
    } else if (*line == '>') {
        reading->has_expected = true;
        if (line[1] == ' ')
            append(reading->expected, sizeof reading->expected, "t:", line + 2);
    } else if (*line == '=') {
        reading->has_expected = true;
        append(reading->values, sizeof reading->values, "", line + 2);
    } else if (*line != '#' || *reading->text) {
        append(reading->text, sizeof reading->text, "", line);
    }
}

TEST(test_what_is_wrong_is_said_word_for_word)
{
    FILE *file = fopen("tests/unit/config/problems.txt", "re");
    struct reading reading = {.count = 0};
    char *line = NULL;
    size_t size = 0;

    assert_non_null(file);
    while (getline(&line, &size, file) > 0)
        take_line(&reading, line);
    take_line(&reading, "\n");
    assert_true(reading.count > 150);
    free(line);
    fclose(file);
}

// `before`, then `count` times the element, "%d" in it its number, with commas between, `after`.
static char *repeat(const char *before, const char *element, int count, const char *after)
{
    _cleanup_(cleanup_free) char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    assert_non_null(file);
    fputs(before, file);
    for (int i = 0; i < count; i++) {
        fputs(i ? ", " : "", file);
        fprintf(file, element, i);
    }
    fputs(after, file);
    assert_int_equal(fclose(file), 0);
    return TAKE(text);
}

TEST(test_too_many_cameras_and_views_are_refused)
{
    _cleanup_(cleanup_free) char *cameras = repeat("cameras = ( ", "{ name = \"%d\"; }", 65, " );"),
                                 *views = repeat("cameras = ( { views = ( ", "{ name = \"%d\"; }",
                                                 17, " ); } );");

    check(cameras, "t:1: error: cameras: got 65 cameras, allowed: at most 64\n", "");
    check(views, "t:1: error: cameras[0].views: got 17 views, allowed: at most 16\n", "");
}

static void check_told(const char *text, const char *expected)
{
    _cleanup_(config_problems_finish) struct config_problems problems = {0};
    _cleanup_(cleanup_free) char *told = NULL;
    _cleanup_(cleanup_config) struct config *config = NULL;
    size_t size;
    FILE *file = open_memstream(&told, &size);

    assert_non_null(file);
    assert_int_equal(config_check_content(text, "t", &problems, &config), -EINVAL);
    for (size_t i = 0; i < problems.count; i++) {
        const struct config_problem *one = &problems.list[i];

        if (one->is_error) {
            fprintf(file, "%s:%u|%s|%s\n", one->file, one->line, one->path ? one->path : "",
                    one->sentence);
        }
    }
    assert_int_equal(fclose(file), 0);
    assert_string_equal(told, expected);
}

TEST(test_each_error_has_its_line_and_path)
{
    check_told("rtsp = { adress = \"::\"; };\ncameras = ( { source = \"pattern\"; device = \"/x\"; "
               "fps = 0; },\n { path = \"\"; source = \"file\"; } );\n",
               "t:1|rtsp.adress|unknown key, did you mean \"address\"?\n"
               "t:2|cameras[0].fps|got 0, allowed: an integer from 1 to 240 (frames a second)\n"
               "t:3|cameras[1].path|got \"\", allowed: a string that is not empty, needed with "
               "source = \"file\"\n");
    check_told("backend = \"auto\";\nrtsp = {\n", "t:2||syntax error: \"{\" is never closed\n");
    check_told("@include \"/is/not/here\"\n",
               "t:1||@include: cannot read /is/not/here: No such file or directory\n");
}

RUN_TESTS(NULL, NULL)
