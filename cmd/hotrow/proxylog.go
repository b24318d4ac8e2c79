package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hotrow/hotrow/internal/accesslog"
)

// A rotatedLog is an access log whose file has its time in its name, as
// chocon's: access_log.YYYYMMDDhhmm, and a link "current" to the newest.
type rotatedLog struct {
	log      *accesslog.Log
	settings accesslog.Settings
	dir      string // "": it is no file
	keep     int    // files
	every    time.Duration
	report   *slog.Logger

	mu   sync.Mutex // guards file, and that one goroutine changes it
	file string
	quit chan struct{}
	done sync.WaitGroup
}

// open opens the log and begins to rotate it.
func (r *rotatedLog) open(config accesslog.Config) error {
	r.quit = make(chan struct{})
	if r.dir == "" {
		var err error
		r.log, err = accesslog.Open(config, r.settings)
		return err
	}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return fmt.Errorf("--access-log-dir: %w", err)
	}
	r.settings.File = r.name(time.Now())
	var err error
	if r.log, err = accesslog.Open(config, r.settings); err != nil {
		return fmt.Errorf("--access-log-dir: %w", err)
	}
	r.file = r.settings.File
	r.link()
	r.done.Go(r.rotate)
	return nil
}

// name returns the file for a time.
func (r *rotatedLog) name(t time.Time) string {
	_, offset := t.Zone() // days begin at midnight here, not in Greenwich
	local := t.Add(time.Duration(offset) * time.Second).Truncate(r.every)
	t = local.Add(-time.Duration(offset) * time.Second)
	return filepath.Join(r.dir, "access_log."+t.Format("200601021504"))
}

// rotate changes the file when its time has come.
func (r *rotatedLog) rotate() {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-r.quit:
			return
		case now := <-ticker.C:
			if r.name(now) != r.current() {
				r.change(now)
			}
		}
	}
}

// current returns the file that is open.
func (r *rotatedLog) current() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.file
}

// reopen opens the file again, which somebody may have renamed.
func (r *rotatedLog) reopen() {
	if r != nil {
		r.change(time.Now())
	}
}

// change opens the file for a time.
func (r *rotatedLog) change(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dir != "" {
		r.settings.File = r.name(now)
	}
	if err := r.log.Configure(r.settings); err != nil {
		r.report.Error("access log not changed", "file", r.settings.File, "err", err)
		return
	}
	if r.dir != "" {
		r.file = r.settings.File
		r.link()
		r.prune()
	}
}

// link lets "current" point to the open file.
func (r *rotatedLog) link() {
	link := filepath.Join(r.dir, "current")
	tmp := link + ".tmp"
	_ = os.Remove(tmp) // left by one that was killed, if it is there
	if err := os.Symlink(filepath.Base(r.file), tmp); err == nil {
		err = os.Rename(tmp, link)
		if err != nil {
			r.report.Warn("link to the access log not changed", "err", err)
		}
	}
}

// prune removes the oldest files beyond the number that is kept.
func (r *rotatedLog) prune() {
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "access_log.") {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	for len(names) > r.keep {
		if err := os.Remove(filepath.Join(r.dir, names[0])); err != nil {
			r.report.Warn("old access log not removed", "err", err)
		}
		names = names[1:]
	}
}

// close writes what is left.
func (r *rotatedLog) close() {
	close(r.quit)
	r.done.Wait()
	if err := r.log.Close(); err != nil {
		r.report.Warn("access log not closed", "err", err)
	}
}
