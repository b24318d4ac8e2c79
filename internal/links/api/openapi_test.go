package api

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/hotrow/hotrow/internal/links"
)

// described is the description, read by a library that others read theirs with.
var described = sync.OnceValues(func() (*openapi3.T, routers.Router) {
	text := func(r io.Reader, _ http.Header, _ *openapi3.SchemaRef, _ openapi3filter.EncodingFn) (any, error) {
		b, err := io.ReadAll(r)
		return string(b), err
	}
	for _, name := range []string{typeNDJSON, typeCSV, "text/event-stream"} {
		openapi3filter.RegisterBodyDecoder(name, text)
	}
	doc, err := openapi3.NewLoader().LoadFromData(description)
	if err != nil {
		panic(err)
	}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		panic(err)
	}
	return doc, router
})

// The description is valid, says all routes and no other, and is served to everybody.
func TestOpenAPI_DescribesEveryRoute(t *testing.T) {
	doc, _ := described()
	if err := doc.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	var got []string
	for path, item := range doc.Paths.Map() {
		for _, name := range []string{"{code}", "{id}"} {
			path = strings.Replace(path, name, "{}", 1)
		}
		for method := range item.Operations() {
			got = append(got, method+" "+path)
		}
	}
	slices.Sort(got)
	if want := Routes(); !slices.Equal(got, want) {
		t.Errorf("described: %q\nserved: %q", got, want)
	}
	b := newBed(t, links.Options{}, func(o *Options) { o.Private = nil })
	if a := b.want(200, "", "GET", "/api/v1/openapi.json", ""); a.body != string(description) {
		t.Errorf("served: %.200s", a.body)
	}
	b.want(400, "bad-query", "GET", "/api/v1/openapi.json?x=1", "")
}

// conforms holds an answer of the API, and the request if it was a good one, against the
// description.
func (b *bed) conforms(req *http.Request, body string, a *answer) {
	b.t.Helper()
	_, router := described()
	route, params, err := router.FindRoute(req)
	kind, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	if err != nil || slices.Contains(msgPackTypes, kind) {
		return // there is nothing at this path, or not by this method
	}
	in := &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}}
	if a.status < 300 && !slices.Contains(msgPackTypes, req.Header.Get("Content-Type")) {
		req.Body = io.NopCloser(strings.NewReader(body))
		if err := openapi3filter.ValidateRequest(b.t.Context(), in); err != nil {
			b.t.Errorf("%s %s %.300s is answered with %d, and described as bad: %v", req.Method, req.URL, body,
				a.status, err)
		}
	}
	err = openapi3filter.ValidateResponse(b.t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: a.status, Header: a.header,
		Body: io.NopCloser(bytes.NewReader([]byte(a.body)))})
	if err != nil {
		b.t.Errorf("%s %s: the answer %d is not as it is described: %v", req.Method, req.URL, a.status, err)
	}
}
