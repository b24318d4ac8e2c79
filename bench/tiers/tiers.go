// Package tiers is a process with hotrow's tiers and nothing before or behind them.
package tiers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	rows "github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/tier"
)

// Command is the argument that makes this program a process with the two
// tiers and nothing before or behind them: no front, no database.
const Command = "tiers"

// Small is how many documents the small file has.
const Small = 10_000

// The documents of that process: all of one resource of one source.
const (
	tiersResource = 1
	tiersSource   = "bench"
	tiersBody     = 1500
)

// under is the stamp of every document, and of every read.
var under = rows.Stamp{Epoch: 1, Generation: 1, Owner: tiersResource}

// A Order says which tiers are opened, and how many documents there are.
type Order struct {
	Path      string
	Documents int64
	Memory    int64  // bytes of the tier in memory
	Listen    string // where it is told what to read; "": the file is filled
}

// tiers are a Memory and a Disk behind it, as they stand in hotrow.
type tiers struct {
	memory *tier.Memory
	disk   *tier.Disk
	order  Order
	start  time.Duration // until a document was read
}

// Serve does what an order says: fills a file, or opens it and reads what
// it is told to, until it is ended.
func Serve(ctx context.Context, text string) error {
	var o Order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return fmt.Errorf("read the order: %w", err)
	}
	if o.Listen == "" {
		return fillTiers(ctx, o)
	}
	t, err := openTiers(o)
	if err != nil {
		return err
	}
	defer func() { _ = t.disk.Close() }()
	l, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: t.Handler()}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// openDiskTier opens the tier on disk, large enough for all documents.
func openDiskTier(o Order) (*tier.Disk, *tier.DiskSource, error) {
	d, err := tier.OpenDisk(tier.DiskOptions{
		Path: o.Path, MaxBytes: o.Documents*3*tiersBody + 1<<30, Batch: tiersBatch,
	})
	if err != nil {
		return nil, nil, err
	}
	s := d.Source(tiersSource)
	s.Bind(tiersResource, "documents")
	return d, s, nil
}

// openTiers opens both tiers over a file that has been filled, and reads one
// document.
func openTiers(o Order) (*tiers, error) {
	began := time.Now()
	debug.SetMemoryLimit(o.Memory/8 + 128<<20) // as hotrow does, which has no lists here
	d, s, err := openDiskTier(o)
	if err != nil {
		return nil, err
	}
	t := &tiers{memory: tier.NewMemory(o.Memory), disk: d, order: o}
	place, ok := s.Committed()
	if !ok || !s.Resume(place) {
		return nil, errors.Join(errors.New("the file is not complete"), d.Close())
	}
	s.CaughtUp()
	if _, from := t.read(o.Documents / 2); from != fromDisk {
		return nil, errors.Join(errors.New("the first document is not there"), d.Close())
	}
	t.start = time.Since(began)
	return t, nil
}

// refOf names document n.
func refOf(n int64) tier.Ref {
	return tier.Ref{Resource: tiersResource, Key: rows.Key(strconv.FormatInt(n, 10))}
}

// Where a document was found.
type whence uint8

const (
	fromNowhere whence = iota
	fromMemory
	fromDisk
)

// read reads a document as hotrow does when no change is on its way: memory, then
// the disk, and what comes from there is kept in memory.
func (t *tiers) read(n int64) (*rows.Document, whence) {
	ref := refOf(n)
	if doc, ok := t.memory.Get(ref); ok {
		return doc, fromMemory
	}
	doc, ok := t.disk.Load(ref, under)
	if !ok {
		return nil, fromNowhere
	}
	t.memory.Put(ref, doc)
	return doc, fromDisk
}

// A State is what the process says of itself.
type State struct {
	Start     float64 // seconds
	FileBytes int64
	Entries   uint64
	RSSAnon   int64
	RSSFile   int64
}

// Handler answers what is asked over HTTP: GET / is the state, POST /read reads,
// POST /cache has the system read the file.
func (t *tiers) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, t.state(), nil)
	})
	mux.HandleFunc("POST /cache", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, struct{}{}, readFile(t.order.Path))
	})
	mux.HandleFunc("POST /read", func(w http.ResponseWriter, req *http.Request) {
		var o ReadOrder
		err := json.NewDecoder(req.Body).Decode(&o)
		var result *ReadResult
		if err == nil {
			result, err = t.readMany(req.Context(), o)
		}
		answer(w, result, err)
	})
	return mux
}

// readFile reads a file from end to end, for the page cache: in order that takes a
// tenth of what it takes page by page.
func readFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	_, err = io.Copy(io.Discard, file)
	return err
}

// answer sends a value as JSON, or an error.
func answer(w http.ResponseWriter, value any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_ = json.NewEncoder(w).Encode(value) // whoever has asked may have gone
}

// state returns what the process says of itself.
func (t *tiers) state() State {
	used := ownUse()
	s := State{
		Start: t.start.Seconds(), Entries: t.disk.Stats().Entries, RSSAnon: used.anon,
		RSSFile: used.file,
	}
	if file, err := os.Stat(t.order.Path); err == nil {
		s.FileBytes = file.Size()
	}
	return s
}
