// ONVIF's Device service: what this device is, and where its other services are.
#include "daemon/front/onvif/identity.h"
#include "daemon/front/onvif/onvif.h"

#include <string.h>

static int answer_time(struct onvif_ask *ask)
{
    static const char *const clocks[] = {"UTCDateTime", "LocalDateTime"};
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();

    soap_append(ask->answer, "<tds:SystemDateAndTime><tt:DateTimeType>NTP</tt:DateTimeType>"
                             "<tt:DaylightSavings>false</tt:DaylightSavings>"
                             "<tt:TimeZone><tt:TZ>UTC0</tt:TZ></tt:TimeZone>");
    for (size_t i = 0; i < ARRAY_LENGTH(clocks); i++) {
        soap_append(ask->answer,
                    "<tt:%s><tt:Time><tt:Hour>%d</tt:Hour><tt:Minute>%d</tt:Minute>"
                    "<tt:Second>%d</tt:Second></tt:Time><tt:Date><tt:Year>%d</tt:Year>"
                    "<tt:Month>%d</tt:Month><tt:Day>%d</tt:Day></tt:Date></tt:%s>",
                    clocks[i], g_date_time_get_hour(now), g_date_time_get_minute(now),
                    g_date_time_get_second(now), g_date_time_get_year(now),
                    g_date_time_get_month(now), g_date_time_get_day_of_month(now), clocks[i]);
    }
    g_string_append(ask->answer, "</tds:SystemDateAndTime>");
    return 0;
}

static int answer_services(struct onvif_ask *ask)
{
    static const struct {
        enum soap_service service;
        const char *path;
    } services[] = {{SOAP_DEVICE, ONVIF_DEVICE_PATH},
                    {SOAP_MEDIA, ONVIF_MEDIA_PATH},
                    {SOAP_EVENTS, ONVIF_EVENTS_PATH}};

    for (size_t i = 0; i < ARRAY_LENGTH(services); i++) {
        soap_append(ask->answer, "<tds:Service><tds:Namespace>%s</tds:Namespace><tds:XAddr>",
                    soap_namespace(services[i].service));
        onvif_append_address(ask, services[i].path);
        g_string_append(ask->answer, "</tds:XAddr><tds:Version><tt:Major>2</tt:Major>"
                                     "<tt:Minor>60</tt:Minor></tds:Version></tds:Service>");
    }
    return 0;
}

static int answer_service_capabilities(struct onvif_ask *ask)
{
    g_string_append(ask->answer, "<tds:Capabilities><tds:Network/>"
                                 "<tds:Security HttpDigest=\"true\" UsernameToken=\"true\"/>"
                                 "<tds:System DiscoveryResolve=\"true\"/></tds:Capabilities>");
    return 0;
}

static int answer_capabilities(struct onvif_ask *ask)
{
    g_string_append(ask->answer, "<tds:Capabilities><tt:Device><tt:XAddr>");
    onvif_append_address(ask, ONVIF_DEVICE_PATH);
    g_string_append(ask->answer, "</tt:XAddr></tt:Device><tt:Events><tt:XAddr>");
    onvif_append_address(ask, ONVIF_EVENTS_PATH);
    g_string_append(ask->answer,
                    "</tt:XAddr><tt:WSSubscriptionPolicySupport>false"
                    "</tt:WSSubscriptionPolicySupport><tt:WSPullPointSupport>true"
                    "</tt:WSPullPointSupport><tt:WSPausableSubscriptionManagerInterfaceSupport>"
                    "false</tt:WSPausableSubscriptionManagerInterfaceSupport></tt:Events>"
                    "<tt:Media><tt:XAddr>");
    onvif_append_address(ask, ONVIF_MEDIA_PATH);
    soap_append(ask->answer,
                "</tt:XAddr><tt:StreamingCapabilities><tt:RTPMulticast>%s</tt:RTPMulticast>"
                "<tt:RTP_TCP>true</tt:RTP_TCP><tt:RTP_RTSP_TCP>true</tt:RTP_RTSP_TCP>"
                "</tt:StreamingCapabilities></tt:Media></tds:Capabilities>",
                *ask->model->config->rtsp.multicast.addresses ? "true" : "false");
    return 0;
}

static int answer_information(struct onvif_ask *ask)
{
    char uuid[IDENTITY_UUID_SIZE];

    identity_uuid(ask->camera, uuid);
    soap_append(ask->answer,
                "<tds:Manufacturer>edged</tds:Manufacturer><tds:Model>%s</tds:Model>"
                "<tds:FirmwareVersion>" EDGED_VERSION "</tds:FirmwareVersion>"
                "<tds:SerialNumber>%s</tds:SerialNumber><tds:HardwareId>%s</tds:HardwareId>",
                identity_model(), uuid, identity_model());
    return 0;
}

// Clients know a device by the first interface's address.
static int answer_interfaces(struct onvif_ask *ask)
{
    struct identity_interface list[IDENTITY_INTERFACES_MAX];
    size_t count = identity_interfaces(ask->local, list);

    for (size_t i = 0; i < count; i++) {
        const struct identity_interface *each = &list[i];

        soap_append(ask->answer,
                    "<tds:NetworkInterfaces token=\"%s\"><tt:Enabled>true</tt:Enabled><tt:Info>"
                    "<tt:Name>%s</tt:Name><tt:HwAddress>%s</tt:HwAddress></tt:Info>",
                    each->name, each->name, *each->mac ? each->mac : "00:00:00:00:00:00");
        if (each->has_address) {
            soap_append(ask->answer,
                        "<tt:IPv4><tt:Enabled>true</tt:Enabled><tt:Config><tt:Manual>"
                        "<tt:Address>%s</tt:Address><tt:PrefixLength>%d</tt:PrefixLength>"
                        "</tt:Manual><tt:DHCP>false</tt:DHCP></tt:Config></tt:IPv4>",
                        each->address, each->prefix);
        }
        g_string_append(ask->answer, "</tds:NetworkInterfaces>");
    }
    return 0;
}

static int answer_scopes(struct onvif_ask *ask)
{
    g_auto(GStrv) scopes = identity_scopes(ask->camera);

    for (char **scope = scopes; *scope; scope++) {
        soap_append(ask->answer,
                    "<tds:Scopes><tt:ScopeDef>Fixed</tt:ScopeDef><tt:ScopeItem>%s</tt:ScopeItem>"
                    "</tds:Scopes>",
                    *scope);
    }
    return 0;
}

static int answer_host_name(struct onvif_ask *ask)
{
    soap_append(ask->answer,
                "<tds:HostnameInformation><tt:FromDHCP>false</tt:FromDHCP><tt:Name>%s</tt:Name>"
                "</tds:HostnameInformation>",
                identity_host_name());
    return 0;
}

// The network is this machine's to set up, and edged does not read how.
static int answer_dns(struct onvif_ask *ask)
{
    g_string_append(ask->answer,
                    "<tds:DNSInformation><tt:FromDHCP>false</tt:FromDHCP></tds:DNSInformation>");
    return 0;
}

static int answer_ntp(struct onvif_ask *ask)
{
    g_string_append(ask->answer,
                    "<tds:NTPInformation><tt:FromDHCP>false</tt:FromDHCP></tds:NTPInformation>");
    return 0;
}

static int answer_gateway(struct onvif_ask *ask)
{
    g_string_append(ask->answer, "<tds:NetworkGateway></tds:NetworkGateway>");
    return 0;
}

static void append_protocol(struct onvif_ask *ask, const char *name, const char *url)
{
    const char *port = url ? strrchr(url, ':') : NULL;

    if (port) {
        soap_append(ask->answer,
                    "<tds:NetworkProtocols><tt:Name>%s</tt:Name><tt:Enabled>true</tt:Enabled>"
                    "<tt:Port>%d</tt:Port></tds:NetworkProtocols>",
                    name, atoi(port + 1));
    }
}

static int answer_protocols(struct onvif_ask *ask)
{
    const struct model_places *places = &ask->model->places;
    bool is_encrypted = places->http_url && g_str_has_prefix(places->http_url, "https:");

    append_protocol(ask, is_encrypted ? "HTTPS" : "HTTP", places->http_url);
    append_protocol(ask, "RTSP", places->rtsp_url);
    return 0;
}

static int answer_discovery_mode(struct onvif_ask *ask)
{
    soap_append(ask->answer, "<tds:DiscoveryMode>%s</tds:DiscoveryMode>",
                ask->model->config->onvif.discovery ? "Discoverable" : "NonDiscoverable");
    return 0;
}

// Other users are not told of.
static int answer_users(struct onvif_ask *ask)
{
    static const char *const levels[] = {[CONFIG_ROLE_VIEWER] = "User",
                                         [CONFIG_ROLE_OPERATOR] = "Operator",
                                         [CONFIG_ROLE_ADMIN] = "Administrator"};

    if (*ask->user) {
        soap_append(ask->answer,
                    "<tds:User><tt:Username>%s</tt:Username><tt:UserLevel>%s</tt:UserLevel>"
                    "</tds:User>",
                    ask->user, levels[ask->role]);
    }
    return 0;
}

static int answer_endpoint(struct onvif_ask *ask)
{
    char uuid[IDENTITY_UUID_SIZE];

    identity_uuid(ask->camera, uuid);
    soap_append(ask->answer, "<tds:GUID>urn:uuid:%s</tds:GUID>", uuid);
    return 0;
}

static int answer_wsdl(struct onvif_ask *ask)
{
    g_string_append(ask->answer, "<tds:WsdlUrl>https://www.onvif.org/</tds:WsdlUrl>");
    return 0;
}

const struct onvif_operation onvif_device_operations[] = {
    {"GetSystemDateAndTime", answer_time, true},
    {"GetServices", answer_services, true},
    {"GetServiceCapabilities", answer_service_capabilities, true},
    {"GetCapabilities", answer_capabilities, true},
    {"GetHostname", answer_host_name, true},
    {"GetWsdlUrl", answer_wsdl, true},
    {"GetEndpointReference", answer_endpoint, true},
    {"GetDeviceInformation", answer_information, false},
    {"GetNetworkInterfaces", answer_interfaces, false},
    {"GetScopes", answer_scopes, false},
    {"GetDNS", answer_dns, false},
    {"GetNTP", answer_ntp, false},
    {"GetNetworkProtocols", answer_protocols, false},
    {"GetNetworkDefaultGateway", answer_gateway, false},
    {"GetDiscoveryMode", answer_discovery_mode, false},
    {"GetUsers", answer_users, false},
    {NULL, NULL, false},
};
