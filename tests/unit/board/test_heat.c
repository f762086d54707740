// A board's temperatures, power and GPU, read from trees of files as boards have them.
#include "tests/unit/unit.h"

#include "board/heat.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

static int setup(void **state)
{
    *state = g_dir_make_tmp("edged-board-XXXXXX", NULL);
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    g_autofree char *command = g_strdup_printf("rm -rf '%s'", (char *)*state);

    g_free(*state);
    return g_spawn_command_line_sync(command, NULL, NULL, NULL, NULL) ? 0 : -1;
}

static void put(const char *root, const char *path, const char *text)
{
    g_autofree char *whole = g_build_filename(root, path, NULL);
    g_autofree char *folder = g_path_get_dirname(whole);

    assert_int_equal(g_mkdir_with_parents(folder, 0755), 0);
    assert_true(g_file_set_contents(whole, text, -1, NULL));
}

#define THERMAL "sys/class/thermal/"

// As JetPack 5 has it on an Orin NX in its 15 W mode, with the GPU slowed down.
static void put_orin(const char *root)
{
    put(root, THERMAL "thermal_zone0/type", "CPU-therm\n");
    put(root, THERMAL "thermal_zone0/temp", "51031\n");
    put(root, THERMAL "thermal_zone1/type", "GPU-therm\n");
    put(root, THERMAL "thermal_zone1/temp", "98500\n");
    put(root, THERMAL "thermal_zone2/type", "CV0-therm\n");
    put(root, THERMAL "thermal_zone2/temp", ""); // switched off
    put(root, THERMAL "cooling_device0/type", "pwm-fan\n");
    put(root, THERMAL "cooling_device0/cur_state", "3\n");
    put(root, THERMAL "cooling_device1/type", "cpu-throttle-alert\n");
    put(root, THERMAL "cooling_device1/cur_state", "0\n");
    put(root, THERMAL "cooling_device2/type", "gpu-throttle-alert\n");
    put(root, THERMAL "cooling_device2/cur_state", "1\n");
    put(root, THERMAL "cooling_device3/type", "devfreq-17000000.ga10b\n");
    put(root, THERMAL "cooling_device3/cur_state", "2\n");
    put(root, "sys/class/devfreq/15340000.vic/cur_freq", "115200000\n");
    put(root, "sys/class/devfreq/17000000.ga10b/cur_freq", "306000000\n");
    put(root, "sys/class/devfreq/17000000.ga10b/max_freq", "612000000\n");
    put(root, "sys/class/devfreq/17000000.ga10b/device/load", "843\n");
    put(root, "var/lib/nvpmodel/status", "pmode:0002 fmode:quiet\n");
    put(root, "etc/nvpmodel.conf",
        "# a comment\n< PARAM TYPE=FILE NAME=CPU_ONLINE >\nCORE_0 /sys/x\n"
        "< POWER_MODEL ID=0 NAME=MAXN >\nCPU_ONLINE CORE_0 1\n"
        "< POWER_MODEL ID=2 NAME=15W >\nCPU_ONLINE CORE_0 1\n< PM_CONFIG DEFAULT=2 >\n");
}

TEST(test_a_jetson_tells_heat_power_and_load, setup, teardown)
{
    struct heat heat;

    put_orin(*state);
    heat_read(*state, &heat);
    assert_int_equal(heat.is_known, 1);
    assert_int_equal(heat.zone_count, 2);
    assert_string_equal(heat.zones[0].name, "CPU-therm");
    assert_int_equal(heat.zones[0].millidegrees, 51031);
    assert_string_equal(heat.zones[1].name, "GPU-therm");
    assert_int_equal(heat.zones[1].millidegrees, 98500);
    assert_int_equal(heat.throttled, 2);
    assert_string_equal(heat.throttled_by, "gpu-throttle-alert, devfreq-17000000.ga10b");
    assert_string_equal(heat.power_mode, "15W");
    assert_int_equal(heat.gpu_permille, 843);
    assert_int_equal(heat.gpu_hz, 306000000);
    assert_int_equal(heat.gpu_hz_max, 612000000);
}

TEST(test_the_gpu_of_jetpack_6_has_another_name, setup, teardown)
{
    struct heat heat;

    put(*state, "sys/class/devfreq/17000000.gpu/cur_freq", "1020000000\n");
    heat_read(*state, &heat);
    assert_int_equal(heat.gpu_hz, 1020000000);
    assert_int_equal(heat.gpu_hz_max, 0);
    assert_int_equal(heat.gpu_permille, -1);
}

TEST(test_a_pc_tells_its_temperatures_and_what_slows_its_cpu, setup, teardown)
{
    struct heat heat;

    put(*state, THERMAL "thermal_zone0/type", "x86_pkg_temp\n");
    put(*state, THERMAL "thermal_zone0/temp", "-5000\n");
    for (unsigned i = 0; i < 4; i++) {
        g_autofree char *type = g_strdup_printf(THERMAL "cooling_device%u/type", i);
        g_autofree char *now = g_strdup_printf(THERMAL "cooling_device%u/cur_state", i);

        put(*state, type, "Processor\n");
        put(*state, now, "1\n");
    }
    put(*state, THERMAL "cooling_device4/type", "intel_powerclamp\n");
    put(*state, THERMAL "cooling_device4/cur_state", "-1\n");
    heat_read(*state, &heat);
    assert_int_equal(heat.zone_count, 1);
    assert_int_equal(heat.zones[0].millidegrees, -5000);
    assert_int_equal(heat.throttled, 4);
    assert_string_equal(heat.throttled_by, "Processor");
    assert_string_equal(heat.power_mode, "");
    assert_int_equal(heat.gpu_hz, 0);
}

TEST(test_a_machine_that_tells_nothing_is_no_error, setup, teardown)
{
    struct heat heat;

    heat_read(*state, &heat);
    assert_int_equal(heat.is_known, 1);
    assert_int_equal(heat.zone_count, 0);
    assert_int_equal(heat.throttled, 0);
    assert_string_equal(heat.throttled_by, "");
    assert_int_equal(heat.gpu_permille, -1);
    heat_read("", &heat); // this machine, whatever it tells
    assert_in_range(heat.zone_count, 0, HEAT_ZONES_MAX);
}

TEST(test_what_makes_no_sense_is_left_out, setup, teardown)
{
    struct heat heat;

    for (unsigned i = 0; i < 40; i++) {
        g_autofree char *type = g_strdup_printf(THERMAL "thermal_zone%u/type", i);
        g_autofree char *temp = g_strdup_printf(THERMAL "thermal_zone%u/temp", i);

        put(*state, type, "a-zone-with-a-name-that-is-far-too-long\n");
        put(*state, temp, i == 0 ? "warm\n" : i == 1 ? "99999999999999999999\n" : "40000\n");
        g_free(type);
        type = g_strdup_printf(THERMAL "cooling_device%u/type", i);
        g_free(temp);
        temp = g_strdup_printf(THERMAL "cooling_device%u/cur_state", i);
        put(*state, type, "thermal-cpufreq-with-a-name-that-is-too-long-for-its-place\n");
        put(*state, temp, i < 30 ? "1\n" : "on\n");
    }
    put(*state, "sys/class/devfreq/17000000.gpu/cur_freq", "fast\n");
    put(*state, "sys/class/devfreq/17000000.gpu/device/load", "2000\n");
    put(*state, "var/lib/nvpmodel/status", "pmode:0009\n");
    put(*state, "etc/nvpmodel.conf", "< POWER_MODEL ID=0 NAME=MAXN >\n< POWER_MODEL ID=9\n");
    heat_read(*state, &heat);
    assert_int_equal(heat.zone_count, HEAT_ZONES_MAX);
    assert_string_equal(heat.zones[0].name, "a-zone-with-a-name-that");
    assert_int_equal(heat.throttled, 30);
    assert_int_equal(strlen(heat.throttled_by), 47);
    assert_string_equal(heat.power_mode, "9"); // it has no name
    assert_int_equal(heat.gpu_permille, -1);
}

RUN_TESTS(NULL, NULL)
