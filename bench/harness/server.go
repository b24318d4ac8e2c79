package harness

import (
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/internal/demo"
)

// A Server is a peer that has been started, and answers.
type Server struct {
	Name     string
	Base     string   // http://127.0.0.1:PORT
	Others   []string // where it is asked by other protocols
	Ops      string   // of hotrow's operator's port
	URL      string   // of a document, with {n}
	first    int64    // the first key
	Keys     int      // how many it has
	expect   string   // what a document begins with; none: it knows one answer only
	Within   string   // what every answer holds, with {n}
	Memory   int64    // the budget of its tier in memory, in bytes, where that is measured
	Main     *Process
	Behind   []*Process                             // what it needs, ended after it
	Database string                                 // URL of its PostgreSQL; "": it has none
	SQL      func(context.Context, io.Reader) error // runs a script there
	Links    *Shortener                             // nil: it records nothing
	Input    io.Closer                              // the peer ends with it; nil: it does not
	Client   []string                               // what asks it, where that is not HTTP
	Cert     string                                 // file of its certificate, for clients to check
	Shared   bool                                   // it outlives the peer
	Cold     bool                                   // documents may be missing from memory

	Accepted Tally // connections at the last server; nil: nobody counts
}

// Close ends the peer.
func (r *Server) Close() {
	closeInput(r.Input)
	if !r.Shared {
		r.Main.Stop()
	}
	for _, p := range r.Behind {
		p.Stop()
	}
}

// firstURL returns the URL of the first document.
func (r *Server) firstURL() string {
	return strings.ReplaceAll(r.URL, "{n}", strconv.Itoa(demo.FirstDept))
}

// Address returns where the peer listens.
func (r *Server) Address() string {
	_, address, _ := strings.Cut(r.Base, "://")
	return address
}

// A Starter starts a peer with a directory to write in.
type Starter func(ctx context.Context, w *Fixture, on Placement, dir string) (*Server, error)

// NewServer waits until a server answers.
func NewServer(
	ctx context.Context, p *Process, address string, keys int, expect string,
) (*Server, error) {
	return NewServerAt(ctx, p, "http://"+address, keys, expect)
}

// NewServerAt is NewServer for any scheme.
func NewServerAt(
	ctx context.Context, p *Process, base string, keys int, expect string,
) (*Server, error) {
	return NewServerOf(ctx, p, base+"/depts/{n}", keys, expect)
}

// NewServerOf is NewServerAt for documents at a URL with {n}.
func NewServerOf(
	ctx context.Context, p *Process, url string, keys int, expect string,
) (*Server, error) {
	r := &Server{Name: p.Name, Main: p, first: demo.FirstDept, Keys: keys, expect: expect, URL: url}
	scheme, rest, _ := strings.Cut(url, "://")
	address, _, _ := strings.Cut(rest, "/")
	r.Base = scheme + "://" + address
	first := r.firstURL()
	if err := p.AwaitURL(ctx, first); err != nil {
		p.Stop()
		return nil, err
	}
	return r, nil
}

// NewKeyValueServer waits until a server takes connections that holds documents under
// the keys depts:{n}, at redis://HOST:PORT or memcache://HOST:PORT.
func NewKeyValueServer(
	ctx context.Context, p *Process, base string, keys int, expect string,
) (*Server, error) {
	r := &Server{Name: p.Name, Base: base, Main: p, first: demo.FirstDept, Keys: keys,
		expect: expect, URL: base + "/depts:{n}"}
	if err := p.Await(ctx, Accepts(r.Address())); err != nil {
		p.Stop()
		return nil, err
	}
	return r, nil
}

// NewDatabase returns a database at url that is asked by programs alone.
func NewDatabase(p *Process, url string, keys int) *Server {
	return &Server{Name: p.Name, Base: url, URL: url, Main: p, first: demo.FirstDept, Keys: keys}
}

// AwaitReady waits until hotrow follows its databases: what it reads before that it
// does not keep, so that it could not be warmed.
func (r *Server) AwaitReady(ctx context.Context) error {
	err := r.Main.AwaitURL(ctx, r.Ops+"/readyz?strict")
	if err != nil {
		r.Close()
	}
	return err
}

// countAccepted returns how many connections the last server has accepted, 0 if
// nobody counts.
func (r *Server) countAccepted(ctx context.Context) (int, error) {
	if r.Accepted == nil {
		return 0, nil
	}
	return r.Accepted(ctx)
}

// urlOf returns the URL that a row asks a peer for.
func (r *Server) urlOf(row *row) string {
	if row.Path != "" {
		return r.Base + row.Path
	}
	return r.URL
}

// A Tally returns how many connections a server has accepted so far.
type Tally func(context.Context) (int, error)

// A Shortener is a peer that records its hits.
type Shortener struct {
	Count func(ctx context.Context) (int64, error) // of recorded hits in the database
	Drain func(ctx context.Context, on bool) error // nil: it drains all the time
}

// closeInput ends a peer that ends with its input.
func closeInput(c io.Closer) {
	if c != nil {
		_ = c.Close()
	}
}
