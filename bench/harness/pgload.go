package harness

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"

	"github.com/hotrow/hotrow/bench/load"
)

// pgLoad is the generator of bench/peers/pgload, which asks PostgreSQL itself.
const pgLoad = "pgload"

// errNoSQL is what a row has that asks PostgreSQL nothing.
var errNoSQL = errors.New("pgload needs sql, and a peer with a database")

// onceByPgLoad measures one row once with it.
func (w *Fixture) onceByPgLoad(
	ctx context.Context, p Placement, row *row, peer *Server, connections int,
) (*load.Result, error) {
	if row.SQL == "" || peer.Database == "" {
		return nil, errNoSQL
	}
	o := w.Opts
	ctx, cancel := context.WithTimeout(ctx, o.Warmup+o.Duration+Patience)
	defer cancel()
	args := []string{w.Programs + pgLoad, "-url", peer.Database, "-sql", row.SQL,
		"-clients", strconv.Itoa(connections), "-batch", strconv.Itoa(max(row.Batch, 1)),
		"-pipeline", strconv.Itoa(max(row.Pipeline, 1)),
		"-first", strconv.FormatInt(peer.first, 10), "-keys", strconv.Itoa(peer.Keys),
		"-zipf=" + strconv.FormatBool(row.Distribution == load.Zipf),
		"-warmup", o.Warmup.String(), "-time", o.Duration.String()}
	if p == Pinned {
		args = append([]string{"taskset", "-c", "1"}, args...)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.SysProcAttr = ChildAttributes()
	var failure bytes.Buffer
	cmd.Stderr = &failure
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	result, err := followPgLoad(bufio.NewReader(out), peer)
	_ = in.Close() // it ends
	if ended := cmd.Wait(); ended != nil || err != nil {
		return nil, fmt.Errorf("%s: %w: %s", pgLoad, errors.Join(err, ended), failure.Bytes())
	}
	used := cmd.ProcessState
	result.Client = cpuOf(used.UserTime(), used.SystemTime(), result)
	result.Name, result.Connections = row.Name, connections
	result.Pipeline = max(row.Pipeline, 1)
	return result, nil
}

// followPgLoad reads what it prints, and what the server has used meanwhile: that of a
// connection is lost when it is closed.
func followPgLoad(out *bufio.Reader, peer *Server) (*load.Result, error) {
	if _, err := out.ReadBytes('\n'); err != nil { // it is warm
		return nil, err
	}
	user, system, known := load.Used(peer.DatabasePID())
	line, err := out.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	userAfter, systemAfter, knownAfter := load.Used(peer.DatabasePID())
	result, err := parseFigures(line)
	if err == nil && known && knownAfter {
		result.Server = cpuOf(userAfter-user, systemAfter-system, result)
	}
	return result, err
}

// DatabasePID returns the process of the peer's database: what it is in front of, or itself.
func (r *Server) DatabasePID() int {
	if len(r.Behind) > 0 {
		return r.Behind[len(r.Behind)-1].pid()
	}
	return r.Main.pid()
}
