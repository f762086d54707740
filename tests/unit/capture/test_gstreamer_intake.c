#include "capture/gstreamer/gstreamer_intake.h"
#include "tests/unit/unit.h"

#include <errno.h>

struct fixture {
    struct source_environment environment;
    struct intake *intake;
    GstElement *camera;
    struct error error;
};

static int setup(void **state)
{
    static struct fixture fixture;
    GstCaps *caps = gst_caps_new_empty_simple("video/x-raw");

    fixture = (struct fixture){0};
    assert_int_equal(intake_new("fakesrc name=camera", caps, INTAKE_NEWEST, &fixture.environment,
                                &fixture.error, &fixture.intake),
                     0);
    gst_caps_unref(caps);
    fixture.camera = gst_bin_get_by_name(GST_BIN(intake_pipeline(fixture.intake)), "camera");
    gst_element_set_state(intake_pipeline(fixture.intake), GST_STATE_READY);
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    gst_object_unref(fixture->camera);
    intake_free(fixture->intake);
    return 0;
}

static void post_no_way_to_log_in(const struct fixture *fixture)
{
    GST_ELEMENT_ERROR(fixture->camera, RESOURCE, OPEN_READ, (NULL),
                      ("No supported authentication protocol was found"));
}

static void post_unauthorized(const struct fixture *fixture)
{
    GST_ELEMENT_ERROR(fixture->camera, RESOURCE, NOT_AUTHORIZED, ("Unauthorized"),
                      ("Unauthorized (401)"));
}

static void post_not_found(const struct fixture *fixture)
{
    GST_ELEMENT_ERROR(fixture->camera, RESOURCE, NOT_FOUND, ("Not found"), ("Not Found (404)"));
}

static void assert_failure(struct fixture *fixture, int code, const char *says)
{
    assert_int_equal(intake_wait(fixture->intake, 0), INTAKE_FAILED);
    assert_int_equal(intake_failure(fixture->intake, &fixture->error), code);
    assert_string_equal(fixture->error.text, says);
}

TEST(test_the_first_error_is_kept, setup, teardown)
{
    post_not_found(*state);
    assert_failure(*state, -EPIPE, "camera: Not found (Not Found (404))");
    post_unauthorized(*state);
    assert_failure(*state, -EPIPE, "camera: Not found (Not Found (404))");
}

TEST(test_a_refused_password_is_told_apart, setup, teardown)
{
    post_unauthorized(*state);
    assert_failure(*state, -EACCES, "camera: Unauthorized (Unauthorized (401))");
}

// As before GStreamer 1.22.
TEST(test_a_stream_that_is_not_there_is_not_taken_for_a_refused_login, setup, teardown)
{
    const struct fixture *fixture = *state;

    post_no_way_to_log_in(fixture);
    assert_int_equal(intake_wait(fixture->intake, 0), INTAKE_TIMEOUT);
    post_not_found(fixture);
    assert_failure(*state, -EPIPE, "camera: Not found (Not Found (404))");
}

TEST(test_a_login_that_gstreamer_does_not_know_is_not_a_wrong_password, setup, teardown)
{
    post_no_way_to_log_in(*state);
    post_unauthorized(*state);
    assert_failure(*state, -EPIPE,
                   "camera: Could not open resource for reading. (No supported authentication "
                   "protocol was found)");
}

int main(int argc, char **argv)
{
    gst_init(&argc, &argv);
    return run_unit_tests(NULL, NULL);
}
