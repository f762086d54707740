// How warm the board is, whether that slows it down, and how busy its GPU is, as the kernel tells
// in /sys; and the power mode that a Jetson is in.
//
// Read from files alone, some 50 of them, so not more often than once a second. Facts that a board
// does not tell are left out which is no error: a PC has no power mode, and the GPU on its card is
// not told of here.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define HEAT_ZONES_MAX 24

struct heat_zone {
    char name[24];        // "gpu-thermal"
    int32_t millidegrees; // Celsius
};

struct heat {
    uint32_t is_known; // 0: nobody has read it
    uint32_t zone_count;
    struct heat_zone zones[HEAT_ZONES_MAX];
    uint32_t throttled;         // cooling devices that slow the CPU or the GPU down now
    char throttled_by[128];     // their names, ", " between them; cut off where there are too many
    char power_mode[32];        // of nvpmodel: "MAXN"; "": there is none
    int32_t gpu_permille;       // of the time that the GPU was busy; -1: not known
    int64_t gpu_hz, gpu_hz_max; // its clock, now and at most; 0: not known
};

// Fills in `ret_heat` from the files below `root`, which is "" for those of this machine.
//
// - zones: class/thermal/thermal_zone*/{type,temp} in /sys (Documentation/ABI/testing/
//   sysfs-class-thermal of the kernel); a zone whose part of the chip is switched off has no
//   temperature and is left out.
// - throttled: class/thermal/cooling_device*/{type,cur_state}. A state above 0 slows down, but not
//   that of a fan; the devices are Processor, *cpufreq*, *devfreq*, and the *throttle* and
//   hot-surface-alert of a Jetson.
// - power mode: /var/lib/nvpmodel/status has its number ("pmode:0002"), /etc/nvpmodel.conf its name
//   ("< POWER_MODEL ID=2 NAME=MODE_15W >").
// - GPU: class/devfreq/*.{gpu,ga10b,gv11b,gp10b} or gpu*: cur_freq and max_freq in Hz, device/load
//   in permille.
void heat_read(const char *root, struct heat *ret_heat);
