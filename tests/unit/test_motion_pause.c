// Motion on the CPU after a pause in which nobody watched, or the camera was gone.
#include "tests/unit/motion_pause.h"

static void test_nothing_has_moved_in_the_first_picture_after_a_pause(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(pausing_views); i++) {
        struct pause_bed bed = pause_bed_make(&pausing_views[i], frame_allocator_host(), NULL);

        pause_check_all(&bed);
        pause_bed_finish(&bed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_has_moved_in_the_first_picture_after_a_pause),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
