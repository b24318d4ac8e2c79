package config

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/hotrow/hotrow/internal/source"
)

// Init writes a configuration for the tables of a catalogue, with the embedding
// that foreign keys suggest as comments. It loads without an error.
func Init(cat *source.Catalog, url, variable string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Made by hotrow init from %s.\n", comment(cat.Server))
	b.WriteString("# Check it with: hotrow check -c FILE. Every key that is not here has " +
		"its default.\nversion: 1\n\n")
	writeSource(&b, url, variable)
	tables, leftOut := candidates(cat)
	for i, t := range tables {
		writeTable(&b, cat, t, i == 0)
	}
	if len(tables) == 0 {
		b.WriteString("# No table can be a resource.\nresources: {}\n")
	}
	for _, o := range leftOut {
		fmt.Fprintf(&b, "  # %s is left out: %s\n", comment(o.What), comment(o.Why))
	}
	return b.Bytes()
}

// goodName reports whether a table's name can be a resource's.
func goodName(name string) bool {
	v := &validator{c: &Config{}}
	v.resourceName("", name)
	return len(v.problems) == 0
}

var passwordInURL = regexp.MustCompile(`(://[^:/@\s]*):.*@`)

// writeSource writes the sources. A password is not written down: the variable that
// holds it is, if there is one.
func writeSource(b *bytes.Buffer, url, variable string) {
	url = NormalizeURL(url)
	b.WriteString("sources:\n  main:\n")
	clean := passwordInURL.ReplaceAllString(url, "${1}@")
	clean = paramPassword.ReplaceAllString(clean, "")
	switch {
	case clean != url && variable != "":
		fmt.Fprintf(b, "    # %s. A service has the variable in /etc/default/hotrow.\n",
			comment(clean))
		fmt.Fprintf(b, "    url: ${%s}\n\n", variable)
		return
	case clean != url:
		b.WriteString("    # The password is left out: set PGPASSWORD, use ~/.pgpass, or write\n" +
			"    # url: ${DATABASE_URL} or url: file:PATH.\n")
	}
	fmt.Fprintf(b, "    url: %s\n\n", quote(clean))
}

// writeTable writes one resource.
func writeTable(b *bytes.Buffer, cat *source.Catalog, t *source.Table, first bool) {
	if first {
		b.WriteString("resources:\n")
	}
	if t.Comment != "" {
		fmt.Fprintf(b, "  # %s\n", comment(t.Comment))
	}
	fmt.Fprintf(b, "  %s:\n    table: %s\n    key: %s\n",
		quoteKey(t.Resource()), quote(tableName(t)), list(t.Key))
	if secrets := secretColumns(t); len(secrets) > 0 {
		b.WriteString("    fields:\n")
		for _, c := range secrets {
			fmt.Fprintf(b, "      %s: {hide: true}  # looks like a secret\n", quoteKey(c))
		}
	}
	writeEmbeds(b, cat, t)
	b.WriteByte('\n')
}

// writeEmbeds writes, as comments, the tables whose foreign keys name the key
// of t.
func writeEmbeds(b *bytes.Buffer, cat *source.Catalog, t *source.Table) {
	begun := false
	used := make(map[string]bool)
	for i := range cat.Tables {
		child := &cat.Tables[i]
		for _, fk := range child.Foreign {
			refersToKey := fk.Table == t.ID() && equal(fk.References, t.Key)
			usable := child.Refused == "" && len(child.Key) > 0 && child.ID() != t.ID()
			if !usable || !refersToKey {
				continue
			}
			if !begun {
				b.WriteString("    # embed:\n")
				begun = true
			}
			name := child.Name
			if used[name] {
				name += "_" + strings.Join(fk.Columns, "_")
			}
			used[name] = true
			text := fmt.Sprintf("%s: {resource: %s, on: %s, order: %s}", quoteKey(name),
				quote(child.Resource()), list(fk.Columns), list(child.Key))
			fmt.Fprintf(b, "    #   %s\n", comment(text))
		}
	}
}

// equal reports whether two lists of columns are one; an empty list of
// referenced columns means the key.
func equal(references, key []string) bool {
	if len(references) == 0 {
		return true
	}
	return strings.Join(references, "\x00") == strings.Join(key, "\x00")
}

// list writes one column as it is, and several as a list.
func list(columns []string) string {
	if len(columns) == 1 {
		return quote(columns[0])
	}
	quoted := make([]string, len(columns))
	for i, c := range columns {
		quoted[i] = quote(c)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

var plainText = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)

// quote writes text as a value, in which variables are replaced.
func quote(s string) string { return quoteKey(strings.ReplaceAll(s, "${", "$${")) }

// quoteKey writes text as YAML. What is not plainly a word is quoted, and so
// are the words that YAML reads as something else.
func quoteKey(s string) string {
	if plainText.MatchString(s) {
		if b, err := yaml.Marshal(s); err == nil && strings.TrimSpace(string(b)) == s {
			return s
		}
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || (r >= 0x7f && r < 0xa0) || r == 0x2028 || r == 0x2029 || r == 0xfeff:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// comment makes text fit for one line of a comment.
func comment(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || (r >= 0x7f && r < 0xa0) || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, s)
}
