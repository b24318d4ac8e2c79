package source

import "strings"

// A Template is a statement cut where its parameters are: the text before each,
// its name, and in the end the text after the last.
type Template struct {
	Texts  []string // one more than Params
	Params []string
}

// With returns the statement with the parameters replaced by what give returns.
func (t *Template) With(give func(name string) string) string {
	var b strings.Builder
	for i, name := range t.Params {
		b.WriteString(t.Texts[i])
		b.WriteString(give(name))
	}
	b.WriteString(t.Texts[len(t.Params)])
	return b.String()
}
