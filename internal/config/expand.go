package config

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// environment is what the process was given, by name.
type environment map[string]string

// newEnvironment reads "NAME=value" pairs; as in a shell, the last one counts.
func newEnvironment(env []string) environment {
	m := make(environment, len(env))
	for _, kv := range env {
		if name, value, ok := strings.Cut(kv, "="); ok {
			m[name] = value
		}
	}
	return m
}

// expand replaces ${NAME} and ${NAME:-default} in s, and $${ by ${. As in a
// shell, the default counts when the variable is unset or empty. It calls used
// with each name. Expansion happens after the file is parsed, so that no value
// of a variable can change what the file means.
func (e environment) expand(s string, used func(name string)) (string, error) {
	var b strings.Builder
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			b.WriteString(s)
			return b.String(), nil
		}
		if i > 0 && s[i-1] == '$' {
			b.WriteString(s[:i])
			b.WriteByte('{')
			s = s[i+2:]
			continue
		}
		b.WriteString(s[:i])
		end := strings.IndexByte(s[i:], '}')
		if end < 0 {
			return "", fmt.Errorf("${ without its }; write $${ for a plain ${")
		}
		name, fallback, hasFallback := strings.Cut(s[i+2:i+end], ":-")
		s = s[i+end+1:]
		if !variableName.MatchString(name) {
			return "", fmt.Errorf("%q is not the name of a variable: want ${NAME} or "+
				"${NAME:-default}, or $${ for a plain ${", name)
		}
		used(name)
		value, ok := e[name]
		switch {
		case hasFallback && value == "":
			b.WriteString(fallback)
		case ok:
			b.WriteString(value)
		default:
			return "", fmt.Errorf("variable %s is not set: set it, or write ${%s:-default}",
				name, name)
		}
	}
}

// maxSmallFile bounds a file that a value names: a secret, a certificate.
const maxSmallFile = 64 << 10

// readSecret returns the content of the file that "file:PATH" names, without
// the line end. Other users must not be able to read it.
func readSecret(path, dir string, private bool) (string, error) {
	if path == "" {
		return "", fmt.Errorf("file: needs a path, such as file:/run/secrets/database_url")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	b, err := readSmall("secret file", path, private)
	return strings.TrimRight(string(b), "\r\n"), err
}

// readSmall returns the content of a file; kind says in messages what it is for.
// One that is private must not be readable by everybody.
func readSmall(kind, path string, private bool) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s %s is not a regular file", kind, path)
	case private && info.Mode().Perm()&0o004 != 0:
		return nil, fmt.Errorf("%s %s can be read by everybody: chmod o-r %s", kind, path, path)
	case info.Size() > maxSmallFile:
		return nil, fmt.Errorf("%s %s has more than %d bytes", kind, path, maxSmallFile)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	return b, nil
}
