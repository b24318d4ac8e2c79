package main

import (
	"bytes"
	"encoding/xml"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/tlstest"
)

// TestServe_H2Spec runs h2spec, the suite of HTTP/2's conformance, against the server,
// over TLS and without, and against net/http: every case holds that is not one of deviations, and every one that
// net/http passes.
//
//	make h2spec
func TestServe_H2Spec(t *testing.T) {
	t.Parallel()
	program := h2spec(t)
	t.Run("over=tls", func(t *testing.T) {
		t.Parallel()
		ours := serveTLS(t, tlstest.New(t, "h2spec"))
		held(t, program, ours.http, reference(t, true))
	})
	t.Run("over=h2c", func(t *testing.T) {
		t.Parallel()
		ours := start(t, nil, database(t, deptSQL))
		until(t, ours.log, ours.complete)
		held(t, program, ours.http, reference(t, false))
	})
}

// deviations are the cases that may fail, with the reason.
var deviations = map[string]string{
	"http2/6.9.1: Sends multiple WINDOW_UPDATE frames increasing the flow control window " +
		"to above 2^31-1 on a stream": "the stream may be answered before they come, and h2spec " +
		"takes the RST_STREAM that RFC 9113 8.1 allows for theirs",
}

// plainDeviations are more of them, without TLS.
var plainDeviations = map[string]string{
	"http2/3.5: Sends invalid connection preface": "it is a request of HTTP/1.1, and gets 400",
}

// attempts are those of a case that fails: h2spec waits for two seconds, of a busy machine,
// and has streams answered whose requests it has not ended.
const attempts = 4

// held fails a test unless the server at base passes what it has to, and what the reference
// passes.
func held(t *testing.T, program, base, reference string) {
	t.Helper()
	const path = "/dept/10"
	ours, theirs := conformance(t, program, base, path), conformance(t, program, reference, path)
	for _, name := range failures(ours) {
		reason, known := deviations[name]
		if !known && strings.HasPrefix(base, "http:") {
			reason, known = plainDeviations[name]
		}
		for n := 1; n < attempts && !known && ours[name].failed; n++ {
			t.Logf("once more: %s: %s", name, ours[name].why)
			ours[name] = conformance(t, program, base, path, ours[name].section)[name]
		}
		switch {
		case !ours[name].failed:
		case known:
			t.Logf("%s: %s", name, reason)
		case !theirs[name].failed:
			t.Errorf("net/http passes, and the server fails: %s: %s", name, ours[name].why)
		default:
			t.Errorf("%s: %s", name, ours[name].why)
		}
	}
	t.Logf("of %d cases the server fails %d, net/http %d", len(ours), len(failures(ours)),
		len(failures(theirs)))
	if len(ours) < 140 || len(ours) != len(theirs) {
		t.Errorf("%d cases have run here, and %d with net/http", len(ours), len(theirs))
	}
}

// reference starts a server of net/http, which answers a GET by some bytes, and a POST when
// its body has come.
func reference(t *testing.T, secure bool) (url string) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = w.Write([]byte(`{"deptno":10,"dname":"ACCOUNTING"}`))
	}))
	t.Cleanup(s.Close)
	s.EnableHTTP2 = secure
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	if secure {
		s.StartTLS()
		return s.URL
	}
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	return s.URL
}

// h2spec builds the suite, once: it is in go's build cache.
func h2spec(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "-C", filepath.Join("..", "..", "interop", "h2spec"),
		"tool", "-n", "github.com/summerwind/h2spec/cmd/h2spec")
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("build h2spec: %v: %s", err, stderr.Bytes())
	}
	return strings.TrimSpace(string(out))
}

// A verdict is that of one case.
type verdict struct {
	section string // which runs it alone
	failed  bool
	why     string
}

// conformance runs the suite, or sections of it, and returns the verdicts by section and
// title.
func conformance(t *testing.T, program, base, path string, sections ...string) map[string]verdict {
	t.Helper()
	at, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(at.Host)
	if err != nil {
		t.Fatal(err)
	}
	report := filepath.Join(t.TempDir(), "report.xml")
	args := []string{"-S", "-j", report, "-h", host, "-p", port, "-P", path}
	if at.Scheme == "https" {
		args = append(args, "-t", "-k")
	}
	out, err := exec.CommandContext(t.Context(), program, append(args, sections...)...).CombinedOutput()
	text, rerr := os.ReadFile(report) // it fails when a case does
	if rerr != nil {
		t.Fatalf("h2spec: %v, %v\n%s", err, rerr, out)
	}
	return verdicts(t, text)
}

// verdicts reads a report in JUnit's form.
func verdicts(t *testing.T, text []byte) map[string]verdict {
	t.Helper()
	type message struct {
		Text string `xml:",chardata"`
	}
	var report struct {
		Cases []struct {
			Section string   `xml:"package,attr"`
			Title   string   `xml:"classname,attr"`
			Failure *message `xml:"failure"`
			Error   *message `xml:"error"`
		} `xml:"testsuite>testcase"`
	}
	if err := xml.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	all := map[string]verdict{}
	for _, c := range report.Cases {
		v := verdict{section: c.Section}
		for _, m := range []*message{c.Failure, c.Error} {
			if m != nil {
				v.failed, v.why = true, m.Text
			}
		}
		all[c.Section+": "+c.Title] = v
	}
	return all
}

// failures returns the cases that have failed, in order.
func failures(all map[string]verdict) (names []string) {
	for name, v := range all {
		if v.failed {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
