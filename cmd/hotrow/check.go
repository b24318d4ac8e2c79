package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
)

type checkCmd struct {
	Config     string
	Lists      []string
	DumpConfig bool
}

// checkCommand returns hotrow check.
func checkCommand(p *program) *cobra.Command {
	c := new(checkCmd)
	cmd := p.command("check --config FILE", "Check a configuration against its databases.", c.Run,
		argument{"[<list> ...]", "Lists to look at.", &c.Lists})
	f := cmd.Flags()
	f.StringVarP(&c.Config, "config", "c", "", "The configuration `FILE`; required.")
	f.BoolVar(&c.DumpConfig, "dump-config", false,
		"Print the configuration as it counts, secrets masked, and stop.")
	return cmd
}

// Run compares a configuration with its databases: what is served at which
// path, by which statement, and what an operator should know. It fails when
// serve would.
func (c *checkCmd) Run(p *program) error {
	if c.Config == "" {
		return usageError{errors.New("give a configuration: --config FILE")}
	}
	cfg, warnings, err := config.Load(c.Config, p.env)
	if err != nil {
		return err
	}
	p.warn(warnings)
	if c.DumpConfig {
		text, err := cfg.Dump()
		if err != nil {
			return err
		}
		_, err = p.stdout.Write(text)
		return err
	}
	if err := cfg.CheckServes(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(p.ctx, time.Minute)
	defer cancel()
	log := textLogger(p.stderr, slog.LevelWarn)
	wrong := checkFiles(cfg)
	checkJWT(ctx, p, cfg)
	sources, err := openSources(ctx, cfg, opening{look: true}, log)
	if err != nil {
		return errors.Join(wrong, err)
	}
	defer func() { _ = sources.close() }()
	return errors.Join(wrong, checkLinks(ctx, cfg, sources), c.sources(ctx, p, cfg, sources))
}

// sources says what is served of each source.
func (c *checkCmd) sources(
	ctx context.Context, p *program, cfg *config.Config, sources opened,
) error {
	for _, name := range slices.Sorted(maps.Keys(cfg.Sources)) {
		if sources[name] == nil {
			printFinding(p, unmade(cfg.Sources[name]))
		}
	}
	specs, err := cfg.Specs()
	if err != nil {
		return err
	}
	lists := append(listsOf(cfg), namedLists(c.Lists)...)
	errs := unserved(lists, specs)
	resources, failed := make(map[string][]resource.Planned), make(map[string]map[string]error)
	looks := make(map[string]look) // of all sources, by the names of resources
	for name, src := range sources {
		resources[name], failed[name] = compiled(ctx, src, name, specs)
		lookAt(ctx, src, resources[name], looks)
	}
	for i := range specs {
		s := &specs[i]
		err := failed[s.Source][s.Name]
		if err == nil {
			err = c.resource(ctx, p, cfg, s, resources[s.Source], lists, looks[s.Name])
		}
		if err != nil {
			errs = append(errs, err)
		}
		if f, ok := unkept(cfg.Sources[specs[i].Source], &specs[i]); ok {
			printFinding(p, f)
		}
	}
	return errors.Join(errs...)
}

// A look is what a source says of a resource's plan.
type look struct {
	findings []source.Finding
	err      error
}

// lookAt checks the plans of resources, all of one source.
func lookAt(
	ctx context.Context, src source.Source, resources []resource.Planned, looks map[string]look,
) {
	plans := make([]source.Plan, len(resources))
	for i, r := range resources {
		plans[i] = r.Plan
	}
	findings, errs := source.CheckAll(ctx, src, plans)
	for i, r := range resources {
		looks[r.Name] = look{findings[i], errs[i]}
	}
}

// resource prints one resource, which is one of all those of its source.
func (c *checkCmd) resource(
	ctx context.Context, p *program, cfg *config.Config, s *config.ResourceSpec,
	all []resource.Planned, lists []namedList, l look,
) error {
	of := called(all, s.Name)
	plan := of.Plan
	var columns []string
	for _, part := range plan.KeyType() {
		columns = append(columns, "{"+part.Column+"}")
	}
	fmt.Fprintf(p.stdout, "/%s/%s  %s\n", url.PathEscape(s.Name), strings.Join(columns, ","),
		strings.Join(s.Methods, " "))
	for _, sql := range plan.SQL() {
		fmt.Fprintf(p.stdout, "    %s\n", strings.ReplaceAll(sql, "\n", "\n    "))
	}
	for _, path := range resource.Paths(plan) {
		fmt.Fprintf(p.stdout, "    read again when rows change that lead to it: %s\n", path.Text)
	}
	if l.err != nil {
		return fmt.Errorf("resource %s: %w", s.Name, l.err)
	}
	for _, f := range append(l.findings, coarse(cfg, plan, s)...) {
		printFinding(p, f)
	}
	return checkLists(ctx, p, of, all, lists)
}

// coarse tells of the columns that depends names and that cannot say which document a
// row is part of: their texts are not those of the key; and of documents that memory or the
// disk does not keep.
func coarse(cfg *config.Config, plan source.Plan, s *config.ResourceSpec) []source.Finding {
	var out []source.Finding
	if f, found := source.ByItself(plan, s.Name); found && s.TTL == 0 {
		out = append(out, f)
	}
	if paths := resource.Paths(plan); paths != nil {
		return append(out, coarsePaths(cfg, s, paths)...)
	}
	tables := resource.Tracked(plan)
	if cfg.Cache.Disk.Path != "" && s.Memory && s.TTL == 0 && len(tables) > 0 {
		out = append(out, source.Finding{Level: source.LevelWarning,
			Text: fmt.Sprintf("documents of %s are not kept on disk", s.Name),
			Why: "the feed may not tell which of them a row of " + strings.Join(tables, ", ") +
				" was part of; on PostgreSQL, REPLICA IDENTITY FULL of the table makes it"})
	}
	for _, want := range s.Spec.Depends {
		for _, d := range plan.Deps() {
			if !isTable(d.Table, want.Table) || len(want.Columns) == 0 || len(d.Columns) > 0 {
				continue
			}
			out = append(out, source.Finding{Level: source.LevelWarning,
				Text: fmt.Sprintf("every change of %s drops every document of %s, although depends"+
					" names %s", d.Table, s.Name, strings.Join(want.Columns, ", ")),
				Why: "texts that are equal there and spelled differently name one document: a" +
					" column whose texts are only equal to themselves would drop one"})
		}
	}
	return out
}

// coarsePaths is coarse of documents that depend on rows by paths.
func coarsePaths(
	cfg *config.Config, s *config.ResourceSpec, paths []source.Path,
) (out []source.Finding) {
	if cfg.Cache.Disk.Path != "" && s.Memory && s.TTL == 0 {
		out = append(out, source.Finding{Level: source.LevelInfo,
			Text: fmt.Sprintf("documents of %s are not kept on disk", s.Name),
			Why:  "depends names a path: which of them depend on a row only memory knows"})
	}
	for _, path := range paths {
		for i, step := range path.Steps {
			if step.Named || len(step.On) == 0 {
				continue
			}
			var behind []string
			for _, s := range path.Steps[i:] {
				behind = append(behind, s.Table)
			}
			out = append(out, source.Finding{Level: source.LevelWarning,
				Text: fmt.Sprintf("every change of %s has all documents of %s read again, although"+
					" depends names %s", strings.Join(behind, " and "), s.Name, path.Text),
				Why: step.Why})
			break
		}
	}
	return out
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
