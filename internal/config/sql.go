package config

import "slices"

// SQL is the listener of PostgreSQL's protocol, which passes sessions on to a source.
type SQL struct {
	Listen Listener `yaml:"listen" apply:"restart"`
	TLS    bool     `yaml:"tls" apply:"restart"` // with the certificate of http.tls
	Source string   `yaml:"source" empty:"plain" apply:"restart"`
	Mode   string   `yaml:"mode" oneof:"observe serve" apply:"restart"`

	MaxClients int `yaml:"max_clients" range:"1..100000" apply:"reload"`

	// TrustUpstream lets clients of other machines in whom the database lets in unasked.
	TrustUpstream bool `yaml:"trust_upstream" apply:"reload"`
}

func defaultSQL() SQL { return SQL{Mode: "observe", MaxClients: 1000} }

// SQLSource returns the name of the source whose sessions are passed on; "": there is none.
func (c *Config) SQLSource() string {
	if c.SQL.Listen.Off() {
		return ""
	}
	if c.SQL.Source != "" {
		return c.SQL.Source
	}
	if found := c.postgresSources(); len(found) == 1 {
		return found[0]
	}
	return ""
}

// postgresSources returns the names of those sources.
func (c *Config) postgresSources() (names []string) {
	for name, s := range c.Sources {
		if s != nil && s.Driver() == "postgres" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// sql checks the section of SQL.
func (v *validator) sql() {
	q := &v.c.SQL
	if q.Listen.Off() {
		return
	}
	if q.TLS && !v.c.HTTP.TLS.On() {
		v.addf("sql.tls", "needs the certificate of http.tls: set %s and %s", pathCert, pathKey)
	}
	s, named := v.c.Sources[q.Source]
	switch found := v.c.postgresSources(); {
	case q.Source != "" && !named:
		v.addf("sql.source", "there is no source %q", q.Source)
	case q.Source != "" && s.Driver() != "postgres":
		v.addf("sql.source", "wants a source of PostgreSQL: %s is one of %s", q.Source, s.Driver())
	case q.Source == "" && len(found) == 0:
		v.addf("sql.listen", "wants a source of PostgreSQL, and there is none")
	case q.Source == "" && len(found) > 1:
		v.addf("sql.source", "wants one of the sources %v", found)
	}
}
