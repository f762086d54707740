// The RTSP server on a machine that cannot let clients in.
#include "tests/unit/daemon/rtsp_bed.h"

#include <sys/syscall.h>

#define TRIES_MAX 1000u // so that a test that fails comes to an end

static int accept_error; // 0: the kernel's own
static unsigned tries;

// In place of the C library's.
int accept4(int fd, struct sockaddr *address, socklen_t *size, int flags)
{
    if (accept_error && tries < TRIES_MAX) {
        tries++;
        errno = accept_error;
        return -1;
    }
    return (int)syscall(SYS_accept4, fd, address, size, flags);
}

// It would turn in the main loop without an end, and nobody be served.
static void check_waits(struct rtsp_bed *bed, int error)
{
    struct rtsp_client client;

    accept_error = error;
    tries = 0;
    client_connect(&client, bed);
    for (int i = 0; i < 50; i++) {
        client_turn(&client);
    }
    assert_in_range(tries, 1, TRIES_MAX / 10); // once, and once a second
    accept_error = 0;
    assert_int_equal(client_status(&client, bed, "OPTIONS", ""), 200);
    client_finish(&client);
}

TEST(test_clients_that_cannot_be_let_in_wait_their_turn)
{
    struct rtsp_bed *bed = rtsp_bed_new("");

    check_waits(bed, ENFILE);
    check_waits(bed, ENOBUFS);
    check_waits(bed, ENOMEM);
    rtsp_bed_free(bed);
}

TEST(test_who_plays_nothing_makes_room_for_one_that_cannot_be_let_in)
{
    struct rtsp_bed *bed = rtsp_bed_new("");
    struct rtsp_client idle, playing;

    rtsp_bed_send_frame(bed, 100);
    client_connect(&playing, bed);
    g_free(client_play(&playing, bed));
    client_connect(&idle, bed);
    assert_int_equal(client_status(&idle, bed, "OPTIONS", ""), 200);
    check_waits(bed, ENFILE);
    client_wait_end(&idle);
    assert_int_equal(client_status(&playing, bed, "OPTIONS", ""), 200);
    client_finish(&idle);
    client_finish(&playing);
    rtsp_bed_free(bed);
}

RUN_TESTS(NULL, NULL)
