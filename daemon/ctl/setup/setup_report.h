// The last words of `edgectl setup`.
#pragma once

#include "daemon/ctl/setup/setup_answers.h"
#include "daemon/ctl/setup/setup_config.h"

// The service that was started: the picture that its first camera delivers, why nothing is
// recorded, and the settings that are kept over the file. Waits up to 20 s for what is not known
// yet.
void setup_report_running(const struct config *config);
// Where viewers, browsers and recorders find it, and with which users.
void setup_report_addresses(const struct setup_config *config, const struct setup_answers *answers);
