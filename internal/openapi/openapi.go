// Package openapi describes what is served: as an OpenAPI 3.1 document, and as TypeScript types.
//
//	doc, err := openapi.Document("/", []openapi.Resource{{Name: "depts", Shape: shape, Key: key}})
//
// The same resources give the same bytes. It does no I/O.
package openapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
)

// A Resource is what is served of a table or a query.
type Resource struct {
	Name  string
	Shape *row.Shape // of its documents
	Key   row.KeyType

	// Table is what lists may ask about; nil: documents are asked for by their keys.
	Table *query.Table

	// Relations are the ways to rows of other resources.
	Relations []query.Relation

	// Methods are those that may be sent, GET and HEAD in any case: POST to the collection, PUT,
	// PATCH and DELETE to a document.
	Methods []string

	// Reads and Writes say that a token is needed to read, and to write.
	Reads, Writes bool

	MaxLimit int // rows of a list; 0: query.MaxLimit

	// Any says that every list is run; else Admits reports whether one is.
	Any    bool
	Admits func(*query.Query) bool
}

// An object is a JSON object. It is encoded in the order of its names.
type object = map[string]any

// MediaType is that of a document.
const MediaType = "application/openapi+json"

// problemType is the media type of an error.
const problemType = "application/problem+json"

// Document returns the OpenAPI document of what is served below base.
func Document(base string, resources []Resource) ([]byte, error) {
	paths, schemas := object{}, object{"problem": problemSchema}
	for i := range resources {
		r := &resources[i]
		list, one := r.listItem(), r.documentItem()
		if r.Table != nil || len(r.Key) > 0 {
			paths["/"+url.PathEscape(r.Name)] = list
		}
		paths["/"+url.PathEscape(r.Name)+"/{key}"] = one
		schemas[schemaName(r.Name)] = rowSchema(r.Shape)
		for method, use := range map[string]use{http.MethodPost: create,
			http.MethodPut: replace, http.MethodPatch: update} {
			if slices.Contains(r.Methods, method) {
				schemas[schemaName(r.Name)+uses[use]] = bodySchema(r.Shape, use)
			}
		}
	}
	doc := object{
		"openapi": "3.1.0",
		"info": object{"title": "hotrow", "version": "1", "description": about,
			"license": object{"name": "the API of your own database", "identifier": "0BSD"}},
		"servers": []object{{"url": base}},
		"paths":   paths,
		"components": object{
			"schemas":         schemas,
			"securitySchemes": securitySchemes,
			"responses":       object{"problem": problemResponse},
		},
	}
	text, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encode the OpenAPI document: %w", err)
	}
	return append(text, '\n'), nil
}

// about is what a description cannot say of each parameter.
const about = "Rows of a database, served from memory and exactly fresh. Lists also take" +
	" `select=a,alias:b,other(c)`, `or=(a.eq.1,b.gt.2)`, `and=(...)` and a column several times:" +
	" docs/reference/http-api.md of hotrow. `Accept: text/event-stream` follows a document or a" +
	" list." +
	" Documents are also `application/vnd.msgpack` and `application/cbor`." +
	" `Prefer: return=minimal` leaves the document out of the answer to a write."

var securitySchemes = object{
	"bearer": object{"type": "http", "scheme": "bearer", "description": "a token or a JWT"},
	"apikey": object{"type": "apiKey", "in": "header", "name": "apikey",
		"description": "the same, where there is no Authorization"},
}

// problemSchema is that of an error: RFC 9457, with the members that clients of PostgREST know.
var problemSchema = object{
	"type":     "object",
	"required": []string{"type", "title", "status", "detail"},
	"properties": object{
		"type": object{"type": "string"}, "title": object{"type": "string"},
		"status": object{"type": "integer"}, "detail": object{"type": "string"},
		"instance": object{"type": "string"}, "code": object{"type": "string"},
		"message": object{"type": "string"}, "details": object{"type": []string{"string", "null"}},
		"hint": object{"type": []string{"string", "null"}},
	},
}

var problemResponse = object{
	"description": "an error, by what the status and `type` say",
	"content":     object{problemType: object{"schema": reference("schemas/problem")}},
}

// tooLong is the answer to a request line that is not read to its end: plain text.
var tooLong = object{"description": "the address, or the key, is too long"}

func reference(to string) object { return object{"$ref": "#/components/" + to} }

// tokens says that an operation needs a token.
func tokens(needed bool) []object {
	if !needed {
		return []object{}
	}
	return []object{{"bearer": []string{}}, {"apikey": []string{}}}
}

// listItem describes the collection.
func (r *Resource) listItem() object {
	item := object{"get": object{
		"operationId": "list_" + operationName(r.Name),
		"summary":     "Rows of " + r.Name,
		"tags":        []string{r.Name},
		"security":    tokens(r.Reads),
		"parameters":  r.listParameters(),
		"responses": object{
			"200":     r.rowsResponse("the rows"),
			"206":     r.rowsResponse("a part of the rows that were counted"),
			"304":     object{"description": "as `If-None-Match` has it"},
			"414":     tooLong,
			"default": reference("responses/problem"),
		},
	}}
	if slices.Contains(r.Methods, http.MethodPost) {
		item["post"] = object{
			"operationId": "create_" + operationName(r.Name),
			"summary":     "A new row of " + r.Name,
			"tags":        []string{r.Name},
			"security":    tokens(r.Writes),
			"requestBody": r.body(create, "application/json"),
			"responses": object{
				"201":     r.rowResponse("the new row", "ETag", "Location"),
				"default": reference("responses/problem"),
			},
		}
	}
	return item
}

// documentItem describes a document.
func (r *Resource) documentItem() object {
	item := object{
		"parameters": []object{r.keyParameter()},
		"get": object{
			"operationId": "read_" + operationName(r.Name),
			"summary":     "One row of " + r.Name,
			"tags":        []string{r.Name},
			"security":    tokens(r.Reads),
			"parameters":  []object{ifNoneMatch},
			"responses": object{
				"200":     r.rowResponse("the row", "ETag"),
				"304":     object{"description": "as `If-None-Match` has it"},
				"414":     tooLong,
				"default": reference("responses/problem"),
			},
		},
	}
	for _, method := range r.Methods {
		switch method {
		case http.MethodPut:
			item["put"] = r.change("replace_", "Make or replace a row of ", replace,
				"application/json")
		case http.MethodPatch:
			item["patch"] = r.change("update_", "Change members of a row of ", update,
				"application/merge-patch+json", "application/json")
		case http.MethodDelete:
			item["delete"] = object{
				"operationId": "delete_" + operationName(r.Name),
				"summary":     "Delete a row of " + r.Name,
				"tags":        []string{r.Name},
				"security":    tokens(r.Writes),
				"parameters":  []object{ifMatch},
				"responses": object{
					"204":     object{"description": "the row is gone"},
					"default": reference("responses/problem"),
				},
			}
		}
	}
	return item
}

// change describes a write of one document.
func (r *Resource) change(id, summary string, purpose use, media ...string) object {
	responses := object{
		"200":     r.rowResponse("the row as it is now", "ETag"),
		"default": reference("responses/problem"),
	}
	if purpose == replace {
		responses["201"] = r.rowResponse("the new row", "ETag", "Location")
	}
	return object{
		"operationId": id + operationName(r.Name),
		"summary":     summary + r.Name,
		"tags":        []string{r.Name},
		"security":    tokens(r.Writes),
		"parameters":  []object{ifMatch},
		"requestBody": r.body(purpose, media...),
		"responses":   responses,
	}
}

func (r *Resource) body(purpose use, media ...string) object {
	content := object{}
	for _, m := range media {
		content[m] = object{"schema": reference("schemas/" + schemaName(r.Name) + uses[purpose])}
	}
	return object{"required": true, "content": content}
}

func (r *Resource) rowResponse(about string, headers ...string) object {
	return response(about, reference("schemas/"+schemaName(r.Name)), headers...)
}

func (r *Resource) rowsResponse(about string) object {
	return response(about, object{"type": "array",
		"items": reference("schemas/" + schemaName(r.Name))}, "ETag", "Content-Range", "Link")
}

// response describes an answer with documents.
func response(about string, schema object, headers ...string) object {
	told := object{}
	for _, name := range append(headers, "Cache-Status", "Hotrow-Position") {
		told[name] = object{"description": headerMeans[name], "schema": object{"type": "string"}}
	}
	return object{"description": about, "headers": told, "content": object{
		"application/json": object{"schema": schema},
		// Without a schema: it is the same, in bytes.
		"application/vnd.msgpack": object{}, "application/cbor": object{},
	}}
}

// headerMeans says what headers of answers are.
var headerMeans = map[string]string{
	"Cache-Status":    "where the answer comes from (RFC 9211)",
	"Content-Range":   "which rows these are, and of how many if they were counted",
	"ETag":            "names the state, for If-None-Match and If-Match",
	"Hotrow-Position": "a position of the database that the answer is not behind",
	"Link":            "leads to the next page, if there is one",
	"Location":        "where the new row is",
}
