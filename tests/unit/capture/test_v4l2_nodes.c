// Reports of a camera that is plugged in: in a folder of this test, as udev does in /dev/v4l.
#include "capture/v4l2/v4l2_nodes.h"

#include "config/base.h"
#include "tests/unit/unit.h"

#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64], node[96], other[96];

static void make_paths(void)
{
    snprintf(folder, sizeof folder, "/tmp/edged-nodes-%d", getpid());
    snprintf(node, sizeof node, "%s/usb-camera-index0", folder);
    snprintf(other, sizeof other, "%s/sound", folder);
    assert_int_equal(mkdir(folder, 0700), 0);
}

static void touch(const char *path)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    fclose(file);
}

TEST(test_a_node_that_comes_or_changes_is_told_and_others_are_not)
{
    struct pollfd told = {.events = POLLIN};

    make_paths();
    told.fd = v4l2_nodes_open(node);
    assert_true(told.fd >= 0);
    touch(other);
    assert_false(v4l2_nodes_have_come(told.fd, node));
    touch(node);
    assert_int_equal(poll(&told, 1, 60000), 1);
    assert_true(v4l2_nodes_have_come(told.fd, node));
    assert_false(v4l2_nodes_have_come(told.fd, node));
    assert_int_equal(chmod(node, 0660), 0); // as udev does a moment later
    assert_int_equal(poll(&told, 1, 60000), 1);
    assert_true(v4l2_nodes_have_come(told.fd, node));
    assert_int_equal(unlink(node), 0);
    assert_false(v4l2_nodes_have_come(told.fd, node));
    close(told.fd);
    assert_int_equal(unlink(other), 0);
    assert_int_equal(rmdir(folder), 0);
}

// The folder of links goes with the last camera.
TEST(test_a_camera_whose_folder_is_not_there_is_watched_in_dev)
{
    int nodes = v4l2_nodes_open("/dev/v4l-of-no-machine/camera");

    assert_true(nodes >= 0);
    assert_false(v4l2_nodes_have_come(nodes, "/dev/v4l-of-no-machine/camera"));
    close(nodes);
    nodes = v4l2_nodes_open(""); // any camera
    assert_true(nodes >= 0);
    close(nodes);
}

int main(void)
{
    return run_unit_tests(NULL, NULL);
}
