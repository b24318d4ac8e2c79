package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/openapi"
	"github.com/hotrow/hotrow/internal/resource"
)

type typesCmd struct{ Target, Config string }

// typesCommand returns hotrow types.
func typesCommand(p *program) *cobra.Command {
	c := new(typesCmd)
	cmd := p.command("types", "Print TypeScript types of the rows, as supabase-js takes them.",
		c.Run, argument{"[<target>]", "A SQLite file or a database URL.", &c.Target})
	cmd.Flags().StringVarP(&c.Config, "config", "c", "",
		"The configuration `FILE` that says what is served.")
	return cmd
}

// Run prints the types of what is served of a database, or by a configuration.
func (c *typesCmd) Run(p *program) error {
	var cfg *config.Config
	var warnings []config.Warning
	var err error
	switch {
	case (c.Target == "") == (c.Config == ""):
		return usageError{errors.New("give a database or a configuration: hotrow types app.db, or" +
			" --config FILE")}
	case c.Config != "":
		cfg, warnings, err = config.Load(c.Config, p.env)
	default:
		cfg, warnings, err = config.FromURL(c.Target, p.env)
	}
	if err != nil {
		return err
	}
	p.warn(warnings)
	ctx, cancel := context.WithTimeout(p.ctx, time.Minute)
	defer cancel()
	list, err := described(ctx, p, cfg)
	if err != nil {
		return err
	}
	_, err = p.stdout.Write(openapi.Types(list))
	return err
}

// described describes the resources of a configuration, in its order of names.
func described(
	ctx context.Context, p *program, cfg *config.Config,
) (list []openapi.Resource, err error) {
	sources, err := openSources(ctx, cfg, opening{look: true}, textLogger(p.stderr, slog.LevelWarn))
	if err != nil {
		return nil, err
	}
	defer func() { _ = sources.close() }()
	if len(cfg.Resources) == 0 {
		if cfg, _, _, err = discover(ctx, cfg, sources["main"], "main", false); err != nil {
			return nil, err
		}
	}
	specs, err := cfg.Specs()
	if err != nil {
		return nil, err
	}
	plans, errs := make(map[string]openapi.Resource), []error(nil)
	for name, src := range sources {
		planned, failed := compiled(ctx, src, name, specs)
		for _, err := range failed {
			errs = append(errs, err)
		}
		relations := resource.RelationsAmong(planned)
		for _, one := range planned {
			r := openapi.Of(one.Name, one.Plan)
			if r.Table != nil {
				r.Relations = relations(r.Table)
			}
			plans[one.Name] = r
		}
	}
	for i := range specs {
		if r, ok := plans[specs[i].Name]; ok {
			list = append(list, r)
		}
	}
	return list, errors.Join(errs...)
}
