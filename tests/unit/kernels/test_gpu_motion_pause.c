// Motion on the GPU after a pause in which nobody watched, or the camera was gone.
#include "kernels/gpu/gpu_memory.h"
#include "tests/unit/fake_gpu.h"
#include "tests/unit/kernels/motion_pause.h"

static void check_view(const struct config_view *settings)
{
    struct gpu_memory *memory;
    struct pause_bed bed;
    struct gpu *gpu;

    fake_gpu_play("board=orin-nano");
    assert_int_equal(gpu_new(NULL, &gpu), 0);
    assert_int_equal(gpu_memory_new(gpu, CONFIG_MEMORY_AUTO, NULL, &memory), 0);
    bed = pause_bed_make(settings, gpu_memory_allocator(memory), gpu);
    assert_string_equal(view_backend(bed.paused), "CUDA sm_87");
    pause_check_all(&bed);
    pause_bed_finish(&bed);
    gpu_memory_free(memory);
    gpu_free(gpu);
    assert_int_equal(fake_gpu_leaks(), 0);
}

TEST(test_nothing_has_moved_in_the_first_picture_after_a_pause)
{
    for (size_t i = 0; i < ARRAY_LENGTH(pausing_views); i++) {
        check_view(&pausing_views[i]);
    }
}

RUN_TESTS(NULL, fake_gpu_end)
