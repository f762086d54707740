// The ID of this machine among those that share a broker.
#pragma once

// The host's name and four hexadecimal digits of /etc/machine-id, "jetson-3f2a", because boards
// come with the same name; $EDGED_MQTT_ID instead, if it is set. Of the letters, digits, _ and -
// that a topic of discovery may have. The caller g_free()s it.
char *identity_make(void);
