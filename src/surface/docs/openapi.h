#ifndef SURFACE_DOCS_OPENAPI_H
#define SURFACE_DOCS_OPENAPI_H

#include "base/err.h"

struct json;

/* The OpenAPI 3.1 description of the local service. */
#define OPENAPI "openapi.json"
enum err openapi_put(struct json *j);

#endif
