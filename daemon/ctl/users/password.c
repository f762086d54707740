#include "daemon/ctl/users/password.h"

#include <errno.h>
#include <glib.h>
#include <poll.h>
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
    sigset_t mask;
};

// From here on the signals are delivered only while read_byte() waits. One that was ignored stays
// so.
static void hide(struct hidden *hidden)
{
    const struct sigaction action = {.sa_handler = catch};
    struct termios quiet;
    sigset_t blocked;

    caught = 0;
    sigemptyset(&blocked);
    for (size_t i = 0; i < ARRAY_LENGTH(signals); i++) {
        sigaddset(&blocked, signals[i]);
    }
    sigprocmask(SIG_BLOCK, &blocked, &hidden->mask);
    for (size_t i = 0; i < ARRAY_LENGTH(signals); i++) {
        sigaction(signals[i], NULL, &hidden->handlers[i]);
        if (hidden->handlers[i].sa_handler != SIG_IGN) {
            sigaction(signals[i], &action, NULL);
        }
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
    sigprocmask(SIG_SETMASK, &hidden->mask, NULL);
    fputc('\n', stderr); // the newline that was typed was not shown
    if (caught) {
        raise(caught);
    }
}

// Waits for a byte or a signal, and returns what read() does for one byte.
static ssize_t read_byte(char *ret_byte)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    sigset_t open;

    sigemptyset(&open);
    return ppoll(&input, 1, NULL, &open) < 0 ? -1 : read(STDIN_FILENO, ret_byte, 1);
}

// Byte by byte, so that no buffer keeps what was typed, and nothing beyond the line is taken.
static int read_line(struct password *line, struct error *error)
{
    size_t length = 0;
    char byte = 0;
    ssize_t count;

    while ((count = read_byte(&byte)) == 1 && byte != '\n') {
        if (length < sizeof line->text) {
            line->text[length] = byte;
        }
        length++;
    }
    if (count < 0) {
        return error_set(error, -errno, "cannot read the password: %s", strerror(errno));
    }
    if (length > PASSWORD_BYTES_MAX) {
        return error_set(error, -EINVAL, "the password has %zu bytes, allowed: at most %d", length,
                         PASSWORD_BYTES_MAX);
    }
    if (length == 0) {
        return error_set(error, -EINVAL, "no password was given");
    }
    line->text[length] = '\0';
    for (size_t i = 0; i < length; i++) {
        if (g_ascii_iscntrl(line->text[i])) {
            return error_set(error, -EINVAL, "the password has a control character in it");
        }
    }
    return 0;
}

static int ask(const char *prompt, struct error *error, struct password *ret_password)
{
    struct hidden hidden;
    int r;

    hide(&hidden);
    fprintf(stderr, "%s: ", prompt);
    r = read_line(ret_password, error);
    show(&hidden);
    return r;
}

static int ask_twice(const char *prompt, struct error *error, struct password *ret_password)
{
    struct password again;
    int r = ask(prompt, error, ret_password);

    if (r < 0) {
        return r;
    }
    r = ask("The same again", error, &again);
    if (r == 0 && strcmp(ret_password->text, again.text) != 0) {
        r = error_set(error, -EINVAL, "the two passwords differ");
    }
    password_clear(&again);
    return r;
}

int password_read(const char *prompt, struct error *error, struct password *ret_password)
{
    int r = isatty(STDIN_FILENO) ? ask_twice(prompt, error, ret_password)
                                 : read_line(ret_password, error);

    if (r < 0) {
        password_clear(ret_password);
    }
    return r;
}

int password_check(const struct password *password, struct error *error)
{
    bool utf8 = g_utf8_validate(password->text, -1, NULL);
    size_t characters = utf8 ? (size_t)g_utf8_strlen(password->text, -1) : strlen(password->text);

    return characters >= PASSWORD_CHARACTERS_MIN
               ? 0
               : error_set(error, -EINVAL, "the password has %zu characters, allowed: at least %d",
                           characters, PASSWORD_CHARACTERS_MIN);
}

void password_clear(struct password *password)
{
    explicit_bzero(password, sizeof *password);
}
