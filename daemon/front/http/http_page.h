// The page that shows the views and changes settings. Its files, those in page/, are built into the
// program. They hold nothing secret: the page asks for everything that it shows by /v1/, with the
// rights of the person who has logged in.
#pragma once

#include "daemon/front/http/http_call.h"

// GET / and GET /page/{file}: a file of page/, with an ETag. 404: there is none of that name.
CONTROL_RESULT http_page_reply(struct http_call *call);
// GET /openapi.yaml: what is served here, as OpenAPI 3.1. The file is written by hand and built in
// as well; a test compares it with the table of routes.
CONTROL_RESULT http_page_openapi(struct http_call *call);
