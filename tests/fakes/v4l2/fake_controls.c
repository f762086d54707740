// The fake camera's controls.
#include "tests/fakes/v4l2/fake_camera.h"

#include <errno.h>

// The hardware's own, shared by all who open it and lost when it is unplugged.
static struct {
    struct v4l2_queryctrl query;
    int value;
} controls[] = {
    {{.id = V4L2_CID_USER_CLASS, .type = V4L2_CTRL_TYPE_CTRL_CLASS, .name = "User Controls"}, 0},
    {{.id = V4L2_CID_BRIGHTNESS,
      .type = V4L2_CTRL_TYPE_INTEGER,
      .name = "Brightness",
      .maximum = 255,
      .default_value = 128},
     128},
    {{.id = V4L2_CID_AUTO_WHITE_BALANCE,
      .type = V4L2_CTRL_TYPE_BOOLEAN,
      .name = "White Balance, Automatic",
      .maximum = 1,
      .default_value = 1},
     1},
    {{.id = V4L2_CID_HFLIP,
      .type = V4L2_CTRL_TYPE_BOOLEAN,
      .name = "Horizontal Flip",
      .maximum = 1},
     0},
    {{.id = V4L2_CID_VFLIP, .type = V4L2_CTRL_TYPE_BOOLEAN, .name = "Vertical Flip", .maximum = 1},
     0},
    {{.id = V4L2_CID_WHITE_BALANCE_TEMPERATURE,
      .type = V4L2_CTRL_TYPE_INTEGER,
      .name = "White Balance Temperature",
      .minimum = 2800,
      .maximum = 6500,
      .default_value = 4000},
     4000},
};
#define CONTROLS (sizeof controls / sizeof controls[0])

// Only some cameras mirror their pictures; those whose option is 2 take the control and do not.
static int has_control(const struct fake_camera *camera, uint32_t id)
{
    return id == V4L2_CID_HFLIP   ? fake_option_number(camera, "hflip", 0)
           : id == V4L2_CID_VFLIP ? fake_option_number(camera, "vflip", 0)
                                  : 1;
}

bool fake_control_is_on(uint32_t id)
{
    for (size_t i = 0; i < CONTROLS; i++) {
        if (controls[i].query.id == id)
            return controls[i].value;
    }
    return false;
}

void fake_reset_controls(void)
{
    for (size_t i = 0; i < CONTROLS; i++)
        controls[i].value = controls[i].query.default_value;
}

int fake_query_control(const struct fake_camera *camera, struct v4l2_queryctrl *query)
{
    uint32_t id = query->id & ~V4L2_CTRL_FLAG_NEXT_CTRL;

    for (size_t i = 0; i < CONTROLS; i++) {
        bool asked = query->id & V4L2_CTRL_FLAG_NEXT_CTRL ? controls[i].query.id > id
                                                          : controls[i].query.id == id;

        if (asked && has_control(camera, controls[i].query.id)) {
            *query = controls[i].query;
            return 0;
        }
    }
    return fake_refuse(EINVAL);
}

// White balance temperature cannot be set while white balance is automatic, as on real cameras.
int fake_control(const struct fake_camera *camera, struct v4l2_control *argument, bool set)
{
    for (size_t i = 0; i < CONTROLS; i++) {
        if (controls[i].query.id != argument->id || !has_control(camera, argument->id))
            continue;
        if (set && argument->id == V4L2_CID_WHITE_BALANCE_TEMPERATURE && controls[2].value)
            return fake_refuse(EACCES);
        if (set && has_control(camera, argument->id) != 2)
            controls[i].value = argument->value;
        argument->value = controls[i].value;
        return 0;
    }
    return fake_refuse(EINVAL);
}
