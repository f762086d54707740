#include "daemon/ctl/password.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>

// Those that would end or stop edgectl while the terminal shows nothing.
static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};
static volatile sig_atomic_t caught;

static void catch (int signal)
{
    caught = signal;
}

struct hidden {
    struct termios shown;
    struct sigaction handlers[ARRAY_LENGTH(signals)];
};

static void hide(struct hidden *hidden)
{
    const struct sigaction action = {.sa_handler = catch}; // no SA_RESTART: read() is to end
    struct termios quiet;

    caught = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(signals); i++) {
        sigaction(signals[i], &action, &hidden->handlers[i]);
    }
    tcgetattr(STDIN_FILENO, &hidden->shown);
    quiet = hidden->shown;
    quiet.c_lflag &= ~(tcflag_t)(ECHO | ECHOE | ECHOK | ECHONL);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
}

static void show(const struct hidden *hidden)
{
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden->shown);
    for (size_t i = 0; i < ARRAY_LENGTH(signals); i++) {
        sigaction(signals[i], &hidden->handlers[i], NULL);
    }
    fputc('\n', stderr); // the one that was typed was not shown
    if (caught) {
        raise(caught);
    }
}

// Byte by byte, so that no buffer keeps what was typed, and nothing beyond the line is taken. A
// line that is too long comes back cut, one byte longer than allowed.
static int read_line(struct password *line, struct error *error)
{
    size_t length = 0;
    char byte = 0;
    ssize_t count;

    while ((count = read(STDIN_FILENO, &byte, 1)) == 1 && byte != '\n') {
        if (length < sizeof line->text) {
            line->text[length++] = byte;
        }
    }
    if (count < 0) {
        return error_set(error, -errno, "cannot read the password: %s", strerror(errno));
    }
    if (length > PASSWORD_BYTES_MAX) {
        return error_set(error, -EINVAL, "the password is too long, allowed: %d bytes",
                         PASSWORD_BYTES_MAX);
    }
    if (length == 0) {
        return error_set(error, -EINVAL, "no password was given");
    }
    line->text[length] = '\0';
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)line->text[i] < ' ' || line->text[i] == 0x7f) {
            return error_set(error, -EINVAL, "the password has a control character in it");
        }
    }
    return 0;
}

static int ask(const char *prompt, struct error *error, struct password *ret_password)
{
    struct hidden hidden;
    int r;

    fprintf(stderr, "%s: ", prompt);
    hide(&hidden);
    r = read_line(ret_password, error);
    show(&hidden);
    return r;
}

int password_read(const char *prompt, struct error *error, struct password *ret_password)
{
    struct password again;
    int r;

    if (!isatty(STDIN_FILENO)) {
        r = read_line(ret_password, error);
    } else {
        r = ask(prompt, error, ret_password);
        if (r == 0) {
            r = ask("The same again", error, &again);
        }
        if (r == 0 && strcmp(ret_password->text, again.text) != 0) {
            r = error_set(error, -EINVAL, "the two passwords differ");
        }
        password_clear(&again);
    }
    if (r < 0) {
        password_clear(ret_password);
    }
    return r;
}

void password_clear(struct password *password)
{
    explicit_bzero(password, sizeof *password);
}
