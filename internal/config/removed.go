package config

import (
	"regexp"
	"strings"
)

// removed are the keys that 0.1.0 had, and what to do instead. Each is refused by name for one
// minor version at least, until 0.4.
var removed = map[string]string{
	"http.h2c": "HTTP/2 without TLS is always spoken to clients that begin with it: remove " +
		"the key",
	"http.idle_timeout": "a connection may be idle for 10m20s, longer than any balancer keeps " +
		"one: remove the key",
	"links.log.segment": "a file of the log has a 64th of links.log.max, from 1MiB to 64MiB: " +
		"remove the key",
	"resp.idle_timeout": "a connection may be silent for ever, and one whose client is gone is " +
		"noticed within 8m: remove the key",
	"memcache.idle_timeout": "a connection may be silent for ever, and one whose client is gone " +
		"is noticed within 8m: remove the key",
	"memcache.on_error": "an outage closes the connection of get, gets, gat and gats, and is an " +
		"error for other commands: remove the key",
	"kv.unknown": "a read of a key that names no resource is a miss; the metrics " +
		"hotrow_resp_unknown_keys_total and hotrow_memcache_unknown_keys_total count them: " +
		"remove the key",
	"resp.max_clients":     "kv.max_clients is the bound of both: write it there",
	"memcache.max_clients": "kv.max_clients is the bound of both: write it there",
	"resp.on_stale": "on_lag: fail of the feed or of a resource has every protocol answer with " +
		"an error",
	"resp.tracking_max_keys": "1,000,000 keys are tracked, as by Redis: remove the key",
	"http.read_timeout": "a request may take 1m to arrive, and longer where http.max_body is " +
		"above 16MiB: remove the key",
	"log.access_sample": "write it as log.access, such as 1/100",
	"links.compat": "with links.jwt_secret the endpoints of shortcut are served, without it " +
		"they are not: remove the key",
	"sources.NAME.pool.acquire_timeout": "a request waits 2s for a connection: raise pool.max " +
		"if that does not do",
	"sources.NAME.feed.notify.prefix": "channels are called events_TABLE: remove the key, and " +
		"make triggers anew by hotrow doctor",
	"resources.NAME.depends.via": "a table without key or path touches every document: remove " +
		"the key",
	"resources.NAME.warm.what":  "write the word itself: warm: all",
	"resources.NAME.warm.query": "write the SELECT itself: warm: SELECT id FROM users",
	"links.migrate": "the tables are always made and brought up to date, as those of each " +
		"month's clicks are: remove the key",
	"ops.hot_keys": "keys are counted only while somebody looks at the console, which only " +
		"operators can: remove the key",
	"sources.NAME.feed.audit": "two documents a second are compared with the database: remove " +
		"the key",
	"resources.NAME.max_stale": "the feed's max_stale is for every resource of the source; " +
		"on_lag: bypass or fail has one resource give no stale document",
	"resources.NAME.stale_if_error": "the feed's stale_if_error is for every resource of the " +
		"source; on_lag: fail has one resource give no stale document",
}

var (
	inMap  = regexp.MustCompile(`^(sources|resources)\.[^.]+\.`)
	inList = regexp.MustCompile(`\[\d*\]`)
)

// removal returns what to do instead of a key, or a section, that is no longer
// there.
func removal(path string) (hint string, was bool) {
	path = inList.ReplaceAllString(inMap.ReplaceAllString(path, "$1.NAME."), "")
	if hint, was = removed[path]; was {
		return hint, true
	}
	if _, there := sections[path]; there {
		return "", false
	}
	for _, key := range sortedKeys(removed) {
		if strings.HasPrefix(key, path+".") {
			return removed[key], true
		}
	}
	return "", false
}

// sections are the paths within which there are keys, and the keys themselves.
var sections = func() map[string]bool {
	all := make(map[string]bool)
	for _, k := range Keys() {
		for at := inList.ReplaceAllString(k.Path, ""); ; {
			all[at] = true
			dot := strings.LastIndexByte(at, '.')
			if dot < 0 {
				break
			}
			at = at[:dot]
		}
	}
	return all
}()

// removedVariables refuses the variables that have overridden such keys.
func (c *Config) removedVariables(env environment) Problems {
	var problems Problems
	for _, path := range sortedKeys(removed) {
		if name := variableOf(path); name != "" && env[name] != "" {
			problems = append(problems,
				c.doc.problem(place{variable: name}, path, gone(removed[path])))
		}
	}
	return problems
}

// wasVariable reports whether a variable has overridden such a key.
func wasVariable(name string) bool {
	for path := range removed {
		if name == variableOf(path) {
			return true
		}
	}
	return false
}

// variableOf returns the variable that overrides a key, "" when none does.
func variableOf(path string) string {
	if section, _, _ := strings.Cut(path, "."); !envSections[section] {
		return ""
	}
	return envPrefix + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

// gone is the text of the problem.
func gone(hint string) string { return "this key was removed: " + hint }
