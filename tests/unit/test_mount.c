// What the RTSP library makes of a mount, without a network.
#include "tests/unit/unit.h"

#include "daemon/front/mount.h"
#include "daemon/front/rtsp_threads.h"
#include "daemon/front/viewers.h"
#include "tests/unit/caught_stderr.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

static gboolean wait_for_ever(gpointer data)
{
    g_mutex_lock(data);
    return G_SOURCE_REMOVE;
}

// In a process of its own: a thread of the library waits for a lock that nobody gives back.
static void hang_in_a_thread(void)
{
    GstRTSPThreadPool *threads = rtsp_threads_new(1);
    GstRTSPThread *thread =
        gst_rtsp_thread_pool_get_thread(threads, GST_RTSP_THREAD_TYPE_CLIENT, NULL);
    GSource *hang = g_idle_source_new();
    static GMutex taken;

    g_mutex_lock(&taken);
    g_source_set_callback(hang, wait_for_ever, &taken, NULL);
    g_source_attach(hang, thread->context);
    while (true) {
        pause();
    }
}

// First, while there are no threads: it forks.
TEST(test_a_lock_of_the_library_that_never_comes_ends_the_process)
{
    char said[512] = "";
    int status;

    catch_stderr();
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL);
        hang_in_a_thread();
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    rewind(caught);
    fgets(said, sizeof said, caught);
    release_stderr();
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(strstr(said, "the thread of an RTSP connection has hung for 1 s, ending"));
}

struct fixture {
    struct stream *stream;
    GstRTSPMediaFactory *mount;
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);

    assert_int_equal(stream_new("/front/edges", 4000, &fixture->stream), 0);
    fixture->mount = mount_new(fixture->stream);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    g_clear_object(&fixture->mount);
    while (g_main_context_iteration(NULL, FALSE)) {
    }
    stream_unref(fixture->stream);
    free(fixture);
    return 0;
}

static GstRTSPMedia *construct(struct fixture *fixture, const char *address)
{
    GstRTSPUrl *url;

    assert_int_equal(gst_rtsp_url_parse(address, &url), GST_RTSP_OK);
    GstRTSPMedia *media = mount_construct(fixture->mount, url);
    gst_rtsp_url_free(url);
    assert_non_null(media);
    return media;
}

TEST(test_every_path_and_query_shares_one_media, set_up, tear_down)
{
    struct fixture *fixture = *state;
    GstRTSPMedia *first = construct(fixture, "rtsp://127.0.0.1:8554/front/edges");
    GstRTSPMedia *query = construct(fixture, "rtsp://127.0.0.1:8554/front/edges?x=1");
    GstRTSPMedia *alias = construct(fixture, "rtsp://127.0.0.1:8554/edges");

    assert_ptr_equal(first, query);
    assert_ptr_equal(first, alias);
    g_object_unref(first);
    g_object_unref(query);
    g_object_unref(alias);
}

TEST(test_a_media_that_is_about_to_end_is_not_shared_any_more, set_up, tear_down)
{
    struct fixture *fixture = *state;
    GstRTSPMedia *ending = construct(fixture, "rtsp://127.0.0.1:8554/front/edges");

    // As gst_rtsp_media_unprepare() announces it, before it begins.
    g_signal_emit_by_name(ending, "target-state", GST_STATE_NULL);
    GstRTSPMedia *next = construct(fixture, "rtsp://127.0.0.1:8554/front/edges");
    assert_ptr_not_equal(ending, next);
    g_object_unref(ending);
    g_object_unref(next);
}

TEST(test_a_media_is_fed_until_it_ends, set_up, tear_down)
{
    struct fixture *fixture = *state;

    assert_false(stream_is_watched(fixture->stream));
    GstRTSPMedia *media = construct(fixture, "rtsp://127.0.0.1:8554/front/edges");
    assert_true(stream_is_watched(fixture->stream));
    g_signal_emit_by_name(media, "unprepared");
    assert_false(stream_is_watched(fixture->stream));
    g_object_unref(media);
}

TEST(test_a_media_holds_nothing_but_source_parser_and_payloader, set_up, tear_down)
{
    struct fixture *fixture = *state;
    GstRTSPMedia *media = construct(fixture, "rtsp://127.0.0.1:8554/front/edges");
    GstElement *bin = gst_rtsp_media_get_element(media);
    GstElement *payloader = gst_bin_get_by_name(GST_BIN(bin), "pay0");
    guint payload_type;

    assert_int_equal(GST_BIN_NUMCHILDREN(bin), 3);
    g_object_get(payloader, "pt", &payload_type, NULL);
    assert_int_equal(payload_type, 96);
    assert_int_equal(gst_rtsp_media_n_streams(media), 1);
    assert_true(gst_rtsp_media_is_shared(media));
    assert_false(gst_rtsp_media_is_reusable(media));
    assert_int_equal(gst_rtsp_media_get_protocols(media),
                     GST_RTSP_LOWER_TRANS_UDP | GST_RTSP_LOWER_TRANS_TCP);
    gst_object_unref(payloader);
    gst_object_unref(bin);
    g_object_unref(media);
}

TEST(test_viewers_are_counted_by_session_and_go_with_their_connection)
{
    struct viewers *viewers = viewers_new();
    int one, other; // identities of connections

    viewers_add(viewers, "a", &one, "127.0.0.1", "/front/edges");
    viewers_add(viewers, "a", &one, "127.0.0.1", "/front/edges"); // PLAY after PAUSE
    viewers_add(viewers, "b", &one, "127.0.0.1", "/front/gray");
    viewers_add(viewers, "c", &other, "127.0.0.1", "/front/edges");
    assert_int_equal(viewers_count(viewers, "/front/edges"), 2);
    assert_int_equal(viewers_count(viewers, NULL), 3);
    assert_true(viewers_has_client(viewers, &one, "/front/gray"));
    assert_false(viewers_has_client(viewers, &other, "/front/gray"));

    viewers_remove_client(viewers, &one);
    assert_int_equal(viewers_count(viewers, NULL), 1);
    viewers_remove_session(viewers, "c");
    viewers_remove_session(viewers, "c");
    assert_int_equal(viewers_count(viewers, NULL), 0);
    viewers_free(viewers);
}

int main(int argc, char **argv)
{
    gst_init(&argc, &argv);
    return run_unit_tests(NULL, NULL);
}
