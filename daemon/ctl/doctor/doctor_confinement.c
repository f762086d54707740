// What the kernel has to confine a camera process with.
#include "daemon/common/confine.h"
#include "daemon/ctl/doctor/doctor_checks.h"

void doctor_check_confinement(struct doctor *doctor)
{
    int version = confine_landlock_version();

    if (confine_has_seccomp()) {
        doctor_say(doctor, DOCTOR_OK, "seccomp",
                   "camera processes start no program and debug none");
    } else {
        doctor_say(doctor, DOCTOR_WARNING, "seccomp",
                   "this kernel has none: a camera process may make any system call; use a kernel "
                   "with CONFIG_SECCOMP_FILTER");
    }
    if (version) {
        doctor_say(doctor, DOCTOR_OK, "landlock",
                   "version %d: camera processes reach no other process's memory", version);
    } else {
        doctor_say(doctor, DOCTOR_INFO, "landlock",
                   "this kernel has none or it is off (Linux 5.13 has it, lsm=landlock turns it "
                   "on): only the kernel's own rules guard edged's memory from camera processes");
    }
}
