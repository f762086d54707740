// The filter has a list of the calls that are refused rather than of those that are allowed:
// drivers and plugins that nobody here has make calls of their own, and systemd's unit has a list
// of allowed ones (systemd/edged.service). A filter cannot follow pointers, so it knows numbers
// alone.
#include "daemon/common/confine.h"

#include "config/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// Calls that headers of Ubuntu 20.04 do not name; their numbers are the same everywhere.
#define CALL_IO_URING_SETUP 425
#define CALL_PIDFD_GETFD 438
#define CALL_LANDLOCK_CREATE_RULESET 444
#define CALL_LANDLOCK_ADD_RULE 445
#define CALL_LANDLOCK_RESTRICT_SELF 446

#define LANDLOCK_GET_VERSION 1u // a flag
#define LANDLOCK_RULE_PATH 1
#define LANDLOCK_MAKE_CHAR (1u << 6)
#define LANDLOCK_MAKE_BLOCK (1u << 11)
#define LANDLOCK_TRUNCATE (1u << 14)
// Rights to a file: to write it (bit 1), to read it (2) or to cut it off.
#define LANDLOCK_OF_FILES (1u << 1 | 1u << 2 | LANDLOCK_TRUNCATE)
// That, folders and files removed (4, 5), folders, files, sockets, pipes and links made (7 to 10,
// 12).
#define LANDLOCK_CHANGES                                                                           \
    (1u << 1 | 1u << 2 | 1u << 4 | 1u << 5 | 1u << 7 | 1u << 8 | 1u << 9 | 1u << 10 | 1u << 12)
#define LANDLOCK_SCOPE_SIGNAL (1u << 1)

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#define NUMBERS_END 0x40000000u // x32's begin there
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#define NUMBERS_END UINT32_MAX
#else
#define ARCHITECTURE 0u
#define NUMBERS_END 0u
#endif

// LeakSanitizer stops the threads of its own process by ptrace as it ends.
#if defined(__SANITIZE_ADDRESS__)
#define DEBUGGER_VERDICT SECCOMP_RET_ALLOW
#else
#define DEBUGGER_VERDICT REFUSE
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED true
#else
#define IS_SANITIZED false
#endif

#define FILTER_SIZE 64
#define HIDDEN_MAX 128
#define REFUSE (SECCOMP_RET_ERRNO | EPERM)

struct filter {
    struct sock_filter code[FILTER_SIZE];
    unsigned short count;
};

// Linux: struct landlock_ruleset_attr.
struct landlock_rules {
    uint64_t files, ports, scopes;
};

// Linux: struct landlock_path_beneath_attr.
struct landlock_path {
    uint64_t rights;
    int32_t fd;
} __attribute__((packed));

// io_uring makes sockets past the filter.
static const uint32_t foreign_memory[] = {SYS_process_vm_readv, SYS_process_vm_writev,
                                          CALL_PIDFD_GETFD, CALL_IO_URING_SETUP};
static const uint32_t programs[] = {SYS_execve, SYS_execveat};
static const uint32_t connections[] = {SYS_connect};
static const uint32_t debuggers[] = {SYS_ptrace};
static const uint32_t local_sockets[] = {AF_UNIX};
static const uint32_t network_sockets[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};

static void add(struct filter *filter, uint16_t code, uint32_t value, uint8_t if_true,
                uint8_t if_false)
{
    filter->code[filter->count++] = (struct sock_filter){code, if_true, if_false, value};
}

static void add_load(struct filter *filter, size_t offset)
{
    add(filter, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

// Gives the verdict on a call whose number or argument, loaded before, is in the list.
static void add_list(struct filter *filter, const uint32_t *list, size_t count, uint32_t verdict)
{
    for (size_t i = 0; i < count; i++) {
        add(filter, BPF_JMP | BPF_JEQ | BPF_K, list[i], 0, 1);
        add(filter, BPF_RET | BPF_K, verdict, 0, 0);
    }
}

// A call of another architecture's numbers, as of 32 bits, is refused whatever it is.
static void add_begin(struct filter *filter)
{
    add_load(filter, offsetof(struct seccomp_data, arch));
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
    add(filter, BPF_RET | BPF_K, REFUSE, 0, 0);
    add_load(filter, offsetof(struct seccomp_data, nr));
    add(filter, BPF_JMP | BPF_JGE | BPF_K, NUMBERS_END, 0, 1);
    add(filter, BPF_RET | BPF_K, REFUSE, 0, 0);
}

static void build(struct filter *filter, const struct confinement *confinement)
{
    const uint32_t *sockets = confinement->network ? network_sockets : local_sockets;
    size_t count =
        confinement->network ? ARRAY_LENGTH(network_sockets) : ARRAY_LENGTH(local_sockets);

    add_begin(filter);
    add_list(filter, foreign_memory, ARRAY_LENGTH(foreign_memory), REFUSE);
    add_list(filter, debuggers, ARRAY_LENGTH(debuggers), DEBUGGER_VERDICT);
    if (!confinement->programs)
        add_list(filter, programs, ARRAY_LENGTH(programs), REFUSE);
    if (confinement->no_connect)
        add_list(filter, connections, ARRAY_LENGTH(connections), REFUSE);
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 1, 0);
    add(filter, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
    add_load(filter, offsetof(struct seccomp_data, args));
    add_list(filter, sockets, count, SECCOMP_RET_ALLOW);
    add(filter, BPF_RET | BPF_K, REFUSE, 0, 0);
}

bool confine_has_seccomp(void)
{
    uint32_t verdict = SECCOMP_RET_ERRNO;

    return ARCHITECTURE && syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &verdict) == 0;
}

int confine_landlock_version(void)
{
    long version = syscall(CALL_LANDLOCK_CREATE_RULESET, NULL, 0, LANDLOCK_GET_VERSION);

    return version > 0 ? (int)version : 0;
}

// Where a file is or would be, without links in the folders above it. The caller frees it. NULL:
// its folder is not there.
static char *resolve(const char *path)
{
    _cleanup_(cleanup_free) char *folder = strdup(path), *real = NULL;
    char *slash = folder ? strrchr(folder, '/') : NULL, *resolved = NULL;

    if (!slash || !slash[1])
        return NULL;
    *slash = '\0';
    real = realpath(*folder ? folder : "/", NULL);
    if (!real || asprintf(&resolved, "%s/%s", strcmp(real, "/") ? real : "", slash + 1) < 0)
        return NULL;
    return resolved;
}

// Whether all may make files in a folder above the path.
static bool is_below_shared(const char *path)
{
    char folder[PATH_MAX];
    struct stat status;

    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strrchr(folder, '/'); slash && slash > folder;
         slash = strrchr(folder, '/')) {
        *slash = '\0';
        if (stat(folder, &status) == 0 && status.st_mode & S_IWOTH)
            return true;
    }
    return false;
}

// The hidden files as they are told from others.
struct hidden_files {
    char *paths[HIDDEN_MAX]; // owned
    size_t count;
};

// A link is hidden with the file that it leads to.
static void add_hidden(struct hidden_files *hidden, const char *path)
{
    char *names[] = {resolve(path), realpath(path, NULL)};

    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        if (names[i] && hidden->count < HIDDEN_MAX && !is_below_shared(names[i]))
            hidden->paths[hidden->count++] = TAKE(names[i]);
        free(names[i]);
    }
}

static void finish_hidden(struct hidden_files *hidden)
{
    while (hidden->count > 0)
        free(hidden->paths[--hidden->count]);
}

enum standing { STANDS_FREE, STANDS_ABOVE, STANDS_HIDDEN };

// Whether the path is hidden, or a folder above a hidden file.
static enum standing find_standing(const struct hidden_files *hidden, const char *path)
{
    size_t length = strlen(path);

    for (size_t i = 0; i < hidden->count; i++) {
        if (strncmp(hidden->paths[i], path, length) != 0)
            continue;
        if (hidden->paths[i][length] == '\0')
            return STANDS_HIDDEN;
        if (hidden->paths[i][length] == '/')
            return STANDS_ABOVE;
    }
    return STANDS_FREE;
}

static int allow(int rules, const struct hidden_files *hidden, uint64_t rights, int above,
                 const char *folder, const char *name);

// Allows what lies in an open folder, which is closed. Links lead to places of their own.
static int allow_inside(int rules, const struct hidden_files *hidden, uint64_t rights, int fd,
                        const char *path)
{
    DIR *folder = fdopendir(fd);
    const struct dirent *entry;
    int r = 0;

    if (!folder) {
        close(fd);
        return -errno;
    }
    // cppcheck-suppress readdirCalled // nobody else reads this folder
    while (r == 0 && (entry = readdir(folder))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            r = allow(rules, hidden, rights, dirfd(folder), path, entry->d_name);
    }
    closedir(folder);
    return r;
}

static int allow(int rules, const struct hidden_files *hidden, uint64_t rights, int above,
                 const char *folder, const char *name)
{
    _cleanup_(cleanup_close) int fd =
        openat(above, name, O_PATH | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    char path[PATH_MAX];
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0 || S_ISLNK(status.st_mode))
        return 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    switch (find_standing(hidden, path)) {
    case STANDS_HIDDEN:
        return 0;
    case STANDS_ABOVE: {
        int inside = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        return inside < 0 ? 0 : allow_inside(rules, hidden, rights, inside, path);
    }
    default: {
        struct landlock_path allowed = {
            .rights = S_ISDIR(status.st_mode) ? rights : rights & LANDLOCK_OF_FILES, .fd = fd};

        return syscall(CALL_LANDLOCK_ADD_RULE, rules, LANDLOCK_RULE_PATH, &allowed, 0) < 0 ? -errno
                                                                                           : 0;
    }
    }
}

static int allow_rest(int rules, const struct hidden_files *hidden, uint64_t rights)
{
    int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return root < 0 ? -errno : allow_inside(rules, hidden, rights, root, "");
}

static int allow_shown(int rules, uint64_t rights, const int *shown, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct landlock_path allowed = {.rights = rights & LANDLOCK_OF_FILES, .fd = shown[i]};

        if (syscall(CALL_LANDLOCK_ADD_RULE, rules, LANDLOCK_RULE_PATH, &allowed, 0) < 0)
            return -errno;
    }
    return 0;
}

static int restrict_self(const struct hidden_files *hidden, const int *shown, size_t count)
{
    int version = confine_landlock_version();
    uint64_t rights = LANDLOCK_CHANGES | (version >= 3 ? LANDLOCK_TRUNCATE : 0);
    struct landlock_rules rules = {.files = LANDLOCK_MAKE_CHAR | LANDLOCK_MAKE_BLOCK,
                                   .scopes = version >= 6 ? LANDLOCK_SCOPE_SIGNAL : 0};
    size_t size = version >= 6 ? sizeof rules : sizeof rules.files;
    int r;

    rules.files |= hidden->count > 0 ? rights : 0;
    _cleanup_(cleanup_close) int fd = (int)syscall(CALL_LANDLOCK_CREATE_RULESET, &rules, size, 0);
    if (fd < 0)
        return -errno;
    r = hidden->count > 0 ? allow_rest(fd, hidden, rights) : 0;
    r = r == 0 && hidden->count > 0 ? allow_shown(fd, rights, shown, count) : r;
    if (r < 0)
        return r;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
                   syscall(CALL_LANDLOCK_RESTRICT_SELF, fd, 0) < 0
               ? -errno
               : 0;
}

void confine_memory(void)
{
    const char *wanted = getenv("EDGED_DUMPABLE");

    if (!IS_SANITIZED && !(wanted && *wanted))
        prctl(PR_SET_DUMPABLE, 0);
}

int confine_first(const char *const *hidden, const int *shown, size_t count)
{
    _cleanup_(finish_hidden) struct hidden_files found = {.count = 0};

    if (!confine_landlock_version())
        return -ENOSYS;
    for (size_t i = 0; hidden && hidden[i]; i++)
        add_hidden(&found, hidden[i]);
    return restrict_self(&found, shown, count);
}

bool confine_shuts(const char *path)
{
    int fd = access(path, R_OK) == 0 ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    bool shut = fd < 0 && errno == EACCES && access(path, R_OK) == 0;

    cleanup_close(&fd);
    return shut;
}

int confine_calls(const struct confinement *confinement)
{
    struct filter filter = {.count = 0};

    if (!confine_has_seccomp())
        return -ENOSYS;
    build(&filter, confinement);
    struct sock_fprog program = {.len = filter.count, .filter = filter.code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    // The kernel's audit log has what is refused. A thread that has another filter is the result.
    long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                     SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_LOG, &program);
    return r < 0 ? -errno : r > 0 ? -EBUSY : 0;
}
