// Chooses the way out once, on the first message: the journal when stderr is its stream, else
// stderr itself. Afterwards nothing here changes, so any thread may log without a lock: a journal
// entry is one datagram and a line is one write().
#define SD_JOURNAL_SUPPRESS_LOCATION
#include "daemon/log.h"

#include "config/base.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-journal.h>

// Documented in edged(8); `journalctl MESSAGE_ID=…` relies on them never changing.
static const char *const message_ids[LOG_EVENT_COUNT] = {
    [LOG_EVENT_STARTED] = "81b3b01a78e945829982cf1a9d5d5e60",
    [LOG_EVENT_STOPPING] = "83d76d4b537b4bcd8498c1573a54cf20",
    [LOG_EVENT_RELOADED] = "e33ae8f757b74155baefdf310dd57ead",
    [LOG_EVENT_CAMERA_STATE] = "d246ad3716ab463c9fd0d8e99ab3988b",
    [LOG_EVENT_CAMERA_PROCESS] = "56557658ef044da4919a82506ec29a98",
    [LOG_EVENT_VIEWER] = "82ebc04fd2274ef8a0da21e832f89f22",
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool to_journal, debug;
static _Atomic(const char *) program = "edged";

// systemd names the device and inode of the stream it connected (systemd.exec(5)); a variable
// inherited across a redirection of stderr does not match it any more.
static bool stderr_is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    uintmax_t device, inode;
    struct stat status;

    return stream && sscanf(stream, "%ju:%ju", &device, &inode) == 2 &&
           fstat(STDERR_FILENO, &status) == 0 && status.st_dev == device && status.st_ino == inode;
}

static void choose_output(void)
{
    const char *level = getenv("EDGED_LOG");

    debug = level && strcmp(level, "debug") == 0;
    to_journal = stderr_is_journal();
}

void log_set_program(const char *name)
{
    atomic_store(&program, name);
}

const char *log_event_id(enum log_event event)
{
    return message_ids[event];
}

// One message stays one line, and nothing in it (a camera's name for itself, a library's text)
// steers the terminal.
static void replace_control_characters(char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f) {
            *text = ' ';
        }
    }
}

static int write_journal(int priority, enum log_event event, const char *camera, const char *state,
                         const char *text)
{
    char fields[6][2304];
    struct iovec pieces[ARRAY_LENGTH(fields)];
    int count = 0;

    snprintf(fields[count++], sizeof fields[0], "MESSAGE=%s", text);
    snprintf(fields[count++], sizeof fields[0], "PRIORITY=%d", priority);
    snprintf(fields[count++], sizeof fields[0], "SYSLOG_IDENTIFIER=%s", atomic_load(&program));
    if (message_ids[event]) {
        snprintf(fields[count++], sizeof fields[0], "MESSAGE_ID=%s", message_ids[event]);
    }
    if (camera) {
        snprintf(fields[count++], sizeof fields[0], "EDGED_CAMERA=%s", camera);
    }
    if (state) {
        snprintf(fields[count++], sizeof fields[0], "EDGED_STATE=%s", state);
    }
    for (int i = 0; i < count; i++) {
        pieces[i] = (struct iovec){.iov_base = fields[i], .iov_len = strlen(fields[i])};
    }
    return sd_journal_sendv(pieces, count);
}

static void write_line(int priority, const char *text)
{
    const char *level = priority <= LOG_ERR       ? "error: "
                        : priority == LOG_WARNING ? "warning: "
                        : priority == LOG_DEBUG   ? "debug: "
                                                  : "";
    char line[2400];
    ssize_t written;

    snprintf(line, sizeof line, "%s: %s%s\n", atomic_load(&program), level, text);
    do {
        written = write(STDERR_FILENO, line, strlen(line));
    } while (written < 0 && errno == EINTR);
}

void log_write(int priority, enum log_event event, const char *camera, const char *state,
               const char *format, ...)
{
    char text[2048];
    int used = 0, saved_errno = errno;
    va_list arguments;

    pthread_once(&once, choose_output);
    if (priority == LOG_DEBUG && !debug) {
        return;
    }
    if (camera) {
        used = snprintf(text, 256, "%.128s: ", camera);
    }
    va_start(arguments, format);
    vsnprintf(text + used, sizeof text - used, format, arguments);
    va_end(arguments);
    replace_control_characters(text);
    if (!to_journal || write_journal(priority, event, camera, state, text) < 0) {
        write_line(priority, text);
    }
    errno = saved_errno;
}
