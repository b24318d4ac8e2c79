package row

import (
	"math/big"
	"strings"
)

// A KeyMismatch is the error of a body that names another key than its request.
type KeyMismatch struct{ Member string }

// Error names the member.
func (e *KeyMismatch) Error() string {
	return e.Member + " in the body is not the key of the request"
}

// CheckKey returns a *KeyMismatch when the body in names another key than its request's, which
// is that of a body that leaves it out. It returns an error that wraps ErrKey when no row can
// have key.
func (s *Shape) CheckKey(kt KeyType, in *Input, key Key) error {
	canonical, err := kt.Parse(key)
	if err != nil {
		return err
	}
	parts, ok := SplitKey(canonical, len(kt))
	if !ok {
		return ErrKey
	}
	for i, part := range kt {
		for j, f := range s.Fields {
			if f.Column != part.Column || f.Kind == Rows || !in.Present[j] {
				continue
			}
			if !sameKeyPart(in.Values[j], part, parts[i]) {
				return &KeyMismatch{f.Name}
			}
		}
	}
	return nil
}

// BodyKey returns the canonical key of in's document. missing is the member that a body
// needs for it and in does not have.
func (s *Shape) BodyKey(kt KeyType, in *Input) (key Key, missing string) {
	parts := make([]string, len(kt))
	for i, part := range kt {
		missing = part.Column
		for j, f := range s.Fields {
			if f.Column != part.Column || f.Kind == Rows {
				continue
			}
			missing = f.Name
			if text, ok := KeyText(in.Values[j]); ok && in.Present[j] {
				parts[i], missing = text, ""
			}
		}
		if missing != "" {
			return "", missing
		}
	}
	return JoinKey(parts...), ""
}

// sameKeyPart reports whether v, from a body, is the key column part whose
// canonical text is text. Where the database's equality is wider than that of
// the bytes, case, final spaces and the scale of a number do not count: what
// this lets pass is still for the database to compare.
func sameKeyPart(v Value, part KeyPart, text string) bool {
	if v.Kind() == Bool && part.Kind == Int { // a tinyint(1), which is a number in keys
		v = IntValue(int64(v.num))
	}
	got, ok := KeyText(v)
	switch {
	case !ok:
		return false
	case got == text:
		return true
	case !part.Wide:
		return false
	case v.Kind() == Decimal:
		return sameDecimal(got, text)
	}
	return strings.EqualFold(strings.TrimRight(got, " "), strings.TrimRight(text, " "))
}

// sameDecimal compares plain decimals by value. Those with an exponent are
// never the same: a short one can name a number that fills the memory.
func sameDecimal(a, b string) bool {
	if strings.ContainsAny(a+b, "eEpPxX/_") {
		return false
	}
	x, ok := new(big.Rat).SetString(a)
	if !ok {
		return false
	}
	y, ok := new(big.Rat).SetString(b)
	return ok && x.Cmp(y) == 0
}
