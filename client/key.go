package client

import "strings"

// JoinKey returns the key of a document whose key columns have these texts:
// "Tulsa,OK". In a composite key commas and percent signs are escaped, as
// SplitKey undoes it; a single part is the key as it is.
func JoinKey(parts ...string) string {
	if len(parts) == 1 {
		return parts[0]
	}
	escaped := make([]string, len(parts))
	for i, p := range parts {
		escaped[i] = keyEscaper.Replace(p)
	}
	return strings.Join(escaped, ",")
}

// SplitKey returns the texts of the key columns of a composite key.
func SplitKey(key string) []string {
	parts := strings.Split(key, ",")
	for i, p := range parts {
		parts[i] = keyUnescaper.Replace(p)
	}
	return parts
}

var (
	keyEscaper   = strings.NewReplacer("%", "%25", ",", "%2C")
	keyUnescaper = strings.NewReplacer("%2C", ",", "%2c", ",", "%25", "%")
)
