package main

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/source"
)

type initCmd struct{ URL string }

// initCommand returns hotrow init.
func initCommand(p *program) *cobra.Command {
	c := new(initCmd)
	return p.command("init", "Print a configuration for the tables of a database.", c.Run,
		argument{"<url>", "A SQLite file or a database URL.", &c.URL})
}

// Run prints a configuration for the tables of a database.
func (c *initCmd) Run(p *program) error {
	return withDatabase(p, c.URL, func(ctx context.Context, src source.Source) error {
		cat, err := catalog(ctx, src)
		if err != nil {
			return err
		}
		variable := ""
		if slices.Contains(p.env, "DATABASE_URL="+c.URL) {
			variable = "DATABASE_URL"
		}
		_, err = p.stdout.Write(config.Init(cat, c.URL, variable))
		return err
	})
}

// withDatabase opens the database of a URL, read-only, for one command.
func withDatabase(
	p *program, url string, use func(context.Context, source.Source) error,
) error {
	cfg, warnings, err := config.FromURL(url, p.env)
	if err != nil {
		return err
	}
	p.warn(warnings)
	ctx, cancel := context.WithTimeout(p.ctx, time.Minute)
	defer cancel()
	log := textLogger(p.stderr, slog.LevelWarn)
	src, err := openSource(ctx, cfg.Sources["main"], true, false, log)
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()
	return use(ctx, src)
}
