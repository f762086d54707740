#include "daemon/link/camera_start.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define TEXT_BYTES_MAX (128u << 10) // a socket's buffer takes it at once
#define LISTS 4                     // the name, then those of struct camera_start
#define RECEIVE_MS 10000
#define FDS_MAX (1 + CAMERA_START_FILES_MAX)

// In front of the texts, each of which ends in NUL; an empty one ends a list.
struct head {
    char version[64];
    uint32_t size;
    uint32_t files;
};

union fds_control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
};

static size_t count_texts(const char *const *list)
{
    size_t count = 0;

    while (list && list[count])
        count++;
    return count;
}

static void write_list(FILE *file, const char *const *list)
{
    for (size_t i = 0; list && list[i]; i++) {
        if (*list[i])
            fwrite(list[i], 1, strlen(list[i]) + 1, file);
    }
    fputc(0, file);
}

static int write_texts(const struct camera_start *start, char **ret_text, size_t *ret_size)
{
    FILE *file = open_memstream(ret_text, ret_size);

    if (!file)
        return -ENOMEM;
    write_list(file, (const char *const[]){start->name, NULL});
    write_list(file, start->hidden);
    write_list(file, start->variables);
    write_list(file, start->file_paths);
    return fclose(file) ? -ENOMEM : 0;
}

int camera_start_send(int line_fd, const struct camera_start *start)
{
    struct head head = {.version = EDGED_VERSION, .files = 0};
    _cleanup_(cleanup_free) char *text = NULL;
    union fds_control control = {.bytes = {0}};
    size_t size, files = count_texts(start->file_paths);
    int r = write_texts(start, &text, &size);

    if (r < 0)
        return r;
    if (size > TEXT_BYTES_MAX || files > CAMERA_START_FILES_MAX)
        return -EMSGSIZE;
    head.size = (uint32_t)size;
    head.files = (uint32_t)files;
    struct iovec pieces[] = {{&head, sizeof head}, {text, size}};
    struct msghdr message = {.msg_iov = pieces,
                             .msg_iovlen = ARRAY_LENGTH(pieces),
                             .msg_control = &control,
                             .msg_controllen = CMSG_SPACE((1 + files) * sizeof(int))};
    struct cmsghdr *fds = CMSG_FIRSTHDR(&message);

    fds->cmsg_level = SOL_SOCKET;
    fds->cmsg_type = SCM_RIGHTS;
    fds->cmsg_len = CMSG_LEN((1 + files) * sizeof(int));
    memcpy(CMSG_DATA(fds), &start->link_fd, sizeof(int));
    memcpy(CMSG_DATA(fds) + sizeof(int), start->file_fds, files * sizeof(int));
    ssize_t sent = sendmsg(line_fd, &message, MSG_NOSIGNAL);
    return sent < 0 ? -errno : (size_t)sent < sizeof head + size ? -EMSGSIZE : 0;
}

static int receive_head(int line_fd, struct head *head, int *fds, size_t *ret_count)
{
    struct iovec piece = {head, sizeof *head};
    union fds_control control;
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    ssize_t got = recvmsg(line_fd, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL);
    const struct cmsghdr *found = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;

    *ret_count = 0;
    if (found && found->cmsg_type == SCM_RIGHTS) {
        *ret_count = (found->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(fds, CMSG_DATA(found), *ret_count * sizeof(int));
    }
    return got == (ssize_t)sizeof *head ? 0 : -EPROTO;
}

static int receive_text(int line_fd, char *text, size_t size)
{
    for (size_t used = 0; used < size;) {
        ssize_t got = recv(line_fd, text + used, size - used, 0);

        if (got <= 0 && errno != EINTR)
            return -EPROTO;
        used += got > 0 ? (size_t)got : 0;
    }
    return 0;
}

// Finds the lists in the text.
static int read_lists(struct camera_start_received *received, size_t size)
{
    const char *at = received->text, *end = at + size;
    const char *const *lists[LISTS];
    size_t used = 0;

    received->lists = calloc(size + LISTS, sizeof *received->lists);
    if (!received->lists)
        return -ENOMEM;
    for (size_t i = 0; i < LISTS; i++) {
        lists[i] = received->lists + used;
        for (; at < end && *at; at += strlen(at) + 1)
            received->lists[used++] = at;
        if (at++ >= end)
            return -EPROTO;
        used++; // the NULL that ends the list
    }
    received->start.name = *lists[0];
    received->start.hidden = lists[1];
    received->start.variables = lists[2];
    received->start.file_paths = lists[3];
    return count_texts(lists[0]) == 1 && count_texts(lists[3]) == received->file_count ? 0
                                                                                       : -EPROTO;
}

static void close_all(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        close(fds[i]);
}

// Takes over the descriptors if it succeeds.
static int receive_rest(int line_fd, const struct head *head, const int *fds, size_t count,
                        struct camera_start_received *ret)
{
    struct camera_start_received received = {.start = {.link_fd = -1}};

    if (count != 1 + (size_t)head->files || head->size > TEXT_BYTES_MAX)
        return -EPROTO;
    received.file_count = head->files;
    received.start.link_fd = fds[0];
    memcpy(received.start.file_fds, fds + 1, head->files * sizeof *fds);
    received.text = calloc(1, head->size + 1);
    int r = received.text ? receive_text(line_fd, received.text, head->size) : -ENOMEM;
    r = r < 0 ? r : read_lists(&received, head->size);
    if (r < 0)
        camera_start_finish(&received);
    else
        *ret = received;
    return r;
}

int camera_start_receive(int line_fd, struct error *error, struct camera_start_received *ret)
{
    struct pollfd line = {.fd = line_fd, .events = POLLIN};
    int fds[FDS_MAX];
    struct head head;
    size_t count;

    if (poll(&line, 1, RECEIVE_MS) <= 0)
        return error_set(error, -ETIMEDOUT, "edged did not say what to start");
    int r = receive_head(line_fd, &head, fds, &count);
    bool is_other = r == 0 && memcmp(head.version, EDGED_VERSION, sizeof EDGED_VERSION) != 0;
    r = r < 0 || is_other ? -EPROTO : receive_rest(line_fd, &head, fds, count, ret);
    if (r == 0)
        return 0;
    close_all(fds, count);
    return is_other ? error_set(error, r, "edged is of version %.32s and this is " EDGED_VERSION,
                                head.version)
                    : error_set(error, r, "edged sent what is no start of a camera process");
}
void camera_start_finish(struct camera_start_received *received)
{
    free(received->text);
    free(received->lists);
    *received = (struct camera_start_received){.start = {.link_fd = -1}};
}
