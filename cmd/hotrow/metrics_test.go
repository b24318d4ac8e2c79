package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// noObjection fails the test if promtool finds a fault with the metrics at url.
func noObjection(t *testing.T, url string) (text string) {
	t.Helper()
	code, text := get(t, url)
	if code != http.StatusOK || strings.Count(text, "# TYPE ") < 10 {
		t.Fatalf("GET %s: %d %s", url, code, text)
	}
	cmd := exec.Command(dbtest.Program(t, "promtool", "prometheus", "/usr/bin"), "check", "metrics")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool check metrics of %s: %v\n%s", url, err, out)
	}
	return text
}

// perTable matches the name of the table of a series.
var perTable = regexp.MustCompile(`(?m)^hotrow_[^ ]*[{,]resource="([^"]*)"`)

// tablesOf counts the series of each table.
func tablesOf(text string) map[string]int {
	series := map[string]int{}
	for _, m := range perTable.FindAllStringSubmatch(text, -1) {
		series[m[1]]++
	}
	return series
}

// TestMetrics_OfFiveHundredTables reads, lists and misses each of 500 tables over two
// protocols, with a cache on disk and one table that is warmed.
func TestMetrics_OfFiveHundredTables(t *testing.T) {
	t.Parallel()
	const tables, most = 500, 12
	var sql, config strings.Builder
	db := filepath.Join(t.TempDir(), "many.db")
	fmt.Fprintf(&config, "version: 1\nsources:\n  main:\n    url: sqlite:%s\ncache:\n  disk: {path: %s}\nresources:\n",
		db, filepath.Join(t.TempDir(), "cache"))
	for i := range tables {
		fmt.Fprintf(&sql, "CREATE TABLE t%d (id INTEGER PRIMARY KEY, v TEXT); INSERT INTO t%d VALUES (1, 'a');", i, i)
		fmt.Fprintf(&config, "  t%d:\n    table: t%d\n", i, i)
		if i == 7 {
			config.WriteString("    warm: all\n")
		}
	}
	dbtest.SQLiteShell(t, db, sql.String())
	r := serve(t, "-c", configFile(t, config.String()))
	conn, err := net.Dial("tcp", "127.0.0.1:"+r.respPort())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	for i := range tables {
		for _, path := range []string{"/t%d/1", "/t%d/1", "/t%d/2", "/t%d?limit=5", "/t%d/no"} {
			r.get(fmt.Sprintf(path, i))
		}
		fmt.Fprintf(conn, "GET t%d:1\r\nGET t%d:3\r\n", i, i)
	}
	fmt.Fprint(conn, "QUIT\r\n")
	if _, err := io.Copy(io.Discard, conn); err != nil { // until all are answered
		t.Fatal(err)
	}
	text := noObjection(t, r.ops+"/metrics")
	series := tablesOf(text)
	if len(series) != tables {
		t.Errorf("%d tables have series, want %d", len(series), tables)
	}
	for name, n := range series {
		if n > most {
			t.Errorf("%s has %d series, want at most %d", name, n, most)
		}
	}
	if n, all := strings.Count(text, "\n"), tables*most+1000; n > all {
		t.Errorf("%d lines, want at most %d", n, all)
	}
}

// TestMetrics_OfEverySource has promtool judge what each kind of process tells after
// reads, lists, misses and writes.
func TestMetrics_OfEverySource(t *testing.T) {
	t.Parallel()
	const sql = "CREATE TABLE depts (id INT PRIMARY KEY, v TEXT); INSERT INTO depts VALUES (1, 'a');"
	memcached := dbtest.NewMemcached(t)
	memcached.Set("user:1", "ana,ana@example.com")
	for name, args := range map[string]func(t *testing.T) []string{
		"demo": func(t *testing.T) []string {
			return []string{"demo", "--file", filepath.Join(t.TempDir(), "demo.db")}
		},
		"sqlite": func(t *testing.T) []string {
			db := filepath.Join(t.TempDir(), "a.db")
			dbtest.SQLiteShell(t, db, sql)
			return []string{db, "--writable"}
		},
		"postgres": func(t *testing.T) []string {
			url := dbtest.Postgres(t)
			dbtest.Psql(t, url, sql)
			return []string{url, "--writable"}
		},
		"mariadb": func(t *testing.T) []string {
			url := dbtest.MariaDB(t)
			dbtest.MariaDBShell(t, url, sql)
			return []string{url, "--writable"}
		},
		"memcached": func(t *testing.T) []string {
			return []string{"-c", configFile(t, fmt.Sprintf(memcachedConfig, memcached.URL()))}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := serve(t, args(t)...)
			for _, path := range []string{"/depts/1", "/depts/1", "/depts/99", "/depts", "/users/1", "/no/1"} {
				r.get(path)
			}
			r.do("PUT", "/depts/2", `{"id": 2, "v": "b"}`, "Content-Type: application/json")
			for name, n := range tablesOf(noObjection(t, r.ops+"/metrics")) {
				if n > 12 {
					t.Errorf("%s has %d series", name, n)
				}
			}
		})
	}
}

func TestMetrics_OfTheProxy(t *testing.T) {
	t.Parallel()
	url, _, _ := startProxy(t, "--upstream", hello(t))
	if code, body := get(t, url+"/a"); code != http.StatusOK {
		t.Fatalf("GET /a: %d %s", code, body)
	}
	text := noObjection(t, url+"/.api/metrics")
	if !strings.Contains(text, "hotrow_proxy_opened_total{upstream=") {
		t.Errorf("no upstream in\n%s", text)
	}
}
