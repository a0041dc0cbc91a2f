#ifndef SURFACE_DOCS_OPENAPI_H
#define SURFACE_DOCS_OPENAPI_H

#include "base/err.h"

struct json;

/* What the local service answers, for programs that read OpenAPI 3.1. */
#define OPENAPI "openapi.json"
enum err openapi_put(struct json *j);

#endif
