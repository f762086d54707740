// Motion on the CPU after a pause in which nobody watched, or the camera was gone.
#include "tests/unit/kernels/motion_pause.h"

TEST(test_nothing_has_moved_in_the_first_picture_after_a_pause)
{
    for (size_t i = 0; i < ARRAY_LENGTH(pausing_views); i++) {
        struct pause_bed bed = pause_bed_make(&pausing_views[i], frame_allocator_host(), NULL);

        pause_check_all(&bed);
        pause_bed_finish(&bed);
    }
}

RUN_TESTS(NULL, NULL)
