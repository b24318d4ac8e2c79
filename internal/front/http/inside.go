package httpfront

import (
	"net/http"
	"strings"
)

// ConsolePath is where the console is, below the base path.
const ConsolePath = "/-/explore/inside/"

// inside answers with the console, if there is one for who asks: it reports whether it has. The
// console has rules of its own for who may see what; the Host is checked here.
func (c *call) inside() bool {
	path := c.o.BasePath + ConsolePath
	if c.o.Pages.Console == nil || !strings.HasPrefix(string(c.r.Path), path) ||
		!c.p.mayAsk(c.o, c.r.Host) {
		return false
	}
	console := c.o.Pages.Console(c.r.http)
	if console == nil {
		return false
	}
	start := c.o.Now()
	if c.o.HSTS {
		c.w.Header().Set("Strict-Transport-Security", strictTransport)
	}
	w := &status{ResponseWriter: c.w, code: http.StatusOK}
	http.StripPrefix(strings.TrimSuffix(path, "/"), console).ServeHTTP(w, c.r.http)
	if c.o.Access != nil && c.o.Access.On() {
		c.log(&answer{code: w.code}, start, c.o.Now().Sub(start))
	}
	return true
}

// A status writer notes the status of an answer.
type status struct {
	http.ResponseWriter
	code int
}

// WriteHeader implements http.ResponseWriter.
func (w *status) WriteHeader(code int) {
	w.code = code
	w.ResponseWriter.WriteHeader(code)
}

// Unwrap is for http.ResponseController.
func (w *status) Unwrap() http.ResponseWriter { return w.ResponseWriter }
