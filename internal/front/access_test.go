package front

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/accesslog"
)

// openAccess opens an access log of every request. closed ends it and returns
// its lines.
func openAccess(t *testing.T) (l *accesslog.Log, closed func() []map[string]any) {
	t.Helper()
	var out bytes.Buffer // read when its writer has ended
	l, err := accesslog.Open(accesslog.Config{Columns: AccessColumns(), Stdout: &out},
		accesslog.Settings{Mode: accesslog.All, Format: accesslog.JSON})
	if err != nil {
		t.Fatal(err)
	}
	return l, func() (lines []map[string]any) {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		for text := range bytes.Lines(out.Bytes()) {
			var line map[string]any
			if err := json.Unmarshal(text, &line); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			lines = append(lines, line)
		}
		return lines
	}
}

// log logs a line as a loop does.
func (l *LoopLog) log(t *testing.T, at time.Time, line *AccessLine) {
	t.Helper()
	weight, picked := l.Start(at)
	if !picked {
		t.Fatal("no line")
	}
	l.End(line, weight)
}

// Each value stands under its own name, and the lines of a wake-up share its
// time and its duration.
func TestLoopLog_HasALineForEachRequest(t *testing.T) {
	access, closed := openAccess(t)
	var l LoopLog
	l.Open(access)
	at := time.Date(1981, 6, 9, 1, 2, 3, 0, time.UTC)
	line := AccessLine{Peer: "127.0.0.1:1", Method: "GET", Path: "/depts/10", Protocol: "HTTP/2.0",
		Status: 200, Bytes: 7, Cache: "hit", Resource: "depts", Principal: "ann", RequestID: "r-1", Agent: "test"}
	for range 2 {
		l.log(t, at, &line)
	}
	if !l.Pending() {
		t.Error("nothing is pending after two lines")
	}
	l.Publish(250 * time.Millisecond)
	if l.Pending() {
		t.Error("lines are pending after Publish")
	}
	want := map[string]any{
		"time": "1981-06-09T01:02:03.000Z", "duration": 0.25, "remote_addr": "127.0.0.1:1",
		"method": "GET", "path": "/depts/10", "protocol": "HTTP/2.0", "status": 200.0, "bytes": 7.0, "cache": "hit",
		"resource": "depts", "principal": "ann", "request_id": "r-1", "user_agent": "test",
	}
	if d := cmp.Diff([]map[string]any{want, want}, closed()); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// A log that is turned off is off from the next wake-up on, and the lines of the
// one before still get their duration. One that is put in its place has lines of
// its own.
func TestLoopLog_FollowsTheLog(t *testing.T) {
	var l LoopLog
	if l.On() || l.Pending() {
		t.Error("it is on at first")
	}
	l.Publish(0) // to nobody
	first, closeFirst := openAccess(t)
	l.Open(first)
	if !l.On() {
		t.Fatal("it is off with a log")
	}
	l.log(t, time.Now(), &AccessLine{Path: "/1"})
	if err := first.Configure(accesslog.Settings{Mode: accesslog.Off}); err != nil {
		t.Fatal(err)
	}
	if l.Open(first); l.On() || !l.Pending() {
		t.Errorf("turned off: On %v, Pending %v", l.On(), l.Pending())
	}
	l.Publish(0)
	second, closeSecond := openAccess(t)
	l.Open(second)
	l.log(t, time.Now(), &AccessLine{Path: "/2"})
	l.Publish(0)
	if l.Open(nil); l.On() {
		t.Error("it is on without a log")
	}
	closeFirst()
	if lines := closeSecond(); len(lines) != 1 || lines[0]["path"] != "/2" {
		t.Errorf("the second log has %v", lines)
	}
}

func TestLoopLog_AllocatesNothing(t *testing.T) {
	access, closed := openAccess(t)
	var l LoopLog
	l.Open(access)
	now := time.Now()
	line := AccessLine{Peer: "127.0.0.1:1", Method: "GET", Path: "/depts/10", Status: 200}
	// A ring that nobody reads so fast drops lines, which allocates nothing either.
	if n := testing.AllocsPerRun(1000, func() {
		l.Open(access)
		if weight, picked := l.Start(now); picked {
			l.End(&line, weight)
		}
		l.Publish(0)
	}); n != 0 {
		t.Errorf("%v allocations for a line", n)
	}
	if len(closed()) == 0 {
		t.Error("there are no lines")
	}
}
