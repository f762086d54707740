// `edgectl passwd`: adds, changes and removes users.
#include "daemon/ctl/commands.h"

#include "daemon/ctl/arguments.h"
#include "daemon/ctl/users/onvif_user.h"
#include "daemon/ctl/users/password.h"
#include "daemon/ctl/users/users_edit.h"

#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>

static const char usage[] =
    "Usage: edgectl passwd [--role ROLE | --onvif] [--config FILE | --file FILE] USER\n"
    "       edgectl passwd --remove [--config FILE | --file FILE] USER\n"
    "Gives a user a password, asked for on the terminal or read from standard input (one line,\n"
    "at least 8 characters, none of the commonest passwords, neither \"edged\" nor the user's "
    "name),\n"
    "and makes the user if there is none of that name.\n"
    "\n"
    "  --role ROLE    viewer, operator or admin; a user keeps the one he has, a new one is a "
    "viewer\n"
    "  --onvif        draw a password and show it, for a viewer who logs in by ONVIF, RTSP and\n"
    "                 HTTP; ONVIF needs the password itself, which onvif.passwords beside the\n"
    "                 configuration keeps (beside FILE with --file)\n"
    "  --remove       take the user away\n"
    "  --config FILE  the configuration whose rtsp.users is changed; " CONFIG_DEFAULT_PATH "\n"
    "                 without it\n"
    "  --file FILE    the file of users itself; rtsp.users beside the configuration where that\n"
    "                 names none\n";

struct passwd_options {
    const char *user, *config_path, *file;
    const char *role; // NULL: not given
    bool remove, onvif;
};

static int refuse(const char *what, const char *value, const char *allowed)
{
    fprintf(stderr, "edgectl: passwd: %s \"%s\": allowed are %s\n", what, value, allowed);
    return 2;
}

static int check(const struct passwd_options *options)
{
    enum config_role role;

    if (!users_name_is_valid(options->user))
        return refuse("user", options->user, USERS_NAMES);
    if (options->role && config_role_parse(options->role, &role) < 0)
        return refuse("--role", options->role, "viewer, operator, admin");
    if (options->remove && options->role) {
        fputs("edgectl: passwd takes no --role with --remove\n", stderr);
        return 2;
    }
    if (options->onvif && (options->role || options->remove)) {
        fputs("edgectl: passwd takes no --role and no --remove with --onvif, whose users are "
              "viewers\n",
              stderr);
        return 2;
    }
    return 0;
}

// Prints what else has to be done so that edged uses the file.
static void print_next(const char *path, bool named)
{
    if (!named) {
        fprintf(
            stderr,
            "edgectl: edged asks for passwords once edged.conf has rtsp = { users = \"%s\"; };\n",
            path);
    }
    fputs("edgectl: a running edged takes it with `edgectl reload`\n", stderr);
}

// The caller g_free()s it.
static char *onvif_path(const struct passwd_options *options)
{
    return onvif_user_path(options->file ? options->file : options->config_path);
}

static int put_onvif(const struct passwd_options *options, const char *path, struct error *error)
{
    g_autofree char *plain = onvif_path(options);
    struct password password;
    int r = onvif_user_put(path, plain, options->user, error, &password);

    if (r < 0)
        return r;
    printf("%s: %s, %s\npassword: %s\n", path, options->user, config_role_name(CONFIG_ROLE_VIEWER),
           password.text);
    password_clear(&password);
    return 0;
}

static int forget_onvif(const struct passwd_options *options, struct error *error)
{
    g_autofree char *plain = onvif_path(options);

    return onvif_user_forget(plain, options->user, error);
}

static int put(const struct passwd_options *options, const char *path, struct error *error)
{
    enum config_role role = CONFIG_ROLE_VIEWER;
    struct password password;
    struct user user;
    // A file with a mistake is told before the password is asked for.
    int r = users_edit_role(USERS_PASSWORDS, path, options->user, error, &role);

    if (r < 0)
        return r;
    if (options->role)
        config_role_parse(options->role, &role);
    r = password_ask(options->user, error, &password);
    if (r == 0)
        user_init(&user, options->user, role, password.text);
    password_clear(&password);
    if (r == 0) {
        r = users_edit_put(USERS_PASSWORDS, path, &user, error);
        explicit_bzero(&user, sizeof user);
    }
    r = r < 0 ? r : forget_onvif(options, error);
    if (r == 0)
        printf("%s: %s, %s\n", path, options->user, config_role_name(role));
    return r;
}

static int run(const struct passwd_options *options)
{
    bool named = true;
    g_autofree char *path =
        options->file ? g_strdup(options->file)
                      : users_edit_default_path(USERS_PASSWORDS, options->config_path, &named);
    struct error error = {0};
    int r = options->remove  ? users_edit_remove(USERS_PASSWORDS, path, options->user, &error)
            : options->onvif ? put_onvif(options, path, &error)
                             : put(options, path, &error);

    if (r == 0 && options->remove)
        r = forget_onvif(options, &error);
    if (r < 0) {
        fprintf(stderr, "edgectl: %s%s\n", error.text, r == -EACCES ? "; run it with sudo" : "");
        return 1;
    }
    if (options->remove)
        printf("%s: %s is removed\n", path, options->user);
    print_next(path, named);
    return 0;
}

int ctl_passwd(int argc, char **argv)
{
    struct passwd_options options = {.config_path = CONFIG_DEFAULT_PATH};
    const struct command_option table[] = {
        {"role", .text = &options.role},   {"remove", .flag = &options.remove},
        {"onvif", .flag = &options.onvif}, {"config", .text = &options.config_path},
        {"file", .text = &options.file},   {0}};
    const struct command_line line = {.command = "passwd",
                                      .usage = usage,
                                      .options = table,
                                      .argument_count = 1,
                                      .takes = "one user, and asks for the password"};
    int status;

    if (!command_line_parse(&line, argc, argv, &status))
        return status;
    options.user = argv[optind];
    status = check(&options);
    return status ? status : run(&options);
}
