package explore_test

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/browsertest"
	"github.com/hotrow/hotrow/internal/front/fronttest"
	httpfront "github.com/hotrow/hotrow/internal/front/http"
	"github.com/hotrow/hotrow/internal/httpserve"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
)

// hostile are texts that could be taken for something else: markup, code of shells and of
// JavaScript, ends of lines, marks that turn the direction of a line.
var hostile = []string{
	`<img src=x onerror=alert(1)>`, `<script>alert(2)</script>`, `"><svg onload=alert(3)>`,
	`'; touch pwned; '`, `$(touch pwned)`, "`touch pwned`", `\'$(touch pwned)`, `!! %s %d %%`,
	"a\r\nSet-Cookie: x=1\r\n\r\nb", "txt\u202Egnp.exe", "javascript:alert(4)",
	`"${alert(5)}"`, "--help", "a b?c#d&e=f/g%2Fh+i", "50%", "=1+1", strings.Repeat("long", 450),
	"https://x.example/<b>", "tab\tand more", " ", "end\n",
}

var tables = []string{
	`CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price DECIMAL(10,2) NOT NULL,
		stock INTEGER, on_sale BOOLEAN, details JSON, category TEXT, serial BIGINT)`,
	`CREATE INDEX products_category ON products (category)`,
	`CREATE TABLE reviews (id INTEGER PRIMARY KEY, product_id INTEGER NOT NULL REFERENCES products (id),
		stars INTEGER NOT NULL, comment TEXT)`,
	`CREATE INDEX reviews_product ON reviews (product_id)`,
	`CREATE TABLE order_lines (order_id INTEGER, line INTEGER, product_id INTEGER REFERENCES products (id),
		quantity INTEGER, PRIMARY KEY (order_id, line))`,
	`CREATE TABLE odd (key TEXT PRIMARY KEY, note TEXT, "select" TEXT, "a ""b"" <i>" TEXT)`,
	`CREATE TABLE visits (id INTEGER PRIMARY KEY, path TEXT, seconds INTEGER)`,
	`CREATE TABLE wages (id INTEGER PRIMARY KEY, amount INTEGER)`,
	`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120)
		INSERT INTO products SELECT i, 'Product ' || i, i * 1.25, i % 40, i % 3 = 0,
			CASE WHEN i % 5 = 0 THEN '{"colour":"red","sizes":[1,2]}' END,
			CASE i % 4 WHEN 0 THEN 'books' WHEN 1 THEN 'garden' WHEN 2 THEN 'kitchen' ELSE 'toys' END,
			9007199254740993 + i FROM n`,
	`INSERT INTO reviews SELECT id, 1 + id % 60, 1 + id % 5, 'Review ' || id FROM products`,
	`INSERT INTO order_lines SELECT 1 + id / 3, id % 3, id, 1 + id % 4 FROM products`,
	`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10500)
		INSERT INTO visits SELECT i, '/page/' || i % 100, i % 300 FROM n`,
	`INSERT INTO wages VALUES (1, 100)`,
}

// A stand is a shop with odd rows, served as hotrow serves a database.
type stand struct {
	*fronttest.Database
	t      *testing.T
	url    string
	tokens fronttest.Tokens
}

func newStand(t *testing.T, change ...func(*httpfront.Options)) *stand {
	t.Helper()
	s := &stand{t: t}
	spec := func(name string, a resource.Access) resource.Spec {
		return resource.Spec{Source: "main", Access: a, Writable: true, MaxLimit: 1000,
			Table: &source.Spec{Name: name, Table: name}}
	}
	public := resource.Access{Read: "public", Write: "public"}
	more := fronttest.More{Tables: tables}
	for _, name := range []string{"products", "reviews", "order_lines", "odd", "visits"} {
		more.Resources = append(more.Resources, spec(name, public))
	}
	more.Resources = append(more.Resources,
		spec("wages", resource.Access{Read: "role:reader", Write: "role:editor"}))
	s.Database = fronttest.Open(t, more)
	for _, text := range hostile {
		s.Exec(fmt.Sprintf(`INSERT INTO odd VALUES (%s, %[1]s, %[1]s, %[1]s)`, quoted(text)))
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := httpfront.Options{Resources: s.Set, Auth: s.tokens.Auth, Issued: s.tokens.Issued}
	for _, f := range change {
		f(&o)
	}
	site, err := httpfront.Serve(listener, httpfront.New(o), httpserve.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(site.Close)
	s.url = "http://" + listener.Addr().String()
	return s
}

// quoted writes a text of SQL.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// open opens the page at what is behind #.
func (s *stand) open(tab *browsertest.Tab, hash string) {
	s.t.Helper()
	tab.Open(s.url + "/#" + hash)
}

// quiet fails the test if the page has complained of anything but the answers of these
// statuses, which the browser writes to the console.
func quiet(t *testing.T, tab *browsertest.Tab, but ...string) {
	t.Helper()
next:
	for _, m := range tab.Console() {
		for _, b := range but {
			if strings.Contains(m, "status of "+b) {
				continue next
			}
		}
		t.Errorf("console: %s", m)
	}
}
