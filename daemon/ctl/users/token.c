// `edgectl token`: adds, lists and removes programs that ask over HTTP with a token.
#include "daemon/ctl/commands.h"

#include "daemon/ctl/arguments.h"
#include "daemon/ctl/users/users_edit.h"

#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define TOKEN_BYTES 32

static const char usage[] =
    "Usage: edgectl token [--role ROLE] [--config FILE | --file FILE] NAME\n"
    "       edgectl token --remove [--config FILE | --file FILE] NAME\n"
    "       edgectl token --list [--config FILE | --file FILE]\n"
    "Makes a new token for a program and prints it, this once. The program sends it to edged's "
    "HTTP\n"
    "address, inside TLS or on this machine, as \"Authorization: Bearer TOKEN\". A token of that "
    "name\n"
    "is replaced.\n"
    "\n"
    "  --role ROLE    viewer, operator or admin; a name keeps the one it has, a new one is a "
    "viewer\n"
    "  --remove       take the token away\n"
    "  --list         print names and roles\n"
    "  --config FILE  the configuration whose rtsp.tokens is changed; " CONFIG_DEFAULT_PATH "\n"
    "                 without it\n"
    "  --file FILE    the file of tokens itself; without it, and where the configuration names\n"
    "                 none, rtsp.tokens beside the configuration, which edged reads as well\n";

struct token_options {
    const char *name, *config_path, *file;
    const char *role; // NULL: not given
    bool remove, list;
};

static int refuse(const char *what, const char *value, const char *allowed)
{
    fprintf(stderr, "edgectl: token: %s \"%s\": allowed are %s\n", what, value, allowed);
    return 2;
}

static int check(const struct token_options *options)
{
    enum config_role role;

    if (options->list && options->remove) {
        fputs("edgectl: token takes --list or --remove, not both\n", stderr);
        return 2;
    }
    if ((options->list || options->remove) && options->role) {
        fputs("edgectl: token takes --role for a new token alone\n", stderr);
        return 2;
    }
    if (!options->list && !users_name_is_valid(options->name))
        return refuse("name", options->name, USERS_NAMES);
    if (options->role && config_role_parse(options->role, &role) < 0)
        return refuse("--role", options->role, "viewer, operator, admin");
    return 0;
}

static int list(const char *path, struct error *error)
{
    _cleanup_(cleanup_users) struct users *tokens = NULL;
    int r = users_edit_read(USERS_TOKENS, path, error, &tokens);

    for (size_t i = 0; r == 0 && i < tokens->count; i++)
        printf("%s  %s\n", tokens->list[i].name, config_role_name(tokens->list[i].role));
    return r;
}

static int draw(char ret_token[2 * TOKEN_BYTES + 1], struct error *error)
{
    uint8_t bytes[TOKEN_BYTES];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return error_set(error, -errno, "the kernel gives no random bytes: %s", strerror(errno));
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(ret_token + 2 * i, 3, "%02x", bytes[i]);
    explicit_bzero(bytes, sizeof bytes);
    return 0;
}

static int put(const struct token_options *options, const char *path, struct error *error)
{
    enum config_role role = CONFIG_ROLE_VIEWER;
    char token[2 * TOKEN_BYTES + 1];
    struct user program;
    int r = users_edit_role(USERS_TOKENS, path, options->name, error, &role);

    if (options->role)
        config_role_parse(options->role, &role);
    r = r < 0 ? r : draw(token, error);
    if (r < 0)
        return r;
    user_init_token(&program, options->name, role, token);
    r = users_edit_put(USERS_TOKENS, path, &program, error);
    if (r == 0) {
        fprintf(stderr, "%s: %s, %s; its token, which is not shown again:\n", path, options->name,
                config_role_name(role));
        puts(token);
    }
    explicit_bzero(token, sizeof token);
    return r;
}

static int run(const struct token_options *options)
{
    bool named;
    g_autofree char *path =
        options->file ? g_strdup(options->file)
                      : users_edit_default_path(USERS_TOKENS, options->config_path, &named);
    struct error error = {0};
    int r;

    if (options->list)
        r = list(path, &error);
    else if (options->remove)
        r = users_edit_remove(USERS_TOKENS, path, options->name, &error);
    else
        r = put(options, path, &error);
    if (r < 0) {
        fprintf(stderr, "edgectl: %s%s\n", error.text, r == -EACCES ? "; run it with sudo" : "");
        return 1;
    }
    if (options->remove)
        printf("%s: %s is removed\n", path, options->name);
    if (!options->list)
        fputs("edgectl: a running edged takes it with `edgectl reload`\n", stderr);
    return 0;
}

int ctl_token(int argc, char **argv)
{
    struct token_options options = {.config_path = CONFIG_DEFAULT_PATH};
    const struct command_option table[] = {
        {"role", .text = &options.role}, {"remove", .flag = &options.remove},
        {"list", .flag = &options.list}, {"config", .text = &options.config_path},
        {"file", .text = &options.file}, {0}};
    const struct command_line line = {.command = "token",
                                      .usage = usage,
                                      .options = table,
                                      .argument_count = 1,
                                      .alone = &options.list,
                                      .takes = "one name of a program, or --list"};
    int status;

    if (!command_line_parse(&line, argc, argv, &status))
        return status;
    options.name = argv[optind]; // NULL with --list
    status = check(&options);
    return status ? status : run(&options);
}
