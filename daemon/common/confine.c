// The filter has a list of the calls that are refused rather than of those that are allowed:
// drivers and plugins that nobody here has make calls of their own, and systemd's unit has a list
// of allowed ones (systemd/edged.service). A filter cannot follow pointers, so it knows numbers
// alone.
#include "daemon/common/confine.h"

#include "config/base.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

// Calls that headers of Ubuntu 20.04 do not name; their numbers are the same everywhere.
#define CALL_IO_URING_SETUP 425
#define CALL_PIDFD_GETFD 438
#define CALL_LANDLOCK_CREATE_RULESET 444
#define CALL_LANDLOCK_RESTRICT_SELF 446

#define LANDLOCK_GET_VERSION 1u // a flag
#define LANDLOCK_MAKE_CHAR (1u << 6)
#define LANDLOCK_MAKE_BLOCK (1u << 11)
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

#define FILTER_SIZE 64
#define REFUSE (SECCOMP_RET_ERRNO | EPERM)

struct filter {
    struct sock_filter code[FILTER_SIZE];
    unsigned short count;
};

// Linux: struct landlock_ruleset_attr.
struct landlock_rules {
    uint64_t files, ports, scopes;
};

// io_uring makes sockets past the filter.
static const uint32_t foreign_memory[] = {SYS_process_vm_readv, SYS_process_vm_writev,
                                          CALL_PIDFD_GETFD, CALL_IO_URING_SETUP};
static const uint32_t programs[] = {SYS_execve, SYS_execveat};
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

// What becomes of a call whose number or argument, loaded before, is in the list.
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
    if (!confinement->programs) {
        add_list(filter, programs, ARRAY_LENGTH(programs), REFUSE);
    }
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

int confine_memory(void)
{
    int version = confine_landlock_version();
    struct landlock_rules rules = {.files = LANDLOCK_MAKE_CHAR | LANDLOCK_MAKE_BLOCK,
                                   .scopes = version >= 6 ? LANDLOCK_SCOPE_SIGNAL : 0};
    size_t size = version >= 6 ? sizeof rules : sizeof rules.files;

    if (!version) {
        return -ENOSYS;
    }
    int fd = (int)syscall(CALL_LANDLOCK_CREATE_RULESET, &rules, size, 0);
    if (fd < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        syscall(CALL_LANDLOCK_RESTRICT_SELF, fd, 0) < 0) {
        int r = -errno;

        cleanup_close(&fd);
        return r;
    }
    close(fd);
    return 0;
}

int confine_calls(const struct confinement *confinement)
{
    struct filter filter = {.count = 0};

    if (!confine_has_seccomp()) {
        return -ENOSYS;
    }
    build(&filter, confinement);
    struct sock_fprog program = {.len = filter.count, .filter = filter.code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
        return -errno;
    }
    // The kernel's audit log has what is refused. A thread that has another filter is the result.
    long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                     SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_LOG, &program);
    return r < 0 ? -errno : r > 0 ? -EBUSY : 0;
}
