package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
)

type doctorCmd struct {
	URL    string `arg:"" optional:"" help:"A SQLite file or a database URL."`
	Config string `short:"c" placeholder:"FILE" help:"Look at the sources of this configuration."`
	Feed   string `enum:"auto,logical,notify,binlog,sqlite" default:"auto" help:"The feed wanted."`
	SQL    bool   `help:"Print only the statements that mend what was found."`
	Apply  bool   `help:"Run them."`
	Remove bool   `help:"Undo everything that hotrow has put into the database."`
}

// Run says what a feed needs, and mends it when asked to.
func (c *doctorCmd) Run(p *program) error {
	if (c.URL == "") == (c.Config == "") {
		return usageError{errors.New("give a URL or a configuration")}
	}
	if c.Apply && c.Remove {
		return usageError{errors.New("--apply and --remove exclude each other")}
	}
	var cfg *config.Config
	var err error
	if c.Config != "" {
		cfg, _, err = config.Load(c.Config, p.env)
	} else {
		cfg, _, err = config.FromURL(c.URL, p.env)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Minute)
	defer cancel()
	log := slog.New(slog.NewTextHandler(p.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	for name, s := range cfg.Sources {
		src, err := openSource(ctx, s, false, false, log)
		if err != nil {
			return err
		}
		err = c.source(ctx, p, cfg, name, src)
		if err = errors.Join(err, src.Close()); err != nil {
			return fmt.Errorf("source %s: %w", name, err)
		}
	}
	return nil
}

// source looks at one database.
func (c *doctorCmd) source(
	ctx context.Context, p *program, cfg *config.Config, name string, src source.Source,
) error {
	if c.Config == "" {
		_, _, err := discover(ctx, cfg, src, name, false)
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	specs, err := cfg.Specs()
	if err != nil {
		return err
	}
	tables, findings := watched(ctx, src, name, cfg.Sources[name].Driver(), specs)
	found, err := src.Doctor(ctx, source.FeedMode(c.Feed), tables)
	if err != nil {
		return err
	}
	findings = append(findings, found...)
	if len(tables) == 0 && c.Config == "" && cfg.Sources[name].Driver() != "memcached" {
		findings = append(findings, source.Finding{Level: source.LevelWarning,
			Text: "there is no table that can be served",
			Why:  "it needs a primary key, and hotrow's user must be allowed to read it"})
	}
	for i := range specs {
		f, ok := unkept(cfg.Sources[name], &specs[i])
		if ok && c.Config != "" && specs[i].Source == name {
			findings = append(findings, f)
		}
	}
	return c.treat(ctx, p, src, findings)
}

// watched returns the tables that the resources of a source depend on. A resource
// that cannot be compiled is a finding: often for want of a privilege, which the look
// at its table tells.
func watched(
	ctx context.Context, src source.Source, name, driver string, specs []config.ResourceSpec,
) (tables []source.Watched, findings []source.Finding) {
	var plans []source.Plan
	var broken []source.Watched
	writes := make(map[string]bool)
	for i := range specs {
		s := &specs[i]
		if s.Source != name {
			continue
		}
		plan, err := src.Compile(ctx, s.Spec)
		if err != nil {
			findings = append(findings, source.Finding{Level: source.LevelError,
				Text: err.Error(), Why: "it cannot be served"})
			if id := s.Spec.Table; id != "" && driver != "sqlite" {
				if driver == "postgres" && !strings.Contains(id, ".") {
					id = "public." + id
				}
				broken = append(broken, source.Watched{Table: id, Writes: s.Writable})
			}
			continue
		}
		plans = append(plans, plan)
		for _, d := range plan.Deps() {
			// What is embedded in a document is not written with it.
			writes[d.Table] = writes[d.Table] || s.Writable && isTable(d.Table, s.Spec.Table)
		}
	}
	tables = resource.Watched(plans)
	for i := range tables {
		tables[i].Writes = writes[tables[i].Table]
	}
	return append(tables, broken...), findings
}

// isTable reports whether id, which may name a schema, is the table called name.
func isTable(id, name string) bool {
	return id == name || name != "" && strings.HasSuffix(id, "."+name)
}

// treat prints the findings, and runs what they say if it was asked for.
func (c *doctorCmd) treat(
	ctx context.Context, p *program, src source.Source, findings []source.Finding,
) error {
	failed := 0
	for _, f := range findings {
		statements := f.Apply
		if c.Remove {
			statements = f.Remove
		}
		if c.SQL || c.Remove && !c.Apply {
			for _, s := range statements {
				fmt.Fprintf(p.stdout, "%s;\n", s)
			}
		} else {
			printFinding(p, f, c.Apply)
		}
		if (c.Apply || c.Remove) && len(statements) > 0 && !c.SQL {
			if err := src.Exec(ctx, statements...); err != nil {
				return fmt.Errorf("%s: %w", f.Text, err)
			}
			continue
		}
		if f.Level == source.LevelError {
			failed++
		}
	}
	if failed > 0 && !c.SQL && !c.Remove {
		things := "1 thing keeps"
		if failed > 1 {
			things = fmt.Sprintf("%d things keep", failed)
		}
		return fmt.Errorf("%s the feed from working: see above", things)
	}
	return nil
}

var levelNames = [...]string{"ok", "info", "warning", "error"}

// printFinding prints one finding, with the statements that mend it.
func printFinding(p *program, f source.Finding, applied bool) {
	fmt.Fprintf(p.stdout, "%-8s %s\n", levelNames[f.Level], f.Text)
	if f.Why != "" {
		fmt.Fprintf(p.stdout, "         %s\n", f.Why)
	}
	verb := "mend:"
	if applied {
		verb = "done:"
	}
	for _, s := range f.Apply {
		fmt.Fprintf(p.stdout, "         %s %s;\n", verb, s)
	}
}
