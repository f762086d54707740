#include "daemon/link/link_end.h"

#include <errno.h>
#include <glib-unix.h>
#include <string.h>

static int take_hello(struct link_end *end, const struct link_message *message)
{
    const char *version = (const char *)message->payload;

    if (end->greeted)
        return error_set(&end->error, -EPROTO, "sent a second hello");
    if (strcmp(version, EDGED_VERSION) != 0) {
        return error_set(&end->error, -EPROTO,
                         "is of version %.32s and this program of " EDGED_VERSION, version);
    }
    end->greeted = true;
    return 0;
}

static bool has_size(const struct link_kind *kind, uint32_t size)
{
    return kind->has_more ? size >= kind->size : size == kind->size;
}

static int on_message(void *context, struct link_message *message)
{
    struct link_end *end = context;
    enum link_type type = message->header.type;
    const struct link_kind *kind = &end->protocol->kinds[type];
    uint32_t size = message->header.size;
    int r = 0;

    if (!end->greeted && type != end->protocol->hello)
        return error_set(&end->error, -EPROTO, "sent no hello first");
    if (!kind->name)
        return error_set(&end->error, -EPROTO, "sent a message of type %u", type);
    if (type == end->protocol->hello)
        r = take_hello(end, message);
    else if (!has_size(kind, size))
        r = -EPROTO;
    if (r == 0 && kind->take)
        r = kind->take(end->context, message);
    if (r == -EPROTO && !end->error.text[0])
        error_set(&end->error, r, "sent a bad %s message of %u bytes", kind->name, size);
    return r;
}

bool link_end_receive(struct link_end *end)
{
    int r = link_receive(end->link, on_message, end);

    if (r == 0)
        return true;
    if (!end->error.text[0]) {
        error_set(&end->error, r,
                  r == -EPIPE    ? "has closed its connection"
                  : r == -EPROTO ? "sent what is no message"
                                 : "cannot be heard");
    }
    const struct error error = end->error;
    end->protocol->ended(end->context, r, error.text);
    return false;
}

static gboolean on_readable(gint fd, GIOCondition condition, gpointer data)
{
    (void)fd;
    (void)condition;
    link_end_receive(data); // closes it, and with it this source, when it has ended
    return G_SOURCE_CONTINUE;
}

static gboolean on_writable(gint fd, GIOCondition condition, gpointer data)
{
    struct link_end *end = data;

    (void)fd;
    (void)condition;
    // A broken pipe shows up on the reading side too, where it is handled.
    if (link_flush(end->link) == 0 && link_wants_write(end->link))
        return G_SOURCE_CONTINUE;
    end->write_watch = 0;
    if (end->blocked && end->protocol->writable) {
        end->blocked = false;
        end->protocol->writable(end->context);
    }
    return G_SOURCE_REMOVE;
}

int link_end_send(struct link_end *end, enum link_type type, uint32_t view,
                  const struct iovec *pieces, int count)
{
    int r = end->link ? link_send(end->link, type, view, pieces, count) : -ENOTCONN;

    end->blocked |= r == -ENOBUFS;
    if (end->link && !end->write_watch && link_wants_write(end->link))
        end->write_watch = g_unix_fd_add(link_fd(end->link), G_IO_OUT | G_IO_ERR, on_writable, end);
    return r;
}

int link_end_send_hello(struct link_end *end)
{
    const struct iovec version = {EDGED_VERSION, strlen(EDGED_VERSION)};

    return link_end_send(end, end->protocol->hello, 0, &version, 1);
}

// If the loop stood still, the link is read before the second look.
static gboolean on_silence(gpointer data)
{
    struct link_end *end = data;
    char sentence[64];

    end->silence = 0;
    if (!end->looks_again) {
        end->looks_again = true;
        end->silence = g_timeout_add(0, on_silence, end);
        return G_SOURCE_REMOVE;
    }
    g_snprintf(sentence, sizeof sentence, "has said nothing for %d s", end->silence_ms / 1000);
    end->protocol->ended(end->context, -ETIME, sentence);
    return G_SOURCE_REMOVE;
}

void link_end_expect(struct link_end *end, int ms)
{
    g_clear_handle_id(&end->silence, g_source_remove);
    end->silence_ms = ms;
    end->looks_again = false;
    end->silence = g_timeout_add((guint)ms, on_silence, end);
}

int link_end_open(struct link_end *end, int fd, const struct link_protocol *protocol, void *context)
{
    struct link *link;
    int r = link_new(fd, protocol->queue_bytes, &link);

    if (r < 0) {
        close(fd);
        return r;
    }
    *end = (struct link_end){.link = link, .protocol = protocol, .context = context};
    end->read_watch = g_unix_fd_add(fd, G_IO_IN | G_IO_HUP | G_IO_ERR, on_readable, end);
    return 0;
}

void link_end_close(struct link_end *end)
{
    g_clear_handle_id(&end->read_watch, g_source_remove);
    g_clear_handle_id(&end->write_watch, g_source_remove);
    g_clear_handle_id(&end->silence, g_source_remove);
    link_free(TAKE(end->link));
    end->greeted = false;
}
