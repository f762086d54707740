// Files: what cannot be read, what is no configuration, and places inside included files.
#include "config/config.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>

static char folder[] = "/tmp/edged-test-config-XXXXXX";
static char template_of_folder[sizeof folder];

// Every test runs in a fresh folder of its own.
static int enter_folder(void **state)
{
    (void)state;
    memcpy(folder, template_of_folder, sizeof folder);
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status;
    (void)type;
    (void)where;
    return remove(path);
}

static int leave_folder(void **state)
{
    (void)state;
    return chdir("/") == 0 ? nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS) : -1;
}

static void write_bytes(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void write_text(const char *path, const char *text)
{
    write_bytes(path, text, strlen(text));
}

// Loads `path` and compares the result and all lines of problems.
static void check(const char *path, int result, const char *expected)
{
    _cleanup_(cleanup_config) struct config *config = NULL;
    _cleanup_(cleanup_free) char *found = NULL;
    size_t size;
    FILE *problems = open_memstream(&found, &size);

    assert_non_null(problems);
    assert_int_equal(config_load(path, problems, &config), result);
    assert_int_equal(fclose(problems), 0);
    assert_string_equal(found, expected);
}

TEST(test_missing_file_is_named, enter_folder, leave_folder)
{
    check("none.conf", -ENOENT, "none.conf: error: cannot read: No such file or directory\n");
}

TEST(test_folder_is_no_file, enter_folder, leave_folder)
{
    check(".", -EISDIR, ".: error: cannot read: Is a directory\n");
}

TEST(test_loop_of_links_is_not_readable, enter_folder, leave_folder)
{
    assert_int_equal(symlink("loop.conf", "loop.conf"), 0);
    check("loop.conf", -ELOOP,
          "loop.conf: error: cannot read: Too many levels of symbolic links\n");
}

TEST(test_endless_file_is_refused, enter_folder, leave_folder)
{
    check("/dev/zero", -EFBIG,
          "/dev/zero: error: cannot read: larger than 4 MiB, what it includes counted in\n");
}

TEST(test_syntax_errors_have_their_line, enter_folder, leave_folder)
{
    static const struct {
        const char *text, *problems;
    } malformed[] = {
        {"backend = \"cpu\";\nrtsp = { port = ; };\n",
         "m.conf:2: error: syntax error in \"rtsp = { port = ; };\"\n"},
        {"backend = \"cpu\";\nbackend = \"cuda\";\n",
         "m.conf:2: error: duplicate setting name in \"backend = \\\"cuda\\\";\"; backend is "
         "set at m.conf:1 already\n"},
        {"rtsp = {\n  port = 1; };\nhttp = { port = 0; };\ncameras = ();\nhttp = { tls = true; "
         "};\n",
         "m.conf:5: error: duplicate setting name in \"http = { tls = true; };\"; http is set at "
         "m.conf:3 already\n"},
        {"# one\n/* two\nthree */ cameras = ( { width == 640; } );\n",
         "m.conf:3: error: syntax error in \"three */ cameras = ( { width == 640; } );\"\n"},
        {"cameras = ( {\n", "m.conf:1: error: syntax error: \"{\" is never closed\n"},
        {"backend =", "m.conf:1: error: syntax error at the end\n"},
        {"# {\ncameras = (\n  { name = \"{(\";\n);\n",
         "m.conf:4: error: syntax error: got a \")\", allowed: a \"}\" that closes the \"{\" of "
         "line 3\n"},
        {"rtsp = { port = 1; } };\n",
         "m.conf:1: error: syntax error: got a \"}\" that closes nothing\n"},
        {"backend = \xe2\x80\x9c"
         "cpu\xe2\x80\x9d;\n",
         "m.conf:1: error: syntax error: got a curly quote, allowed: straight ones, as in "
         "\"name\"\n"},
        {"\xef\xbb\xbf"
         "backend = 1;\n",
         "m.conf:1: error: backend: got the integer 1, allowed: a string: \"auto\", \"cuda\", "
         "\"cpu\"\n"},
        {"\xff\xfe\n", "m.conf:1: error: syntax error\n"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(malformed); i++) {
        write_text("m.conf", malformed[i].text);
        check("m.conf", -EINVAL, malformed[i].problems);
    }
}

#define ABSENT "No such file or directory; until then viewers see NO SIGNAL; allowed: "

TEST(test_sources_that_are_not_there_are_warnings, enter_folder, leave_folder)
{
    write_text("m.conf", "cameras = ( { source = \"file\"; path = \"no.mp4\"; },\n"
                         "{ source = \"v4l2\"; device = \"/no/video7\"; } );\n");
    check("m.conf", 0,
          "m.conf:1: warning: cameras[0].path: cannot open \"no.mp4\": " ABSENT "a clip\n"
          "m.conf:2: warning: cameras[1].device: cannot open \"/no/video7\": " ABSENT
          "one of `v4l2-ctl --list-devices` (package v4l-utils), or \"\" for the first camera\n");
}

// A linear congruential generator: the same garbage in every run.
static void fill_garbage(unsigned char *bytes, size_t size, unsigned char lowest)
{
    uint32_t number = 1;

    for (size_t i = 0; i < size; i++) {
        number = number * 1664525 + 1013904223;
        bytes[i] = (unsigned char)(number >> 24);
        bytes[i] = bytes[i] < lowest ? lowest : bytes[i];
    }
}

TEST(test_a_mebibyte_of_garbage_is_a_syntax_error, enter_folder, leave_folder)
{
    static const char line[] = "backend = \"cpu\";\n"; // and the byte 0 behind it
    size_t size = 1U << 20;
    _cleanup_(cleanup_free) unsigned char *bytes = malloc(size);

    assert_non_null(bytes);
    fill_garbage(bytes, size, 1);
    write_bytes("g.conf", bytes, size);
    check("g.conf", -EINVAL, "g.conf:1: error: syntax error: got a \")\" that closes nothing\n");
    memcpy(bytes, line, sizeof line);
    write_bytes("g.conf", bytes, size);
    check("g.conf", -EINVAL, "g.conf:2: error: syntax error: got a byte 0, allowed: text\n");
}

// Cut anywhere, a good file is a good file or has problems; the sanitizers watch.
TEST(test_truncated_files_do_no_harm, enter_folder, leave_folder)
{
    static const char whole[] = "/* c */ backend = \"c\\x70u\"; // d\nrtsp = { port = 0x22B8L; };\n"
                                "cameras = ( { views = ( { gain = 1.5; } ); } );";

    for (size_t length = 0; length <= strlen(whole); length++) {
        _cleanup_(cleanup_config) struct config *config = NULL;
        _cleanup_(cleanup_free) char *text = strndup(whole, length);
        int r = config_parse(text, "t.conf", NULL, &config);

        assert_true(r == 0 ? config != NULL : r == -EINVAL && !config);
    }
}

TEST(test_places_are_right_inside_included_files, enter_folder, leave_folder)
{
    assert_int_equal(mkdir("conf.d", 0755), 0);
    write_text("main.conf", "backend = \"cpu\";\n"
                            "  @include \"conf.d/cameras.conf\" # comment\n"
                            "rtsp = {\n"
                            "  port = 70000;\n"
                            "};\n");
    write_text("conf.d/cameras.conf", "\n"
                                      "cameras = (\n"
                                      "@include \"one.conf\"\n"
                                      "  , { fps = 0; } );");
    write_text("conf.d/one.conf", "{ name = \"one\";\n"
                                  "  width = 15; }\n");
    check("main.conf", -EINVAL,
          "conf.d/one.conf:2: error: cameras[0].width: got 15, allowed: an even integer from 16 to "
          "8192 (pixels)\n"
          "conf.d/cameras.conf:4: error: cameras[1].fps: got 0, allowed: an integer from 1 to 240 "
          "(frames a second)\n"
          "main.conf:4: error: rtsp.port: got 70000, allowed: an integer from 0 to 65535 (TCP "
          "port)\n");
}

TEST(test_syntax_errors_in_included_files_have_their_place, enter_folder, leave_folder)
{
    write_text("main.conf", "\n\n@include \"part.conf\"\n");
    write_text("part.conf", "\nbackend == 1;\n");
    check("main.conf", -EINVAL, "part.conf:2: error: syntax error in \"backend == 1;\"\n");
}

TEST(test_good_includes_load, enter_folder, leave_folder)
{
    _cleanup_(cleanup_config) struct config *config = NULL;
    _cleanup_(cleanup_free) char *main_path = NULL;

    assert_true(asprintf(&main_path, "%s/main.conf", folder) > 0);
    write_text("main.conf", "@include \"part.conf\"\nmemory = \"host\";\n");
    write_text("part.conf", "backend = \"cpu\";");
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(config_load(main_path, stderr, &config), 0);
    assert_int_equal(config->backend, CONFIG_BACKEND_CPU);
    assert_int_equal(config->memory, CONFIG_MEMORY_HOST);
}

TEST(test_includes_that_cannot_be_read_are_all_named, enter_folder, leave_folder)
{
    assert_int_equal(mkdir("sub", 0755), 0);
    write_text("main.conf", "@include \"none.conf\"\n"
                            "@include \"sub\"\n"
                            "backend = \"gpus\";\n");
    check("main.conf", -EINVAL,
          "main.conf:1: error: @include: cannot read none.conf: No such file or directory\n"
          "main.conf:2: error: @include: cannot read sub: Is a directory\n"
          "main.conf:3: error: backend: got \"gpus\", allowed: \"auto\", \"cuda\", \"cpu\"\n");
}

// An open or a read would wait for a writer.
TEST(test_an_included_pipe_is_refused_at_once, enter_folder, leave_folder)
{
    assert_int_equal(mkfifo("pipe", 0600), 0);
    write_text("main.conf", "@include \"pipe\"\n@include \"/dev/zero\"\n");
    alarm(60);
    check("main.conf", -EINVAL,
          "main.conf:1: error: @include: cannot read pipe: no regular file\n"
          "main.conf:2: error: @include: cannot read /dev/zero: no regular file\n");
    alarm(0);
}

TEST(test_the_main_file_may_be_a_pipe, enter_folder, leave_folder)
{
    static const char line[] = "backend = \"gpus\";\n";
    _cleanup_(cleanup_free) char *path = NULL, *expected = NULL;
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(write(ends[1], line, strlen(line)), strlen(line));
    close(ends[1]);
    assert_true(asprintf(&path, "/dev/fd/%d", ends[0]) > 0);
    assert_true(asprintf(&expected,
                         "%s:1: error: backend: got \"gpus\", allowed: \"auto\", \"cuda\", "
                         "\"cpu\"\n",
                         path) > 0);
    check(path, -EINVAL, expected);
    close(ends[0]);
}

TEST(test_include_in_comments_and_strings_is_text, enter_folder, leave_folder)
{
    write_text("main.conf", "/*\n@include \"none.conf\"\n*/\n"
                            "# @include \"none.conf\"\n"
                            "control = { socket = \"\n@include \\\n\"; };\n");
    check("main.conf", 0, "");
}

// libconfig's own scanner ends the process when it is told to include a folder.
TEST(test_all_includes_of_a_line_are_expanded, enter_folder, leave_folder)
{
    assert_int_equal(mkdir("sub", 0755), 0);
    write_text("main.conf", "@include \"none.conf\" @include \"sub\"\t @include \"sub\"\n"
                            "/* */ @include \"sub\"\n");
    check("main.conf", -EINVAL,
          "main.conf:1: error: @include: cannot read none.conf: No such file or directory\n"
          "main.conf:1: error: @include: cannot read sub: Is a directory\n"
          "main.conf:1: error: @include: cannot read sub: Is a directory\n"
          "main.conf:2: error: syntax error in \"/* */ @include \\\"sub\\\"\"\n");
}

TEST(test_what_is_never_closed_is_told_where_it_opens, enter_folder, leave_folder)
{
    static const struct {
        const char *text, *problems;
    } open[] = {
        {"memory = \"host\"; /* one\n/* two\nbackend = \"cpu\";\n",
         "main.conf:1: error: comment is never closed\n"},
        {"/* a */ /*\n*/ memory = \"host\"; // /*\n# /*\n\n/*",
         "main.conf:5: error: comment is never closed\n"},
        {"# \"\nmemory = \"auto\" \"; /*\nrtsp = { };\n",
         "main.conf:2: error: string is never closed\n"
         "main.conf:2: error: memory: got \"auto; /*\\x0artsp = { };\\x0a\", allowed: \"auto\", "
         "\"nvmm\", \"registered\", \"pinned\", \"managed\", \"host\"\n"},
        {"memory = \"host\";\n@include \"part.conf\nbackend = \"gpus\";\n",
         "main.conf:2: error: @include: got no closing quote, allowed: @include \"FILE\" in one "
         "line\n"
         "main.conf:3: error: backend: got \"gpus\", allowed: \"auto\", \"cuda\", \"cpu\"\n"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(open); i++) {
        write_text("main.conf", open[i].text);
        check("main.conf", -EINVAL, open[i].problems);
    }
}

TEST(test_what_an_included_file_leaves_open_hides_nothing, enter_folder, leave_folder)
{
    write_text("comment.conf", "memory = \"host\";\n/* comment");
    write_text("string.conf", "cpu_threads = 2;\ncontrol = { socket = \"never; };\n\\");
    write_text("main.conf", "@include \"comment.conf\"\nbackend = \"gpus\";\n");
    check("main.conf", -EINVAL,
          "comment.conf:2: error: comment is never closed\n"
          "main.conf:2: error: backend: got \"gpus\", allowed: \"auto\", \"cuda\", \"cpu\"\n");
    write_text("main.conf", "@include \"string.conf\"\n; }; backend = \"gpus\";\n");
    check("main.conf", -EINVAL,
          "string.conf:2: error: string is never closed\n"
          "main.conf:2: error: backend: got \"gpus\", allowed: \"auto\", \"cuda\", \"cpu\"\n");
}

TEST(test_file_that_includes_itself_is_refused, enter_folder, leave_folder)
{
    write_text("main.conf", "@include \"main.conf\"\n@include \"main.conf\"\n");
    check("main.conf", -EMLINK,
          "main.conf: error: cannot read: @include nested deeper than 8 files\n");
}

TEST(test_includes_that_multiply_are_refused, enter_folder, leave_folder)
{
    _cleanup_(cleanup_free) char *lines = malloc((1U << 20) + 1);

    assert_non_null(lines);
    memset(lines, '\n', 1U << 20);
    lines[1U << 20] = '\0';
    write_text("lines.conf", lines);
    write_text("main.conf", "@include \"lines.conf\"\n@include \"lines.conf\"\n"
                            "@include \"lines.conf\"\n@include \"lines.conf\"\n"
                            "@include \"lines.conf\"\n");
    check("main.conf", -EFBIG,
          "main.conf: error: cannot read: larger than 4 MiB, what it includes counted in\n");
}

TEST(test_mistakes_in_the_file_of_users_are_told_where_they_stand, enter_folder, leave_folder)
{
    write_text("main.conf", "rtsp = { address = \"0.0.0.0\";\n  users = \"rtsp.users\"; };\n");
    check("./main.conf", -EINVAL,
          "./main.conf:2: error: rtsp.users: cannot read \"./rtsp.users\": No such file or "
          "directory; `edgectl passwd NAME` makes it\n");
    write_text("rtsp.users", "# nobody yet\n");
    assert_int_equal(chmod("rtsp.users", 0644), 0);
    check("./main.conf", -EINVAL,
          "./main.conf:2: error: rtsp.users: \"./rtsp.users\" has mode 0644, allowed: none that "
          "lets others read or change it; `chmod 600 ./rtsp.users`\n");
    assert_int_equal(chmod("rtsp.users", 0600), 0);
    check("./main.conf", 0, "");
    write_text("rtsp.users", "# nobody yet\nvera:veravera\n");
    check("./main.conf", -EINVAL,
          "./main.conf:2: error: rtsp.users: ./rtsp.users:2: expected four fields, allowed: lines "
          "NAME:ROLE:HA1-MD5:HA1-SHA-256, as `edgectl passwd` writes them\n");
}

// The user who checks may be another than the one edged runs as.
TEST(test_users_that_may_not_be_read_are_a_warning, enter_folder, leave_folder)
{
    uid_t self = getuid();

    write_text("main.conf", "rtsp = { users = \"rtsp.users\"; };\n");
    write_text("rtsp.users", "");
    assert_int_equal(chmod("rtsp.users", 0), 0);
    assert_int_equal(chmod(".", 0755), 0);
    assert_int_equal(self ? 0 : setresuid(65534, 65534, 0), 0);
    check("./main.conf", 0,
          "./main.conf:1: warning: rtsp.users: cannot read \"./rtsp.users\": Permission denied; "
          "edged starts only if its own user can\n");
    assert_int_equal(self ? 0 : setresuid(0, 0, 0), 0);
}

int main(void)
{
    memcpy(template_of_folder, folder, sizeof folder);
    return run_unit_tests(NULL, NULL);
}
