package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/source"
)

type checkCmd struct {
	Config     string `short:"c" required:"" placeholder:"FILE" help:"The configuration."`
	DumpConfig bool   `help:"Print the configuration as it counts, secrets masked, and stop."`
}

// Run compares a configuration with its databases: what is served at which
// path, by which statement, and what an operator should know. It fails when
// serve would.
func (c *checkCmd) Run(p *program) error {
	cfg, warnings, err := config.Load(c.Config, p.env)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		fmt.Fprintf(p.stderr, "hotrow: warning: %v\n", w)
	}
	if c.DumpConfig {
		text, err := cfg.Dump()
		if err != nil {
			return err
		}
		_, err = p.stdout.Write(text)
		return err
	}
	ctx, cancel := context.WithTimeout(p.ctx, time.Minute)
	defer cancel()
	log := slog.New(slog.NewTextHandler(p.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	sources, err := openSources(ctx, cfg, false, log)
	if err != nil {
		return err
	}
	defer func() { _ = sources.close() }()
	specs, err := cfg.Specs()
	if err != nil {
		return err
	}
	var errs []error
	for i := range specs {
		if err := c.resource(ctx, p, sources[specs[i].Source], &specs[i]); err != nil {
			errs = append(errs, err)
		}
		if f, ok := unkept(cfg.Sources[specs[i].Source], &specs[i]); ok {
			printFinding(p, f, false)
		}
	}
	return errors.Join(errs...)
}

// resource prints one resource.
func (c *checkCmd) resource(
	ctx context.Context, p *program, src source.Source, s *config.ResourceSpec,
) error {
	plan, err := src.Compile(ctx, s.Spec)
	if err != nil {
		return err
	}
	var columns []string
	for _, part := range plan.KeyType() {
		columns = append(columns, "{"+part.Column+"}")
	}
	fmt.Fprintf(p.stdout, "/%s/%s  %s\n", s.Name, strings.Join(columns, ","),
		strings.Join(s.Methods, " "))
	for _, sql := range plan.SQL() {
		fmt.Fprintf(p.stdout, "    %s\n", strings.ReplaceAll(sql, "\n", "\n    "))
	}
	if err := s.KeyTypes.CheckKey(plan.KeyType()); err != nil {
		return err
	}
	findings, err := plan.Check(ctx)
	if err != nil {
		return fmt.Errorf("resource %s: %w", s.Name, err)
	}
	for _, f := range findings {
		printFinding(p, f, false)
	}
	return nil
}

// unkept says that nothing of a resource is kept, if it has neither a feed nor a
// ttl to be kept by.
func unkept(src *config.Source, s *config.ResourceSpec) (source.Finding, bool) {
	none := src.Feed.Mode == "none" || src.Driver() == "memcached"
	if !none || s.TTL > 0 || !s.Memory {
		return source.Finding{}, false
	}
	return source.Finding{Level: source.LevelWarning,
		Text: fmt.Sprintf("nothing of %s is kept: its source has no feed, and it has no ttl",
			s.Name),
		Why: fmt.Sprintf("every read asks the source; resources.%s.ttl says how old a document "+
			"may be", s.Name)}, true
}
