package page

import (
	"errors"
	"math"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A shown is a target as people read it.
type shown struct {
	Link  string // what an anchor may lead to; "" unless it is http or https
	Host  string // as the browser would show it
	ASCII string // the host in punycode, if Host is not that
	Rest  string // path, query and fragment
}

// targetOf takes a target apart. A host in another script is shown in it only if
// it cannot be taken for something else: what mixes scripts, and Cyrillic or
// Greek that looks like Latin throughout, stays punycode.
func targetOf(target string) shown {
	u, err := url.Parse(target)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return shown{Rest: target}
	}
	s := shown{Link: target, Host: u.Host}
	if readable, ok := unicodeHost(u.Hostname()); ok {
		s.ASCII = u.Hostname()
		s.Host = strings.Replace(u.Host, u.Hostname(), readable, 1)
	}
	_, rest, _ := strings.Cut(target, "://")
	if i := strings.IndexAny(rest, "/?#"); i >= 0 && rest[i:] != "/" {
		s.Rest = rest[i:]
	}
	return s
}

// unicodeHost decodes a host that has a label in punycode, if that is safe to
// show.
func unicodeHost(host string) (string, bool) {
	labels := strings.Split(strings.ToLower(host), ".")
	found := false
	for i, label := range labels {
		encoded, ok := strings.CutPrefix(label, "xn--")
		if !ok {
			continue
		}
		decoded, err := decodePunycode(encoded)
		if err != nil || !isHonest(decoded) {
			return "", false
		}
		labels[i], found = decoded, true
	}
	return strings.Join(labels, "."), found
}

// isHonest reports whether a label is of one script, and not one that only looks
// like another.
func isHonest(label string) bool {
	scripts := map[string]bool{}
	twins := true // every letter looks like a Latin one
	for _, r := range label {
		if r < 0x80 && !unicode.IsLetter(r) {
			continue
		}
		name := scriptOf(r)
		if name == "" || !unicode.IsPrint(r) {
			return false
		}
		if name != "Common" && name != "Inherited" {
			scripts[name] = true
		}
		twins = twins && strings.ContainsRune(lookalikes, r)
	}
	if twins {
		return false
	}
	for _, together := range writtenTogether {
		others := len(scripts)
		for _, name := range together {
			if scripts[name] {
				others--
			}
		}
		if others == 0 {
			return true
		}
	}
	return len(scripts) <= 1
}

// lookalikes are the letters of Cyrillic, Greek and Armenian that a reader takes
// for Latin ones: a host of nothing else is shown in punycode.
const lookalikes = "асԁеһіјӏорԛѕԝхуъьґѵкнмтвгяԍҽ" + "αγικνορτυωϲϳ" + "օսոգցհյզ"

// writtenTogether are the scripts that one word may be written in (Unicode
// Technical Standard 39, highly restrictive).
var writtenTogether = [][]string{
	{"Latin", "Han", "Hiragana", "Katakana"}, {"Latin", "Han", "Bopomofo"},
	{"Latin", "Han", "Hangul"},
}

// scriptOf returns the script of a character, or "".
func scriptOf(r rune) string {
	for _, name := range []string{"Latin", "Common", "Cyrillic", "Greek", "Han"} {
		if unicode.Is(unicode.Scripts[name], r) {
			return name
		}
	}
	for name, table := range unicode.Scripts {
		if unicode.Is(table, r) {
			return name
		}
	}
	return ""
}

var errPunycode = errors.New("not punycode")

// decodePunycode decodes a label without its xn-- (RFC 3492, 6.2).
func decodePunycode(encoded string) (string, error) {
	const tmin, tmax, base = 1, 26, 36
	var out []rune
	if i := strings.LastIndexByte(encoded, '-'); i > 0 {
		out, encoded = []rune(encoded[:i]), encoded[i+1:]
	}
	n, at, bias := rune(128), 0, 72
	for encoded != "" {
		before, weight := at, 1
		for k := base; ; k += base {
			if encoded == "" {
				return "", errPunycode
			}
			digit := punycodeDigit(encoded[0])
			encoded = encoded[1:]
			if digit < 0 || digit > (math.MaxInt32-at)/weight {
				return "", errPunycode
			}
			at += digit * weight
			t := min(max(k-bias, tmin), tmax)
			if digit < t {
				break
			}
			if weight > math.MaxInt32/(base-t) {
				return "", errPunycode
			}
			weight *= base - t
		}
		bias = adapt(at-before, len(out)+1, before == 0)
		n += rune(at / (len(out) + 1))
		at %= len(out) + 1
		if n < 0x80 || !utf8.ValidRune(n) {
			return "", errPunycode
		}
		out = append(out, 0)
		copy(out[at+1:], out[at:])
		out[at] = n
		at++
	}
	return string(out), nil
}

// punycodeDigit returns what a letter or digit stands for, or -1.
func punycodeDigit(c byte) int {
	switch {
	case c >= 'a' && c <= 'z':
		return int(c - 'a')
	case c >= 'A' && c <= 'Z':
		return int(c - 'A')
	case c >= '0' && c <= '9':
		return int(c-'0') + 26
	}
	return -1
}

// adapt is the bias adaptation of RFC 3492, 6.1.
func adapt(delta, points int, first bool) int {
	const damp, skew, tmin, tmax, base = 700, 38, 1, 26, 36
	if first {
		delta /= damp
	} else {
		delta /= 2
	}
	delta += delta / points
	k := 0
	for ; delta > (base-tmin)*tmax/2; k += base {
		delta /= base - tmin
	}
	return k + (base-tmin+1)*delta/(delta+skew)
}
