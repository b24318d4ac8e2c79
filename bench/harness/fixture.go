// Package harness measures servers: it starts them, warms them up, loads them in
// interleaved rounds and reports what it saw, with what the figures are held to.
package harness

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/hotrow/hotrow/bench/load"
	"github.com/hotrow/hotrow/internal/demo"
)

// SampleKeys is how many documents the peers have that keep each in a file, or
// fetch it first.
const SampleKeys = 10_000

// Small is the key of a document of smallSize bytes: a department with three employees.
// Files have the first bytes of another in its place.
const (
	Small     = "10"
	smallSize = 464
)

// A Fixture has the programs and the data that the peers need. What takes long
// to make stays in options.work for the next time.
type Fixture struct {
	Opts     *Options
	registry *Registry
	Tmp      string // for what servers write; removed at the end
	Hotrow   string
	Floor    string
	tlsload  bool   // is built
	Programs string // directory of the built programs of bench/peers
	Db       string // SQLite
	Docs     string // one document a line
	One      string // file with one document
	Static   string // directory with documents as files
	Runs     int64  // of the generator, so that no two insert the same keys

	ends []func() // what ends what servers share
}

// NewFixture builds what is not there.
func NewFixture(ctx context.Context, o *Options, reg *Registry) (_ *Fixture, err error) {
	w := &Fixture{Opts: o, registry: reg}
	work, err := filepath.Abs(o.Work)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(work, 0o755); err != nil {
		return nil, err
	}
	if w.Tmp, err = os.MkdirTemp("", "hotrow-bench-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			w.Close()
		}
	}()
	if err := os.Chmod(w.Tmp, 0o755); err != nil { // some servers change their user
		return nil, err
	}
	if err := w.build(ctx, work); err != nil {
		return nil, err
	}
	return w, w.makeData(ctx, work)
}

// Close ends what servers have shared, and removes what they have written.
func (w *Fixture) Close() {
	for _, end := range w.ends {
		end()
	}
	_ = os.RemoveAll(w.Tmp)
}

// AtEnd has end called when the fixture is closed.
func (w *Fixture) AtEnd(end func()) { w.ends = append(w.ends, end) }

// build builds the programs.
func (w *Fixture) build(ctx context.Context, work string) error {
	w.Hotrow, w.Floor = filepath.Join(work, "hotrow"), filepath.Join(work, "floor")
	w.Programs = filepath.Join(work, "peers") + string(filepath.Separator)
	if w.Opts.Hotrow != "" {
		w.Hotrow = w.Opts.Hotrow
	} else if err := Command(ctx, "", "go", "build", "-trimpath", "-o", w.Hotrow,
		"./cmd/hotrow"); err != nil {
		return err
	}
	if err := os.MkdirAll(w.Programs, 0o755); err != nil {
		return err
	}
	if err := Command(ctx, "bench/peers", "go", "build", "-trimpath", "-o", w.Programs,
		"./..."); err != nil {
		return err
	}
	return Command(ctx, "", "cc", "-O2", "-o", w.Floor, "bench/peers/floor/floor.c")
}

// Command runs a program and returns what it says if it fails. A directory, unless it is "", is
// one of a module that is outside the workspace.
func Command(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	if dir != "" {
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %v: %w\n%s", name, args, err, out)
	}
	return nil
}

// makeData makes the database and, by asking hotrow for it, the documents that
// all peers serve.
func (w *Fixture) makeData(ctx context.Context, work string) error {
	size := strconv.Itoa(w.Opts.Keys)
	w.Db = filepath.Join(work, "demo-"+size+".db")
	w.Docs = filepath.Join(work, "docs-"+size+".jsonl")
	w.One = filepath.Join(work, "one.json")
	w.Static = filepath.Join(work, "static-"+size)
	err := demo.Create(ctx, w.Db, demo.Options{Scale: w.Opts.Keys})
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := os.Stat(w.Docs); errors.Is(err, fs.ErrNotExist) {
		if err := w.dump(ctx); err != nil {
			return fmt.Errorf("write the documents: %w", err)
		}
	}
	return w.writeFiles()
}

// warm asks a server for every key once.
func (w *Fixture) warm(ctx context.Context, r *Server) error {
	return w.WarmURL(ctx, r, r.URL, nil)
}

// WarmURL asks a server for every key once at one of its URLs.
func (w *Fixture) WarmURL(ctx context.Context, r *Server, url string, header []string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var enough bool
	_, err := load.Run(ctx, load.Config{
		URL: url, Header: header, Connections: 32, Loops: 1, Warmup: Patience,
		Keys: load.Keys{First: r.first, N: int64(r.Keys), Distribution: load.Scan},
		Progress: func(p load.Progress) {
			if p.Answers >= uint64(r.Keys) && p.Errors == 0 {
				enough = true
				cancel()
			}
		},
	})
	if enough && errors.Is(err, context.Canceled) {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("not warm after %v", Patience)
	}
	return fmt.Errorf("warm %s: %w", r.Name, err)
}

// writeFiles makes a file of each of the first documents.
func (w *Fixture) writeFiles() error {
	dir := filepath.Join(w.Static, "depts")
	if _, err := os.Stat(filepath.Join(dir, Small)); err == nil {
		return nil
	}
	part := w.Static + ".part"
	if err := os.RemoveAll(part); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(part, "depts"), 0o755); err != nil {
		return err
	}
	err := EachDocument(w.Docs, func(n int, body []byte) error {
		if n == 0 {
			if err := os.WriteFile(w.One, body, 0o644); err != nil {
				return err
			}
		}
		if n >= SampleKeys {
			return errEnough
		}
		key := strconv.Itoa(demo.FirstDept + n)
		return os.WriteFile(filepath.Join(part, "depts", key), body, 0o644)
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	body, err := os.ReadFile(w.One)
	if err != nil {
		return err
	}
	small := filepath.Join(part, "depts", Small)
	if err := os.WriteFile(small, body[:min(len(body), smallSize)], 0o644); err != nil {
		return err
	}
	if err := os.RemoveAll(w.Static); err != nil { // of an older form
		return err
	}
	return os.Rename(part, w.Static)
}

// errEnough ends EachDocument.
var errEnough = errors.New("enough")
