package config

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds on a file. Depth is bounded before the parser runs, because it calls
// itself for each level.
const (
	maxFile  = 1 << 20
	maxDepth = 64
	maxNodes = 100_000 // that decoding visits, aliases counted each time

	// maxTokens bounds the parser's time, which grows with the square of the
	// tokens in the worst case. A resource takes some thirty.
	maxTokens = 100_000
)

// parse returns the one document of a file, nil when it is empty.
func parse(doc *document, text string) (root ast.Node, problems Problems) {
	// The parser is a library that reads text which anybody may have written:
	// a fault of its own must not end the process without a word.
	defer func() {
		if r := recover(); r != nil {
			text := shorten(fmt.Sprintf("cannot be read as YAML: %v", r))
			problems = Problems{{File: doc.file, Text: text}}
		}
	}()
	if strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff") {
		return nil, Problems{{File: doc.file, Text: "it is UTF-16: save it as UTF-8"}}
	}
	if !utf8.ValidString(text) {
		return nil, Problems{{File: doc.file, Text: "is not valid UTF-8"}}
	}
	tokens := lexer.Tokenize(text)
	if len(tokens) > maxTokens {
		text := fmt.Sprintf("has more than %d words and marks", maxTokens)
		return nil, Problems{{File: doc.file, Text: text}}
	}
	if p := tooDeep(doc, tokens); p != nil {
		return nil, Problems{*p}
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, Problems{syntaxProblem(doc, err)}
	}
	for _, d := range file.Docs {
		if d == nil || d.Body == nil {
			continue
		}
		if root != nil {
			pl := placeOf(d.Body)
			return nil, Problems{doc.problem(pl, "", "a file holds one document: remove ---")}
		}
		root = d.Body
	}
	return root, nil
}

// syntaxProblem turns an error of the parser into a problem.
func syntaxProblem(doc *document, err error) Problem {
	var syntax *yaml.SyntaxError
	if errors.As(err, &syntax) && syntax.Token != nil && syntax.Token.Position != nil {
		at := syntax.Token.Position
		text := "not valid YAML: " + syntax.Message
		if strings.Contains(syntax.Message, "'\t'") {
			text = "not valid YAML: lines are indented with spaces, never with tabs"
		}
		return doc.problem(place{line: at.Line, col: at.Column}, "", text)
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return Problem{File: doc.file, Text: "not valid YAML: " + first}
}

// tooDeep returns a problem when the tokens nest deeper than maxDepth: open
// brackets, and marks of block collections that stand on one line. Blocks that
// nest by indentation are bounded by the column.
func tooDeep(doc *document, tokens token.Tokens) *Problem {
	flow, line, marks := 0, 0, 0
	for _, tk := range tokens {
		if tk.Position.Line != line {
			line, marks = tk.Position.Line, 0
			if flow == 0 && tk.Position.Column > 4*maxDepth {
				return deep(doc, tk)
			}
		}
		switch tk.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow = max(0, flow-1)
		case token.SequenceEntryType, token.MappingKeyType:
			marks++
		case token.TagType:
			p := problemAt(doc, tk, "tags (!) are not supported: remove it")
			return &p
		}
		if flow > maxDepth || marks > maxDepth {
			return deep(doc, tk)
		}
	}
	return nil
}

// deep returns the problem of a token that is nested too deep.
func deep(doc *document, tk *token.Token) *Problem {
	p := problemAt(doc, tk, fmt.Sprintf("nested deeper than %d levels", maxDepth))
	return &p
}

// problemAt returns a problem at a token.
func problemAt(doc *document, tk *token.Token, text string) Problem {
	return doc.problem(place{line: tk.Position.Line, col: tk.Position.Column}, "", text)
}

// placeOf returns where a node begins.
func placeOf(n ast.Node) place {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 && !m.IsFlowStyle {
		return placeOf(m.Values[0])
	}
	if v, ok := n.(*ast.MappingValueNode); ok {
		return placeOf(v.Key)
	}
	tk := n.GetToken()
	if tk == nil || tk.Position == nil {
		return place{line: 1, col: 1}
	}
	return place{line: tk.Position.Line, col: tk.Position.Column}
}
