// Package page is what people see of the shortener: the list with its form at
// /+, a page for each link at /CODE+, QR codes, import and export. It keeps
// nothing: every page is made of answers of the API, which is asked within the
// process with the visitor's own key, so that nobody sees or changes here what
// the API would refuse. HTML comes from the *.templ files, of which make generate
// makes Go, pictures are inline SVG, and everything but the live tail works
// without a script.
package page

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/links/qr"
	"github.com/hotrow/hotrow/internal/webpage"
)

// Options say what a Page is made of.
type Options struct {
	API     http.Handler     // answers /api/v1/... by Authorization
	BaseURL string           // of short URLs: https://s.example
	Fold    bool             // the case of codes does not matter
	Now     func() time.Time // time.Now when nil
	Pages   webpage.Pages    // where the tabs lead
}

// A Page answers /+, /+/..., /CODE+, /CODE.svg and /CODE.png, and passes /api/...
// on to the API for visitors who have signed in here.
type Page struct {
	o Options

	searchTime time.Duration // see the constant
	host       string        // of BaseURL, as people read it
	qr         *qr.Handler
	foreign    *http.CrossOriginProtection
}

// New returns the page of an API.
func New(o Options) (*Page, error) {
	base, err := url.Parse(o.BaseURL)
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("base_url %q is no URL: https://s.example is one", o.BaseURL)
	}
	o.BaseURL = strings.TrimSuffix(o.BaseURL, "/")
	if o.Now == nil {
		o.Now = time.Now
	}
	p := &Page{searchTime: searchTime,
		o: o, host: base.Host + strings.TrimSuffix(base.Path, "/"),
		qr:      &qr.Handler{BaseURL: o.BaseURL, Fold: o.Fold},
		foreign: http.NewCrossOriginProtection(),
	}
	return p, nil
}

// Handles reports whether a path is one that a Page answers.
func (p *Page) Handles(path string) bool {
	if path == "/+" || strings.HasPrefix(path, "/+/") || strings.HasPrefix(path, "/api/") {
		return true
	}
	if _, ok := infoCode(path); ok {
		return true
	}
	_, _, ok := qr.Split(path)
	return ok
}

// policy is the Content-Security-Policy: nothing runs, and nothing is loaded,
// that this server has not sent as a file of its own.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// ServeHTTP answers one request. A form that another site has sent is refused
// before anything looks at its cookie (Sec-Fetch-Site, Origin).
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := p.foreign.Check(r); err != nil {
		http.Error(w, "another site has sent this request: "+err.Error(), http.StatusForbidden)
		return
	}
	path := r.URL.Path
	if strings.HasPrefix(path, "/api/") {
		p.o.API.ServeHTTP(w, authorized(r))
		return
	}
	if _, _, ok := qr.Split(path); ok {
		p.qr.ServeHTTP(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Robots-Tag", "noindex")
	h.Set("Cache-Control", "no-store") // pages are of one visitor and one moment
	name, _ := strings.CutPrefix(path, "/+/")
	if f, ok := files[name]; ok {
		f.ServeHTTP(w, r)
		return
	}
	if code, ok := infoCode(path); ok {
		p.serveLink(w, r, code)
		return
	}
	switch path {
	case "/+":
		p.serveList(w, r)
	case "/+/several":
		p.serveSeveral(w, r)
	case "/+/session":
		p.serveSession(w, r)
	case "/+/import":
		p.serveImport(w, r)
	case "/+/export.ndjson", "/+/export.csv":
		p.serveExport(w, r)
	default:
		p.render(w, http.StatusNotFound, noPage(p.frame(r, "No such page")))
	}
}

// infoCode returns the code of /CODE+.
func infoCode(path string) (string, bool) {
	code, ok := strings.CutSuffix(strings.TrimPrefix(path, "/"), "+")
	if !ok || strings.ContainsAny(code, "/+.") || code == "" || len(code) > 64 {
		return "", false
	}
	return code, true
}

// methods answers 405 unless the method is one of those.
func methods(w http.ResponseWriter, r *http.Request, allowed ...string) bool {
	for _, m := range allowed {
		if r.Method == m {
			return true
		}
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	http.Error(w, "not with "+r.Method, http.StatusMethodNotAllowed)
	return false
}

// maxForm bounds the body of a form but for an import's.
const maxForm = 64 << 10

// parseForm reads the fields of a form, or answers 400.
func parseForm(w http.ResponseWriter, r *http.Request) bool {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "the form cannot be read: "+err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}
