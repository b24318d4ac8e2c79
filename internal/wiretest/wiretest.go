// Package wiretest runs gofast's own load generator, perf, for tests of
// interoperability: as a server in a network namespace of its own, because it
// opens ports that nobody can choose, or as a client. Tests look at the counters
// that it prints at its end; the throughput that it prints is divided by whole
// seconds and is of no use.
//
// It knows nothing of hotrow's own code. perf is built from interop/gofast, the
// module that pins it.
package wiretest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is how long perf may take to start, to stop, or to do a client's
// work.
const patience = time.Minute

// perfPath builds perf once, and returns where it is: in go's build cache.
var perfPath = sync.OnceValues(func() (string, error) {
	// A binary that is built with -trimpath does not know where its source is.
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the module of this test: %w", err)
	}
	dir := filepath.Join(filepath.Dir(strings.TrimSpace(string(mod))), "interop", "gofast")
	cmd := exec.Command("go", "-C", dir, "tool", "-n", "github.com/bnclabs/gofast/perf")
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("build gofast's perf: %w: %s", err, stderr.Bytes())
	}
	return strings.TrimSpace(string(out)), nil
})

// Perf returns the path of the perf program.
func Perf(t testing.TB) string {
	t.Helper()
	path, err := perfPath()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// RunClient runs perf -c against the server at addr, and returns the counters
// that it prints. It prints none after less than a second: then RunClient tries
// again on another connection, with more than count to do.
func RunClient(t testing.TB, addr string, count int, args ...string) map[string]uint64 {
	t.Helper()
	for {
		stats, short, err := runClient(Perf(t), addr, count, args)
		if err != nil {
			t.Fatalf("perf %v: %v", args, err)
		}
		if !short {
			return stats
		}
		count *= 3
	}
}

func runClient(path, addr string, count int, args []string) (
	stats map[string]uint64, short bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	args = append([]string{"-c", "-addr", addr, "-count", strconv.Itoa(count)}, args...)
	out, err := exec.CommandContext(ctx, path, args...).CombinedOutput()
	if bytes.Contains(out, []byte("Run client for longer duration")) {
		return nil, true, nil
	}
	if err == nil {
		stats, err = parseStats(out)
	}
	if err != nil {
		return nil, false, fmt.Errorf("%w\n%s", err, tail(out))
	}
	return stats, false, nil
}

// tail returns the end of what a program has printed.
func tail(out []byte) []byte { return out[max(0, len(out)-2000):] }

var (
	statsLine = regexp.MustCompile(`(?m)^stats \{(.*)\}`)
	counter   = regexp.MustCompile(`"(\w+)":(\d+)`)
)

// parseStats returns the counters that perf has printed.
func parseStats(out []byte) (map[string]uint64, error) {
	line := statsLine.FindSubmatch(out)
	if line == nil {
		return nil, errors.New("no counters are printed")
	}
	stats := map[string]uint64{}
	for _, m := range counter.FindAllSubmatch(line[1], -1) {
		n, err := strconv.ParseUint(string(m[2]), 10, 64)
		if err != nil {
			return nil, err
		}
		stats[string(m[1])] = n
	}
	return stats, nil
}
