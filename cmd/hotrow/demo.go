package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/demo"
)

// demoConfig returns the configuration of the demo, whose file need not be
// there yet.
func (c *serveCmd) demoConfig(p *program) (*config.Config, []config.Warning, error) {
	if c.DemoFile == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			dir = os.TempDir()
		}
		name := "demo.db"
		if c.DemoScale > 0 {
			name = fmt.Sprintf("demo-%d.db", c.DemoScale)
		}
		c.DemoFile = filepath.Join(dir, "hotrow", name)
	}
	text := demo.YAML("sqlite:"+c.DemoFile) + demo.LinksYAML(c.DemoFile+"-clicks") +
		"resp: {listen: 127.0.0.1:6380}\nmemcache: {listen: 127.0.0.1:11212}\n"
	return config.Parse("demo", text, p.env)
}

// createDemo makes the demo's file unless it is there: what was changed in it
// stays. Remove it to begin anew.
func (s *server) createDemo(ctx context.Context) error {
	path := s.cmd.DemoFile
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the demo's directory: %w; name another file with --demo-file", err)
	}
	o := demo.Options{Scale: s.cmd.DemoScale}
	if s.cmd.DemoScale > 0 {
		o.Progress = func(done, total int) { progress(s, done, total) }
	}
	err := demo.Create(ctx, path, o)
	if errors.Is(err, fs.ErrExist) {
		s.log.Info("demo data found", "file", path)
		return nil
	}
	if err == nil {
		s.log.Info("demo data made", "file", path)
	}
	return err
}

// progress draws a bar of 40 places, on one line.
func progress(s *server, done, total int) {
	n := 40 * done / total
	fmt.Fprintf(s.p.stderr, "\rdepartments [%s%s] %d/%d", strings.Repeat("#", n),
		strings.Repeat(".", 40-n), done, total)
	if done == total {
		fmt.Fprintln(s.p.stderr)
	}
}
