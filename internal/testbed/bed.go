package testbed

import (
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	httpfront "github.com/hotrow/hotrow/internal/front/http"
	"github.com/hotrow/hotrow/internal/httpserve"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/tier"
	"github.com/hotrow/hotrow/internal/waittest"
)

// A Plan says what a Bed serves.
type Plan struct {
	Specs  []resource.Spec
	Mode   source.FeedMode
	Memory int64 // bytes; 0: 64 MiB
	Lists  int64 // bytes of lists; 0: 8 MiB
	Disk   bool  // with a tier on disk behind

	// DiskMax are the bytes of one that commits for nothing but because much waits; 0: it is
	// large, and commits all the time.
	DiskMax int64
	Change  func(*resource.SourceOptions)
	Front   func(*httpfront.Options)
}

// A Bed is hotrow as it is served: HTTP on a socket, the core, a database.
type Bed struct {
	T      testing.TB
	Src    source.Source
	Set    *resource.Set
	Memory *tier.Memory
	Addr   string
}

// New serves the database at url until the test ends.
func New(t testing.TB, url string, p Plan) *Bed {
	t.Helper()
	return Over(t, OpenPostgres(t, url), p)
}

// Over serves src.
func Over(t testing.TB, src source.Source, p Plan) *Bed {
	t.Helper()
	if p.Memory == 0 {
		p.Memory = 64 << 20
	}
	if p.Lists == 0 {
		p.Lists = 8 << 20
	}
	s := &Bed{T: t, Src: src, Memory: tier.NewMemory(p.Memory)}
	t.Cleanup(func() {
		if err := s.Memory.Close(); err != nil {
			t.Error(err)
		}
	})
	so := resource.SourceOptions{Name: "main", Source: src, Mode: p.Mode}
	if p.Change != nil {
		p.Change(&so)
	}
	set, err := resource.Open(t.Context(), resource.SetOptions{
		Memory: s.Memory, Disk: openDisk(t, p), Lists: p.Lists,
		Sources: []resource.SourceOptions{so}, Resources: p.Specs, Log: Log(t),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Set = set
	t.Cleanup(func() {
		if err := errors.Join(set.Check(), set.Close(), set.Check()); err != nil {
			t.Error(err)
		}
	})
	s.serve(p.Front)
	if p.Mode != source.FeedNone {
		waittest.Until(t, "fresh feed", func() bool { return s.Fresh() })
	}
	return s
}

// openDisk opens the tier on disk of a plan; nil when it has none.
func openDisk(t testing.TB, p Plan) *tier.Disk {
	t.Helper()
	if !p.Disk {
		return nil
	}
	o := tier.DiskOptions{
		Path: filepath.Join(t.TempDir(), "cache.db"), MaxBytes: 1 << 30, Batch: 1000,
		FlushEvery: 20 * time.Millisecond, Log: Log(t)}
	if p.DiskMax > 0 {
		o.MaxBytes, o.Batch, o.FlushEvery = p.DiskMax, 0, time.Hour
	}
	d, err := tier.OpenDisk(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// Recalled returns how many answers came from disk.
func (s *Bed) Recalled() uint64 {
	n := uint64(0)
	for _, r := range s.Set.Stats().Resources {
		n += r.FromDisk
	}
	return n
}

// serve answers HTTP on a port of its own.
func (s *Bed) serve(change func(*httpfront.Options)) {
	s.T.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.T.Fatal(err)
	}
	s.Addr = listener.Addr().String()
	o := httpfront.Options{Resources: s.Set}
	if change != nil {
		change(&o)
	}
	site, err := httpfront.Serve(listener, httpfront.New(o), httpserve.Options{})
	if err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(site.Close)
}

// Get asks over HTTP, and reads the answer whole.
func (s *Bed) Get(path string) (*http.Response, string, error) {
	resp, err := http.Get("http://" + s.Addr + "/" + path)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp, string(text), err
}

// Stats returns the counters of the one source.
func (s *Bed) Stats() resource.SourceStats { return s.Set.Stats().Sources[0] }

// Fresh reports whether the feed is up to date.
func (s *Bed) Fresh() bool { return s.Stats().State == "fresh" }

// Resource returns a resource that is served.
func (s *Bed) Resource(name string) *resource.Resource {
	s.T.Helper()
	r, ok := s.Set.Lookup(name)
	if !ok {
		s.T.Fatalf("no resource %s", name)
	}
	return r
}

// Quiet waits until everything that is visible now has been applied and
// settled: a fence that began after this call has been reached.
func (s *Bed) Quiet() {
	s.T.Helper()
	before, st := s.Stats().Fences, resource.SourceStats{}
	defer func() {
		if s.T.Failed() {
			s.T.Logf("%d fences before; now %+v", before, st)
		}
	}()
	waittest.Until(s.T, "two fences and nothing unsettled", func() bool {
		st = s.Stats()
		return st.Fences >= before+2 && st.Unsettled == 0 && st.State == "fresh"
	})
}

// Spec returns a resource over a table, open to everybody.
func Spec(table string, embeds ...source.Embed) resource.Spec {
	return resource.Spec{
		Source: "main", Writable: true,
		Access: resource.Access{Read: "public", Write: "public"},
		Table:  &source.Spec{Name: table, Table: table, Embeds: embeds},
	}
}
