package httprule

import "strings"

// A match is how well one offer fits an Accept header.
type match struct {
	quality  int // thousandths
	exact    int // 3: type/subtype, 2: type/*, 1: */*, 0: no match
	position int // of the range in the header
}

// better reports whether m is to be preferred to n: higher quality first, then
// the more exact range, then the one named first.
func (m match) better(n match) bool {
	if m.quality != n.quality {
		return m.quality > n.quality
	}
	if m.exact != n.exact {
		return m.exact > n.exact
	}
	return m.position < n.position
}

// Negotiate returns the offer that an Accept header likes best (RFC 9110
// 12.5.1): the first one if there is no such header. It reports false when
// none is acceptable. Ranges that cannot be read are ignored.
func Negotiate(accept, offers []string) (int, bool) {
	if strings.TrimSpace(strings.Join(accept, "")) == "" { // one that is empty says nothing
		return 0, true
	}
	matches := make([]match, len(offers))
	position := 0
	for _, line := range accept {
		for element := range strings.SplitSeq(line, ",") {
			position++
			name, quality, ok := parseRange(element)
			if !ok {
				continue
			}
			for i, offer := range offers {
				m := match{quality, exactness(name, offer), position}
				if m.exact > matches[i].exact {
					matches[i] = m // the most exact range that fits decides
				}
			}
		}
	}
	best := -1
	for i, m := range matches {
		if m.quality > 0 && m.exact > 0 && (best < 0 || m.better(matches[best])) {
			best = i
		}
	}
	return max(best, 0), best >= 0
}

// exactness says how exactly a media range in lower case names offer.
func exactness(name, offer string) int {
	if name == offer {
		return 3
	}
	if kind, ok := strings.CutSuffix(name, "/*"); ok {
		if kind == "*" {
			return 1
		}
		if strings.HasPrefix(offer, kind+"/") {
			return 2
		}
	}
	return 0
}

// parseRange reads one element of an Accept header: a media range in lower case
// and its quality in thousandths. Parameters other than q are ignored.
func parseRange(element string) (name string, quality int, ok bool) {
	name, params, _ := strings.Cut(element, ";")
	name = strings.ToLower(strings.TrimSpace(name))
	if quality, ok = ParseWeight(params); !ok {
		return "", 0, false
	}
	slash := strings.IndexByte(name, '/')
	return name, quality, slash > 0 && slash < len(name)-1
}

// parseQuality reads a qvalue (RFC 9110 12.4.2) as thousandths.
func parseQuality(s string) (int, bool) {
	whole, fraction, _ := strings.Cut(s, ".")
	if len(whole) != 1 || whole[0] != '0' && whole[0] != '1' || len(fraction) > 3 {
		return 0, false
	}
	q := int(whole[0] - '0')
	for i := range 3 {
		q *= 10
		if i < len(fraction) {
			if fraction[i] < '0' || fraction[i] > '9' {
				return 0, false
			}
			q += int(fraction[i] - '0')
		}
	}
	return q, q <= 1000
}

// ParseWeight reads the q among the parameters of an element, in thousandths.
// Other parameters are ignored.
func ParseWeight(params string) (quality int, ok bool) {
	quality = 1000
	for params != "" {
		var p string
		p, params, _ = strings.Cut(params, ";")
		k, v, _ := strings.Cut(strings.TrimSpace(p), "=")
		if strings.EqualFold(k, "q") {
			if quality, ok = parseQuality(v); !ok {
				return 0, false
			}
		}
	}
	return quality, true
}
