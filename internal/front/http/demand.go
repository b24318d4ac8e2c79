package httpfront

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
)

// A header that other servers of this kind obey, and that would change what is asked, is
// obeyed or refused: a client that is passed over reads and writes what it did not mean.
// docs/reference/http-api.md has the table.

// demands refuses a request that asks, by a header, for what is not done here. In the profile
// more is done.
func (m *memo) demands(o *settings, r *request, profile bool) error {
	// Fast path: it asks for nothing of the kind.
	if r.Prefer == nil && r.Profile == nil && r.IfRange == nil && r.http == nil {
		return nil
	}

	// Slow path.
	switch {
	case profile && o.granted(): // findGranted reads which schema is meant
	case r.Profile != nil && string(r.Profile) != onlyProfile:
		if err := checkProfiles(row.Alias(r.Profile)); err != nil {
			return err
		}
	case r.IfRange != nil && !r.Head && query.IsRange(row.Alias(r.Range)):
		return refused("If-Range does not go with a range of rows",
			"ask for the rows by limit and offset, and send If-None-Match")
	}
	if r.http != nil {
		if err := checkOverride(r.http); err != nil {
			return err
		}
	}
	if r.Prefer == nil || r.Method == http.MethodGet && string(r.Prefer) == string(m.preferred) {
		return nil
	}
	if err := checkPrefer(row.Alias(r.Prefer), r.Method, profile); err != nil {
		return err
	}
	if r.Method == http.MethodGet {
		m.preferred = append(m.preferred[:0], r.Prefer...)
	}
	return nil
}

// refused is the problem of a request whose header asks for what is not done here.
func refused(detail, hint string) error {
	return problem{kind: kindRefusedHeader, detail: detail, hint: hint}
}

// notOffered is refused for a preference.
func notOffered(detail, hint string) error {
	return problem{kind: kindRefusedHeader, detail: detail, hint: hint, lacks: true}
}

// lacks reports whether a request was refused for a preference that is not offered here.
func lacks(err error) bool {
	var p problem
	return errors.As(err, &p) && p.lacks
}

// onlyProfile is the schema that clients of PostgREST name where their program names none.
// It stands for what is served, whatever the database calls it.
const onlyProfile = "public"

// checkProfiles refuses schemas but the only one, in PostgREST's words.
func checkProfiles(list string) error {
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != onlyProfile {
			return problem{kind: kindProfile, code: "PGRST106",
				detail: "Invalid schema: " + front.Clip(name, 64),
				hint:   "Only the following schemas are exposed: " + onlyProfile}
		}
	}
	return nil
}

// overrides are headers by which a request names another method than its own.
var overrides = [...]string{"X-Http-Method-Override", "X-Http-Method", "X-Method-Override"}

// checkOverride refuses a request that names another method than its own.
func checkOverride(r *http.Request) error {
	for _, name := range overrides {
		for _, method := range r.Header.Values(name) {
			if !strings.EqualFold(method, r.Method) {
				return refused(name+" is not obeyed", "send the method that is meant")
			}
		}
	}
	return nil
}

// checkPrefer refuses preferences by which more, less or another thing would happen than
// happens here, and with handling=strict all that are not known. Of a preference that is
// given twice the first counts.
func checkPrefer(list, method string, profile bool) error {
	var seen uint16
	var unknown []string
	strict := false
	for name, value := range eachPreference(list) {
		bit := bitOf(name)
		if seen&bit != 0 {
			continue
		}
		seen |= bit
		known, err := weigh(name, value, method, profile)
		if err != nil {
			return err
		}
		strict = strict || name == "handling" && value == "strict"
		if !known {
			unknown = append(unknown, name+"="+value)
		}
	}
	if !strict || unknown == nil {
		return nil
	}
	return problem{kind: kindRefusedHeader, code: "PGRST122",
		detail:  "Invalid preferences given with handling=strict",
		details: "Invalid preferences: " + clip(strings.Join(unknown, ", "))}
}

// bitOf returns the bit of a preference that weigh knows; 0 of any other.
func bitOf(name string) uint16 {
	for i, known := range [...]string{"handling", "return", "count", "wait", "tx", "resolution",
		"missing", "max-affected", "timezone"} {
		if name == known {
			return 1 << i
		}
	}
	return 0
}

// weigh reports whether a preference is one that is known, or refuses it.
func weigh(name, value, method string, profile bool) (known bool, err error) {
	makes := method == http.MethodPost || method == http.MethodPut
	writes := makes || method == http.MethodPatch || method == http.MethodDelete
	switch {
	case profile && name == "resolution":
		return value == "merge-duplicates" || value == "ignore-duplicates", nil
	case profile && name == "missing":
		return value == "default", nil
	case profile && name == "max-affected":
		_, err := strconv.ParseUint(value, 10, 31)
		return err == nil, nil
	}
	switch name {
	case "handling":
		return value == "strict" || value == "lenient", nil
	case "return":
		return isReturn(value), nil
	case "count":
		_, known = query.ParseCount(value)
		return known, nil
	case "wait":
		_, known = parseSeconds(value)
		return known, nil
	case "tx":
		if value == "rollback" {
			return false, notOffered("Prefer: tx=rollback is not offered",
				"a write is committed: leave the preference out")
		}
		return value == "commit", nil
	case "resolution":
		return weighResolution(value, method)
	case "missing":
		if value == "null" && makes {
			return false, notOffered("Prefer: missing=null is not offered",
				"a column that the body leaves out gets its default: send null to have none")
		}
		return value == "default", nil
	case "max-affected":
		n, err := strconv.ParseUint(value, 10, 63)
		if writes && (err != nil || n == 0) {
			return false, notOffered("Prefer: max-affected="+clip(value)+" is not offered",
				"a write is of one document")
		}
		return err == nil, nil
	case "timezone":
		if !isUTC(value) {
			return false, notOffered("Prefer: timezone="+clip(value)+" is not offered",
				"times are in UTC: leave the preference out")
		}
		return true, nil
	}
	return false, nil
}

// isUTC reports whether a time zone is the one that times are written in.
func isUTC(zone string) bool {
	for _, name := range [...]string{"UTC", "Etc/UTC", "Z", "GMT"} {
		if strings.EqualFold(zone, name) {
			return true
		}
	}
	return false
}

// weighResolution refuses to make of a POST what PUT is.
func weighResolution(value, method string) (known bool, err error) {
	if value != "merge-duplicates" && value != "ignore-duplicates" {
		return false, nil
	}
	switch {
	case method == http.MethodPost:
		return false, notOffered("Prefer: resolution="+value+" is not offered",
			"POST makes a new document; PUT of its path makes or replaces it")
	case method == http.MethodPut && value == "ignore-duplicates":
		return false, notOffered("Prefer: resolution="+value+" is not offered",
			"PUT with If-None-Match: * makes a document and never replaces one")
	}
	return true, nil
}
