package httpfront

import (
	"iter"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/resource"
)

// directives are what the Cache-Control of a request asks for (RFC 9111 5.2.1).
type directives struct {
	noCache      bool
	onlyIfCached bool
	noTransform  bool
	maxAge       time.Duration // < 0: none
}

// parseDirectives reads a list of directives. What it does not know is ignored,
// as the RFC demands; max-age=0 is no-cache under another name.
func parseDirectives(list string) directives {
	d := directives{maxAge: -1}
	for element := range strings.SplitSeq(list, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(element), "=")
		switch strings.ToLower(name) {
		case "no-cache":
			d.noCache = true
		case "only-if-cached":
			d.onlyIfCached = true
		case "no-transform":
			d.noTransform = true
		case "max-age":
			if age, ok := parseSeconds(strings.Trim(value, `"`)); ok {
				d.maxAge = age
			}
		}
	}
	d.noCache = d.noCache || d.maxAge == 0
	return d
}

// tooOld reports whether a comes from a copy and may be older than max-age.
func (d directives) tooOld(a *resource.Answer) bool {
	kept := a.Origin == resource.HitMemory || a.Origin == resource.HitDisk ||
		a.Origin == resource.HitStale
	return kept && d.exceeds(a.Lag)
}

// exceeds reports whether a copy that is complete up to lag ago may be older than
// max-age.
func (d directives) exceeds(lag time.Duration) bool { return d.maxAge >= 0 && lag > d.maxAge }

// parseSeconds reads a whole number of seconds. Larger ones than a Duration
// holds become the largest.
func parseSeconds(s string) (time.Duration, bool) {
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil {
		return 0, false
	}
	return time.Duration(min(n, math.MaxInt64/uint64(time.Second))) * time.Second, true
}

// preferences are what the Prefer header of a request asks for (RFC 7240).
type preferences struct {
	minimal bool          // return=minimal, or headers-only as PostgREST has it
	given   string        // the return preference as it is said to be applied
	wait    time.Duration // 0: none
	count   query.Count
}

// eachPreference goes over the preferences of a list, without their parameters.
func eachPreference(list string) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for list != "" {
			var element string
			element, list, _ = strings.Cut(list, ",")
			element, _, _ = strings.Cut(element, ";")
			name, value, _ := strings.Cut(strings.TrimSpace(element), "=")
			name = strings.ToLower(strings.TrimSpace(name))
			value = strings.Trim(strings.TrimSpace(value), `"`)
			if name != "" && !yield(name, value) {
				return
			}
		}
	}
}

// isReturn reports whether a value of return is one that is known.
func isReturn(value string) bool {
	return value == "minimal" || value == "headers-only" || value == "representation"
}

// parsePrefer reads a list of preferences. Of a preference that is given twice the first
// counts; unknown ones are ignored (see checkPrefer).
func parsePrefer(list string) preferences {
	var p preferences
	for name, value := range eachPreference(list) {
		switch {
		case name == "return" && p.given == "" && isReturn(value):
			p.given = "return=" + value
			p.minimal = value != "representation"
		case name == "count" && p.count == query.CountNone:
			p.count, _ = query.ParseCount(value)
		case name == "wait" && p.wait == 0:
			p.wait, _ = parseSeconds(value)
		}
	}
	return p
}

// positionHeader is how a client says what its answer must include.
const positionHeader = "Hotrow-Min-Position"

// minPosition returns the token of a list of them that speaks of source. A client that
// follows several sources may send the tokens of all of them. Empty elements of the list
// do not count (RFC 9110 5.6.1.2).
func minPosition(source, list string) (resource.Token, error) {
	var found resource.Token
	isEmpty := strings.Trim(list, ", \t") == ""
	for element := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(element) == "" && !isEmpty {
			continue
		}
		t, err := resource.ParseToken(element)
		if err != nil {
			return resource.Token{}, err
		}
		if t.Source != source || found.Origin == t.Origin && found.Pos > t.Pos {
			continue
		}
		found = t
	}
	return found, nil
}
