package wirebench

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/client/wire"
	"github.com/hotrow/hotrow/client/wire/rows"
	"github.com/hotrow/hotrow/internal/waittest"
	"go.uber.org/goleak"
)

// limit bounds what a run is given to get anything done.
var limit = waittest.Limit(10 * time.Second)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve accepts connections until the test ends, and serves each.
func serve(t *testing.T, one func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { one(nc) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		running.Wait()
	})
	return l.Addr().String()
}

// serveHotrow serves the echo messages as a hotrow server with wire.perf does.
func serveHotrow(t *testing.T) string {
	h := new(wire.Handlers)
	h.Post(rows.IDEchoPost, func([]byte) {})
	h.Inline(rows.IDEchoRequest, func(data, dst []byte) ([]byte, error) {
		return append(dst, data...), nil
	})
	h.Stream(rows.IDEchoSend, func(ctx context.Context, s *wire.Stream) error {
		var buf []byte
		var err error
		for err == nil {
			buf, err = s.Recv(ctx, buf[:0])
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	})
	return serve(t, func(nc net.Conn) {
		c, err := wire.Accept(context.Background(), nc, wire.Options{Handlers: h})
		if err != nil {
			return
		}
		<-c.Done()
		_ = c.Close()
	})
}

// serveRaw answers the raw protocol.
func serveRaw(t *testing.T) string {
	return serve(t, func(nc net.Conn) {
		defer func() { _ = nc.Close() }()
		head := make([]byte, rawHead)
		for {
			if _, err := io.ReadFull(nc, head); err != nil {
				return
			}
			data := make([]byte, binary.BigEndian.Uint32(head)-5)
			if _, err := io.ReadFull(nc, data); err != nil {
				return
			}
			if head[4] == rawRequest || head[4] == rawEnd {
				if _, err := nc.Write(append(bytes.Clone(head), data...)); err != nil {
					return
				}
			}
		}
	})
}

// TestRun_EveryRow makes every run for a moment.
func TestRun_EveryRow(t *testing.T) {
	hotrow, raw := serveHotrow(t), serveRaw(t)
	report := &Report{Rows: Table()}
	for _, row := range report.Rows {
		row.Messages = min(row.Messages, 1000)
		row.Connections = min(row.Connections, 2)
		for name, dial := range map[string]Dial{
			"hotrow": DialHotrow(hotrow, wire.Options{}), "raw": DialRaw(raw),
		} {
			var res Result
			var err error
			// On a busy machine a moment may be too short for anything.
			for d := 20 * time.Millisecond; res.Messages == 0 && err == nil && d < limit; d *= 4 {
				res, err = Run(context.Background(), row, dial, time.Millisecond, d)
			}
			if err != nil || res.Messages == 0 || res.Seconds < 0.02 || res.Rate <= 0 {
				t.Errorf("%s, %s: %+v, %v", name, row.Name, res, err)
			}
			if row.Shape == Request && res.Latency.Mean <= 0 {
				t.Errorf("%s, %s: no latency", name, row.Name)
			}
			res.Contender = name
			report.Add(res)
		}
	}
	report.Order([]string{"raw", "hotrow"})
	text := report.Text()
	for _, row := range report.Rows {
		if n := strings.Count(text, "\n"+row.Name+"  "); n != 3 {
			t.Errorf("the report has %q %d times, want three:\n%s", row.Name, n, text)
		}
	}
	if b, err := report.JSON(); err != nil || !bytes.Contains(b, []byte(`"contender": "raw"`)) {
		t.Errorf("the report as JSON: %.300s, %v", b, err)
	}
	if !strings.Contains(report.Markdown(), "| 83,334 |") {
		t.Error("the published figures are not in the table")
	}
	if err := report.Err(); err != nil {
		t.Error(err)
	}
}

// TestRun_FailsWhenTheServerGoes instead of counting what was not answered.
func TestRun_FailsWhenTheServerGoes(t *testing.T) {
	address := serve(t, func(nc net.Conn) {
		_, _ = io.CopyN(io.Discard, nc, 1000)
		_ = nc.Close()
	})
	row := Row{Name: "r", Shape: Request, Connections: 1, Routines: 3, Payload: 512}
	_, err := Run(context.Background(), row, DialRaw(address), time.Millisecond, 10*time.Second)
	if err == nil {
		t.Error("a run whose server has gone has no error")
	}
}

func TestReport_FailuresAreShown(t *testing.T) {
	r := &Report{Rows: []Row{{Name: "a"}}}
	r.Add(Result{Contender: "x", Row: "a", Failed: "it has crashed"})
	if err := r.Err(); err == nil || !strings.Contains(r.Text(), "it has crashed") {
		t.Errorf("the failure is not told: %v, %s", err, r.Text())
	}
	r.Add(Result{Contender: "x", Row: "a", Rate: 2, Messages: 2})
	r.Add(Result{Contender: "x", Row: "a", Rate: 1, Messages: 1})
	if one := r.find("x", "a"); one == nil || one.Rate != 2 || r.Err() != nil {
		t.Errorf("of several the best counts: %+v, %v", one, r.Err())
	}
}

// TestRunGofast_ReadsWhatItPrints, from a program that prints as gofast's does.
func TestRunGofast_ReadsWhatItPrints(t *testing.T) {
	program := filepath.Join(t.TempDir(), "perf")
	script := "#!/bin/sh\nsleep 0.05\necho 'Latency Average: 12.5µs'\n" +
		"echo 'stats { \"n_txpost\":7, \"n_txreq\":1000, \"n_txstart\":2, \"n_txstream\":20 }'\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	row := Row{Name: "r", Shape: Request, Connections: 1, Routines: 1, Batch: 1, Payload: 64}
	res, err := RunGofast(context.Background(), program, "127.0.0.1:1", row, 10*time.Millisecond)
	if err != nil || res.Messages != 1000 || res.Latency.Mean != 12.5 || res.Seconds < 0.05 {
		t.Errorf("the result is %+v, %v", res, err)
	}
	row.Shape, row.Messages = Stream, 10
	res, err = RunGofast(context.Background(), program, "127.0.0.1:1", row, 10*time.Millisecond)
	if err != nil || res.Messages != 22 {
		t.Errorf("the result is %+v, %v", res, err)
	}
}
