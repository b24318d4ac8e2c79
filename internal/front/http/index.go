package httpfront

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/httprule"
	"github.com/hotrow/hotrow/internal/openapi"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
)

// exampleAge is how long an example key is shown before it is asked for again.
const exampleAge = time.Minute

// An example is a key that exists, and when that was known.
type example struct {
	key row.Key
	at  time.Time
}

// An entry is one resource on the index.
type entry struct {
	Name    string   `json:"name"`
	Key     []string `json:"key"`
	URL     string   `json:"url"`
	Example string   `json:"example,omitempty"`
	Methods []string `json:"methods"`
}

// indexMedia are the representations of the index. JSON is first: it is what
// curl, which accepts anything, shows.
var indexMedia = []string{"application/json", "text/html", "text/plain", openapi.MediaType}

// index answers /: what is served, with a URL to try for each resource that the
// request's principal may read.
func (c *call) index() (*answer, error) {
	switch c.r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions:
		return c.options("GET, HEAD, OPTIONS")
	default:
		return nil, c.notAllowed("GET, HEAD, OPTIONS")
	}
	i, ok := httprule.Negotiate([]string{string(c.r.Accept)}, indexMedia)
	if !ok {
		return nil, problem{kind: kindNotAcceptable}
	}
	switch indexMedia[i] {
	case "text/html":
		return c.explorePage(), nil
	case openapi.MediaType:
		return c.openAPI()
	}
	c.private = c.r.credentials() != nil // it names what the token may read
	entries := c.entries()
	a := &answer{code: http.StatusOK, shared: c.shared(privateControl),
		more: "Vary: Accept, Authorization, apikey\r\n"}
	if indexMedia[i] == "text/plain" {
		a.kind, a.body = "text/plain; charset=utf-8", indexText(entries)
		return a, nil
	}
	body, err := json.MarshalIndent(map[string]any{"resources": entries}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the index: %w", err)
	}
	a.kind, a.body = "application/json", append(body, '\n')
	return a, nil
}

// entries returns the resources that the request may read. The examples that
// are not known by the deadline are left out.
func (c *call) entries() []entry {
	ctx, cancel := context.WithTimeout(c.ctx, front.ExampleWait)
	defer cancel()
	entries := []entry{}
	for _, res := range c.o.Resources.All() {
		if !c.reads(res) {
			continue
		}
		e := entry{Name: res.Name(), Key: keyNames(res), Methods: methods(res),
			URL: c.o.BasePath + "/" + url.PathEscape(res.Name())}
		if key := c.h.example(ctx, res); key != "" {
			e.Example = c.o.BasePath + DocumentPath(res.Name(), key, len(res.KeyType()))
		}
		entries = append(entries, e)
	}
	return entries
}

// keyNames returns the members that make the key; none while the database has
// not been reached.
func keyNames(res *resource.Resource) []string {
	shape := res.Shape()
	if shape == nil {
		return []string{}
	}
	return querySpecOf(res.KeyType(), shape, 1).columns
}

// example returns a key of res that exists, or existed a minute ago.
func (h *Handler) example(ctx context.Context, res *resource.Resource) row.Key {
	now := h.live.Load().Now()
	if v, ok := h.examples.Load(res.Name()); ok {
		if e := v.(*example); now.Sub(e.at) < exampleAge {
			return e.key
		}
	}
	if ctx.Err() != nil {
		return ""
	}
	key := res.Example(ctx)
	if key != "" {
		h.examples.Store(res.Name(), &example{key: key, at: now})
	}
	return key
}

func methods(res *resource.Resource) []string {
	list := []string{"GET", "HEAD"}
	for _, document := range []bool{false, true} {
		for m := range strings.SplitSeq(allowed(res, document), ", ") {
			if m != "OPTIONS" && !slices.Contains(list, m) {
				list = append(list, m)
			}
		}
	}
	return list
}

func indexText(entries []entry) []byte {
	var b bytes.Buffer
	for _, e := range entries {
		try := e.Example
		if try == "" {
			try = e.URL
		}
		fmt.Fprintf(&b, "%s\t%s\t%s\n", e.Name, try, strings.Join(e.Methods, " "))
	}
	return b.Bytes()
}

// system answers what is below /-/: the files of the page for browsers, what is served as an
// OpenAPI document, and the words behind each type of problem.
func (c *call) system(path string) (*answer, error) {
	if name, ok := strings.CutPrefix(path, explorePath); ok {
		return c.exploreBelow(name)
	}
	if path == openAPIPath {
		return c.openAPI()
	}
	slug, ok := strings.CutPrefix(path, "/problems/")
	k := kindOf[slug]
	if !ok || k == nil {
		return nil, problem{kind: kindNotFound, detail: "nothing is served at this path"}
	}
	if c.r.Method != http.MethodGet && c.r.Method != http.MethodHead {
		return nil, c.notAllowed("GET, HEAD")
	}
	text := fmt.Sprintf("%d %s (%s)\n\n%s.\n", k.status, http.StatusText(k.status), slug, k.Means)
	if k.Hint != "" {
		text += "What to do: " + k.Hint + ".\n"
	}
	return &answer{code: http.StatusOK, shared: c.shared(""), kind: "text/plain; charset=utf-8",
		body: []byte(text)}, nil
}
