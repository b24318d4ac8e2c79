package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/hotrow/hotrow/internal/demo"
	"github.com/hotrow/hotrow/internal/load"
)

// sampleKeys is how many documents the peers have that keep each in a file, or
// fetch it first.
const sampleKeys = 10_000

// A fixture has the programs and the data that the peers need. What takes long
// to make stays in options.work for the next time.
type fixture struct {
	opts    *options
	tmp     string // for what servers write; removed at the end
	hotrow  string
	floor   string
	tlsload bool   // is built
	peers   string // directory of the programs of bench/peers
	db      string // SQLite
	docs    string // one document a line
	one     string // file with one document
	static  string // directory with documents as files
	runs    int64  // of the generator, so that no two insert the same keys

	users *userStores // that the servers of the seed's chart share; nil: not yet
}

// newFixture builds what is not there.
func newFixture(ctx context.Context, o *options) (_ *fixture, err error) {
	w := &fixture{opts: o}
	work, err := filepath.Abs(o.work)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(work, 0o755); err != nil {
		return nil, err
	}
	if w.tmp, err = os.MkdirTemp("", "hotrow-bench-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	if err := os.Chmod(w.tmp, 0o755); err != nil { // some servers change their user
		return nil, err
	}
	if err := w.build(ctx, work); err != nil {
		return nil, err
	}
	return w, w.makeData(ctx, work)
}

// close ends what servers have shared, and removes what they have written.
func (w *fixture) close() {
	if w.users != nil {
		w.users.stop()
	}
	_ = os.RemoveAll(w.tmp)
}

// build builds the programs.
func (w *fixture) build(ctx context.Context, work string) error {
	w.hotrow, w.floor = filepath.Join(work, "hotrow"), filepath.Join(work, "floor")
	w.peers = filepath.Join(work, "peers") + string(filepath.Separator)
	if w.opts.hotrow != "" {
		w.hotrow = w.opts.hotrow
	} else if err := command(ctx, "", "go", "build", "-trimpath", "-o", w.hotrow,
		"./cmd/hotrow"); err != nil {
		return err
	}
	if err := os.MkdirAll(w.peers, 0o755); err != nil {
		return err
	}
	if err := command(ctx, "bench/peers", "go", "build", "-trimpath", "-o", w.peers,
		"./..."); err != nil {
		return err
	}
	return command(ctx, "", "cc", "-O2", "-o", w.floor, "bench/peers/floor/floor.c")
}

// command runs a program and returns what it says if it fails.
func command(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %v: %w\n%s", name, args, err, out)
	}
	return nil
}

// makeData makes the database and, by asking hotrow for it, the documents that
// all peers serve.
func (w *fixture) makeData(ctx context.Context, work string) error {
	size := strconv.Itoa(w.opts.keys)
	w.db = filepath.Join(work, "demo-"+size+".db")
	w.docs = filepath.Join(work, "docs-"+size+".jsonl")
	w.one = filepath.Join(work, "one.json")
	w.static = filepath.Join(work, "static-"+size)
	err := demo.Create(ctx, w.db, demo.Options{Scale: w.opts.keys})
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := os.Stat(w.docs); errors.Is(err, fs.ErrNotExist) {
		if err := w.dump(ctx); err != nil {
			return fmt.Errorf("write the documents: %w", err)
		}
	}
	return w.writeFiles()
}

// warm asks a server for every key once.
func (w *fixture) warm(ctx context.Context, r *running) error {
	return w.warmURL(ctx, r, r.url, nil)
}

// warmURL asks a server for every key once at one of its URLs.
func (w *fixture) warmURL(ctx context.Context, r *running, url string, header []string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var enough bool
	_, err := load.Run(ctx, load.Config{
		URL: url, Header: header, Connections: 32, Loops: 1, Warmup: patience,
		Keys: load.Keys{First: r.first, N: int64(r.keys), Distribution: load.Scan},
		Progress: func(p load.Progress) {
			if p.Answers >= uint64(r.keys) && p.Errors == 0 {
				enough = true
				cancel()
			}
		},
	})
	if enough && errors.Is(err, context.Canceled) {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("not warm after %v", patience)
	}
	return fmt.Errorf("warm %s: %w", r.name, err)
}

// writeFiles makes a file of each of the first documents.
func (w *fixture) writeFiles() error {
	dir := filepath.Join(w.static, "depts")
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	part := w.static + ".part"
	if err := os.RemoveAll(part); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(part, "depts"), 0o755); err != nil {
		return err
	}
	err := eachDocument(w.docs, func(n int, body []byte) error {
		if n == 0 {
			if err := os.WriteFile(w.one, body, 0o644); err != nil {
				return err
			}
		}
		if n >= sampleKeys {
			return errEnough
		}
		key := strconv.Itoa(demo.FirstDept + n)
		return os.WriteFile(filepath.Join(part, "depts", key), body, 0o644)
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	return os.Rename(part, w.static)
}

// errEnough ends eachDocument.
var errEnough = errors.New("enough")
