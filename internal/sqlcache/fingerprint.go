package sqlcache

import (
	"encoding/binary"
	"strings"
)

// A Fingerprint is what of a session's state decides what its statements mean and how values are
// written. It is read from the server, since triggers, functions and a reload of the configuration
// change it without a statement that says so. Two sessions with one Fingerprint get one answer.
type Fingerprint struct {
	number   uint64 // tells it from all others
	Schemas  []string
	Database string
	User     string
	server   int64
	temps    bool // the session has temporary tables, which take the place of others
	read     bool // its transactions are read committed
	level    level
}

// A level is how fresh a session wants what it reads: its setting hotrow.freshness.
type level uint8

// The levels.
const (
	bounded   level = iota // within the source's stale_after, and after all writes through hotrow
	bySession              // not older, too, than what the session has been shown before
	passes                 // as new as the server's own, so that memory is not asked
)

func levelOf(setting string) level {
	switch setting {
	case "", "bounded":
		return bounded
	case "session":
		return bySession
	}
	return passes // now, off, and what nobody knows
}

// settings are those of a session that are part of its Fingerprint.
var settings = []string{"TimeZone", "DateStyle", "IntervalStyle", "extra_float_digits",
	"bytea_output", "client_encoding", "lc_monetary", "xmlbinary", "standard_conforming_strings",
	"backslash_quote", "transform_null_equals", "array_nulls", "row_security",
	"gin_fuzzy_search_limit", "search_path", "default_transaction_isolation", "hotrow.freshness"}

// FingerprintSQL asks a session for its state: one row, whose values are in binary format. All
// names are the server's own, whatever the session's search path is.
var FingerprintSQL = func() string {
	sql := "SELECT pg_catalog.current_database(), CURRENT_USER," +
		" pg_catalog.array_to_string(pg_catalog.current_schemas(true), '/')," +
		" pg_catalog.pg_my_temp_schema(), pg_catalog.pg_postmaster_start_time()"
	for _, name := range settings {
		sql += ", pg_catalog.current_setting('" + name + "', true)"
	}
	return sql
}()

// fields are the places of the columns that are looked at.
const (
	fieldDatabase = iota
	fieldUser
	fieldSchemas
	fieldTemps
	fieldServer
	numFields // and then the settings, of which the isolation is the last but the freshness
)

// maxFingerprints is how many are told apart.
const maxFingerprints = 10_000

// Fingerprint returns that of the DataRow which answers FingerprintSQL; nil: it is none, or there
// are too many.
func (c *Cache) Fingerprint(row []byte) *Fingerprint {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.fingerprints[string(row)]; f != nil {
		return f
	}
	fields := dataRow(row)
	if len(fields) != numFields+len(settings) || len(fields[fieldTemps]) != 4 ||
		len(fields[fieldServer]) != 8 || len(c.fingerprints) >= maxFingerprints {
		return nil
	}
	f := &Fingerprint{number: uint64(len(c.fingerprints) + 1),
		Schemas:  strings.Split(string(fields[fieldSchemas]), "/"),
		Database: string(fields[fieldDatabase]), User: string(fields[fieldUser]),
		server: int64(binary.BigEndian.Uint64(fields[fieldServer])),
		temps:  binary.BigEndian.Uint32(fields[fieldTemps]) != 0,
		read:   string(fields[len(fields)-2]) == "read committed",
		level:  levelOf(string(fields[len(fields)-1]))}
	c.fingerprints[string(row)] = f
	return f
}

// dataRow returns the values of a DataRow; nil where one is NULL.
func dataRow(b []byte) (fields [][]byte) {
	if len(b) < 2 {
		return nil
	}
	n := int(binary.BigEndian.Uint16(b))
	b = b[2:]
	for range n {
		if len(b) < 4 {
			return nil
		}
		size := int32(binary.BigEndian.Uint32(b))
		b = b[4:]
		if size < 0 {
			fields = append(fields, nil)
			continue
		}
		if int(size) > len(b) {
			return nil
		}
		fields, b = append(fields, b[:size:size]), b[size:]
	}
	return fields
}
