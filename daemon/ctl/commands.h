// The commands of edgectl. argv[0] is the command's name. Each returns the exit status: 0; 1 when
// it could not do its work, the reason being on stderr; 2 for a wrong command line.
#pragma once

int ctl_setup(int argc, char **argv);
// 1 also when edged does not answer; and for reload, when the configuration was refused.
int ctl_status(int argc, char **argv);
int ctl_reload(int argc, char **argv);
// 0 when somebody typed q or a signal ended it.
int ctl_top(int argc, char **argv);
int ctl_snapshot(int argc, char **argv);
int ctl_clips(int argc, char **argv);
// 1 also when edged refuses a setting.
int ctl_set(int argc, char **argv);
int ctl_unset(int argc, char **argv);
int ctl_diff(int argc, char **argv);
int ctl_passwd(int argc, char **argv);
int ctl_token(int argc, char **argv);
int ctl_page(int argc, char **argv);
// 0 when a signal ended it.
int ctl_watch(int argc, char **argv);
int ctl_process(int argc, char **argv);
int ctl_events(int argc, char **argv);
// 130 after an interrupt.
int ctl_bench(int argc, char **argv);
int ctl_tune(int argc, char **argv);
// 1 when a check failed.
int ctl_doctor(int argc, char **argv);
int ctl_support(int argc, char **argv);
