package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Load reads the file at path ("" for none), applies the overrides of env
// ("NAME=value" as os.Environ gives it) and checks the whole. The error is
// Problems when the file or a variable is wrong: all that is wrong at once.
//
// Whether listeners may be reached from elsewhere depends on a flag: see
// CheckExposure.
func Load(path string, env []string) (*Config, []Warning, error) {
	text := ""
	if path != "" {
		var err error
		if text, err = readFile(path); err != nil {
			return nil, nil, err
		}
	}
	return load(path, text, env)
}

// Parse is Load of a text; name stands for the file in messages.
func Parse(name, text string, env []string) (*Config, []Warning, error) {
	if len(text) > maxFile {
		return nil, nil, tooLarge(name)
	}
	return load(name, text, env)
}

// tooLarge is the error of a file of more than maxFile bytes.
func tooLarge(name string) error {
	return Problems{{File: name, Text: fmt.Sprintf("has more than %d bytes", maxFile)}}
}

// load reads the text of a file called file.
func load(file, text string, env []string) (*Config, []Warning, error) {
	text = strings.TrimPrefix(text, "\ufeff") // which some editors put there
	doc := newDocument(file, filepath.Dir(file), text)
	environ := newEnvironment(env)
	root, problems := parse(doc, text)
	if len(problems) > 0 {
		return nil, nil, problems.err()
	}
	c := Default()
	c.doc = doc
	if root != nil {
		d := &decoder{doc: doc, env: environ, anchors: make(map[string]ast.Node)}
		d.decode(root, reflect.ValueOf(c).Elem(), "", "")
		problems = d.problems
	}
	return c.finish(environ, problems)
}

// FromURL returns the configuration of "serve URL": every default, one source
// called main, and the overrides of env. url may be the path of a SQLite file.
func FromURL(url string, env []string) (*Config, []Warning, error) {
	if ext := filepath.Ext(url); ext == ".yaml" || ext == ".yml" {
		return nil, nil, fmt.Errorf("%s is the name of a configuration, not of a database:"+
			" a configuration is given with -c %s", url, url)
	}
	c := Default()
	c.doc = newDocument("", "", "")
	s := DefaultSource()
	s.URL = Secret(NormalizeURL(url))
	c.Sources["main"] = s
	c, warnings, err := c.finish(newEnvironment(env), nil)
	if err == nil && hasPassword(url) {
		warnings = append(warnings, Warning{Where: "argument",
			Text: "ps shows the password of the database" + elsewhere(s.Driver())})
	}
	return c, warnings, err
}

// finish applies the environment, fills in what depends on the rest, and
// checks. A path that has a problem already gets no second one.
func (c *Config) finish(env environment, problems Problems) (*Config, []Warning, error) {
	warnings, more := c.overlay(env)
	problems = append(problems, more...)
	c.placeFiles()
	c.complete()
	bad := make(map[string]bool, len(problems))
	for _, p := range problems {
		bad[p.Path] = true
	}
	v := &validator{c: c, bad: bad}
	v.all()
	if err := append(problems, v.problems...).err(); err != nil {
		return nil, warnings, err
	}
	return c, append(warnings, v.warnings...), nil
}

// readFile returns the content of a regular file of at most maxFile bytes.
func readFile(path string) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s: no such file: make one with hotrow init URL > %s", path, path)
	}
	if err != nil {
		return "", fmt.Errorf("read configuration: %w", err)
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return "", fmt.Errorf("read configuration: %w", err)
	}
	if len(b) > maxFile {
		return "", tooLarge(path)
	}
	return string(b), nil
}
