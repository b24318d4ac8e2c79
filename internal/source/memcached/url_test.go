package memcached

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

func TestParseURL(t *testing.T) {
	for url, want := range map[string]target{
		"memcached://localhost":          {network: "tcp", address: "localhost:11211"},
		"memcached://h:1/":               {network: "tcp", address: "h:1"},
		"memcached://[::1]":              {network: "tcp", address: "[::1]:11211"},
		"memcached:///run/mc.sock":       {network: "unix", address: "/run/mc.sock"},
		"memcached://unix:/run/mc.sock":  {network: "unix", address: "/run/mc.sock"},
		"memcached://unix/run/mc.sock":   {network: "unix", address: "/run/mc.sock"},
		"memcached://unix":               {network: "tcp", address: "unix:11211"},
		"memcached://ann:se%40cret@h:22": {network: "tcp", address: "h:22", user: "ann", password: "se@cret"},
	} {
		if got, err := parseURL(url); err != nil || got != want {
			t.Errorf("%s is %+v, %v, want %+v", url, got, err, want)
		}
	}
	for _, url := range []string{
		"", "memcached:", "memcached://", "memcached:///", "memcached:h", "mysql://h",
		"memcached://h/db", "memcached://h?a=b", "memcached://h#a", "memcached://:11211",
		"memcached://secret@h", "memcached://:secret@h", "memcached://a%20b:secret@h",
		"memcached://h:secret", "memcached://ann:secret%0a@h",
	} {
		got, err := parseURL(url)
		if err == nil {
			t.Errorf("%s is %+v", url, got)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("a password is shown: %v", err)
		}
	}
}

func TestSource_SaysWhatAMemcachedServerHasNot(t *testing.T) {
	s := openSource(t, "memcached://localhost", Options{})
	if _, err := s.Catalog(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a catalogue: %v", err)
	}
	if err := s.Exec(t.Context(), "SELECT 1"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a statement: %v", err)
	}
	for _, mode := range []source.FeedMode{source.FeedAuto, source.FeedNone} {
		feed, why, err := s.OpenFeed(t.Context(), mode, nil)
		if feed != nil || err != nil || !strings.Contains(why, "memcached reports no changes") {
			t.Errorf("the feed %s is %v, %q, %v", mode, feed, why, err)
		}
	}
	if _, _, err := s.OpenFeed(t.Context(), source.FeedBinlog, nil); err == nil {
		t.Error("a binlog is followed")
	}
	if _, err := s.Doctor(t.Context(), source.FeedBinlog, nil); err == nil {
		t.Error("a binlog is doctored")
	}
	p := mustCompile(t, s, users)
	if _, err := p.List(t.Context(), nil, 1); source.ClassOf(err) != source.Invalid {
		t.Errorf("a list: %v", err)
	}
	if sql := p.SQL(); len(sql) != 1 || sql[0] != "get user:{key}" {
		t.Errorf("the command is %q", sql)
	}
}

func TestSource_CompileRefusesWhatIsOfDatabases(t *testing.T) {
	s := openSource(t, "memcached://localhost", Options{})
	ok := func() *source.Spec {
		v := users
		return &source.Spec{Name: "r", Value: &v}
	}
	for _, change := range []func(*source.Spec){
		func(p *source.Spec) { p.Value = nil },
		func(p *source.Spec) { p.Table = "t" },
		func(p *source.Spec) { p.Query = "SELECT 1" },
		func(p *source.Spec) { p.Key = []string{"a", "b"} },
		func(p *source.Spec) { p.Only = true },
		func(p *source.Spec) { p.Fields = map[string]source.FieldSpec{"a": {}} },
		func(p *source.Spec) { p.Embeds = make([]source.Embed, 1) },
		func(p *source.Spec) { p.Depends = make([]source.Dep, 1) },
		func(p *source.Spec) { p.Value.Prefix = "a b" },
		func(p *source.Spec) { p.Value.Prefix = "\xff" },
		func(p *source.Spec) { p.Value.Prefix = strings.Repeat("a", maxPrefix+1) },
		func(p *source.Spec) { p.Value.KeyKind = row.Date },
		func(p *source.Spec) { p.Value.Format = "" },
	} {
		spec := ok()
		change(spec)
		if _, err := s.Compile(context.Background(), spec); err == nil {
			t.Errorf("%+v %+v is compiled", spec, spec.Value)
		}
	}
	if _, err := s.Compile(context.Background(), ok()); err != nil {
		t.Error(err)
	}
}
