package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/hotrow/hotrow/bench/load"
)

// h2Said is what h2load 1.52 has printed.
const h2Said = `starting benchmark...
spawning thread #0: 16 total client(s). 8000 total requests
TLS Protocol: TLSv1.3
Application protocol: h2
progress: 100% done

finished in 250.00ms, 32000.00 req/s, 51.20MB/s
requests: 8000 total, 8000 started, 8000 done, 7990 succeeded, 10 failed, 0 errored, 0 timeout
status codes: 7990 2xx, 0 3xx, 10 4xx, 0 5xx
traffic: 12.80MB (13421772) total, 100.00KB (102400) headers (space savings 90.00%), 12.50MB (13107200) data
                     min         max         mean         sd        +/- sd
time for request:      200us      9.00ms       400us        100us    80.00%
`

func TestParseH2Load(t *testing.T) {
	r, err := parseH2Load([]byte(h2Said))
	if err != nil || r.Answers != 7990 || r.Seconds != 0.25 || int(r.Rate) != 4*7990 || r.Failed() != 10 {
		t.Errorf("%+v, %v", r, err)
	}
	for _, text := range []string{"", h2Said[:200]} {
		if r, err := parseH2Load([]byte(text)); err == nil {
			t.Errorf("%q: %+v", text, r)
		}
	}
}

func TestReadH2Times(t *testing.T) {
	file := filepath.Join(t.TempDir(), "times")
	text := "100\t200\t9000\n" // of the handshakes' time
	for at := 200; at <= 1100; at += 100 {
		text += fmt.Sprintf("%d\t200\t50\n", at)
	}
	text += "1100\t200\t70\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var r load.Result
	if err := readH2Times(&r, file); err != nil || r.Reads.P50 != 50 || r.Reads.P99 != 70 {
		t.Errorf("%+v, %v", r.Reads, err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := readH2Times(&r, file); err == nil {
		t.Error("an empty log is none")
	}
}
