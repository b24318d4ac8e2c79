package robust

import (
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// newPgBouncer starts a pooler in front of a server and returns the database's URL
// through it. It refuses settings of a session that it does not know, or ignores them.
func newPgBouncer(t *testing.T, d *database, ignores string) string {
	t.Helper()
	return dbtest.PgBouncer(t, d.url, "pool_mode = transaction", "default_pool_size = 20",
		"ignore_startup_parameters = "+ignores)
}

// lenient are the settings of hotrow's sessions, for a pooler that ignores them.
const lenient = "extra_float_digits, IntervalStyle, statement_timeout, bytea_output," +
	" default_transaction_read_only, search_path, synchronous_commit"

// pooler: the URL leads to PgBouncer. No feed gets through one: nothing is kept, the
// log says why, and hotrow doctor says so, for either feed.
func pooler(t *testing.T) string {
	o := newOracle(t, 50)
	d := newPostgres(t, o, nil)
	// A pooler that gives each transaction another connection knows no prepared ones.
	const unprepared = "default_query_exec_mode=cache_describe"
	through := ""
	for _, ignores := range []string{"extra_float_digits", lenient} {
		u, err := url.Parse(newPgBouncer(t, d, ignores))
		if err != nil {
			t.Fatal(err)
		}
		u.RawQuery += "&" + unprepared
		through = u.String()
		for _, feed := range []string{"auto", "logical", "notify"} {
			out, err := exec.CommandContext(t.Context(), binary, "doctor", "--feed", feed,
				through).CombinedOutput()
			if err == nil || !strings.Contains(string(out), "pooler") &&
				!strings.Contains(string(out), "triggers") { // which notify lacks before that
				t.Errorf("ignoring %s, doctor --feed %s: %v\n%s", ignores, feed, err, out)
			}
		}
	}
	p := serve(t, d.config(setup{url: through}))
	until(t, p.text, "the reason", func() bool { return strings.Contains(p.text(), "leads to a pooler") })
	w := d.work(o, p, 2)
	pause(t.Context(), time.Second)
	w.stop()
	for k := range o.keys {
		code, status, body := p.get(fmt.Sprintf("/kv/%d", k+1))
		if code != http.StatusOK || !strings.Contains(status, "fwd=bypass") {
			t.Errorf("key %d: %d %s, %s", k+1, code, status, body)
		}
	}
	if n := p.metric("hotrow_cache_entries"); n != 0 {
		t.Errorf("%.0f documents are kept without a feed", n)
	}
	if n := strings.Count(p.text(), "leads to a pooler"); n > 3 {
		t.Errorf("the log says so %d times:\n%s", n, p.text())
	}
	o.check()
	return "doctor and the log say so, nothing is kept; " + o.figures()
}
