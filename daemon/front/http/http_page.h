// The page that shows the views and changes settings, as the files in page/ are: embedded, so that
// they are always those of this edged. They hold nothing secret; what the page shows and changes it
// asks for by /v1/, as the person who has logged in.
#pragma once

#include "daemon/front/http/http_call.h"

// GET / and GET /page/{file}: a file of page/, with an ETag. 404: there is none of that name.
CONTROL_RESULT http_page_reply(struct http_call *call);
// GET /openapi.yaml: what is served here, as OpenAPI 3.1. It is written by hand, built in as well,
// and compared with the table of routes by a test.
CONTROL_RESULT http_page_openapi(struct http_call *call);
