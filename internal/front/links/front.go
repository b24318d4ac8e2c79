// Package linksfront answers those who follow short links: GET /CODE is a
// redirect, made when the row was loaded and sent by the connection's own loop,
// after the hit has been recorded.
//
// It knows what a redirect needs of a row and of a request, and the rules that
// stand between them: expiry, limits, what is passed on, what is missing. It
// makes no link and counts none: creating and reading them is package links', the
// records go to clicklog, and whatever else is asked of the listener (API,
// pages, QR codes) to the handlers that it is given.
package linksfront

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/accesslog"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/httprule"
	"github.com/hotrow/hotrow/internal/links/clicklog"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/workers"
)

// Options are what a Front is made of.
type Options struct {
	// Resources has the resource called Name, whose documents are the rows of
	// links by code, with a Preparer.
	Resources *resource.Set
	Name      string

	// Log is where hits are recorded; nil: nowhere. Its first Loops writers are
	// this front's.
	Log   *clicklog.Log
	Loops int

	// Taken returns how many redirects of a link count against its limit: what
	// the database and the log have together. It is asked once for each link
	// that has one.
	Taken func(ctx context.Context, link int64) (int64, error)

	// Bot reports whether a User-Agent is no person's: such requests, and those of
	// browsers that ask ahead, follow a link that has a limit without being counted
	// against it. It keeps nothing of agent. nil: they are counted.
	Bot func(agent []byte) bool

	// API answers /api and /auth, and what is below them; Page all the rest that
	// is no redirect: /, /+, /CODE+, /CODE.svg, /-/ and what is below it. nil:
	// there is none.
	API, Page http.Handler

	Access *accesslog.Log // nil: off
}

// Settings are what may change while a Front is in use.
type Settings struct {
	Fold    bool           // codes are the same in upper and lower case
	Hosts   []string       // that are answered besides this machine's own names
	Proxies []netip.Prefix // whose X-Forwarded-For is believed
	MissURL string         // where those go who follow a link that is not there; "": 404
	Root    string         // where / leads; "": to Page
	Own     bool           // who follows links is who makes them: pages lead to Page

	// MissRate is how many codes that do not exist a client may ask for in a
	// minute; 0: any number.
	MissRate int

	// MissCode and MissPath are sent to those who accept just application/json,
	// where a code has no link and where a path can have none; "": a problem.
	MissCode, MissPath string

	// Orphans has the paths recorded that were asked for in vain.
	Orphans bool
}

// settings are Settings in the form in which requests need them.
type settings struct {
	Settings
	proxies proxyList
	hosts   httprule.Hosts
	links   *resource.Resource
}

// A Front answers the requests of one listener: by loops (Lane), and on the full
// road (Handler).
type Front struct {
	Options
	log     *clicklog.Log
	live    atomic.Pointer[settings]
	limits  *limits
	rates   *rates
	orphans *orphans
	shared  counts       // of all roads but the loops'
	workers workers.Pool // answers what the loops cannot

	mu      sync.Mutex // guards what follows
	writers int        // given to loops
	scopes  []*scope
	took    front.Durations // of net/http
}

// New returns a front. The resource must be there.
func New(o Options, s Settings) (*Front, error) {
	f := &Front{
		Options: o, log: o.Log, limits: newLimits(o.Taken), rates: newRates(),
		orphans: newOrphans(),
	}
	return f, f.Configure(s)
}

// Configure makes s the settings. Requests under way are answered by those of
// before.
func (f *Front) Configure(s Settings) error {
	links, ok := f.Resources.Lookup(f.Name)
	if !ok {
		return fmt.Errorf("links: there is no resource %q", f.Name)
	}
	f.live.Store(&settings{
		Settings: s, proxies: s.Proxies, hosts: httprule.NewHosts(s.Hosts), links: links,
	})
	return nil
}

// newWriter returns the writer of one more loop, nil when there is none left:
// then it shares that of all goroutines.
func (f *Front) newWriter() *clicklog.Writer {
	if f.log == nil || f.writers >= f.Loops {
		return nil
	}
	f.writers++
	return f.log.Writer(f.writers - 1)
}
