package row

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Parse reads k, the text of a key as somebody wrote it, as the columns of t, and
// returns the one Key of that document. Every error wraps ErrKey and says which
// column could not have it. A key that is canonical already is returned as it is,
// without an allocation when it has one column.
//
// What is taken, and what it becomes (PostgreSQL's input forms where they are
// unambiguous):
//
//   - Int, Uint: "010", "+10" and "10" are "10", "-0" is "0".
//   - Bool: true, t, yes, y, on, 1 and their opposites, in any case: "true", "false".
//   - UUID: any case, with braces, with fewer hyphens: 36 characters, lower case.
//   - Text: valid UTF-8 without NUL, as it is.
//   - Decimal: "+1.50", "01.50" are "1.50", ".5" is "0.5". The scale is kept: it
//     is for KeyPart.Wide to say that 1.5 is the same number.
//   - Float, Float32: the fewest digits that give the number back, as in JSON.
//   - Date, Time, Datetime, DatetimeTZ: RFC 3339 with a space for the T if need
//     be, at most six digits of a fraction; DatetimeTZ in UTC. A Date may be
//     written "1981-06-09T00:00:00Z", a Datetime with a Z at its end.
//   - Bytes: hexadecimal in lower case, read in any case and after "\x".
//   - JSON, Array, Rows: nothing, they are no keys.
//
// An empty key is refused even for a Text: Key "" says "no key" elsewhere. An
// empty part of a composite key is a key.
func (t KeyType) Parse(k Key) (Key, error) {
	if len(k) > MaxKey {
		return "", &keyError{problem: fmt.Sprintf("%d bytes are more than %d", len(k), MaxKey)}
	}
	// Fast path: one column.
	if len(t) == 1 {
		text, err := t[0].Parse(string(k))
		if err == nil && text == "" {
			err = &keyError{column: t[0].Column, problem: "it is empty"}
		}
		return Key(text), err
	}
	parts, ok := SplitKey(k, len(t))
	if !ok {
		return "", t.wrongParts(k)
	}
	for i, p := range parts {
		text, err := t[i].Parse(p)
		if err != nil {
			return "", err
		}
		parts[i] = text
	}
	canonical := JoinKey(parts...)
	if len(canonical) > MaxKey {
		return "", &keyError{problem: fmt.Sprintf("%d bytes are more than %d",
			len(canonical), MaxKey)}
	}
	return canonical, nil
}

// ParseAfter is Parse of a place in a list, which may be behind a row whose key is
// empty: no path can name it, and what follows it is there all the same.
func (t KeyType) ParseAfter(k Key) (Key, error) {
	if k == "" && len(t) == 1 {
		text, err := t[0].Parse("")
		return Key(text), err
	}
	return t.Parse(k)
}

func (t KeyType) wrongParts(k Key) error {
	columns := make([]string, len(t))
	for i, p := range t {
		columns[i] = p.Column
	}
	return &keyError{problem: fmt.Sprintf("%s has %d parts, want %d: %s",
		quote(string(k)), strings.Count(string(k), ",")+1, len(t), strings.Join(columns, ","))}
}

// KeyText returns the text of a value as a part of a key, which is what Parse
// makes of every spelling of it. It reports false for Null and for what cannot
// be a key: JSON, Array, Rows, and texts that are not of their kind, such as a
// date before Christ.
func KeyText(v Value) (text string, ok bool) {
	switch v.kind {
	case Bool:
		return strconv.FormatBool(v.num != 0), true
	case Int:
		return strconv.FormatInt(int64(v.num), 10), true
	case Uint:
		return strconv.FormatUint(v.num, 10), true
	case Float:
		return keyFloat(v.Float(), 64), true
	case Float32:
		return keyFloat(v.Float(), 32), true
	case Bytes:
		return hexText(v.text), true
	}
	if text, ok = canonicalText(v.kind, v.text); !ok {
		return "", false
	}
	return text, true
}

// Parse returns the canonical text of one part, see KeyType.Parse. The error says what
// the part has to be and does not name the resource.
func (p *KeyPart) Parse(s string) (string, error) {
	var problem string
	text, ok := "", false
	switch p.Kind {
	case Int:
		text, ok = canonicalInt(s, p.bits())
	case Uint:
		text, ok = canonicalUint(s, p.bits())
	case Float:
		text, ok = canonicalFloat(s, 64)
	case Float32:
		text, ok = canonicalFloat(s, 32)
	case Bytes:
		text, ok = canonicalBytes(s)
	default:
		text, ok = canonicalText(p.Kind, s)
	}
	switch {
	case !ok:
	case p.Kind == Time && strings.ContainsAny(text, "Z+-") != p.Zone:
		ok = false
	case p.Kind == Text && p.MaxBytes > 0 && len(s) > p.MaxBytes:
		ok, problem = false, fmt.Sprintf("is longer than %d bytes", p.MaxBytes)
	}
	if ok && p.MaxLen > 0 && p.Kind == Text && utf8.RuneCountInString(s) > p.MaxLen {
		ok, problem = false, fmt.Sprintf("is longer than %d characters", p.MaxLen)
	}
	if ok && p.Word > 0 && p.Kind == Text {
		problem = notWord(s, p.Word)
		ok = problem == ""
	}
	if ok {
		return text, nil
	}
	if problem == "" {
		problem = "is not " + p.want()
	}
	return "", &keyError{column: p.Column, problem: quote(s) + " " + problem}
}

// notWord says why s is no word of at most limit bytes; "" if it is one. A word
// has no ASCII blank and no ASCII control character.
func notWord(s string, limit int) string {
	if len(s) > limit {
		return fmt.Sprintf("is longer than %d bytes", limit)
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] == 0x7f {
			return "has a blank or a control character in it"
		}
	}
	return ""
}

func (p *KeyPart) bits() int {
	if p.Bits == 0 {
		return 64
	}
	return p.Bits
}

// want says what a part has to be, for errors.
func (p *KeyPart) want() string {
	switch p.Kind {
	case Bool:
		return "true or false"
	case Int:
		return fmt.Sprintf("a %d-bit integer", p.bits())
	case Uint:
		return fmt.Sprintf("an unsigned %d-bit integer", p.bits())
	case Float, Float32:
		return "a floating-point number"
	case Decimal:
		return "a decimal number"
	case Text:
		return "UTF-8 text without NUL"
	case Bytes:
		return "bytes in hexadecimal"
	case Date:
		return "a date such as 1981-06-09"
	case Time:
		if p.Zone {
			return "a time with its offset such as 15:04:05Z"
		}
		return "a time such as 15:04:05"
	case Datetime:
		return "a date and time such as 1981-06-09T15:04:05"
	case DatetimeTZ:
		return "a date and time with its zone such as 1981-06-09T15:04:05Z"
	case UUID:
		return "a UUID"
	}
	return "of a type that can be a key"
}

// A keyError says which column cannot have a text, and why.
type keyError struct {
	column  string // "" when it is about the key as a whole
	problem string
}

// Error returns "key deptno: "abc" is not a 32-bit integer": the caller puts the
// name of the resource before it.
func (e *keyError) Error() string {
	if e.column == "" {
		return "key: " + e.problem
	}
	return "key " + e.column + ": " + e.problem
}

// Unwrap returns ErrKey.
func (e *keyError) Unwrap() error { return ErrKey }
