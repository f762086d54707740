// All of this but crash_watch() runs in a handler, perhaps of a process whose memory is broken: it
// allocates nothing, takes no lock of its own, and calls only what signal-safety(7) allows, besides
// backtrace(), which was called once before and so has its library. An alarm ends what hangs.
#include "daemon/common/crash.h"

#include "config/base.h"
#include "daemon/common/log.h"

#include <elf.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define FRAMES_MAX 48
#define WITHIN_S 3
#define STACK_BYTES 65536 // of a thread that has overflown its own

static const struct crash_signal {
    int number;
    const char *name;
} signals[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGILL, "SIGILL"},  {SIGFPE, "SIGFPE"},
               {SIGABRT, "SIGABRT"}, {SIGSYS, "SIGSYS"}, {SIGTRAP, "SIGTRAP"}};

static const char *program_name;
static bool is_journal;
static int told_fd = -1;
static char build_id[65] = "none";
static atomic_flag crashed = ATOMIC_FLAG_INIT;

struct crash_frame {
    uintptr_t address; // in the process, then in its file
    char file[48];     // "" before it is found
};

struct crash_text {
    char text[4000]; // what a pipe takes in one piece
    size_t used;
};

static void add_text(struct crash_text *to, const char *text)
{
    while (*text && to->used < sizeof to->text - 1)
        to->text[to->used++] = *text++;
}

static void add_number(struct crash_text *to, uintptr_t number, unsigned base)
{
    char digits[24];
    size_t at = sizeof digits - 1;

    digits[at] = '\0';
    do {
        digits[--at] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number > 0);
    add_text(to, digits + at);
}

static uintptr_t read_hexadecimal(const char **text)
{
    uintptr_t number = 0;

    for (;; (*text)++) {
        char byte = **text;
        bool digit = byte >= '0' && byte <= '9', letter = byte >= 'a' && byte <= 'f';

        if (!digit && !letter)
            return number;
        number = number << 4 | (uintptr_t)(digit ? byte - '0' : byte - 'a' + 10);
    }
}

// Takes a line of /proc/PID/maps, "BEGIN-END rwxp OFFSET DEVICE INODE PATH". A file's mappings
// follow one another; its addresses are counted from the first.
static void take_mapping(const char *line, char path[256], uintptr_t *base,
                         struct crash_frame *frames, int count)
{
    const char *at = line, *name = strchr(line, '/'), *last = name ? strrchr(name, '/') : NULL;
    uintptr_t begin = read_hexadecimal(&at), end;

    if (!name)
        return;
    at++;
    end = read_hexadecimal(&at);
    if (strncmp(path, name, 255) != 0) {
        strncpy(path, name, 255);
        at += strcspn(at + 1, " ") + 2; // the access
        *base = begin - read_hexadecimal(&at);
    }
    for (int i = 0; i < count; i++) {
        if (!*frames[i].file && frames[i].address >= begin && frames[i].address < end) {
            strncpy(frames[i].file, last + 1, sizeof frames[i].file - 1);
            frames[i].address -= *base;
        }
    }
}

static void find_files(struct crash_frame *frames, int count)
{
    char buffer[1024], line[512], path[256] = "";
    size_t used = 0;
    uintptr_t base = 0;
    ssize_t got;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

    while (fd >= 0 && (got = read(fd, buffer, sizeof buffer)) > 0) {
        for (ssize_t i = 0; i < got; i++) {
            if (buffer[i] != '\n') {
                line[used] = buffer[i];
                used += used < sizeof line - 1;
                continue;
            }
            line[used] = '\0';
            used = 0;
            take_mapping(line, path, &base, frames, count);
        }
    }
    if (fd >= 0)
        close(fd);
}

static void add_thread(struct crash_text *to)
{
    char name[17] = "";

    prctl(PR_GET_NAME, name);
    for (char *at = name; *at; at++) // a library may have named it
        *at = *at > ' ' && *at < 0x7f ? *at : '_';
    add_text(to, name);
}

static void add_addresses(struct crash_text *to)
{
    struct crash_frame frames[FRAMES_MAX] = {0};
    void *addresses[FRAMES_MAX];
    int count = backtrace(addresses, FRAMES_MAX);

    for (int i = 0; i < count; i++)
        frames[i].address = (uintptr_t)addresses[i];
    find_files(frames, count);
    for (int i = 0; i < count; i++) {
        add_text(to, *frames[i].file ? " " : " ?");
        add_text(to, frames[i].file);
        add_text(to, *frames[i].file ? "+0x" : "");
        if (*frames[i].file) // an address of no file may be anything
            add_number(to, frames[i].address, 16);
    }
}

static void begin_line(struct crash_text *to, bool is_error)
{
    add_text(to, !is_journal ? "" : is_error ? "<3>" : "<4>");
    add_text(to, program_name);
    add_text(to, is_journal ? ": " : is_error ? ": error: " : ": warning: ");
}

static void write_all(int fd, const void *bytes, size_t size)
{
    ssize_t written;

    do {
        written = write(fd, bytes, size);
    } while (written < 0 && errno == EINTR);
}

static void end_line(struct crash_text *to)
{
    to->text[to->used++] = '\n';
    write_all(STDERR_FILENO, to->text, to->used);
}

static const char *name_signal(int number)
{
    for (size_t i = 0; i < ARRAY_LENGTH(signals); i++) {
        if (signals[i].number == number)
            return signals[i].name;
    }
    return "unknown";
}

// Its action is the default one again, and the signal waits until this returns.
static void on_crash(int number)
{
    struct crash_text text = {.used = 0};

    while (atomic_flag_test_and_set(&crashed)) {
        pause(); // another thread is about to end the process
    }
    alarm(WITHIN_S);
    begin_line(&text, true);
    add_text(&text, "crashed by signal ");
    add_number(&text, (uintptr_t)number, 10);
    add_text(&text, " (");
    add_text(&text, name_signal(number));
    add_text(&text, ") in thread ");
    add_thread(&text);
    add_text(&text, ", build-id ");
    add_text(&text, build_id);
    add_text(&text, ", return addresses:");
    add_addresses(&text);
    end_line(&text);
    if (told_fd >= 0)
        write_all(told_fd, &(int32_t){number}, sizeof(int32_t));
    raise(number);
}

static void on_trace(int number)
{
    struct crash_text text = {.used = 0};
    int saved_errno = errno;

    (void)number;
    begin_line(&text, false);
    add_text(&text, "thread ");
    add_thread(&text);
    add_text(&text, " stands at, build-id ");
    add_text(&text, build_id);
    add_text(&text, ":");
    add_addresses(&text);
    end_line(&text);
    errno = saved_errno;
}

// The note of that name in the program's own file, which is the first.
static int read_build_id(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size, (void)context;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const char *at = (const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        const char *end = at + info->dlpi_phdr[i].p_memsz;

        while (info->dlpi_phdr[i].p_type == PT_NOTE && end - at > (ssize_t)sizeof(ElfW(Nhdr))) {
            const ElfW(Nhdr) *note = (const void *)at;
            const unsigned char *bytes =
                (const unsigned char *)(note + 1) + ((note->n_namesz + 3) & ~3u);

            if (note->n_type == NT_GNU_BUILD_ID && note->n_descsz <= sizeof build_id / 2) {
                for (unsigned k = 0; k < note->n_descsz; k++) {
                    build_id[2 * k] = "0123456789abcdef"[bytes[k] >> 4];
                    build_id[2 * k + 1] = "0123456789abcdef"[bytes[k] & 15];
                }
                return 1;
            }
            at = (const char *)bytes + ((note->n_descsz + 3) & ~3u);
        }
    }
    return 1;
}

static void watch_signal(int number, void (*handler)(int), int flags)
{
    struct sigaction now, action = {.sa_handler = handler, .sa_flags = flags};

    sigemptyset(&action.sa_mask);
    if (sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
        sigaction(number, &action, NULL);
}

void crash_tell(int fd)
{
    told_fd = fd;
}

void crash_watch(const char *program)
{
    static char stack[STACK_BYTES];
    const stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
    stack_t before;
    void *address;

    program_name = program;
    is_journal = log_is_journal(STDERR_FILENO);
    dl_iterate_phdr(read_build_id, NULL);
    backtrace(&address, 1); // loads what it needs
    if (sigaltstack(NULL, &before) == 0 && before.ss_flags & SS_DISABLE)
        sigaltstack(&own, NULL);
    for (size_t i = 0; i < ARRAY_LENGTH(signals); i++)
        watch_signal(signals[i].number, on_crash, (int)(SA_ONSTACK | SA_RESETHAND));
    watch_signal(CRASH_TRACE_SIGNAL, on_trace, SA_RESTART);
}
