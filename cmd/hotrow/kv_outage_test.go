//go:build unix

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/tlstest"
)

// Lists by name over PostgreSQL and TLS, by the protocols of Redis and memcached: as fresh as
// rows, and while the database is away what memory has or an error, and never nil.
func TestPostgres_KVQueriesOverTLSAndInAnOutage(t *testing.T) {
	t.Parallel()
	db := dbtest.NewPostgres(t, map[string]string{"wal_level": "logical"})
	url := db.Database(t, dbtest.Setup("CREATE TABLE users (id int PRIMARY KEY, email text NOT NULL UNIQUE, age int);"+
		"INSERT INTO users VALUES (1, 'ada@example.org', 36), (2, 'bob@example.org', 1)"))
	file := configFile(t, fmt.Sprintf("version: 1\nsources: {main: {url: %q}}\nresources: {users: {table: users}}\n"+
		"http: {tls: {cert: cert.pem, key: key.pem}}\nresp: {tls: true}\nmemcache: {tls: true}\n"+
		"kv: {queries: {by_email: '/users?email=eq.{}'}}\n", url))
	tlstest.New(t, "lists").Write(t, filepath.Dir(file))
	r := serve(t, "-c", file)
	redis := r.dialRESP()
	memcached := func(command string) string { // an outage ends connections of this protocol
		p := r.dialMemcache()
		defer func() { _ = p.nc.Close() }()
		return p.do(command)
	}
	is := func(name string, age int) {
		t.Helper()
		list := ""
		until(t, r.log, func() bool {
			list = fmt.Sprintf(`[{"id":1,"email":"%s@example.org","age":%d}]`, name, age)
			return redis.do("GET by_email:"+name+"@example.org") == fmt.Sprintf("$%d\r\n%s\r\n", len(list), list)
		})
		until(t, r.log, func() bool {
			want := fmt.Sprintf("VALUE by_email:%s@example.org 0 %d\r\n%s\r\nEND\r\n", name, len(list), list)
			return memcached("get by_email:"+name+"@example.org") == want
		})
	}
	is("ada", 36)
	for i := range 5 {
		dbtest.Psql(t, url, fmt.Sprintf("UPDATE users SET age = %d WHERE id = 1", i))
		is("ada", i)
	}
	db.Stop(dbtest.Immediate)
	until(t, r.log, func() bool { return !r.complete() })
	for range 20 {
		for _, who := range []string{"ada", "bob", "nobody"} {
			key := "by_email:" + who + "@example.org"
			got := redis.do("GET " + key)
			if kept := who == "ada" && strings.Contains(got, `"age":4}]`); !kept &&
				!strings.HasPrefix(got, "-UNAVAILABLE ") {
				t.Errorf("Redis: %s without the database = %q", who, got)
			}
			got = memcached("get " + key)
			if kept := who == "ada" && strings.Contains(got, `"age":4}]`); !kept &&
				got != hungUp {
				t.Errorf("memcached: %s without the database = %q", who, got)
			}
		}
	}
	db.Start()
	dbtest.Psql(t, url, "UPDATE users SET email = 'eve@example.org' WHERE id = 1")
	is("eve", 4)
	until(t, r.log, func() bool { return redis.do("GET by_email:ada@example.org") == "$-1\r\n" })
}
