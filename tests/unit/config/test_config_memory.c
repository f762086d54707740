// Without memory the configuration fails with -ENOMEM, and nothing leaks: each allocation of
// config/ fails in turn. The sources are compiled in here with allocators that fail on demand;
// libconfig keeps its own.
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <libconfig.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static long allocations_left; // until one fails; negative: none fails

static bool fails(void)
{
    return allocations_left >= 0 && allocations_left-- == 0;
}

static void *fail_malloc(size_t size)
{
    return fails() ? NULL : malloc(size);
}

static void *fail_calloc(size_t count, size_t size)
{
    return fails() ? NULL : calloc(count, size);
}

static void *fail_realloc(void *memory, size_t size)
{
    return fails() ? NULL : realloc(memory, size);
}

static void *fail_reallocarray(void *memory, size_t count, size_t size)
{
    return fails() ? NULL : reallocarray(memory, count, size);
}

static char *fail_strdup(const char *string)
{
    return fails() ? NULL : strdup(string);
}

static char *fail_strndup(const char *string, size_t limit)
{
    return fails() ? NULL : strndup(string, limit);
}

static FILE *fail_open_memstream(char **text, size_t *size)
{
    return fails() ? NULL : open_memstream(text, size);
}

static int fail_vasprintf(char **text, const char *format, va_list arguments)
{
    return fails() ? -1 : vasprintf(text, format, arguments);
}

static int fail_asprintf(char **text, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    int length = fail_vasprintf(text, format, arguments);
    va_end(arguments);
    return length;
}

#undef malloc
#undef calloc
#undef realloc
#undef reallocarray
#undef strdup
#undef strndup
#undef open_memstream
#undef asprintf
#define malloc fail_malloc
#define calloc fail_calloc
#define realloc fail_realloc
#define reallocarray fail_reallocarray
#define strdup fail_strdup
#define strndup fail_strndup
#define open_memstream fail_open_memstream
#define asprintf fail_asprintf
#define vasprintf fail_vasprintf

#include "config/objects.c"
#include "config/parse/config_scan.c"
#include "config/parse/config_text.c"
#include "config/parse/load.c"
#include "config/parse/suggest.c"
#include "config/parse/validate.c"
#include "config/parse/validate_files.c"
#include "config/parse/validate_region.c"
#include "config/parse/validation.c"
#include "config/problems.c"
#include "config/schema/schema.c"
#include "config/schema/schema_text.c"
#include "config/schema/schema_types.c"

static const char good[] = "control = { socket = \"s\"; };\n"
                           "cameras = ( { controls = { zoom = 1; }; views = ( { }, { name = \"b\"; "
                           "polygon = ( [0, 0], [1, 0], [1, 1] ); } ); regions = ( { polygon = ( "
                           "[0, 0], [1, 0], [1, 1] ); }, { mask = "
                           "\"m\"; } ); }, { source = \"file\"; path = \"p\"; } );\n";
static const char bad[] =
    "cameras = ( { widht = 1; fps = 0; source = \"fiel\"; name = \"a b\"; } );\n"
    "kernels = { gray = { block = [0, 8]; }; };\n";

// Runs `action` with its first, second, … allocation failing until none is left to fail; yields
// how many failed. Each failing run must end in -ENOMEM.
static long fail_each(int (*action)(void), int finally)
{
    long count = 0;
    int r = -ENOMEM;

    for (; r == -ENOMEM; count++) {
        allocations_left = count;
        r = action();
        assert_true(count < 1000);
    }
    assert_true(allocations_left >= 0);
    assert_int_equal(r, finally);
    return count - 1;
}

static int parse_good(void)
{
    _cleanup_(cleanup_config) struct config *config = NULL;

    return config_parse(good, "good", NULL, &config);
}

static int parse_defaults(void)
{
    _cleanup_(cleanup_config) struct config *config = NULL;

    return config_parse("", "empty", NULL, &config);
}

static int parse_bad(void)
{
    _cleanup_(cleanup_config) struct config *config = NULL;

    return config_parse(bad, "bad", NULL, &config);
}

static int load_shipped(void)
{
    _cleanup_(cleanup_config) struct config *config = NULL;

    return config_load("config/edged.conf", NULL, &config);
}

static int format_defaults(void)
{
    char name[] = "c";
    struct config_camera camera = {.name = name};
    struct config config = {.cameras = &camera, .camera_count = 1};
    _cleanup_(cleanup_free) char *text = NULL;

    camera.device = camera.pipeline = camera.path = camera.format = camera.name;
    config.rtsp.address = config.control.socket = camera.name;
    return config_format(&config, SIZE_MAX, &text);
}

static int set_view(void)
{
    _cleanup_(cleanup_view) struct config_view *view = NULL;
    int r = config_view_new("edges", NULL, &view);

    r = r < 0 ? r : config_view_set(view, "polygon", "0:0,1:0,1:1", NULL);
    return r < 0 ? r : config_view_set(view, "gain", "1000", NULL);
}

TEST(test_each_failing_allocation_is_enomem)
{
    assert_true(fail_each(parse_good, 0) > 20);
    assert_true(fail_each(parse_defaults, 0) > 10);
    assert_true(fail_each(parse_bad, -EINVAL) > 10);
    assert_true(fail_each(load_shipped, 0) > 20);
    assert_int_equal(fail_each(format_defaults, 0), 1);
    assert_int_equal(fail_each(set_view, -EINVAL), 10);
}

TEST(test_lack_of_memory_is_a_problem_to_read)
{
    char line[64] = "";
    FILE *problems = fmemopen(line, sizeof line, "w");
    struct config *config = NULL;

    allocations_left = 20;
    assert_int_equal(config_parse(good, "good", problems, &config), -ENOMEM);
    fclose(problems);
    assert_null(config);
    assert_string_equal(line, "good: error: Cannot allocate memory\n");
}

RUN_TESTS(NULL, NULL)
