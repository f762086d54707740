// What `edgectl setup` says at its end.
#pragma once

#include "daemon/ctl/setup/setup_answers.h"
#include "daemon/ctl/setup/setup_config.h"

// What the first camera of the service that was started delivers, why nothing is recorded, and what
// is kept over the file. Waits for each that is not known yet, up to 20 s together.
void setup_report_running(const struct config *config);
// Where viewers, browsers and recorders find it, and with which users.
void setup_report_addresses(const struct setup_config *config, const struct setup_answers *answers);
