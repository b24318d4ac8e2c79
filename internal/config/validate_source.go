package config

import (
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
)

var (
	sourceName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,31}$`)
	identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,62}$`)
	urlScheme  = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]+):`)
)

// The databases that a URL may name, by scheme.
var drivers = map[string]string{
	"sqlite":     "sqlite",
	"postgres":   "postgres",
	"postgresql": "postgres",
	"mysql":      "mysql",
	"mariadb":    "mysql",
	"memcached":  "memcached",
}

// The feeds that each kind of database has, besides auto and none, and what
// people call it.
var (
	feeds = map[string][]string{
		"sqlite": {"sqlite"}, "postgres": {"logical", "notify"}, "mysql": {"binlog"},
	}
	products = map[string]string{
		"sqlite": "SQLite", "postgres": "PostgreSQL", "mysql": "MariaDB and MySQL",
		"memcached": "memcached",
	}
)

// NormalizeURL returns the URL of what a person may write on the command line:
// a path without a scheme is that of a SQLite file.
func NormalizeURL(s string) string {
	if urlScheme.MatchString(s) || s == "" {
		return s
	}
	return "sqlite:" + s
}

// Driver returns the kind of database that the source's URL names: "sqlite",
// "postgres", "mysql" or "memcached"; "" when it names none.
func (s *Source) Driver() string {
	m := urlScheme.FindStringSubmatch(s.URL.Reveal())
	if m == nil {
		return ""
	}
	return drivers[strings.ToLower(m[1])]
}

// Feeds returns the modes that a feed of the source's database can have.
func (s *Source) Feeds() []string {
	return append(append([]string{"auto"}, feeds[s.Driver()]...), "none")
}

// Path returns the path of a SQLite source's file, with its parameters.
func (s *Source) Path() string {
	_, path, _ := strings.Cut(s.URL.Reveal(), ":")
	return strings.TrimPrefix(path, "//")
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// source checks one source.
func (v *validator) source(name string, s *Source) {
	at := "sources." + name
	if !sourceName.MatchString(name) {
		v.addf(at, "want a name of at most 32 letters, digits, - and _ that begins with a letter")
	}
	v.url(at, s)
	v.reads(at, s)
	f := s.Feed
	if f.MaxStale != 0 && f.StaleAfter > f.MaxStale {
		v.addf(at+".feed.stale_after", "%s is more than max_stale %s", f.StaleAfter, f.MaxStale)
	}
	if f.StaleIfError != 0 && f.MaxStale > f.StaleIfError {
		v.addf(at+".feed.max_stale", "%s is more than stale_if_error %s",
			f.MaxStale, f.StaleIfError)
	}
	v.feed(at+".feed", s)
}

// url checks the URL of a source. No message shows it: it may hold a password.
func (v *validator) url(at string, s *Source) {
	text := s.URL.Reveal()
	m := urlScheme.FindStringSubmatch(text)
	switch {
	case text == "" && !v.c.isSet(at+".url"):
		v.addf(at, "needs url: sqlite:PATH or postgres://USER@HOST/DATABASE")
	case m == nil && strings.Contains(text, "="):
		v.addf(at+".url", "want a URL such as postgres://USER@HOST/DATABASE, not key=value pairs")
	case m == nil:
		v.addf(at+".url", "has no scheme; did you mean sqlite: before it?")
	case s.Driver() == "":
		v.addf(at+".url", "unknown kind of database %q: want %s%s", m[1],
			oneOf(sortedKeys(drivers)), row.DidYouMean(m[1], sortedKeys(drivers)))
	case s.Driver() == "sqlite" && strings.Trim(s.Path(), "/") == "":
		v.addf(at+".url", "needs the path of a file, such as sqlite:app.db")
	case s.Driver() != "sqlite" && !strings.HasPrefix(text[len(m[0]):], "//"):
		v.addf(at+".url", "want // after %s", m[0])
	}
	v.password(at+".url", s)
}

// reads checks the URL of a standby.
func (v *validator) reads(at string, s *Source) {
	if s.Reads == "" {
		return
	}
	other := Source{URL: s.Reads}
	mode := s.Feed.Mode
	switch {
	case s.Driver() != "postgres":
		v.addf(at+".reads", "is of no use: only a standby of PostgreSQL is followed")
	case other.Driver() != "postgres":
		v.addf(at+".reads", "want a URL such as postgres://USER@STANDBY/DATABASE")
	case mode == "notify" || mode == "none":
		v.addf(at+".reads", "needs the logical feed: a standby is read while it is followed")
	case s.Feed.Slot != "":
		v.addf(at+".reads", "cannot be had with feed.slot, which is one of the primary")
	}
	v.password(at+".reads", s)
}

// slotName is what PostgreSQL takes for the name of a replication slot.
var slotName = regexp.MustCompile("^[a-z0-9_]{1,63}$")

// feed checks that the mode is one that the database has, and that what differs
// from the defaults belongs to the mode.
func (v *validator) feed(at string, s *Source) {
	mode, driver := s.Feed.Mode, s.Driver()
	if driver != "" && !slices.Contains(s.Feeds(), mode) {
		v.addf(at+".mode", "%q is not a feed of %s: want %s", mode, products[driver],
			oneOf(s.Feeds()))
	}
	if !identifier.MatchString(s.Feed.Publication) {
		v.addf(at+".publication", "want letters, digits and _, found %q", s.Feed.Publication)
	}
	def := DefaultSource().Feed
	noLogical := driver != "postgres" || mode == "notify" || mode == "none"
	if s.Feed.Publication != def.Publication && noLogical {
		v.addf(at+".publication", "is of no use: only the logical feed has one")
	}
	switch {
	case s.Feed.Slot == "" && s.Feed.SlotUnbound:
		v.addf(at+".slot_unbounded", "needs slot, too: the name of the replication slot")
	case s.Feed.Slot == "" && s.Feed.Failover:
		v.addf(at+".failover", "needs slot, too: a temporary slot is on no standby")
	case s.Feed.Slot == "":
	case noLogical:
		v.addf(at+".slot", "is of no use: only the logical feed has one")
	case !slotName.MatchString(s.Feed.Slot):
		v.addf(at+".slot", "want small letters, digits and _, such as hotrow_a, found %q",
			s.Feed.Slot)
	case v.c.Cache.Disk.Path == "":
		v.addf(at+".slot", "needs %s, too: a slot is for going on after a restart with what is "+
			"on disk", pathDisk)
	}
}
