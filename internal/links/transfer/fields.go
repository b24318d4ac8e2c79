package transfer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// fields are the members of one entry as texts.
type fields struct {
	line    int
	format  Format
	own     bool // it is hotrow's: its texts are what they are to be again
	of      map[string]string
	tags    []string
	refuse  string // why it cannot be taken over, whatever the fields say
	unknown strangers
	lost    []string
}

// strangers are the columns, or members, that nobody knows, each once: a file has the
// same ones in every entry.
type strangers map[string]bool

// put takes the value of a heading. Two headings may mean the same: the first that has a
// value counts. One that nobody knows is a loss where a file has it for the first time.
func (f *fields) put(heading, value string) {
	name := headings[normal(heading)]
	if name == "" {
		if f.unknown != nil && !isNothing(value) && !f.unknown[heading] {
			f.unknown[heading] = true
			f.lost = append(f.lost, fmt.Sprintf("%q is not taken over, here and from here on: "+
				"links have nothing of this name", clip(heading)))
		}
		return
	}
	if name != unused && f.of[name] == "" {
		f.of[name] = value
	}
}

// isNothing reports whether a value says no more than its absence.
func isNothing(value string) bool {
	value = strings.TrimSpace(value)
	return !isYes(value) || value == "[]" || value == "{}"
}

// link returns the link that the fields describe.
func (f *fields) link() (Link, error) {
	l := Link{
		Line: f.line, Code: strings.Trim(f.of["code"], " /"), URL: f.of["url"],
		Title: f.of["title"], ExpiredURL: f.of["expired_url"],
		Owner: strings.TrimSpace(f.of["owner"]), Lost: f.lost,
	}
	if !f.own {
		whole := oneLine(l.Title)
		if l.Title = cutTitle(whole); l.Title != whole {
			l.Lost = append(l.Lost, fmt.Sprintf("its title is cut to %d characters", maxTitle))
		}
	}
	short := cmp.Or(f.of["custom"], f.of["short"])
	if short != "" && (l.Code == "" || strings.Contains(l.Code, "/")) {
		// Bitly: a link that was given a name keeps the one that was made for it;
		// what people have printed is the name.
		l.Code = codeOf(short)
	}
	if domain, has := f.of["domain"]; has {
		l.Domain = strings.ToLower(cmp.Or(strings.TrimSpace(domain), hostOf(short)))
	}
	refuse := func(reason string) (Link, error) {
		return l, &Refusal{Line: l.Line, Code: l.Code, Reason: reason}
	}
	switch {
	case f.refuse != "":
		return refuse(f.refuse)
	case l.URL == "":
		return refuse("there is no target")
	case isYes(f.of["password"]):
		return refuse("it asks for a password, which hotrow does not: anybody could follow it")
	case isYes(f.of["secret"]):
		return refuse("it is followed with a secret ending only, which hotrow has not: anybody " +
			"could follow it")
	}
	for _, tag := range f.tags {
		if tag = strings.TrimSpace(tag); tag != "" {
			l.Tags = append(l.Tags, tag)
		}
	}
	for _, read := range []func(*Link) error{f.switches, f.times, f.numbers} {
		if err := read(&l); err != nil {
			return refuse(err.Error())
		}
	}
	f.rules(&l)
	return l, nil
}

// hostOf returns the host of a short URL, "" of what is none.
func hostOf(short string) string {
	_, rest, isURL := strings.Cut(short, "://")
	if !isURL {
		return ""
	}
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// rules notes what sends visitors elsewhere, or tells machines so.
func (f *fields) rules(l *Link) {
	if isYes(f.of["rules"]) {
		l.Lost = append(l.Lost, "its redirect rules are not taken over: everybody is sent to the "+
			"one target")
	}
	if devices := f.of["devices"]; !isNothing(devices) {
		l.Lost = append(l.Lost, "its targets for devices are not taken over: "+clip(devices))
	}
	if isYes(f.of["crawlable"]) {
		l.Lost = append(l.Lost, "that search engines may list it is not taken over: hotrow tells "+
			"them not to")
	}
}

// switches reads what is on or off.
func (f *fields) switches(l *Link) error {
	for _, s := range []struct {
		name string
		to   **bool
	}{{"enabled", &l.Enabled}, {"pass_query", &l.PassQuery}, {"pass_path", &l.PassPath}} {
		text := strings.TrimSpace(f.of[s.name])
		if text == "" {
			continue
		}
		*s.to = truth(isYes(text))
	}
	if isYes(f.of["off"]) {
		l.Enabled = truth(false)
	}
	if isYes(f.of["archived"]) {
		if f.ofBitly() {
			l.Enabled = truth(false)
		} else {
			l.Lost = append(l.Lost, "that it is archived is not taken over: it is on")
		}
	}
	return nil
}

// ofBitly reports whether an entry is one of Bitly, whose archived links lead nowhere
// that is shown any more.
func (f *fields) ofBitly() bool {
	_, custom := f.of["custom"]
	return f.format == Bitly || f.format == Auto && (custom || hostOf(f.of["short"]) == "bit.ly")
}

// times reads the moments.
func (f *fields) times(l *Link) (err error) {
	if l.StartsAt, err = parseTime(f.of["starts_at"]); err != nil {
		return err
	}
	if l.ExpiresAt, err = parseTime(f.of["expires_at"]); err != nil {
		return err
	}
	// A creation time that cannot be read loses nothing but itself.
	l.CreatedAt, _ = parseTime(f.of["created_at"])
	return nil
}

// numbers reads the counts and the status.
func (f *fields) numbers(l *Link) error {
	l.Clicks, _ = strconv.ParseInt(strings.TrimSpace(f.of["clicks"]), 10, 64)
	text := strings.TrimSpace(f.of["max_clicks"])
	if text != "" && !strings.EqualFold(text, "null") {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is not a limit of clicks", clip(text))
		}
		l.MaxClicks = n
	}
	f.status(l)
	return nil
}

// statesOff and statesOn are what exporters call the state of a link.
var (
	statesOff = []string{"off", "disabled", "inactive", "paused", "blocked", "banned", "deleted"}
	statesOn  = []string{"", "on", "enabled", "active", "ok", "live", "published", "success",
		"null"}
)

// status reads the status of a redirect. Other exporters call the state of a link, or of
// its last check, status.
func (f *fields) status(l *Link) {
	text := strings.ToLower(strings.TrimSpace(f.of["status"]))
	n, err := strconv.Atoi(text)
	switch {
	case err == nil && n/100 == 3:
		l.Status = n
	case slices.Contains(statesOff, text):
		l.Enabled = truth(false)
	case slices.Contains(statesOn, text), err == nil && n/100 == 2:
	default:
		l.Lost = append(l.Lost, fmt.Sprintf("its status %q is not taken over: it is neither one "+
			"of a redirect nor a state", clip(text)))
	}
}

// AnyDomain chooses the links of all domains.
const AnyDomain = "*"

// defaultDomain is the name of the domain of links that name none.
const defaultDomain = "default"

// OneDomain returns the links of one domain: hotrow's codes are one name space. Those of
// others are left out where the domain is named; where it is not, the first link names it and
// those of others are refused. skipped is told each domain that is left out, and how
// often.
func OneDomain(
	links func(func(Link, error) bool), domain string, skipped map[string]int,
) func(func(Link, error) bool) {
	chosen := strings.ToLower(domain)
	return func(yield func(Link, error) bool) {
		for l, err := range links {
			if err == nil && chosen != AnyDomain {
				of := cmp.Or(l.Domain, defaultDomain)
				switch {
				case chosen == "":
					chosen = of
				case of == chosen:
				case domain != "":
					skipped[of]++
					continue
				default:
					err = otherDomain(&l, of, chosen)
				}
			}
			if !yield(l, err) {
				return
			}
		}
	}
}

// otherDomain refuses a link of another domain than the links before.
func otherDomain(l *Link, of, chosen string) *Refusal {
	return &Refusal{Line: l.Line, Code: l.Code, Reason: fmt.Sprintf("it is a code of the domain "+
		"%s, and those before are of %s: here all codes are of one; choose one by --domain, or "+
		"all by --domain '*'", of, chosen)}
}

// Domains returns the names of domains that were left out, with their numbers of links.
func Domains(skipped map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(skipped)) {
		parts = append(parts, fmt.Sprintf("%s (%d)", name, skipped[name]))
	}
	return strings.Join(parts, ", ")
}
