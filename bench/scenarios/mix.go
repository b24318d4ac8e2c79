package scenarios

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/bench/harness"
	"github.com/hotrow/hotrow/bench/load"
	"github.com/hotrow/hotrow/internal/demo"
)

// The mix: what is not a document or a list is a write.
const (
	mixDocuments = 70 // percent
	mixLists     = 25
	mixDepts     = 1000 // that are asked for, some far more often than others
)

// A mixDept is what is known of one department and its employees.
type mixDept struct {
	document, list string // paths
	employee       string // path of the one that is written

	turn    sync.Mutex   // of its writers
	version int          // the last that was written; guarded by turn
	visible atomic.Int64 // the last whose write was answered
}

// measureMix asks for documents and lists, and writes some rows of them, by HTTP. An answer
// is stale if it lacks a write that was answered before it was asked for.
func measureMix(
	ctx context.Context, w *harness.Fixture, a *harness.Attempt,
) ([]harness.Figure, error) {
	depts, err := mixOf(ctx, a.Peer)
	if err != nil {
		return nil, err
	}
	all := make([]*mixer, a.Connections)
	for i := range all {
		draw, err := load.Keys{N: int64(len(depts)), Distribution: load.Zipf}.Draw(
			uint64(i), i, len(all))
		if err != nil {
			return nil, err
		}
		all[i] = &mixer{address: a.Peer.Address(), depts: depts, draw: draw,
			rng: rand.New(rand.NewPCG(1, uint64(i)))}
	}
	run := func(d time.Duration) error {
		errs := make([]error, len(all))
		until := time.Now().Add(d)
		var work sync.WaitGroup
		for i, m := range all {
			work.Go(func() { errs[i] = m.run(ctx, until) })
		}
		work.Wait()
		return errors.Join(errs...)
	}
	if err := run(w.Opts.Warmup); err != nil {
		return nil, err
	}
	for _, m := range all {
		m.took, m.stale, m.writes = m.took[:0], 0, 0
	}
	began := time.Now()
	if err := run(w.Opts.Duration); err != nil {
		return nil, err
	}
	return mixFigures(all, time.Since(began)), nil
}

// mixFigures are what all connections have seen.
func mixFigures(all []*mixer, took time.Duration) []harness.Figure {
	var times []float64
	var stale, writes int
	for _, m := range all {
		times, stale, writes = append(times, m.took...), stale+m.stale, writes+m.writes
	}
	slices.Sort(times)
	return []harness.Figure{
		harness.FigureOf("answers/s", float64(len(times))/took.Seconds()),
		harness.FigureOf("p99 µs", times[len(times)*99/100]),
		harness.FigureOf("writes/s", float64(writes)/took.Seconds()),
		harness.FigureOf("stale answers", float64(stale)),
	}
}

// mixOf returns the departments, and finds an employee of each.
func mixOf(ctx context.Context, peer *harness.Server) ([]*mixDept, error) {
	all := make([]*mixDept, min(peer.Keys, mixDepts))
	for i := range all {
		d := &mixDept{document: fmt.Sprintf("/depts/%d", demo.FirstDept+i),
			list: fmt.Sprintf("/emps?deptno=eq.%d&order=sal.desc&limit=25", demo.FirstDept+i)}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, peer.Base+d.list, nil)
		if err != nil {
			return nil, err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, err
		}
		var rows []struct{ EmpNo int }
		err = json.NewDecoder(resp.Body).Decode(&rows)
		_ = resp.Body.Close()
		if err != nil || len(rows) == 0 {
			return nil, fmt.Errorf("GET %s: %s, %d rows: %w", d.list, resp.Status, len(rows), err)
		}
		d.employee = fmt.Sprintf("/emps/%d", rows[0].EmpNo)
		all[i] = d
	}
	return all, nil
}

// A mixer is one connection.
type mixer struct {
	address string
	depts   []*mixDept
	draw    func() int64
	rng     *rand.Rand
	conn    net.Conn
	in      *bufio.Reader
	body    bytes.Buffer

	took   []float64 // µs
	stale  int
	writes int
}

// run asks until then.
func (m *mixer) run(ctx context.Context, until time.Time) (err error) {
	if m.conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", m.address); err != nil {
		return err
	}
	defer func() { _ = m.conn.Close() }()
	m.in = bufio.NewReaderSize(m.conn, 16<<10)
	for err == nil && ctx.Err() == nil && time.Now().Before(until) {
		d := m.depts[m.draw()]
		switch n := m.rng.IntN(100); {
		case n < mixDocuments:
			err = m.read(d, d.document)
		case n < mixDocuments+mixLists:
			err = m.read(d, d.list)
		default:
			for !d.turn.TryLock() { // nobody waits for another's write
				d = m.depts[m.draw()]
			}
			err = m.write(d)
			d.turn.Unlock()
		}
	}
	return errors.Join(err, ctx.Err())
}

// mark stands before the version in what is written: in the name of an employee.
const mark = `"empName":"v`

// read asks for a document or a list, and looks whether it has what was written.
func (m *mixer) read(d *mixDept, path string) error {
	want := d.visible.Load()
	if err := m.ask("GET", path, ""); err != nil {
		return err
	}
	have := int64(0)
	if _, rest, ok := bytes.Cut(m.body.Bytes(), []byte(mark)); ok {
		digits, _, _ := bytes.Cut(rest, []byte(`"`))
		n, err := strconv.ParseInt(string(digits), 10, 64)
		if err != nil {
			return fmt.Errorf("GET %s: version %q", path, digits)
		}
		have = n
	}
	if have < want {
		m.stale++
	}
	return nil
}

// write gives an employee the next version. d.turn is held.
func (m *mixer) write(d *mixDept) error {
	d.version++
	err := m.ask("PATCH", d.employee, fmt.Sprintf(`{"empName":"v%d"}`, d.version))
	if err == nil {
		d.visible.Store(int64(d.version))
		m.writes++
	}
	return err
}

// ask sends a request and reads its answer.
func (m *mixer) ask(method, path, body string) error {
	began := time.Now()
	head := ""
	if body != "" {
		head = fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	_, err := fmt.Fprintf(m.conn, "%s %s HTTP/1.1\r\nHost: %s\r\n%s\r\n%s", method, path, m.address,
		head, body)
	if err != nil {
		return err
	}
	status, err := m.answer()
	if err == nil && status/100 != 2 {
		err = fmt.Errorf("%s %s: status %d: %.200s", method, path, status, m.body.Bytes())
	}
	m.took = append(m.took, float64(time.Since(began).Nanoseconds())/1e3)
	return err
}

// answer reads an answer with a Content-Length, or none, and fills m.body.
func (m *mixer) answer() (status int, err error) {
	line, err := m.in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if len(line) < 12 {
		return 0, fmt.Errorf("the answer begins with %q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, err
	}
	length := 0
	for {
		if line, err = m.in.ReadSlice('\n'); err != nil {
			return 0, err
		}
		name, value, found := bytes.Cut(bytes.TrimSpace(line), []byte(":"))
		switch {
		case len(name) == 0 && !found:
			m.body.Reset()
			_, err = io.CopyN(&m.body, m.in, int64(length))
			return status, err
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return 0, err
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			return 0, errors.New("an answer without Content-Length")
		}
	}
}
