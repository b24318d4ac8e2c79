package testbed

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/fallback"
	httpfront "github.com/hotrow/hotrow/internal/front/http"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
)

// standIn answers as PostgREST documents what these tests ask of it, out of a real database: its
// own program is in none of the registries.
func standIn(t *testing.T, url string) *httptest.Server {
	t.Helper()
	conn := make(chan *pgx.Conn, 4)
	for range cap(conn) {
		conn <- Dial(t, url)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := <-conn
		defer func() { conn <- c }()
		body, _ := io.ReadAll(r.Body)
		var text string
		var err error
		if r.Header.Get("Accept-Profile")+r.Header.Get("Content-Profile") == "other" {
			err = fmt.Errorf("another schema")
		}
		id := strings.TrimPrefix(r.URL.Query().Get("id"), "eq.")
		switch r.Method + " " + r.URL.Path {
		case "POST /rpc/raise": // SELECT raise(by), and what it returns
			err = c.QueryRow(r.Context(),
				`SELECT to_json(raise(((convert_from($1, 'UTF8'))::json->>'id')::int))::text`, body).Scan(&text)
		case "PATCH /people":
			_, err = c.Exec(r.Context(), `UPDATE people SET n = n + 1 WHERE id = $1::int`, id)
			w.Header().Set("Content-Range", "0-0/*")
			w.WriteHeader(http.StatusNoContent)
		case "GET /seen": // a view
			err = c.QueryRow(r.Context(), `SELECT coalesce(json_agg(s), '[]')::text FROM seen s`).Scan(&text)
		case "GET /people":
			err = c.QueryRow(r.Context(),
				`SELECT json_build_array(json_build_object('sum', sum(n)))::text FROM people`).Scan(&text)
		default:
			w.WriteHeader(http.StatusNotFound)
			text = `{"code":"PGRST205","details":null,"hint":null,"message":"no"}`
		}
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(s.Close)
	return s
}

// newFallback returns hotrow in front of a database and of a PostgREST over it.
func newFallback(t *testing.T, monotonic bool) (*Bed, string) {
	t.Helper()
	url := dbtest.Postgres(t)
	conn := Dial(t, url)
	MustExec(t, conn, `CREATE TABLE people (id int PRIMARY KEY, n int NOT NULL)`,
		`INSERT INTO people SELECT i, 0 FROM generate_series(1, 10) AS i`, `CREATE VIEW seen AS SELECT * FROM people`,
		`CREATE FUNCTION raise(which int) RETURNS int LANGUAGE sql AS
			$$UPDATE people SET n = n + 1 WHERE id = which RETURNING n$$`)
	people := Spec("people")
	people.Writable, people.Access.Write = false, "none"
	behind := standIn(t, url)
	u, err := fallback.Parse(behind.URL)
	if err != nil {
		t.Fatal(err)
	}
	server := fallback.New(fallback.Options{URL: u, Most: 1 << 20})
	t.Cleanup(server.Close)
	src := OpenPostgres(t, url)
	bed := Over(t, src, Plan{Specs: []resource.Spec{people}, Front: func(o *httpfront.Options) {
		set := o.Resources
		o.Postgrest = "/rest/v1"
		o.Fallback = &httpfront.Fallback{Server: server, Source: "main", Monotonic: monotonic,
			LeftOut: func(ctx context.Context, _, name string) (string, bool) {
				cat, err := src.Catalog(ctx)
				if err != nil {
					t.Error(err)
					return "", false
				}
				return "public", slices.ContainsFunc(httpfront.LeftOut(cat, set),
					func(t *source.Table) bool { return t.ID() == "public."+name })
			}}
	}})
	return bed, url
}

// do asks below the mount, and returns the answer with its text.
func do(t *testing.T, bed *Bed, method, path, body string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+bed.Addr+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 400 {
		t.Fatalf("%s %s: %d %s %v", method, path, resp.StatusCode, text, err)
	}
	return resp, string(text)
}

// number returns n of the one row of a list.
func number(t *testing.T, text string) (n int) {
	t.Helper()
	var rows []struct{ N int }
	if err := json.Unmarshal([]byte(text), &rows); err != nil || len(rows) != 1 {
		t.Fatalf("%s: %v", text, err)
	}
	return rows[0].N
}

// Who writes by the fallback reads the write from memory's road at once, by document and list.
func TestFallback_WritesAreSeen(t *testing.T) {
	t.Parallel()
	bed, _ := newFallback(t, false)
	hits := 0
	for i := 1; i <= 200; i++ {
		for range 3 { // memory has the row
			resp, _ := do(t, bed, "GET", "/people/1", "")
			if strings.Contains(resp.Header.Get("Cache-Status"), "hit") {
				hits++
			}
			do(t, bed, "GET", "/rest/v1/people?id=eq.1", "")
		}
		want := i
		var resp *http.Response
		if i%2 == 0 {
			var text string
			if resp, text = do(t, bed, "POST", "/rest/v1/rpc/raise", `{"id":1}`); text != fmt.Sprint(want) {
				t.Fatalf("the function returns %s, want %d", text, want)
			}
		} else {
			resp, _ = do(t, bed, "PATCH", "/rest/v1/people?id=eq.1", `{}`)
		}
		if got := resp.Header.Get("Cache-Status"); got != "hotrow; fwd=bypass; detail=fallback" {
			t.Fatalf("it was not relayed: %v", resp.Header)
		}
		if _, text := do(t, bed, "GET", "/rest/v1/people?id=eq.1&select=n", ""); number(t, text) != want {
			t.Fatalf("after write %d the list has %s (position %q)", want, text, resp.Header.Get("Hotrow-Position"))
		}
		if _, text := do(t, bed, "GET", "/people/1", ""); text != fmt.Sprintf(`{"id":1,"n":%d}`, want) {
			t.Fatalf("after write %d the document is %s", want, text)
		}
	}
	if hits < 100 {
		t.Errorf("%d hits of 600: memory was not in the way", hits)
	}
}

// What a relayed read has shown is in every later answer, if that is wanted.
func TestFallback_Monotonic(t *testing.T) {
	t.Parallel()
	bed, url := newFallback(t, true)
	conn := Dial(t, url)
	for i := 1; i <= 300; i++ {
		for range 3 { // memory has the list
			do(t, bed, "GET", "/people/2", "")
		}
		done := make(chan error, 1)
		go func() {
			_, err := conn.Exec(t.Context(), `UPDATE people SET n = n + 1 WHERE id = 2`)
			done <- err
		}()
		var resp *http.Response
		text := ""
		for text != fmt.Sprintf(`[{"sum" : %d}]`, i) { // the read that shows it first
			resp, text = do(t, bed, "GET", "/rest/v1/people?select=n.sum()", "")
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if resp.Header.Get("Hotrow-Position") == "" {
			continue // the machine was late with the fence: nothing is promised
		}
		if _, text = do(t, bed, "GET", "/people/2", ""); text != fmt.Sprintf(`{"id":2,"n":%d}`, i) {
			t.Fatalf("%s after %d was shown", text, i)
		}
	}
}

// A view is left out by its kind, and asked of the fallback.
func TestFallback_Views(t *testing.T) {
	t.Parallel()
	bed, _ := newFallback(t, false)
	resp, text := do(t, bed, "GET", "/rest/v1/seen", "")
	if !strings.HasPrefix(text, `[{"id":1,"n":0}`) || !strings.Contains(resp.Header.Get("Cache-Status"), "fallback") {
		t.Errorf("%v %s", resp.Header, text)
	}
}
