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
    for (size_t i = 0; i < ARRAY_LENGTH(signals); i++)
        sigaddset(&blocked, signals[i]);
    sigprocmask(SIG_BLOCK, &blocked, &hidden->mask);
    for (size_t i = 0; i < ARRAY_LENGTH(signals); i++) {
        sigaction(signals[i], NULL, &hidden->handlers[i]);
        if (hidden->handlers[i].sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    }
    tcgetattr(STDIN_FILENO, &hidden->shown);
    quiet = hidden->shown;
    quiet.c_lflag &= ~(tcflag_t)(ECHO | ECHOE | ECHOK | ECHONL);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
}

static void show(const struct hidden *hidden)
{
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden->shown);
    for (size_t i = 0; i < ARRAY_LENGTH(signals); i++)
        sigaction(signals[i], &hidden->handlers[i], NULL);
    sigprocmask(SIG_SETMASK, &hidden->mask, NULL);
    fputc('\n', stderr); // the newline that was typed was not shown
    if (caught)
        raise(caught);
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
        if (length < sizeof line->text)
            line->text[length] = byte;
        length++;
    }
    if (count < 0)
        return error_set(error, -errno, "cannot read the password: %s", strerror(errno));
    if (length > PASSWORD_BYTES_MAX) {
        return error_set(error, -EINVAL, "the password has %zu bytes, allowed: at most %d", length,
                         PASSWORD_BYTES_MAX);
    }
    if (length == 0)
        return error_set(error, count == 0 ? -ECANCELED : -EINVAL, "no password was given");
    line->text[length] = '\0';
    for (size_t i = 0; i < length; i++) {
        if (g_ascii_iscntrl(line->text[i]))
            return error_set(error, -EINVAL, "the password has a control character in it");
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

    if (r < 0)
        return r;
    r = ask("The same again", error, &again);
    if (r == 0 && strcmp(ret_password->text, again.text) != 0)
        r = error_set(error, -EINVAL, "the two passwords differ");
    password_clear(&again);
    return r;
}

// Reads one from a terminal, which is asked twice, or a line of something else.
static int read_password(const char *prompt, struct error *error, struct password *ret_password)
{
    int r = isatty(STDIN_FILENO) ? ask_twice(prompt, error, ret_password)
                                 : read_line(ret_password, error);

    if (r < 0)
        password_clear(ret_password);
    return r;
}

// The commonest ones of the lists that guessers begin with, in lower case and without the digits
// and signs at their ends, which are cut off before one is compared.
static const char *const common_words[] = {
    "password",  "passwort",   "motdepasse",    "contrasena", "senha",       "parola",
    "secret",    "admin",      "administrator", "root",       "user",        "guest",
    "login",     "default",    "changeme",      "letmein",    "welcome",     "camera",
    "webcam",    "ipcam",      "hikvision",     "jetson",     "nvidia",      "raspberry",
    "ubuntu",    "linux",      "test",          "testtest",   "demo",        "hello",
    "iloveyou",  "sunshine",   "princess",      "football",   "baseball",    "basketball",
    "superman",  "batman",     "spiderman",     "pokemon",    "starwars",    "dragon",
    "monkey",    "shadow",     "master",        "trustno",    "whatever",    "computer",
    "internet",  "samsung",    "google",        "michael",    "jennifer",    "jordan",
    "charlie",   "liverpool",  "chocolate",     "butterfly",  "asdf",        "asdfgh",
    "asdfghjk",  "asdfghjkl",  "qwer",          "qwert",      "qwerty",      "qwertyui",
    "qwertyuio", "qwertyuiop", "qwertz",        "qwertzui",   "qwertzuiop",  "azerty",
    "azertyui",  "azertyuiop", "zxcvbn",        "zxcvbnm",    "yxcvbnm",     "qazwsx",
    "qazwsxedc", "abc",        "abcd",          "a",          "aa",          "q1w2e3r4t",
    "q1w2e3r",   "q2w3e4r",    "q2w3e4r5t",     "qaz2wsx",    "qaz2wsx3edc", "zaq12wsx",
    "zaq1xsw",   "qwe123asd",  "a1b2c3d",       "a1s2d3f",    "pass",        "pass1word",
    "abc123def"};

// Lower case, and letters for the digits and signs that some write in their place.
static char plain_letter(char letter)
{
    static const char from[] = "013457@$!", to[] = "oleastasi";
    const char *found = letter ? strchr(from, letter) : NULL;

    return found ? to[found - from] : g_ascii_tolower(letter);
}

// Whether the first `length` bytes of `text` are `word`, once or several times.
static bool repeats(const char *text, size_t length, const char *word, bool exact)
{
    size_t size = strlen(word);

    if (size == 0 || length < size || length % size != 0)
        return false;
    for (size_t i = 0; i < length; i++) {
        char expected = g_ascii_tolower(word[i % size]);

        if (g_ascii_tolower(text[i]) != expected &&
            (exact || plain_letter(text[i]) != plain_letter(expected))) {
            return false;
        }
    }
    return true;
}

// "11111111", "12345678", "98765432", "abcdefgh": each byte is as far from the one before. A 0
// comes after a 9, as on a keyboard.
static bool is_sequence(const char *text)
{
    bool up = true, down = true, same = true;

    for (size_t i = 1; text[i]; i++) {
        unsigned char before = (unsigned char)g_ascii_tolower(text[i - 1]);
        unsigned char now = (unsigned char)g_ascii_tolower(text[i]);

        up = up && (now == before + 1 || (before == '9' && now == '0'));
        down = down && (now == before - 1 || (before == '0' && now == '9'));
        same = same && now == before;
    }
    return up || down || same;
}

static bool is_guessed(const char *text, const char *user)
{
    size_t length = strlen(text), begin = 0;

    while (begin < length && !g_ascii_isalpha(text[begin]) && !(text[begin] & 0x80))
        begin++;
    size_t end = length;
    while (end > begin && !g_ascii_isalpha(text[end - 1]) && !(text[end - 1] & 0x80))
        end--;
    if (is_sequence(text) || repeats(text, length, user, true) ||
        repeats(text + begin, end - begin, user, false) ||
        repeats(text + begin, end - begin, "edged", false)) {
        return true;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(common_words); i++) {
        if (repeats(text + begin, end - begin, common_words[i], false))
            return true;
    }
    return false;
}

int password_check(const struct password *password, const char *user, struct error *error)
{
    bool utf8 = g_utf8_validate(password->text, -1, NULL);
    size_t characters = utf8 ? (size_t)g_utf8_strlen(password->text, -1) : strlen(password->text);

    if (characters < PASSWORD_CHARACTERS_MIN) {
        return error_set(error, -EINVAL, "the password has %zu characters, allowed: at least %d",
                         characters, PASSWORD_CHARACTERS_MIN);
    }
    return is_guessed(password->text, user)
               ? error_set(error, -EINVAL,
                           "the password is one of the first that a stranger tries, allowed: none "
                           "of the commonest passwords, and neither \"edged\" nor the user's name, "
                           "alone or with digits; take several words")
               : 0;
}

int password_ask(const char *user, struct error *error, struct password *ret_password)
{
    g_autofree char *prompt = g_strdup_printf("Allowed: at least 8 characters, not a common "
                                              "password.\nPassword of %s",
                                              user);
    bool again;
    int r;

    do {
        r = read_password(prompt, error, ret_password);
        r = r < 0 ? r : password_check(ret_password, user, error);
        again = r == -EINVAL && isatty(STDIN_FILENO);
        if (again)
            fprintf(stderr, "%s. Type another one.\n", error->text);
    } while (again);
    return r;
}

int password_ask_once(const char *prompt, struct error *error, struct password *ret_password)
{
    return ask(prompt, error, ret_password);
}

void password_clear(struct password *password)
{
    explicit_bzero(password, sizeof *password);
}
