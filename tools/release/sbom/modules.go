package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A module is one that go list tells of.
type module struct {
	Path, Version, Sum, Dir string
	Main                    bool

	imports map[string]bool // paths of other modules
}

// A pkg is a package that go list tells of.
type pkg struct {
	ImportPath string
	Imports    []string
	Standard   bool
	Module     *module
}

// linked returns the modules of a program by their paths. All modules of the workspace are ours:
// they count as the program's own module, which has this version.
func linked(program, version string) (map[string]*module, error) {
	std, err := standard()
	if err != nil {
		return nil, err
	}
	packages, err := list(program)
	if err != nil {
		return nil, err
	}
	own := packages[len(packages)-1].Module // the program comes after all that it imports
	own.Version = version
	modules, of := make(map[string]*module), make(map[string]*module) // of packages
	for _, p := range packages {
		m := p.Module
		switch {
		case p.Standard:
			m = std
		case m.Main:
			m = own
		}
		if modules[m.Path] == nil {
			m.imports = make(map[string]bool)
			modules[m.Path] = m
		}
		of[p.ImportPath] = modules[m.Path]
	}
	for _, p := range packages {
		from := of[p.ImportPath]
		for _, name := range p.Imports {
			if to := of[name]; to != nil && to != from { // "C" is no package
				from.imports[to.Path] = true
			}
		}
	}
	return modules, nil
}

// standard returns the standard library as a module.
func standard() (*module, error) {
	out, err := exec.Command("go", "env", "GOVERSION", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	version, root, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return &module{Path: "std", Version: version, Dir: root}, nil
}

// list returns the packages of a program.
func list(program string) (all []pkg, err error) {
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Imports,Standard,Module", program)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	for d := json.NewDecoder(out); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		all = append(all, p)
	}
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	return all, nil
}

// texts are words of licences that no other of these has, by the names that SPDX gives them.
var texts = []struct {
	id    string
	words *regexp.Regexp
	not   string
}{
	{"Apache-2.0", regexp.MustCompile(`Apache License\s+Version 2\.0`), ""},
	{"MPL-2.0", regexp.MustCompile(`Mozilla Public License,? [Vv]ersion 2\.0`), ""},
	{"MIT", regexp.MustCompile(`Permission is hereby granted, free of charge`), ""},
	{"BSD-3-Clause", regexp.MustCompile(`(?s)Redistribution and use in source.*Neither the name`), ""},
	{"BSD-2-Clause", regexp.MustCompile(`Redistribution and use in source`), "Neither the name"},
}

// licences returns the licences that files in a module's directory show.
func licences(dir string) (ids []string, err error) {
	for _, pattern := range []string{"LICENSE*", "LICENCE*", "COPYING*"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			for _, t := range texts {
				if t.words.Match(text) && (t.not == "" || !strings.Contains(string(text), t.not)) {
					ids = append(ids, t.id)
				}
			}
		}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("nothing in %s is a licence that is known here", dir)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}
