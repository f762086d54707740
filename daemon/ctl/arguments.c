#include "daemon/ctl/arguments.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>

#define SIDE_MAX 16384
#define OPTIONS_MAX 16

// Digits alone, up to `end`, which may be the end of the text.
static int digits_parse(const char *text, char end, int maximum, const char **ret_end)
{
    size_t count = strspn(text, "0123456789");
    long number = count > 0 && count < 10 ? strtol(text, NULL, 10) : -1;

    if (text[count] != end || number < 0 || number > maximum)
        return -EINVAL;
    *ret_end = text + count;
    return (int)number;
}

int backend_parse(const char *text, void *result)
{
    for (enum config_backend i = CONFIG_BACKEND_AUTO; i <= CONFIG_BACKEND_CPU; i++) {
        if (strcmp(text, config_backend_name(i)) == 0) {
            *(enum config_backend *)result = i;
            return 0;
        }
    }
    return -EINVAL;
}

int flip_parse(const char *text, void *result)
{
    for (enum config_flip i = CONFIG_FLIP_NONE; i <= CONFIG_FLIP_VERTICAL; i++) {
        if (strcmp(text, config_flip_name(i)) == 0) {
            *(enum config_flip *)result = i;
            return 0;
        }
    }
    return -EINVAL;
}

int memory_parse(const char *text, size_t length, enum config_memory *ret_memory)
{
    for (enum config_memory i = CONFIG_MEMORY_REGISTERED; i < CONFIG_MEMORY_HOST; i++) {
        const char *name = config_memory_name(i);

        if (strlen(name) == length && memcmp(text, name, length) == 0) {
            *ret_memory = i;
            return 0;
        }
    }
    return -EINVAL;
}

int size_parse(const char *text, void *result)
{
    const char *end;
    int width = digits_parse(text, 'x', SIDE_MAX, &end);
    int height = width > 0 ? digits_parse(end + 1, '\0', SIDE_MAX, &end) : -EINVAL;

    if (height < 1)
        return -EINVAL;
    *(struct picture_size *)result = (struct picture_size){width, height};
    return 0;
}

static int take_number(const struct command_option *option)
{
    const char *end;
    int number = digits_parse(optarg, '\0', option->maximum, &end);

    if (number < option->minimum) {
        fprintf(stderr, "edgectl: --%s %s: allowed are %d to %d\n", option->name, optarg,
                option->minimum, option->maximum);
        return -EINVAL;
    }
    *option->number = number;
    return 0;
}

static int take(const struct command_option *option)
{
    if (option->flag) {
        *option->flag = true;
    } else if (option->text) {
        *option->text = optarg;
    } else if (option->number) {
        return take_number(option);
    } else if (option->parse(optarg, option->result) < 0) {
        fprintf(stderr, "edgectl: --%s %s: allowed are %s\n", option->name, optarg,
                option->allowed);
        return -EINVAL;
    }
    return 0;
}

// The options for getopt_long(), which returns an option's index in the table.
static void list_options(const struct command_option *table, struct option *ret_options)
{
    size_t count = 0;

    for (; table[count].name; count++) {
        ret_options[count] = (struct option){
            .name = table[count].name,
            .has_arg = table[count].flag ? no_argument : required_argument,
            .val = (int)count,
        };
    }
    ret_options[count] = (struct option){.name = "help", .val = 'h'};
    ret_options[count + 1] = (struct option){.name = "version", .val = 'v'};
}

// Follows an error: says how the command is called, and where its options are explained.
static void print_synopsis(const struct command_line *line)
{
    const char *end = strchr(line->usage, '\n');

    while (end && (strncmp(end + 1, "Usage:", 6) == 0 || end[1] == ' '))
        end = strchr(end + 1, '\n');
    fprintf(stderr, "%.*s\n`edgectl %s --help` explains the options.\n",
            end ? (int)(end - line->usage) : (int)strlen(line->usage), line->usage, line->command);
}

// Handles an option that is none of the table: help, the version, or a mistake, which getopt_long()
// has told.
static int take_common(const struct command_line *line, int option)
{
    if (option == 'h') {
        fputs(line->usage, stdout);
        return -ECANCELED;
    }
    if (option == 'v') {
        puts("edgectl " EDGED_VERSION);
        return -ECANCELED;
    }
    print_synopsis(line);
    return -EINVAL;
}

// The letters for getopt_long(), which returns them: those of the table, and those of all commands.
static void list_letters(const struct command_line *line, char *ret_letters)
{
    size_t length = 0;

    if (line->argument_count == 0 && !line->takes_more) {
        ret_letters[length++] = '+'; // options end at the first argument
    }
    for (const struct command_option *option = line->options; option->name; option++) {
        if (option->letter) {
            ret_letters[length++] = option->letter;
            ret_letters[length] = ':';
            length += !option->flag;
        }
    }
    memcpy(&ret_letters[length], "hv", 3);
}

// The place in the table of what getopt_long() returned; OPTIONS_MAX: it is not of the table.
static int find_option(const struct command_line *line, int returned)
{
    if (returned < OPTIONS_MAX)
        return returned;
    for (int i = 0; line->options[i].name; i++) {
        if (line->options[i].letter == returned)
            return i;
    }
    return OPTIONS_MAX;
}

// Takes all options. Returns 0, or the reason why it stopped.
static int take_all(const struct command_line *line, int argc, char **argv)
{
    struct option options[OPTIONS_MAX + 3] = {0};
    char letters[2 * OPTIONS_MAX + 4];
    int returned, r = 0;

    list_options(line->options, options);
    list_letters(line, letters);
    optind = 0; // 0 makes getopt_long() start anew
    while (r == 0 && (returned = getopt_long(argc, argv, letters, options, NULL)) >= 0) {
        int i = find_option(line, returned);

        if (i >= OPTIONS_MAX)
            return take_common(line, returned);
        if (line->options[i].words) {
            argv[optind - 1] = optarg; // what follows the = of --exec=PROGRAM
            *line->options[i].words = argv + optind - 1;
            optind = argc;
        } else {
            r = take(&line->options[i]);
        }
    }
    return r;
}

bool command_line_parse(const struct command_line *line, int argc, char **argv, int *ret_status)
{
    static char program[] = "edgectl";
    char *command = argv[0];

    argv[0] = program; // getopt_long() begins its messages with it
    int r = take_all(line, argc, argv);
    argv[0] = command;

    int count = line->alone && *line->alone ? 0 : line->argument_count;
    int more = argc - optind - count;
    if (r == 0 && more >= 0 && (more <= line->optional_count || line->takes_more))
        return true;
    if (r == 0 && count == 0) {
        fprintf(stderr, "edgectl: %s takes no argument \"%s\"\n", line->command, argv[optind]);
    } else if (r == 0 && line->takes) {
        fprintf(stderr, "edgectl: %s takes %s\n", line->command, line->takes);
    } else if (r == 0) {
        fprintf(stderr, "edgectl: %s takes %d argument%s, got %d\n", line->command,
                line->argument_count, line->argument_count == 1 ? "" : "s", argc - optind);
    }
    if (r == 0)
        print_synopsis(line);
    *ret_status = r == -ECANCELED ? 0 : 2;
    return false;
}
