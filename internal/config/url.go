package config

import (
	"net/url"
	"strings"
)

// hasPassword reports whether a URL, as it is written, has a password. One that a
// variable stands for is not written.
func hasPassword(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.User == nil {
		return false
	}
	password, has := u.User.Password()
	return has && !strings.Contains(password, "${")
}

// password warns of a password in the file's text.
func (v *validator) password(path string, s *Source) {
	if v.c.doc != nil && v.c.doc.shown[path] {
		v.warnf(path, "who reads the file has the password of the database%s",
			elsewhere(s.Driver()))
	}
}

// elsewhere says where a database's password is better kept.
func elsewhere(driver string) string {
	own := map[string]string{"postgres": "PGPASSWORD, ~/.pgpass, ", "mysql": "MYSQL_PWD, "}
	return ": use " + own[driver] + "url: file:PATH or url: ${DATABASE_URL} in a configuration"
}

// placeFiles makes the paths of SQLite files relative to the configuration that names
// them, as all its paths are.
func (c *Config) placeFiles() {
	for name, s := range c.Sources {
		s.URL = c.placeFile("sources."+name+".url", s.URL)
	}
	if c.isSet("links") {
		c.Links.Database = c.placeFile("links.database", c.Links.Database)
	}
	c.KV.Store = c.placeFile("kv.store", c.KV.Store)
}

// placeFile is placeFiles for one URL; any but a SQLite file's stays as it is.
func (c *Config) placeFile(key string, url Secret) Secret {
	s := Source{URL: url}
	if s.Driver() != "sqlite" || s.Path() == "" || c.doc.dir == "" || c.doc.dir == "." {
		return url
	}
	return Secret("sqlite:" + c.relative(key, s.Path()))
}
