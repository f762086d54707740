// When a GPU is to blame, and when it is tried again, by tests/unit/tables/gpu_retry.txt.
#include "config/base.h"
#include "daemon/front/supervise/gpu_retry.h"
#include "tests/unit/text_table.h"

// One step; `at` are seconds.
static void take_step(struct gpu_retry *retry, const char *step, double at, GString *output)
{
    int64_t now_ns = (int64_t)(at * 1e9);

    if (strcmp(step, "fail") == 0) {
        g_string_append_printf(output, "%u ", gpu_retry_fail_ms(retry, now_ns));
    } else if (strcmp(step, "try") == 0) {
        g_string_append_printf(output, "%u ", gpu_retry_try_ms(retry));
    } else if (strcmp(step, "cuda") == 0) {
        gpu_retry_note_backend(retry, "CUDA sm_87", now_ns);
    } else if (strcmp(step, "cpu") == 0 || strcmp(step, "silent") == 0) {
        gpu_retry_note_backend(retry, *step == 'c' ? "CPU" : "", now_ns);
    } else if (strcmp(step, "begin") == 0 || strcmp(step, "begin-without") == 0) {
        gpu_retry_begin(retry, strcmp(step, "begin") == 0);
    } else if (strcmp(step, "refused") == 0) {
        g_string_append(output, retry->replaced ? "stays " : "replaced ");
        retry->replaced = true;
    } else {
        bool killed = strcmp(step, "killed") == 0;

        assert_true(killed || strcmp(step, "ended") == 0);
        g_string_append(output, gpu_retry_note_death(retry, killed, now_ns) ? "blamed " : "not ");
    }
}

static void run_steps(const char *input, GString *output)
{
    g_auto(GStrv) steps = g_strsplit(input, ", ", -1);
    struct gpu_retry retry = {0};

    for (char **step = steps; *step; step++) {
        char word[16];
        double at = 0;

        assert_true(sscanf(*step, "%15s %lf", word, &at) > 0);
        take_step(&retry, word, at, output);
    }
}

TEST(test_a_gpu_is_blamed_and_tried_again_as_the_table_says)
{
    text_table_check("tests/unit/tables/gpu_retry.txt", run_steps);
}

RUN_TESTS(NULL, NULL)
