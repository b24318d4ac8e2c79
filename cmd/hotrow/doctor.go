package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
)

type doctorCmd struct {
	URL, Config, Feed  string
	List               []string
	SQL, Apply, Remove bool
}

// doctorCommand returns hotrow doctor.
func doctorCommand(p *program) *cobra.Command {
	c := new(doctorCmd)
	cmd := p.command("doctor", "Say what the change feed of a database needs.", c.Run,
		argument{"[<url>]", "A SQLite file or a database URL.", &c.URL})
	f := cmd.Flags()
	f.StringVarP(&c.Config, "config", "c", "", "Look at the sources of this configuration `FILE`.")
	f.Var(newOneOf(&c.Feed, "", "", "auto", "logical", "notify", "binlog", "sqlite"), "feed",
		"`MODE` of the feed wanted: auto, logical, notify, binlog or sqlite.")
	f.StringArrayVar(&c.List, "list", nil, "Look at this list, too: `RESOURCE?QUERY`.")
	f.BoolVar(&c.SQL, "sql", false, "Print only the statements that mend what was found.")
	f.BoolVar(&c.Apply, "apply", false, "Run them.")
	f.BoolVar(&c.Remove, "remove", false,
		"Undo everything that hotrow has put into the database.")
	return cmd
}

// Run says what a feed needs, and mends it when asked to.
func (c *doctorCmd) Run(p *program) error {
	if (c.URL == "") == (c.Config == "") {
		return usageError{errors.New("give a URL or a configuration")}
	}
	if c.Apply && c.Remove {
		return usageError{errors.New("--apply and --remove exclude each other")}
	}
	if c.Apply && c.SQL {
		return usageError{errors.New("--apply and --sql exclude each other: --sql only prints")}
	}
	var cfg *config.Config
	var warnings []config.Warning
	var err error
	if c.Config != "" {
		cfg, warnings, err = config.Load(c.Config, p.env)
	} else {
		cfg, warnings, err = config.FromURL(c.URL, p.env)
	}
	if err != nil {
		return err
	}
	p.warn(warnings)
	if c.Config != "" {
		if err := cfg.CheckServes(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Minute)
	defer cancel()
	log := textLogger(p.stderr, slog.LevelWarn)
	if err := c.fits(cfg); err != nil {
		return err
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(cfg.Sources)) {
		s := cfg.Sources[name]
		if err := inDirectory(cfg, name); err != nil {
			return err
		}
		if toBeMade(cfg, name) {
			printFinding(p, unmade(s))
			continue
		}
		src, err := openSource(ctx, s, false, false, log)
		if err != nil {
			return err
		}
		err = c.source(ctx, p, cfg, name, src)
		if err = errors.Join(err, src.Close()); err != nil {
			errs = append(errs, fmt.Errorf("source %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// fits refuses a feed that none of the databases has.
func (c *doctorCmd) fits(cfg *config.Config) error {
	if c.Feed == "" {
		return nil
	}
	var have []string
	for _, s := range cfg.Sources {
		have = append(have, s.Feeds()...)
	}
	if !slices.Contains(have, c.Feed) {
		slices.Sort(have)
		return usageError{fmt.Errorf("--feed %s: no feed of this kind of database (%s)", c.Feed,
			strings.Join(slices.Compact(have), ", "))}
	}
	return nil
}

// mode returns the feed that a source is to be looked at for: the flag's, if it is one
// of its database, else the one that serve would use.
func (c *doctorCmd) mode(s *config.Source) source.FeedMode {
	if c.Feed != "" && slices.Contains(s.Feeds(), c.Feed) {
		return source.FeedMode(c.Feed)
	}
	return source.FeedMode(s.Feed.Mode)
}

// source looks at one database.
func (c *doctorCmd) source(
	ctx context.Context, p *program, cfg *config.Config, name string, src source.Source,
) error {
	if c.Config == "" {
		switch found, _, _, err := discover(ctx, cfg, src, name, false); {
		case err == nil:
			cfg = found
		case !errors.Is(err, errors.ErrUnsupported):
			return err
		}
	}
	specs, err := followedSpecs(cfg)
	if err != nil {
		return err
	}
	lists := append(listsOf(cfg), namedLists(c.List)...)
	if err := errors.Join(unserved(lists, specs)...); err != nil {
		return err
	}
	tables, findings := watched(ctx, src, name, cfg, specs, lists)
	found, err := src.Doctor(ctx, c.mode(cfg.Sources[name]), tables)
	if err != nil {
		return err
	}
	findings = append(append(findings, found...), sqlFindings(ctx, cfg, name)...)
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
	ctx context.Context, src source.Source, name string, cfg *config.Config,
	specs []config.ResourceSpec, lists []namedList,
) (tables []source.Watched, findings []source.Finding) {
	old := make(map[string]bool)
	driver := cfg.Sources[name].Driver()
	var plans []source.Plan
	var broken []source.Watched
	writes := make(map[string]bool)
	all, failed := compiled(ctx, src, name, specs)
	for i := range specs {
		s := &specs[i]
		if s.Source != name {
			continue
		}
		if err := failed[s.Name]; err != nil && isOwnSpec(cfg, s) {
			findings = append(findings, source.Finding{Level: source.LevelInfo,
				Text: "the table of " + s.Name + " is not there: " + err.Error(),
				Why:  "serve makes it when it starts; look again then"})
			continue
		} else if err != nil {
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
		of := called(all, s.Name)
		plan := of.Plan
		if s.TTL > 0 && !followable(ctx, src, s.Spec) {
			continue // a ttl keeps what no feed tells of
		}
		plans = append(plans, plan)
		findings = append(findings, coarse(cfg, plan, s)...)
		findings = append(findings, needsOf(ctx, of, all, lists, old)...)
		for _, d := range plan.Deps() {
			// What is embedded in a document is not written with it.
			writes[d.Table] = writes[d.Table] || s.Writable && isTable(d.Table, s.Spec.Table)
		}
	}
	tables = resource.Watched(plans)
	for i := range tables {
		tables[i].Writes, tables[i].Old = writes[tables[i].Table], old[tables[i].Table]
	}
	return append(tables, broken...), findings
}

// followable reports whether the resource of spec, which is Timed, could be without.
func followable(ctx context.Context, src source.Source, spec *source.Spec) bool {
	spec.SetTimed(false)
	defer spec.SetTimed(true)
	_, err := src.Compile(ctx, spec)
	return err == nil
}

// isTable reports whether id, which may name a schema, is the table called name.
func isTable(id, name string) bool {
	return id == name || name != "" && strings.HasSuffix(id, "."+name)
}

// treat prints the findings, and runs what they say if it was asked for. It goes on after
// one whose statements fail.
func (c *doctorCmd) treat(
	ctx context.Context, p *program, src source.Source, findings []source.Finding,
) error {
	wrong, failed := 0, 0
	for _, f := range findings {
		statements := f.Apply
		if c.Remove {
			statements = f.Remove
		}
		run := (c.Apply || c.Remove) && !c.SQL && len(statements) > 0
		var err error
		if run {
			err = src.Exec(ctx, statements...)
		}
		c.show(p, f, statements, err)
		switch {
		case err != nil:
			failed++
		case f.Level == source.LevelError && !run:
			wrong++
		}
	}
	var errs []error
	if failed > 0 {
		errs = append(errs, fmt.Errorf("the statements of %s failed: see above; if privileges are "+
			"missing, run them as a user who may", countOf(failed, "finding")))
	}
	if wrong > 0 && !c.SQL && !c.Remove {
		things := "1 thing keeps"
		if wrong > 1 {
			things = fmt.Sprintf("%d things keep", wrong)
		}
		errs = append(errs, fmt.Errorf("%s the feed from working: see above", things))
	}
	return errors.Join(errs...)
}

// show prints one finding, or its statements alone; failed is why they could not be run.
func (c *doctorCmd) show(p *program, f source.Finding, statements []string, failed error) {
	if !c.SQL && !c.Remove {
		verb := "mend:"
		switch {
		case failed != nil:
			verb = "failed:"
		case c.Apply:
			verb = "done:"
		}
		printTreated(p, f, verb)
		if failed != nil {
			indent(p, "because: "+failed.Error())
		}
		return
	}
	prefix := ""
	if failed != nil {
		prefix = "-- failed: "
	}
	for _, s := range statements {
		fmt.Fprintf(p.stdout, "%s%s;\n", prefix, strings.ReplaceAll(s, "\n", "\n"+prefix))
	}
	if failed != nil {
		fmt.Fprintf(p.stdout, "-- because: %s\n", strings.ReplaceAll(failed.Error(), "\n", "\n-- "))
	}
	c.byHand(p, f)
}

// byHand prints, as comments, the statements that only a person should run.
func (c *doctorCmd) byHand(p *program, f source.Finding) {
	why, statements := "it concerns the whole server", f.ByHand
	if c.Remove {
		why, statements = f.Text+": it may be another program's", f.RemoveByHand
	}
	for _, s := range statements {
		fmt.Fprintf(p.stdout, "-- by hand, %s: %s;\n", why, s)
	}
}

var levelNames = [...]string{"ok", "info", "warning", "error"}

// shownStatements is how many statements of a finding are shown; more are for --sql.
const shownStatements = 4

// indent prints text below a finding's, right of its level.
func indent(p *program, text string) {
	fmt.Fprintf(p.stdout, "         %s\n", strings.ReplaceAll(text, "\n", "\n         "))
}

// printFinding prints one finding, with the statements that mend it.
func printFinding(p *program, f source.Finding) { printTreated(p, f, "mend:") }

// printTreated is printFinding with another verb before the statements.
func printTreated(p *program, f source.Finding, verb string) {
	fmt.Fprintf(p.stdout, "%-8s %s\n", levelNames[f.Level], f.Text)
	if f.Why != "" {
		indent(p, f.Why)
	}
	for _, s := range f.ByHand {
		indent(p, "by hand: "+s+";")
	}
	if n := len(f.Apply); n > shownStatements {
		indent(p, fmt.Sprintf("%s %d statements, which --sql prints", verb, n))
		return
	}
	for _, s := range f.Apply {
		if first, _, more := strings.Cut(s, "\n"); more {
			s = first + " ..."
		}
		indent(p, verb+" "+s+";")
	}
}
