package row

import "strings"

// JoinKey returns the Key of a document whose key columns have these texts. A
// single part is the key as it is; in a composite key commas and percent signs
// are escaped, so that SplitKey gives back what went in.
func JoinKey(parts ...string) Key {
	if len(parts) == 1 {
		return Key(parts[0])
	}
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteByte(',')
		}
		keyEscaper.WriteString(&b, p)
	}
	return Key(b.String())
}

// SplitKey returns the texts of the n key columns of k. It reports false when
// k has not n parts.
func SplitKey(k Key, n int) ([]string, bool) {
	if n == 1 {
		return []string{string(k)}, true
	}
	parts := strings.Split(string(k), ",")
	if len(parts) != n {
		return nil, false
	}
	for i, p := range parts {
		parts[i] = keyUnescaper.Replace(p)
	}
	return parts, true
}

var (
	keyEscaper   = strings.NewReplacer("%", "%25", ",", "%2C")
	keyUnescaper = strings.NewReplacer("%2C", ",", "%2c", ",", "%25", "%")
)
