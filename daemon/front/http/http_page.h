// The page that shows the views and changes settings, as the files in page/ are: embedded, so that
// they are always those of this edged. They hold nothing secret; what the page shows and changes it
// asks for by /v1/, as the person who has logged in.
#pragma once

#include "daemon/front/http/http_call.h"

// GET / and GET /page/{file}: a file of page/, with an ETag. 404: there is none of that name.
CONTROL_RESULT http_page_reply(struct http_call *call);
