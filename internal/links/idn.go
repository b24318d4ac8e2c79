package links

import (
	"fmt"
	"strings"

	"golang.org/x/net/idna"
)

// hostASCII returns a host in ASCII and lower case: a name of other letters as
// punycode, by the rules by which names are looked up (UTS 46, IDNA 2008).
func hostASCII(host string) (string, error) {
	if isASCII(host) {
		return strings.ToLower(host), nil
	}
	ascii, err := idna.Lookup.ToASCII(host)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errHost, err)
	}
	return ascii, nil
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

func isAlpha(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func isAlnum(c byte) bool { return isAlpha(c) || c >= '0' && c <= '9' }
