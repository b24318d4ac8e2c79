package config

import (
	"fmt"
	"sort"
	"strings"
)

// maxProblems bounds how many problems one error tells.
const maxProblems = 100

// A Problem is one thing that is wrong, and where.
type Problem struct {
	File    string // or the environment variable
	Line    int    // from 1; 0: not in the file
	Col     int    // from 1, in characters
	Path    string // "resources.depts.key"; "" for the file as a whole
	Text    string // what is wrong, and how to mend it
	Excerpt string // the line with a mark below; secrets are masked
}

// String returns "file:line:col: path: text" and the excerpt.
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File)
		if p.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", p.Line, p.Col)
		}
		b.WriteString(": ")
	}
	if p.Path != "" {
		b.WriteString(strings.Map(printable, p.Path))
		b.WriteString(": ")
	}
	b.WriteString(strings.Map(printable, p.Text))
	if p.Excerpt != "" {
		b.WriteByte('\n')
		b.WriteString(p.Excerpt)
	}
	return b.String()
}

// Problems is the error that tells everything that is wrong at once, in the
// order of the file.
type Problems []Problem

// Error returns one block of text for each problem.
func (ps Problems) Error() string {
	parts := make([]string, 0, len(ps)+1)
	for i, p := range ps {
		if i == maxProblems {
			parts = append(parts, fmt.Sprintf("and %d more problems", len(ps)-i))
			break
		}
		parts = append(parts, p.String())
	}
	return strings.Join(parts, "\n")
}

// err returns ps as an error, sorted, or nil when there is none.
func (ps Problems) err() error {
	if len(ps) == 0 {
		return nil
	}
	sort.SliceStable(ps, func(i, j int) bool {
		a, b := ps[i], ps[j]
		if (a.Line == 0) != (b.Line == 0) {
			return a.Line > 0
		}
		if a.Line != b.Line {
			return a.Line < b.Line
		}
		if a.Col != b.Col {
			return a.Col < b.Col
		}
		return a.Path < b.Path
	})
	return ps
}

// A Warning is something that does not keep hotrow from starting.
type Warning struct {
	Where string // file:line:col or the environment variable
	Text  string
}

// String returns "where: text".
func (w Warning) String() string { return w.Where + ": " + w.Text }

// A place is where a value was written.
type place struct {
	line, col int
	variable  string // the environment variable that overrides the file, or ""
}

// A document remembers where each value of a Config came from.
type document struct {
	file  string
	dir   string // that relative secret files are looked for in
	lines []string
	set   map[string]place // by path
	used  map[string]bool  // environment variables that values name
	shown map[string]bool  // paths of URLs whose password is in the text itself
}

// newDocument returns a document of the text of a file.
func newDocument(file, dir, text string) *document {
	return &document{
		file:  file,
		dir:   dir,
		lines: strings.Split(text, "\n"),
		set:   make(map[string]place),
		used:  make(map[string]bool),
		shown: make(map[string]bool),
	}
}

// isSet reports whether the file or the environment gives path a value.
func (c *Config) isSet(path string) bool {
	if c.doc == nil {
		return false
	}
	_, ok := c.doc.set[path]
	return ok
}

// Problem returns a problem at path, or, where the file does not have it, at
// the nearest mapping around it. Commands use it for what only the database
// knows to be wrong.
func (c *Config) Problem(path, text string) Problem {
	p := Problem{Path: path, Text: text}
	if c.doc == nil {
		return p
	}
	for at := path; ; {
		if pl, ok := c.doc.set[at]; ok {
			return c.doc.problem(pl, path, text)
		}
		dot := strings.LastIndexAny(at, ".[")
		if dot < 0 {
			p.File = c.doc.file
			return p
		}
		at = at[:dot]
	}
}

// maxText bounds a message, which may quote a value of any length.
const maxText = 400

// shorten cuts a message that is too long to be read.
func shorten(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "..."
}

// problem returns a problem at a place.
func (d *document) problem(pl place, path, text string) Problem {
	if pl.variable != "" {
		return Problem{File: pl.variable, Path: path, Text: shorten(text)}
	}
	p := Problem{File: d.file, Line: pl.line, Col: pl.col, Path: path, Text: shorten(text)}
	p.Excerpt = excerpt(d.lines, pl.line, pl.col)
	return p
}
