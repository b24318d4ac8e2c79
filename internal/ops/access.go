package ops

import (
	"bytes"
	"errors"
	"net/http"
)

// Who says who may reach a path.
type Who uint8

// Those who may. The first is what a path is for of which nothing is said.
const (
	Operator Who = iota // whom Options.Authorize lets in
	Scraper             // the operator, or anybody where metrics are public
	Anybody             // probes have no token; to others than the operator, a line at most
)

// String returns the word for w.
func (w Who) String() string { return [...]string{"operator", "scraper", "anybody"}[w] }

// A Route is a path of the port, as http.ServeMux takes it, and who may reach it.
type Route struct {
	Pattern string
	Who     Who

	serve http.HandlerFunc
	whole bool // Anybody gets the whole answer, for it tells nothing of this hotrow
}

// to returns the route of a pattern.
func to(pattern string, who Who, serve http.HandlerFunc) Route {
	return Route{Pattern: pattern, Who: who, serve: serve}
}

// Routes returns every path of the port, and who may reach it.
func Routes(o Options) []Route { return New(o).routes() }

// The errors of Options.Authorize.
var (
	// ErrUnauthorized is the error of a request without a token that is known.
	ErrUnauthorized = errors.New("this needs a token with the role operator")

	// ErrForbidden is the error of a request with the token of another role.
	ErrForbidden = errors.New("the token's role is not operator")
)

// guard answers for r only those who may.
func guard(o Options, r Route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		err := ErrUnauthorized
		if o.Authorize != nil {
			err = o.Authorize(req)
		}
		switch {
		case err == nil, r.whole, r.Who == Scraper && o.PublicMetrics != nil && o.PublicMetrics():
			r.serve(w, req)
		case r.Who == Anybody:
			r.serve(&brief{ResponseWriter: w}, req)
		default:
			refuse(w, err)
		}
	})
}

// refuse asks for a token, or says that another one is needed (RFC 6750).
func refuse(w http.ResponseWriter, err error) {
	status, challenge := http.StatusUnauthorized, `Bearer realm="hotrow"`
	if errors.Is(err, ErrForbidden) {
		status, challenge = http.StatusForbidden, challenge+`, error="insufficient_scope"`
	}
	w.Header().Set("WWW-Authenticate", challenge)
	writeText(w, status, err.Error()+"\n")
}

// A brief writer sends the first line and no more: what a probe sees of its
// answer's status. The reasons name databases and hosts.
type brief struct {
	http.ResponseWriter
	done bool
}

// Write sends what belongs to the first line.
func (w *brief) Write(p []byte) (int, error) {
	line, end := p, bytes.IndexByte(p, '\n')
	if end >= 0 {
		line = p[:end+1]
	}
	if w.done {
		line = nil
	}
	w.done = w.done || end >= 0
	if _, err := w.ResponseWriter.Write(line); err != nil {
		return 0, err
	}
	return len(p), nil
}
