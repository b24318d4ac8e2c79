package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// prometheus starts a Prometheus that scrapes r each second and knows the rules of deploy,
// whose "for" are two seconds, and returns which alerts fire.
func prometheus(t *testing.T, r *running) (firing func() map[string]bool) {
	t.Helper()
	program := dbtest.Program(t, "prometheus", "prometheus", "/usr/bin")
	rules, err := os.ReadFile("../../deploy/prometheus/hotrow.rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir, address := t.TempDir(), freeAddresses(t, 1)[0]
	soon := regexp.MustCompile(`(?m)^( +for:).*$`).ReplaceAll(rules, []byte("$1 2s"))
	for name, text := range map[string]string{
		"hotrow.rules.yaml": string(soon),
		"prometheus.yml": "global: {scrape_interval: 1s, evaluation_interval: 1s}\n" +
			"rule_files: [hotrow.rules.yaml]\nscrape_configs:\n  - job_name: hotrow\n" +
			"    static_configs: [{targets: ['" + strings.TrimPrefix(r.ops, "http://") + "']}]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var log output
	cmd := exec.Command(program, "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // ended by a signal
	})
	return func() map[string]bool {
		resp, err := http.Get("http://" + address + "/api/v1/alerts")
		if err != nil {
			return nil // it has not begun to listen
		}
		defer func() { _ = resp.Body.Close() }()
		var got struct {
			Data struct {
				Alerts []struct {
					Labels map[string]string
					State  string
				}
			}
		}
		if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
			return nil
		}
		names := map[string]bool{}
		for _, a := range got.Data.Alerts {
			if a.State == "firing" {
				names[a.Labels["alertname"]] = true
			}
		}
		return names
	}
}

// TestAlerts_FireWhileTheDatabaseIsAway stops a database under a Prometheus with the rules,
// and starts it again.
func TestAlerts_FireWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	pg := dbtest.NewPostgres(t, map[string]string{"wal_level": "logical"})
	url := pg.Database(t, dbtest.Setup("CREATE TABLE word (id int PRIMARY KEY, de text); "+
		"INSERT INTO word SELECT i, 'w' || i FROM generate_series(1, 5000) i"))
	r := serve(t, url)
	firing := prometheus(t, r)
	next := 0
	ask := func() { // what memory does not have yet
		next++
		_ = status(r.http + fmt.Sprintf("/word/%d", next%5000+1))
	}
	wait := func(what string, ok func(map[string]bool) bool) {
		t.Helper()
		var now map[string]bool
		waittest.UntilEvery(t, 50*time.Millisecond, what, func() bool {
			ask()
			now = firing()
			return now != nil && ok(now)
		}, func() string { return fmt.Sprintf("firing: %v; the log:\n%s", now, r.log) })
	}
	quiet := time.Now() // on a busy machine the feed may lag, and an alert fires for a while
	wait("no alert for five seconds", func(now map[string]bool) bool {
		if len(now) > 0 {
			quiet = time.Now()
		}
		return time.Since(quiet) > 5*time.Second
	})
	pg.Stop(dbtest.Immediate)
	wait("the database is away", func(now map[string]bool) bool {
		return now["HotrowAnswersStale"] && now["HotrowErrors"]
	})
	pg.Start()
	wait("the database is back", func(now map[string]bool) bool { return !now["HotrowAnswersStale"] })
}
