package api

import (
	_ "embed"
	"net/http"
)

// description is the API as OpenAPI describes one. It lists every route, and every answer
// of the tests is held against it.
//
//go:embed openapi.json
var description []byte

// openapi answers with the description, which is for everybody.
func (c *call) openapi() error {
	if err := c.known(); err != nil {
		return err
	}
	return c.write(http.StatusOK, typeJSON, description)
}
