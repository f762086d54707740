#include "daemon/ctl/support/support_config.h"

#include "config/parse/config_text.h"

#include <libconfig.h>
#include <string.h>

static int print(const struct config_text *text)
{
    config_t tree;
    int status = 0;

    config_init(&tree);
    if (config_read_string(&tree, text->text) == CONFIG_TRUE) {
        config_write(&tree, stdout);
    } else {
        puts("It is no configuration: see doctor.md.");
        status = 1;
    }
    config_destroy(&tree);
    return status;
}

int support_print_config(int argc, char **argv)
{
    struct config_text text = {.problems = stdout};
    int status = 1;

    if (argc < 3) {
        puts("There is none that can be read.");
        return 1;
    }
    if (config_text_read(&text, argv[2]) == 0) {
        status = print(&text);
    }
    config_text_finish(&text);
    return status;
}
