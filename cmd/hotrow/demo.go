package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/demo"
)

// A demoFile is the database of hotrow demo.
type demoFile struct {
	path  string
	scale int  // more departments
	still bool // nothing changes by itself
}

// demoCommand returns hotrow demo: serve over data of its own.
func demoCommand(p *program) *cobra.Command {
	c := &serveCmd{Feed: "auto", demo: new(demoFile)}
	cmd := p.command("demo", "Serve a shop on embedded SQLite, which changes while somebody looks.",
		c.Run)
	f := cmd.Flags()
	f.StringVar(&c.demo.path, "file", "",
		"Keep its database in this `FILE`: what is changed in it stays.")
	f.IntVar(&c.demo.scale, "scale", 0, "`N` more departments of ten employees.")
	f.BoolVar(&c.demo.still, "still", false, "Change no row by itself.")
	f.BoolVar(&c.Open, "open", false, "Let other machines read without a token.")
	c.given = f.Changed
	return cmd
}

// config returns the configuration of the demo, whose file need not be there yet.
func (d *demoFile) config(env []string) (*config.Config, []config.Warning, error) {
	if d.path == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			dir = os.TempDir()
		}
		name := "demo.db"
		if d.scale > 0 {
			name = fmt.Sprintf("demo-%d.db", d.scale)
		}
		d.path = filepath.Join(dir, "hotrow", name)
	}
	text := demo.YAML("sqlite:"+d.path) + demo.Shop + demo.LinksYAML(d.path+"-clicks") +
		"resp: {listen: 127.0.0.1:6380}\nmemcache: {listen: 127.0.0.1:11212}\n"
	return config.Parse("demo", text, env)
}

// createDemo makes the demo's file unless it is there: what was changed in it
// stays. Remove it to begin anew.
func (s *server) createDemo(ctx context.Context) error {
	path := s.cmd.demo.path
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the demo's directory: %w; name another file with --file", err)
	}
	o := demo.Options{Scale: s.cmd.demo.scale}
	if o.Scale > 0 {
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
