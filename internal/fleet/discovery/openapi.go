package discovery

import (
	_ "embed"
	"net/http"
)

// OpenAPI is the description of the API, as version 3.1 of the OpenAPI Specification has it.
//
//go:embed openapi.json
var OpenAPI []byte

func (a *API) describe(c *call) error {
	c.write(http.StatusOK, jsonType, OpenAPI)
	return nil
}
