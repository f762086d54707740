#include "daemon/front/onvif/soap.h"

#include "config/base.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ENVELOPE_12 "http://www.w3.org/2003/05/soap-envelope"
#define ADDRESSING "http://www.w3.org/2005/08/addressing"
#define DIGEST_TYPE "#PasswordDigest"
#define NAME_SIZE 64
#define YEAR_S (366 * 24 * 60 * 60)

static const struct {
    const char *uri, *prefix;
} namespaces[SOAP_SERVICE_COUNT] = {
    [SOAP_DEVICE] = {"http://www.onvif.org/ver10/device/wsdl", "tds"},
    [SOAP_MEDIA] = {"http://www.onvif.org/ver10/media/wsdl", "trt"},
    [SOAP_EVENTS] = {"http://www.onvif.org/ver10/events/wsdl", "tev"},
    [SOAP_NOTIFICATION] = {"http://docs.oasis-open.org/wsn/b-2", "wsnt"},
    [SOAP_DISCOVERY] = {"http://schemas.xmlsoap.org/ws/2005/04/discovery", "d"},
};

const char *soap_namespace(enum soap_service service)
{
    return namespaces[service].uri;
}

const char *soap_prefix(enum soap_service service)
{
    return namespaces[service].prefix;
}

// Reading
// ---------------------------------------------------------------------

// An element that is open.
struct open_element {
    const char *uri; // of its namespace, in the request's texts; "": none
    char name[NAME_SIZE];
    size_t scope_count; // namespaces that were declared around it
    bool has_elements;  // it is no value
    bool is_digest;     // a Password of that type
};

struct soap_reader {
    struct soap_request *request;
    struct soap_fault *fault;
    GMarkupParseContext *context;
    struct open_element open[SOAP_DEPTH_MAX];
    unsigned depth, element_count;
    struct {
        const char *prefix, *uri; // in the request's texts
    } scopes[SOAP_SCOPES_MAX];
    size_t scope_count;
    GString *text; // of the innermost element
    bool has_body;
};

int soap_fault_set(struct soap_fault *fault, const char *code, const char *detail,
                   const char *format, ...)
{
    va_list arguments;
    char *end;

    *fault = (struct soap_fault){.code = code, .detail = detail};
    va_start(arguments, format);
    vsnprintf(fault->text, sizeof fault->text, format, arguments);
    va_end(arguments);
    // A name that is cut may end within a character.
    if (!g_utf8_validate(fault->text, -1, (const char **)&end))
        *end = '\0';
    return -EINVAL;
}

// Ends the reading; the fault is told by soap_request_parse().
__attribute__((format(printf, 3, 4))) static void refuse(struct soap_reader *reader, GError **error,
                                                         const char *format, ...)
{
    char text[sizeof reader->fault->text];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    soap_fault_set(reader->fault, "ter:WellFormed", NULL, "%s", text);
    g_set_error_literal(error, G_MARKUP_ERROR, G_MARKUP_ERROR_INVALID_CONTENT, "refused");
}

static const char *keep(const struct soap_reader *reader, const char *text)
{
    return g_string_chunk_insert(reader->request->texts, text);
}

static const char *find_namespace(const struct soap_reader *reader, const char *prefix,
                                  size_t length)
{
    for (size_t i = reader->scope_count; i > 0; i--) {
        const char *own = reader->scopes[i - 1].prefix;

        if (strncmp(own, prefix, length) == 0 && own[length] == '\0')
            return reader->scopes[i - 1].uri;
    }
    return length > 0 ? NULL : "";
}

// Notes the namespaces that an element declares. False: there are too many.
static bool declare(struct soap_reader *reader, const char **names, const char **values)
{
    for (size_t i = 0; names[i]; i++) {
        bool is_default = strcmp(names[i], "xmlns") == 0;

        if (!is_default && !g_str_has_prefix(names[i], "xmlns:"))
            continue;
        if (reader->scope_count == SOAP_SCOPES_MAX)
            return false;
        reader->scopes[reader->scope_count].prefix =
            is_default ? "" : keep(reader, names[i] + strlen("xmlns:"));
        reader->scopes[reader->scope_count++].uri = keep(reader, values[i]);
    }
    return true;
}

static bool is_within(const struct soap_reader *reader, unsigned level, const char *name)
{
    return reader->depth > level && strcmp(reader->open[level].name, name) == 0;
}

static bool is_digest(const char **names, const char **values)
{
    for (size_t i = 0; names[i]; i++) {
        if (strcmp(names[i], "Type") == 0)
            return g_str_has_suffix(values[i], DIGEST_TYPE);
    }
    return false;
}

// Whether the text has a character that XML has not (XML 1.0, section 2.2). GMarkup takes them,
// also as &#1;, and no answer could repeat them.
static bool has_foreign(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)text[i];

        if (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r')
            return true;
        if (byte == 0xef && size - i >= 3 && // U+FFFE, U+FFFF
            (memcmp(text + i, "\xef\xbf\xbe", 3) == 0 ||
             memcmp(text + i, "\xef\xbf\xbf", 3) == 0)) {
            return true;
        }
    }
    return false;
}

static void begin_operation(struct soap_reader *reader, const struct open_element *element,
                            GError **error)
{
    struct soap_request *request = reader->request;

    if (request->operation) {
        refuse(reader, error, "the body has more than one operation, allowed: one");
        return;
    }
    request->operation = keep(reader, element->name);
    while (request->service < SOAP_SERVICE_COUNT &&
           strcmp(element->uri, namespaces[request->service].uri) != 0) {
        request->service++;
    }
}

static void on_start(GMarkupParseContext *context, const char *name, const char **attributes,
                     const char **values, gpointer data, GError **error)
{
    struct soap_reader *reader = data;
    const char *colon = strchr(name, ':'), *local = colon ? colon + 1 : name;
    size_t scope_count = reader->scope_count;
    struct open_element *element;

    (void)context;
    if (has_foreign(name, strlen(name))) {
        refuse(reader, error, "a name has a character that XML has not");
        return;
    }
    if (reader->depth == SOAP_DEPTH_MAX || ++reader->element_count > SOAP_ELEMENTS_MAX ||
        strlen(local) >= NAME_SIZE || !declare(reader, attributes, values)) {
        refuse(reader, error,
               "the request goes beyond a limit, allowed: %u levels, %u elements with names of up "
               "to %d bytes, %u namespaces",
               SOAP_DEPTH_MAX, SOAP_ELEMENTS_MAX, NAME_SIZE - 1, SOAP_SCOPES_MAX);
        return;
    }
    if (reader->depth > 0)
        reader->open[reader->depth - 1].has_elements = true;
    element = &reader->open[reader->depth++];
    *element = (struct open_element){.scope_count = scope_count,
                                     .is_digest = is_digest(attributes, values)};
    element->uri = find_namespace(reader, name, colon ? (size_t)(colon - name) : 0);
    g_strlcpy(element->name, local, sizeof element->name);
    g_string_truncate(reader->text, 0);
    if (!element->uri) {
        refuse(reader, error, "the prefix of an element has no namespace");
    } else if (reader->depth == 1 &&
               (strcmp(local, "Envelope") != 0 || strcmp(element->uri, ENVELOPE_12) != 0)) {
        refuse(reader, error, "got another document, allowed: an Envelope of SOAP 1.2 (%s)",
               ENVELOPE_12);
    } else if (reader->depth == 2 && is_within(reader, 1, "Body")) {
        reader->has_body = true;
    } else if (reader->depth == 3 && is_within(reader, 1, "Body")) {
        begin_operation(reader, element, error);
    }
}

// Base64 into the token; whether it fits.
static bool take_nonce(struct username_token *token, const char *text)
{
    g_autofree guchar *bytes = NULL;
    gsize size = 0;

    if (strlen(text) > 2 * sizeof token->nonce)
        return false;
    bytes = g_base64_decode(text, &size);
    if (size > sizeof token->nonce)
        return false;
    if (size > 0)
        memcpy(token->nonce, bytes, size);
    token->nonce_size = size;
    return true;
}

// A part of wsse:UsernameToken. Whether it may be there.
static bool take_token(struct soap_reader *reader, const struct open_element *element,
                       const char *text)
{
    struct username_token *token = &reader->request->token;
    const char **field = NULL;

    reader->request->has_token = true;
    if (strcmp(element->name, "Nonce") == 0)
        return token->nonce_size == 0 && take_nonce(token, text);
    if (strcmp(element->name, "Username") == 0)
        field = &token->name;
    else if (strcmp(element->name, "Password") == 0)
        field = &token->password;
    else if (strcmp(element->name, "Created") == 0)
        field = &token->created;
    if (!field)
        return true;
    if (*field)
        return false;
    *field = keep(reader, text);
    if (field == &token->password)
        token->is_text = !element->is_digest;
    return true;
}

static void take_argument(struct soap_reader *reader, const struct open_element *element,
                          const char *text, GError **error)
{
    struct soap_request *request = reader->request;

    if (request->argument_count == SOAP_ARGUMENTS_MAX) {
        refuse(reader, error, "the operation has too many arguments, allowed: up to %u",
               SOAP_ARGUMENTS_MAX);
        return;
    }
    request->arguments[request->argument_count++] =
        (struct soap_argument){keep(reader, element->name), keep(reader, text)};
}

static void on_end(GMarkupParseContext *context, const char *name, gpointer data, GError **error)
{
    struct soap_reader *reader = data;
    const struct open_element *element = &reader->open[reader->depth - 1];
    struct soap_request *request = reader->request;
    char *text = g_strstrip(reader->text->str);

    (void)context, (void)name;
    if (is_within(reader, 2, "Security") && is_within(reader, 3, "UsernameToken") &&
        is_within(reader, 1, "Header") && reader->depth == 5) {
        if (!take_token(reader, element, text))
            refuse(reader, error, "a part of the UsernameToken is there twice, or is too long");
    } else if (reader->depth == 3 && is_within(reader, 1, "Header")) {
        if (strcmp(element->name, "MessageID") == 0)
            request->message_id = keep(reader, text);
        else if (strcmp(element->name, "Action") == 0)
            request->action = keep(reader, text);
    } else if (reader->depth > 3 && is_within(reader, 1, "Body") && !element->has_elements) {
        take_argument(reader, element, text, error);
    }
    explicit_bzero(reader->text->str, reader->text->allocated_len);
    g_string_truncate(reader->text, 0);
    reader->scope_count = element->scope_count;
    reader->depth--;
}

static void on_text(GMarkupParseContext *context, const char *text, gsize size, gpointer data,
                    GError **error)
{
    struct soap_reader *reader = data;

    (void)context;
    // Blanks between elements are no value.
    if (reader->text->len == 0) {
        while (size > 0 && g_ascii_isspace(*text))
            text++, size--;
    }
    g_string_append_len(reader->text, text, (gssize)size);
    if (reader->text->len > SOAP_TEXT_MAX)
        refuse(reader, error, "a value is too long, allowed: up to %u bytes", SOAP_TEXT_MAX);
    else if (has_foreign(text, size))
        refuse(reader, error, "a value has a character that XML has not");
}

// Comments, the XML declaration, a DOCTYPE.
static void on_other(GMarkupParseContext *context, const char *text, gsize size, gpointer data,
                     GError **error)
{
    struct soap_reader *reader = data;

    (void)context;
    if (size > 2 && text[0] == '<' && text[1] == '!' && text[2] != '-')
        refuse(reader, error, "got a DOCTYPE, allowed: none, as SOAP has it");
}

static void set_position(const struct soap_reader *reader)
{
    int line = 0, character = 0;

    if (*reader->fault->text)
        return;
    g_markup_parse_context_get_position(reader->context, &line, &character);
    soap_fault_set(reader->fault, "ter:WellFormed", NULL,
                   "the body is no well-formed XML in UTF-8 (line %d, character %d)", line,
                   character);
}

int soap_request_parse(const char *body, size_t size, struct soap_request *ret_request,
                       struct soap_fault *fault)
{
    static const GMarkupParser parser = {on_start, on_end, on_text, on_other, NULL};
    struct soap_reader reader = {.request = ret_request, .fault = fault};
    bool is_read;

    *fault = (struct soap_fault){0};
    *ret_request = (struct soap_request){.texts = g_string_chunk_new(512)};
    if (size > SOAP_BYTES_MAX) {
        return soap_fault_set(fault, "ter:WellFormed", NULL, "got %zu bytes, allowed: up to %u",
                              size, SOAP_BYTES_MAX);
    }
    if (size >= 3 && memcmp(body, "\xef\xbb\xbf", 3) == 0)
        body += 3, size -= 3;
    reader.text = g_string_sized_new(SOAP_TEXT_MAX);
    reader.context =
        g_markup_parse_context_new(&parser, G_MARKUP_TREAT_CDATA_AS_TEXT, &reader, NULL);
    is_read = g_markup_parse_context_parse(reader.context, body, (gssize)size, NULL) &&
              g_markup_parse_context_end_parse(reader.context, NULL);
    if (!is_read)
        set_position(&reader);
    else if (!ret_request->operation)
        soap_fault_set(fault, "ter:WellFormed", NULL, "the envelope has no body with an operation");
    g_markup_parse_context_free(reader.context);
    explicit_bzero(reader.text->str, reader.text->allocated_len);
    g_string_free(reader.text, TRUE);
    return *fault->text ? -EINVAL : 0;
}

void soap_request_finish(struct soap_request *request)
{
    if (request->token.password)
        explicit_bzero((char *)request->token.password, strlen(request->token.password));
    if (request->texts)
        g_string_chunk_free(request->texts);
    *request = (struct soap_request){0};
}

const char *soap_request_find(const struct soap_request *request, const char *name)
{
    for (size_t i = 0; i < request->argument_count; i++) {
        if (strcmp(request->arguments[i].name, name) == 0)
            return request->arguments[i].text;
    }
    return NULL;
}

// Writing
// ---------------------------------------------------------------------

// One long head for all answers: each prefix that one of them may use.
static const char head[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<s:Envelope xmlns:s=\"" ENVELOPE_12 "\" xmlns:xsd=\"http://www.w3.org/2001/XMLSchema\""
    " xmlns:wsa5=\"" ADDRESSING "\" xmlns:tt=\"http://www.onvif.org/ver10/schema\""
    " xmlns:ter=\"http://www.onvif.org/ver10/error\""
    " xmlns:wstop=\"http://docs.oasis-open.org/wsn/t-1\""
    " xmlns:tns1=\"http://www.onvif.org/ver10/topics\"";

void soap_append(GString *text, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    g_autofree char *piece = g_markup_vprintf_escaped(format, arguments);
    va_end(arguments);
    g_string_append(text, piece);
}

// "…/PullMessagesRequest" is answered by "…/PullMessagesResponse".
static void append_header(GString *text, const struct soap_request *request)
{
    if (!request->message_id)
        return;
    soap_append(text, "<s:Header><wsa5:RelatesTo>%s</wsa5:RelatesTo>", request->message_id);
    if (request->action) {
        g_autofree char *action = g_strdup(request->action);

        if (g_str_has_suffix(action, "Request"))
            action[strlen(action) - strlen("Request")] = '\0';
        soap_append(text, "<wsa5:Action>%sResponse</wsa5:Action>", action);
    }
    g_string_append(text, "</s:Header>");
}

char *soap_envelope(const struct soap_request *request, const char *body)
{
    GString *text = g_string_new(head);

    for (unsigned i = 0; i < SOAP_DISCOVERY; i++)
        soap_append(text, " xmlns:%s=\"%s\"", namespaces[i].prefix, namespaces[i].uri);
    g_string_append_c(text, '>');
    append_header(text, request);
    g_string_append_printf(text, "<s:Body>%s</s:Body></s:Envelope>\n", body);
    return g_string_free(text, FALSE);
}

char *soap_fault_envelope(const struct soap_request *request, const struct soap_fault *fault)
{
    g_autoptr(GString) text = g_string_new(NULL);

    soap_append(text, "<s:Fault><s:Code><s:Value>s:%s</s:Value><s:Subcode><s:Value>%s</s:Value>",
                fault->is_server ? "Receiver" : "Sender", fault->code);
    if (fault->detail)
        soap_append(text, "<s:Subcode><s:Value>%s</s:Value></s:Subcode>", fault->detail);
    soap_append(text,
                "</s:Subcode></s:Code><s:Reason><s:Text xml:lang=\"en\">%s</s:Text></s:Reason>"
                "</s:Fault>",
                fault->text);
    return soap_envelope(request, text->str);
}

// Times
// ---------------------------------------------------------------------

char *soap_time(int64_t wall_ns)
{
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(wall_ns / NS_PER_S);
    g_autofree char *seconds = time ? g_date_time_format(time, "%Y-%m-%dT%H:%M:%S") : NULL;

    return g_strdup_printf("%s.%03dZ", seconds ? seconds : "1970-01-01T00:00:00",
                           (int)(wall_ns % NS_PER_S / NS_PER_MS));
}

// A number with its letter, at most that of a year; *text goes on behind it.
static bool take_unit(const char **text, const char *letters, double *ret_s)
{
    static const struct {
        char letter;
        double s;
    } units[] = {{'D', 86400}, {'H', 3600}, {'M', 60}, {'S', 1}};
    char *end;
    double number;

    if (!g_ascii_isdigit(**text) && **text != '.')
        return false;
    number = g_ascii_strtod(*text, &end);
    if (end - *text > 16 || strspn(*text, "0123456789.") != (size_t)(end - *text) || !*end ||
        !strchr(letters, *end)) {
        return false;
    }
    *text = end + 1;
    for (size_t i = 0; i < ARRAY_LENGTH(units); i++) {
        if (units[i].letter == *end)
            *ret_s += MIN(number * units[i].s, YEAR_S);
    }
    return true;
}

static bool read_duration(const char *text, double *ret_s)
{
    const char *at = text + 1;
    bool has_any = false;

    while (*at && *at != 'T') {
        if (!take_unit(&at, "D", ret_s))
            return false;
        has_any = true;
    }
    if (*at == 'T') {
        at++;
        if (!*at)
            return false;
        while (*at) {
            if (!take_unit(&at, "HMS", ret_s))
                return false;
            has_any = true;
        }
    }
    return has_any;
}

int soap_read_duration(const char *text, int64_t now_wall_ns, int64_t *ret_ns)
{
    double s = 0;

    if (*text == 'P') {
        if (!read_duration(text, &s))
            return -EINVAL;
    } else {
        g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
        g_autoptr(GDateTime) time = g_date_time_new_from_iso8601(text, utc);

        if (!time)
            return -EINVAL;
        int64_t whole_s = g_date_time_to_unix(time) - now_wall_ns / NS_PER_S;
        s = (double)whole_s;
        if (s < 0)
            return -EINVAL;
    }
    *ret_ns = (int64_t)(MIN(s, YEAR_S) * NS_PER_S);
    return 0;
}
