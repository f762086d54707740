// `edgectl doctor`: whether this machine has what edged needs, one line a check.
#pragma once

int ctl_doctor(int argc, char **argv);
