package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"time"

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/links/schema"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/memcached"
	"github.com/hotrow/hotrow/internal/source/mysql"
	"github.com/hotrow/hotrow/internal/source/postgres"
	"github.com/hotrow/hotrow/internal/source/sqlite"
)

// openSource opens the database of a configured source. own says that the file
// is hotrow's (the demo's).
func openSource(
	ctx context.Context, s *config.Source, readOnly, own bool, log *slog.Logger,
) (source.Source, error) {
	switch s.Driver() {
	case "sqlite":
		return sqlite.Open(ctx, s.Path(), sqlite.Options{
			ReadOnly: readOnly, Readers: s.Pool.Max, Own: own, Log: log,
		})
	case "postgres":
		return postgres.Open(ctx, s.URL.Reveal(), postgres.Options{
			MaxConns:         s.Pool.Max,
			StatementTimeout: time.Duration(s.StatementTimeout), ReadOnly: readOnly, Log: log,
			Reads:       s.Reads.Reveal(),
			Publication: s.Feed.Publication,
			Slot:        s.Feed.Slot, SlotUnbounded: s.Feed.SlotUnbound,
			SlotFailover: s.Feed.Failover,
		})
	case "mysql":
		return mysql.Open(ctx, s.URL.Reveal(), mysql.Options{
			MaxConns:         s.Pool.Max,
			StatementTimeout: time.Duration(s.StatementTimeout), ReadOnly: readOnly, Log: log,
			User: os.Getenv("USER"), Password: os.Getenv("MYSQL_PWD"),
		})
	case "memcached":
		return memcached.Open(ctx, s.URL.Reveal(), memcached.Options{
			MaxConns:         s.Pool.Max,
			StatementTimeout: time.Duration(s.StatementTimeout), ReadOnly: readOnly, Log: log,
		})
	}
	return nil, errors.New("not a database that hotrow knows: use FILE, sqlite:FILE, postgres://," +
		" mysql://, mariadb:// or memcached://")
}

// opened are the databases of a configuration.
type opened map[string]source.Source

// An opening says how openSources opens.
type opening struct {
	demo    bool // the file is the demo's
	written bool // tables, not known yet, will take writes
	look    bool // nothing is made: what serve would make is left out
}

// openSources opens every source of cfg. One whose resources take no writes is
// opened read-only. On an error none is left open.
func openSources(
	ctx context.Context, cfg *config.Config, o opening, log *slog.Logger,
) (opened, error) {
	specs, err := cfg.Specs()
	if err != nil {
		return nil, err
	}
	writable := make(map[string]bool)
	for _, s := range specs {
		writable[s.Source] = writable[s.Source] || s.Writable
	}
	all := make(opened)
	for name, s := range cfg.Sources {
		if err := inDirectory(cfg, name); err != nil {
			return nil, errors.Join(err, all.close())
		}
		if o.look && toBeMade(cfg, name) {
			continue
		}
		readOnly := !writable[name] && !o.written && name != cfg.LinksSource() &&
			!isStore(cfg, name)
		own := !o.look && (o.demo || isOwn(cfg, name))
		src, err := openSource(ctx, s, readOnly, own, log.With("source", name))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("source %s: %w", name, err), all.close())
		}
		all[name] = src
	}
	return all, nil
}

// isStore reports whether a source is the database of items.
func isStore(cfg *config.Config, name string) bool {
	return name == config.StoreSource && cfg.StoresItems()
}

// isOwn reports whether a source is a file of hotrow's own, which serve makes if it is
// missing.
func isOwn(cfg *config.Config, name string) bool {
	return name == cfg.LinksSource() && cfg.OwnsLinks() || isStore(cfg, name)
}

// toBeMade reports whether serve would make the file of a source. Who only looks must not:
// the file would be of the user who looks, and the service could not write to it.
func toBeMade(cfg *config.Config, name string) bool {
	if !isOwn(cfg, name) {
		return false
	}
	_, err := os.Stat(cfg.Sources[name].Path())
	return errors.Is(err, fs.ErrNotExist)
}

// inDirectory returns why serve cannot make the file of a source of its own: there is no
// directory for it.
func inDirectory(cfg *config.Config, name string) error {
	if !isOwn(cfg, name) {
		return nil
	}
	dir := filepath.Dir(cfg.Sources[name].Path())
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	key := "links.database"
	if isStore(cfg, name) {
		key = "kv.store"
	}
	return config.Problems{cfg.Problem(key, fmt.Sprintf("there is no directory %s: mkdir -p %s",
		dir, dir))}
}

// unmade says so.
func unmade(s *config.Source) source.Finding {
	return source.Finding{Level: source.LevelInfo,
		Text: s.Path() + " is not there yet: hotrow serve makes it"}
}

func (o opened) close() error {
	var errs []error
	for _, s := range o {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// auditRate is how many documents a second are read again from a database and compared
// with what is kept: what a mistake of ours would be seen by, at a cost that no database
// feels.
const auditRate = 2

// sourceOptions are the options of the resource package for every source.
func sourceOptions(cfg *config.Config, o opened) []resource.SourceOptions {
	var list []resource.SourceOptions
	for name, src := range o {
		s := cfg.Sources[name]
		list = append(list, resource.SourceOptions{
			Name: name, Source: src, Mode: source.FeedMode(s.Feed.Mode),
			Readers:      s.Pool.Max,
			Timeout:      time.Duration(s.StatementTimeout),
			StaleAfter:   time.Duration(s.Feed.StaleAfter),
			OnLag:        resource.OnLag(s.Feed.OnLag),
			MaxStale:     time.Duration(s.Feed.MaxStale),
			StaleIfError: time.Duration(s.Feed.StaleIfError),
			Audit:        auditRate,
		})
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list
}

// resourceSpecs are the resources of cfg in the words of the resource package. keyed says
// that the shortener may have a key.
func resourceSpecs(cfg *config.Config, keyed bool) ([]resource.Spec, error) {
	specs, err := cfg.Specs()
	if err != nil {
		return nil, err
	}
	list := make([]resource.Spec, len(specs), len(specs)+2)
	for i := range specs {
		s := &specs[i]
		list[i] = resource.Spec{
			Source: s.Source, Table: s.Spec,
			Writable: s.Writable, Methods: s.Methods,
			RequireIfMatch: s.RequireIfMatch, MaxLimit: s.MaxLimit, TTL: s.TTL,
			Formats: s.Formats, Pass: !s.Memory,
			Stale:  resource.StalePolicy{OnLag: (*resource.OnLag)(&s.OnLag)},
			Access: resource.Access{Read: resource.Rule(s.Read), Write: resource.Rule(s.Write)},
		}
		if rows := cfg.Resources[s.Name].Rows; rows.On() {
			list[i].Rows = rowsOf(rows, list[i].Access)
			list[i].Access = resource.Access{Read: "none", Write: "none"}
		}
		if k := s.KV; k.Field != "" {
			list[i].Preparer = kv.Column{Value: k.Field, Flags: k.Flags, Unique: k.CAS}
		}
		if s.Warm {
			list[i].Warm = &resource.Warm{Query: s.WarmQuery}
		}
	}
	for _, spec := range ownSpecs(cfg, keyed) {
		list = append(list, *spec)
	}
	return list, nil
}

// followedSpecs returns what is followed of the sources of cfg: its resources, and those of
// hotrow's own, as resourceSpecs has them. By it doctor looks at what serve asks for.
func followedSpecs(cfg *config.Config) ([]config.ResourceSpec, error) {
	list, err := cfg.Specs()
	if err != nil {
		return nil, err
	}
	for _, spec := range ownSpecs(cfg, true) {
		list = append(list, config.ResourceSpec{Name: spec.Table.Name, Source: spec.Source,
			Spec: spec.Table, Memory: true, Read: string(spec.Access.Read),
			Write: string(spec.Access.Write)})
	}
	return list, nil
}

// ownSpecs returns the resources over tables that hotrow makes.
func ownSpecs(cfg *config.Config, keyed bool) (list []*resource.Spec) {
	for _, spec := range []*resource.Spec{linksSpec(cfg, keyed), storeSpec(cfg)} {
		if spec != nil {
			list = append(list, spec)
		}
	}
	return list
}

// isOwnSpec reports whether a resource is over a table that hotrow makes when it serves.
func isOwnSpec(cfg *config.Config, s *config.ResourceSpec) bool {
	return slices.ContainsFunc(ownSpecs(cfg, true), func(own *resource.Spec) bool {
		return own.Source == s.Source && own.Table.Name == s.Name
	})
}

// discover returns cfg with a resource for every table of its one source.
func discover(
	ctx context.Context, cfg *config.Config, src source.Source, name string, writable bool,
) (found *config.Config, server string, leftOut []config.Omission, err error) {
	cat, err := catalog(ctx, src)
	if err != nil {
		return nil, "", nil, err
	}
	found, leftOut, err = cfg.Discover(cat, name, writable)
	return found, cat.Server, leftOut, err
}

// catalog returns the tables of a source. Those of the link shortener are no resources by
// themselves: they have its keys, and what visitors are told apart by.
func catalog(ctx context.Context, src source.Source) (*source.Catalog, error) {
	cat, err := src.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	bySchema := make(map[string][]string)
	for i := range cat.Tables {
		t := &cat.Tables[i]
		bySchema[t.Schema] = append(bySchema[t.Schema], t.Name)
	}
	for name, tables := range bySchema {
		own := schema.Own(tables)
		for i := range cat.Tables {
			if t := &cat.Tables[i]; t.Schema == name && slices.Contains(own, t.Name) {
				t.Refused = "it is one of hotrow's own, for links"
			}
		}
	}
	return cat, nil
}

// rowsOf is the rule of a resource about its rows.
func rowsOf(r config.Rows, access resource.Access) *resource.RowRule {
	terms := func(of map[string]*config.Claim) (list []resource.RowTerm) {
		for _, column := range slices.Sorted(maps.Keys(of)) {
			path, in := of[column].Path()
			list = append(list, resource.RowTerm{Column: column, Path: path, In: in})
		}
		return list
	}
	rows := &resource.RowRule{Access: access, Read: terms(r.Read), Write: terms(r.Write),
		Except: r.Except}
	if rows.Write == nil {
		rows.Write = rows.Read
	}
	return rows
}
