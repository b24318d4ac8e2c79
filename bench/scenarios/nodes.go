package scenarios

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/hotrow/hotrow/bench/harness"
	"github.com/hotrow/hotrow/bench/load"
)

// nodesRate is how many transactions there are a second.
const nodesRate = 500

// nodeCounts are how many nodes follow the database at one time.
var nodeCounts = []int{1, 4, 8}

// A nodesRun is what a database has used beside a number of nodes.
type nodesRun struct {
	cpu      float64 // ms a second
	sessions float64 // of it, that of the nodes' sessions
	tx       float64 // transactions a second
}

// measureNodes has the same writes made with no node, with more and more, and with none
// again: what the machine does meanwhile changes both.
func measureNodes(
	ctx context.Context, w *harness.Fixture, a *harness.Attempt,
) (figures []harness.Figure, err error) {
	var nodes []*harness.Process
	stop := func() {
		for _, n := range nodes {
			n.Stop()
		}
		nodes = nil
	}
	defer stop()
	first, err := underWrites(ctx, w, a)
	if err != nil {
		return nil, err
	}
	var runs []nodesRun
	for _, n := range nodeCounts {
		for len(nodes) < n {
			node, err := startNode(ctx, w, a.Peer.Database, len(nodes))
			if err != nil {
				return nil, err
			}
			nodes = append(nodes, node)
		}
		r, err := underWrites(ctx, w, a)
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	stop()
	last, err := underWrites(ctx, w, a)
	if err != nil {
		return nil, err
	}
	without := (first.cpu + last.cpu) / 2
	figures = append(figures, harness.FigureOf("transactions/s", (first.tx+last.tx)/2),
		harness.FigureOf("no node: ms/s", without))
	for i, n := range nodeCounts {
		name := fmt.Sprintf("%d node", n)
		if n > 1 {
			name += "s"
		}
		each := runs[i].tx * float64(n)
		figures = append(figures,
			harness.FigureOf(name+": ms a transaction and node", runs[i].sessions/each),
			harness.FigureOf(name+": of the whole", (runs[i].cpu-without)/each))
	}
	return figures, nil
}

// underWrites makes the writes and returns what the database has used meanwhile.
func underWrites(
	ctx context.Context, w *harness.Fixture, a *harness.Attempt,
) (r nodesRun, err error) {
	cmd := exec.CommandContext(ctx, w.Programs+"updates", "-url", a.Peer.Database,
		"-rate", strconv.Itoa(nodesRate), "-connections", strconv.Itoa(a.Connections),
		"-keys", strconv.Itoa(a.Peer.Keys),
		"-time", (w.Opts.Warmup + w.Opts.Duration + w.Opts.Warmup/2).String())
	cmd.SysProcAttr = harness.ChildAttributes()
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Start(); err != nil {
		return r, err
	}
	database := a.Peer.Main.Cmd.Process.Pid
	harness.Wait(ctx, w.Opts.Warmup)
	from, ok := useOf(database)
	harness.Wait(ctx, w.Opts.Duration)
	till, still := useOf(database)
	took := till.at.Sub(from.at).Seconds()
	if err := cmd.Wait(); err != nil {
		return r, fmt.Errorf("updates: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	if !ok || !still {
		return r, fmt.Errorf("%s is not there", a.Peer.Name)
	}
	var said struct{ Commits, Seconds float64 }
	if err := json.Unmarshal(out.Bytes(), &said); err != nil {
		return r, err
	}
	r.cpu = (till.all - from.all).Seconds() * 1000 / took
	r.tx = said.Commits / said.Seconds
	sessions, err := sessionsOf(ctx, w, a.Peer.Database)
	for _, id := range sessions {
		r.sessions += (till.tasks[id] - from.tasks[id]).Seconds() * 1000 / took
	}
	return r, err
}

// A use is what a database has used by a time.
type use struct {
	at    time.Time
	all   time.Duration
	tasks map[int]time.Duration
}

func useOf(pid int) (u use, ok bool) {
	user, system, ok := load.Used(pid)
	u.at, u.all = time.Now(), user+system
	if ok {
		u.tasks, ok = load.UsedByTask(pid)
	}
	return u, ok
}

// sessionsOf returns the threads, or processes, of all sessions of a database.
func sessionsOf(ctx context.Context, w *harness.Fixture, url string) (ids []int, err error) {
	out, err := exec.CommandContext(ctx, w.Programs+"updates", "-url", url, "-sessions").Output()
	if err == nil {
		err = json.Unmarshal(out, &ids)
	}
	if err != nil {
		return nil, fmt.Errorf("updates -sessions: %w", err)
	}
	return ids, nil
}

// startNode starts hotrow in front of a database, by its URL alone, and waits until its
// feed is complete.
func startNode(
	ctx context.Context, w *harness.Fixture, url string, n int,
) (*harness.Process, error) {
	ops, _, err := harness.Loopback()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(w.Tmp, fmt.Sprintf("node-%d", n))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	p, err := harness.StartWith("hotrow", dir, harness.Free, func(cmd *exec.Cmd) {
		cmd.Env = append(os.Environ(), "HOTROW_HTTP_LISTEN=127.0.0.1:0", "HOTROW_WIRE_LISTEN=off",
			"HOTROW_OPS_LISTEN="+ops)
	}, w.Hotrow, "serve", url)
	if err != nil {
		return nil, err
	}
	if err := p.AwaitURL(ctx, "http://"+ops+"/readyz?strict"); err != nil {
		p.Stop()
		return nil, err
	}
	return p, nil
}
