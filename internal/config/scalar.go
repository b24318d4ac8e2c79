package config

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/hotrow/hotrow/internal/row"
)

// textSetter is a value that reads its own text.
type textSetter interface{ setText(string) error }

var (
	textSetterType = reflect.TypeFor[textSetter]()
	secretType     = reflect.TypeFor[Secret]()
	hiddenType     = reflect.TypeFor[Hidden]()
)

// isScalarType reports whether one text makes a value of type t.
func isScalarType(t reflect.Type) bool {
	if reflect.PointerTo(t).Implements(textSetterType) {
		return true
	}
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int:
		return true
	}
	return false
}

// scalarText returns the text of a plain value as it stands in the file.
func scalarText(n ast.Node) (string, bool) {
	switch t := n.(type) {
	case *ast.StringNode:
		return t.Value, true
	case *ast.LiteralNode:
		if t.Value == nil {
			return "", true
		}
		return t.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return strings.TrimSpace(n.GetToken().Value), true
	}
	return "", false
}

// describe names what a node is, for messages. It shows no text: it might be a
// secret.
func describe(n ast.Node) string {
	switch n.(type) {
	case nil, *ast.NullNode:
		return "nothing"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "keys with values"
	case *ast.SequenceNode:
		return "a list"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "a number"
	case *ast.BoolNode:
		return "true or false"
	default:
		return "text"
	}
}

// scalar fills v from one text.
func (d *decoder) scalar(n ast.Node, v reflect.Value, path string, tag reflect.StructTag) bool {
	if seq, isList := n.(*ast.SequenceNode); isList && tag.Get("words") != "" {
		return d.words(seq, v, path, tag)
	}
	raw, ok := scalarText(n)
	if !ok {
		if _, null := n.(*ast.NullNode); null {
			d.addf(n, path, "has no value: remove the key, or give it one")
		} else {
			d.addf(n, path, "want a single value, found %s", describe(n))
		}
		return false
	}
	text, err := d.env.expand(raw, func(name string) { d.doc.used[name] = true })
	if err == nil && text == raw {
		err = checkYAMLType(n, v, text)
	}
	isSecret := v.Type() == secretType || v.Type() == hiddenType
	if isSecret && hasPassword(raw) {
		d.doc.shown[path] = true
	}
	if file, isFile := strings.CutPrefix(text, "file:"); err == nil && isFile && isSecret {
		text, err = readSecret(file, d.doc.dir, tag.Get("public") == "")
	}
	if err == nil {
		err = setScalar(v, text, tag)
	}
	if err != nil {
		d.addf(n, path, "%v", err)
		return false
	}
	return true
}

// words fills v from a list of texts, as if they were one with blanks between them.
func (d *decoder) words(
	seq *ast.SequenceNode, v reflect.Value, path string, tag reflect.StructTag,
) bool {
	var list []string
	for i, item := range seq.Values {
		var word, before string
		// Within {...} the parser takes role:NAME for a mapping.
		if m, ok := item.(*ast.MappingNode); ok && len(m.Values) == 1 {
			item, before = m.Values[0].Value, m.Values[0].Key.GetToken().Value+":"
		}
		at := fmt.Sprintf("%s[%d]", path, i)
		if !d.decode(item, reflect.ValueOf(&word).Elem(), at, "") {
			return false
		}
		list = append(list, before+word)
	}
	if err := setScalar(v, strings.Join(list, " "), tag); err != nil {
		d.addf(seq, path, "%v", err)
		return false
	}
	return true
}

// checkYAMLType keeps numbers from being taken for text and the reverse. A
// value that comes from a variable has no type of its own.
func checkYAMLType(n ast.Node, v reflect.Value, text string) error {
	if reflect.PointerTo(v.Type()).Implements(textSetterType) {
		return nil
	}
	_, isString := n.(*ast.StringNode)
	_, isLiteral := n.(*ast.LiteralNode)
	quoted := isLiteral
	if tk := n.GetToken(); tk != nil {
		quoted = quoted || tk.Type == token.SingleQuoteType || tk.Type == token.DoubleQuoteType
	}
	switch v.Kind() {
	case reflect.String:
		if !isString && !isLiteral {
			return fmt.Errorf("want text, found %s: write %q", describe(n), text)
		}
	case reflect.Int:
		if quoted {
			return fmt.Errorf("want a whole number, found text: remove the quotes")
		}
	case reflect.Bool:
		if quoted {
			return fmt.Errorf("want true or false, found text: remove the quotes")
		}
	}
	return nil
}

// setScalar sets v from text and checks it against the tag.
func setScalar(v reflect.Value, text string, tag reflect.StructTag) error {
	if t, ok := v.Addr().Interface().(textSetter); ok {
		if err := t.setText(text); err != nil {
			return err
		}
		return checkRange(v, tag.Get("range"))
	}
	switch v.Kind() {
	case reflect.Int:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("want a whole number, found %q", text)
		}
		v.SetInt(n)
	case reflect.Bool:
		switch text {
		case "true", "false":
			v.SetBool(text == "true")
		default:
			return fmt.Errorf("want true or false, found %q%s", text, boolHint(text))
		}
	default:
		if text == "" && tag.Get("empty") == "" {
			return fmt.Errorf("is empty: remove the key, or give it a value")
		}
		if strings.ContainsRune(text, 0) {
			return fmt.Errorf("may not hold a zero byte")
		}
		v.SetString(text)
	}
	if err := checkOneOf(v, tag.Get("oneof")); err != nil {
		return err
	}
	return checkRange(v, tag.Get("range"))
}

// boolHint suggests the YAML 1.2 spelling of YAML 1.1's words.
func boolHint(text string) string {
	switch strings.ToLower(text) {
	case "yes", "on", "y", "1", "true":
		return `; did you mean "true"?`
	case "no", "off", "n", "0", "false":
		return `; did you mean "false"?`
	}
	return ""
}

// checkOneOf checks a text or a number against the words that are allowed.
func checkOneOf(v reflect.Value, words string) error {
	if words == "" {
		return nil
	}
	text := fmt.Sprint(v.Interface())
	list := strings.Fields(words)
	for _, w := range list {
		if w == text {
			return nil
		}
	}
	return fmt.Errorf("want %s, found %q%s", oneOf(list), text, row.DidYouMean(text, list))
}

// checkRange checks a number, a duration or a size against "least..most".
func checkRange(v reflect.Value, bounds string) error {
	if bounds == "" {
		return nil
	}
	low, high, _ := strings.Cut(bounds, "..")
	n := v.Int()
	if n >= parseBound(v.Type(), low, math.MinInt64) &&
		n <= parseBound(v.Type(), high, math.MaxInt64) {
		return nil
	}
	return fmt.Errorf("must be from %s to %s, found %v", low, high, v.Interface())
}

// parseBound reads a bound of a tag as a value of type t.
func parseBound(t reflect.Type, text string, otherwise int64) int64 {
	v := reflect.New(t)
	if setScalar(v.Elem(), text, "") != nil {
		return otherwise // TestKeys_BoundsAreReadable keeps this from happening
	}
	return v.Elem().Int()
}
