package httpfront

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/httprule"
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
var indexMedia = []string{"application/json", "text/html", "text/plain"}

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
	c.private = c.r.Authorization != nil // it names what the token may read
	entries := c.entries()
	a := &answer{code: http.StatusOK, shared: c.shared(privateControl), more: "Vary: Accept\r\n"}
	switch indexMedia[i] {
	case "text/html":
		a.page(entries)
		return a, nil
	case "text/plain":
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

const indexStyle = `body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;` +
	`padding:0 1rem}table{border-collapse:collapse}` +
	`td,th{text-align:left;padding:.2rem 1rem .2rem 0}`

const indexHead = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>hotrow</title>
<meta name="viewport" content="width=device-width"><style>` + indexStyle + `</style>
<h1>hotrow</h1>
`

// indexPage returns the index as HTML.
func indexPage(entries []entry) []byte {
	var b bytes.Buffer
	b.WriteString(indexHead)
	if len(entries) == 0 {
		b.WriteString("<p>Nothing is served that you may read.\n</html>\n")
		return b.Bytes()
	}
	b.WriteString("<table><tr><th>resource<th>key<th>try<th>methods\n")
	for _, e := range entries {
		try := ""
		if e.Example != "" {
			try = htmlAnchor(e.Example, e.Example)
		}
		fmt.Fprintf(&b, "<tr><td>%s<td>%s<td>%s<td>%s\n", htmlAnchor(e.URL, e.Name),
			htmlText(strings.Join(e.Key, ", ")), try, htmlText(strings.Join(e.Methods, " ")))
	}
	b.WriteString("</table>\n</html>\n")
	return b.Bytes()
}

// htmlAnchor returns an anchor. It leads only to what is relative, or http, https or mailto.
func htmlAnchor(address, text string) string {
	if scheme, _, found := strings.Cut(address, ":"); found && !strings.Contains(scheme, "/") {
		switch strings.ToLower(scheme) {
		case "http", "https", "mailto":
		default:
			address = "#ZgotmplZ" // as html/template has it
		}
	}
	return `<a href="` + htmlText(address) + `">` + htmlText(text) + `</a>`
}

// htmlText escapes a text for an element or an attribute in quotes. HTML has no NUL.
func htmlText(s string) string {
	return html.EscapeString(strings.ReplaceAll(s, "\x00", "\uFFFD"))
}

// indexPolicy lets the page have its own style and nothing else.
func indexPolicy() string {
	sum := sha256.Sum256([]byte(indexStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// page makes the index a page for people.
func (a *answer) page(entries []entry) {
	a.more += "Content-Security-Policy: " + indexPolicy() + "\r\nReferrer-Policy: no-referrer\r\n"
	a.kind, a.body = "text/html; charset=utf-8", indexPage(entries)
}

// system answers what is below /-/: the words behind each type of problem.
func (c *call) system(path string) (*answer, error) {
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
