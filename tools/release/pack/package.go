package main

import (
	"cmp"
	"os"
	"slices"
	"strings"
)

// What both kinds of packages say of themselves.
const (
	name        = "hotrow"
	maintainer  = "The hotrow maintainers <maintainers@hotrow.invalid>"
	homepage    = "https://github.com/hotrow/hotrow"
	summary     = "cache of a database's rows, kept fresh by its change feed"
	description = "hotrow serves the rows of PostgreSQL, MariaDB, MySQL and SQLite from memory,\n" +
		"over HTTP and other protocols, and follows the database's own change feed."
)

// A file is one that a package installs, root's.
type file struct {
	path, source string
	mode         int64
	config       bool   // the operator's: an upgrade leaves it as it is once it has changed
	only         string // the kind of package; none: both
	text         []byte
}

// installed are the files of packages beside the program.
var installed = []file{
	{path: "/usr/lib/systemd/system/hotrow.service", source: "deploy/systemd/hotrow.service"},
	{path: "/usr/lib/systemd/system/hotrow.socket", source: "deploy/systemd/hotrow.socket"},
	{path: "/usr/lib/systemd/system/hotrow-wire.socket",
		source: "deploy/systemd/hotrow-wire.socket"},
	{path: "/usr/lib/systemd/system/hotrow-resp.socket",
		source: "deploy/systemd/hotrow-resp.socket"},
	{path: "/etc/hotrow/hotrow.yaml", source: "deploy/package/hotrow.yaml", config: true},
	{path: "/etc/default/hotrow", source: "deploy/package/default", config: true, mode: 0o600},
	{path: "/usr/share/man/man1/hotrow.1.gz", source: "build/release-files/hotrow.1.gz"},
	{path: "/usr/share/bash-completion/completions/hotrow",
		source: "build/release-files/hotrow.bash"},
	{path: "/usr/share/fish/vendor_completions.d/hotrow.fish",
		source: "build/release-files/hotrow.fish"},
	{path: "/usr/share/zsh/vendor-completions/_hotrow", source: "build/release-files/_hotrow",
		only: "deb"},
	{path: "/usr/share/zsh/site-functions/_hotrow", source: "build/release-files/_hotrow",
		only: "rpm"},
	{path: "/usr/share/doc/hotrow/copyright", source: "deploy/package/copyright", only: "deb"},
	{path: "/usr/share/licenses/hotrow/LICENSE", source: "LICENSE", only: "rpm"},
	{path: "/usr/share/doc/hotrow/NOTICES.txt", source: "deploy/NOTICES.txt"},
	{path: "/usr/share/doc/hotrow/CHANGELOG.md", source: "CHANGELOG.md"},
	{path: "/usr/share/doc/hotrow/examples/hotrow.yaml", source: "hotrow.example.yaml"},
}

// files returns the files of a kind of package, read, in the order of their paths.
func (o *options) files(kind string) (all []file, err error) {
	program := file{path: "/usr/bin/hotrow", source: o.binary, mode: 0o755}
	for _, f := range append(slices.Clone(installed), program) {
		if f.only != "" && f.only != kind {
			continue
		}
		f.mode = cmp.Or(f.mode, 0o644)
		if f.text, err = os.ReadFile(f.source); err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return all, nil
}

// packageVersion returns the version as packages order it: one before a release (-rc.1) is
// older than it.
func (o *options) packageVersion() string {
	version, before, ok := strings.Cut(o.version, "-")
	if !ok {
		return version
	}
	return version + "~" + strings.ReplaceAll(before, "-", "_")
}

// script returns a script of packages.
func script(name string) ([]byte, error) { return os.ReadFile("deploy/package/" + name + ".sh") }
