// The interface of the default route, in tables as the kernel writes them (proc(5)), and what URLs
// show.
#include "tests/unit/unit.h"

#include "daemon/common/host_address.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define HEAD "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"

static int find(const char *table, char interface[IF_NAMESIZE])
{
    FILE *file = fmemopen((char *)table, strlen(table), "r");
    int r = host_address_default_route(file, interface);

    fclose(file);
    return r;
}

TEST(test_the_cheapest_default_route_is_taken)
{
    char interface[IF_NAMESIZE] = "";

    assert_int_equal(find(HEAD "docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n"
                               "wlan0\t00000000\t0100A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0\n"
                               "eth0\t00000000\t0101A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
                               "eth0\t0001A8C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n",
                          interface),
                     0);
    assert_string_equal(interface, "eth0");
}

TEST(test_a_route_that_is_down_or_to_a_network_is_none)
{
    char interface[IF_NAMESIZE] = "";

    assert_int_equal(find(HEAD, interface), -ENOENT);
    assert_int_equal(find(HEAD "eth0\t0001A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
                               "eth1\t00000000\t0101A8C0\t0002\t0\t0\t0\t00000000\t0\t0\t0\n",
                          interface),
                     -ENOENT);
    assert_string_equal(interface, "");
}

// As VPNs route all but their own server: 0.0.0.0/1 and 128.0.0.0/1.
TEST(test_half_of_all_addresses_is_no_default_route)
{
    char interface[IF_NAMESIZE] = "";

    assert_int_equal(
        find(HEAD "tun0\t00000000\t0100080A\t0003\t0\t0\t0\t00000080\t0\t0\t0\n", interface),
        -ENOENT);
}

static void assert_shown(const char *url, const char *expected)
{
    char shown[64];

    host_address_show_url(url, shown, sizeof shown);
    assert_string_equal(shown, expected);
}

TEST(test_a_url_names_an_address_that_others_can_type)
{
    char address[INET6_ADDRSTRLEN] = "127.0.0.1", expected[64];

    assert_shown("", "");
    assert_shown("rtsp://127.0.0.1:8554", "rtsp://127.0.0.1:8554");
    assert_shown("rtsp://[fd00::1]:8554", "rtsp://[fd00::1]:8554");
    host_address_find(AF_INET, address); // where there is none, only this machine reaches it
    snprintf(expected, sizeof expected, "rtsps://%s:8322", address);
    assert_shown("rtsps://0.0.0.0:8322", expected);

    strcpy(address, "::1");
    host_address_find(AF_UNSPEC, address);
    snprintf(expected, sizeof expected, strchr(address, ':') ? "http://[%s]:80" : "http://%s:80",
             address);
    assert_shown("http://[::]:80", expected);
}

RUN_TESTS(NULL, NULL)
