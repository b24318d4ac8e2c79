package sqlfront

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// A moment is what a session is at when a fault meets it.
type moment struct {
	name  string
	sent  []byte
	state string // of pg_stat_activity, and its wait_event, once the session is there
	rest  []byte // with which it goes on if the session is still there
	ready int    // ReadyForQuery of all that was sent

	// flood: how much has come depends on the sockets, so only kinds of messages are compared.
	flood bool
}

var moments = []moment{
	{name: "idle", state: "idle ClientRead"},
	{name: "in a transaction", sent: msg('Q', "BEGIN"), state: "idle in transaction ClientRead", ready: 1},
	{name: "in a statement", sent: msg('Q', "SELECT 1; SELECT pg_sleep(600); SELECT 2"),
		state: "active PgSleep", ready: 1},
	{name: "in a prepared one", sent: ask("SELECT pg_sleep(600)", 1), state: "active PgSleep", ready: 1},
	{name: "in the second group of three", state: "active PgSleep", ready: 3,
		sent: bytes.Join([][]byte{ask("SELECT 1", 0), ask("SELECT pg_sleep(600)", 0), ask("SELECT 2", 0)}, nil)},
	{name: "within a group", state: "active ClientRead", ready: 1,
		sent: bytes.Join([][]byte{msg('P', "", "SELECT 1", int16(0)),
			msg('B', "", "", int16(0), int16(0), int16(0)), msg('H')}, nil),
		rest: append(msg('E', "", int32(0)), msg('S')...)},
	{name: "in a COPY from it", state: "active ClientRead", ready: 1,
		sent: append(msg('Q', "COPY t FROM STDIN"), msg('d', []byte("1\n"))...), rest: msg('c')},
	{name: "in a COPY to it", state: "active ClientWrite", ready: 1, flood: true,
		sent: msg('Q', "COPY (SELECT repeat('x', 10000) FROM generate_series(1, 10000)) TO STDOUT")},
}

// reach begins a session and takes it to a moment.
func (m *moment) reach(t *testing.T, observer *pgx.Conn, url string) *raw {
	t.Helper()
	r := logIn(t, url)
	r.write(m.sent)
	waittest.Until(t, m.name, func() bool {
		var state string
		err := observer.QueryRow(t.Context(), `SELECT concat_ws(' ', state, wait_event)
			FROM pg_stat_activity WHERE pid = $1`, r.pid()).Scan(&state)
		return err == nil && state == m.state
	})
	return r
}

// heard returns what a client has heard, as it is compared.
func (m *moment) heard(r *raw) string {
	if !m.flood {
		return string(r.said)
	}
	var kinds []byte
	for b := r.said; len(b) > 0; b = b[headSize+binary.BigEndian.Uint32(b[1:]):] {
		if len(kinds) == 0 || kinds[len(kinds)-1] != b[0] {
			kinds = append(kinds, b[0])
		}
	}
	return string(kinds)
}

// TestFaults_AsWithoutTheRelay: whatever ends a statement or a session, and at whichever moment,
// a client hears the same through the relay as without it.
func TestFaults_AsWithoutTheRelay(t *testing.T) {
	server := dbtest.NewPostgres(t, nil)
	server.Exec("CREATE TABLE t (a int)")
	s := newStand(t, server.URL(), way{})
	for _, fault := range []struct {
		name string
		do   func(all []*raw)
		end  bool // of the session
	}{
		{"cancel", func(all []*raw) {
			for _, r := range all {
				r.cancel()
			}
		}, false},
		{"pg_terminate_backend", func(all []*raw) {
			for _, r := range all {
				server.Exec(fmt.Sprintf("SELECT pg_terminate_backend(%d)", r.pid()))
			}
		}, true},
		{"fast shutdown", func([]*raw) { server.Stop(dbtest.Fast) }, true},
		{"immediate shutdown", func([]*raw) { server.Stop(dbtest.Immediate) }, true},
		// All at one moment: a process that saw the first of them gone might say so, or might not.
		{"kill -9", func([]*raw) { server.Pause(); server.Kill() }, true},
	} {
		observer, err := pgx.Connect(t.Context(), server.URL())
		if err != nil {
			t.Fatal(err)
		}
		var all []*raw
		for _, m := range moments {
			all = append(all, m.reach(t, observer, s.database), m.reach(t, observer, s.url))
		}
		_ = observer.Close(t.Context())
		fault.do(all)
		for i, m := range moments {
			for _, r := range all[2*i : 2*i+2] {
				if fault.end {
					r.rest()
					continue
				}
				r.write(append(bytes.Clone(m.rest), msg('Q', "SELECT 'and on'")...))
				r.until(m.ready + 1)
				_ = r.Close()
			}
			if direct, relayed := m.heard(all[2*i]), m.heard(all[2*i+1]); direct != relayed {
				t.Errorf("%s, %s: direct %q, relayed %q", fault.name, m.name,
					tail([]byte(direct)), tail([]byte(relayed)))
			}
		}
		if fault.end && !strings.HasPrefix(fault.name, "pg_") {
			server.Stop(dbtest.Immediate)
			server.Start()
		}
		if got := whoAmI(t, s.url); got != "postgres" {
			t.Errorf("after %s a client is %q", fault.name, got)
		}
	}
}

// TestFaults_Promotion: sessions at a standby live on when it becomes a primary.
func TestFaults_Promotion(t *testing.T) {
	primary := dbtest.NewPostgres(t, nil)
	primary.Exec("CREATE TABLE t (a int)")
	standby := primary.Standby(t, nil)
	s := newStand(t, standby.URL(), way{})
	waittest.Until(t, "the standby has the table", func() bool {
		out, err := standby.TryExec("SELECT count(*) FROM t")
		return err == nil && out == "0"
	})
	all := []*raw{logIn(t, s.database), logIn(t, s.url)}
	say := func(sql string) {
		for _, r := range all {
			r.write(msg('Q', sql))
			r.until(1)
		}
	}
	say("INSERT INTO t VALUES (1)")
	standby.Promote()
	waittest.Until(t, "it is a primary", func() bool { return standby.Exec("SELECT pg_is_in_recovery()") == "f" })
	say("INSERT INTO t VALUES (2)")
	if !bytes.Equal(all[0].said, all[1].said) {
		t.Errorf("direct %q, relayed %q", tail(all[0].said), tail(all[1].said))
	}
	if !bytes.Contains(all[1].said, []byte("C25006")) || !bytes.Contains(all[1].said, []byte("INSERT 0 1")) {
		t.Errorf("heard %q", tail(all[1].said))
	}
}

// TestFaults_PipelineOfAThousandGroups of all kinds, good and bad, which is sent while its answers
// are read.
func TestFaults_PipelineOfAThousandGroups(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	kinds := [][]byte{msg('Q', "SELECT 1"), msg('Q', ""), msg('Q', "SELECT 1; SELECT 1/0; SELECT 2"), msg('S'),
		ask("SELECT 1/0", 0), ask("SELECT repeat('x', 20000)", 1), ask("SELECT a FROM t", 1), msg('Q', "BEGIN"),
		msg('Q', "ROLLBACK"), msg('Q', "COMMIT"), msg('Q', "COPY t TO STDOUT"), msg('Q', "INSERT INTO t VALUES (1)"),
		bytes.Join([][]byte{msg('Q', "COPY t FROM STDIN"), msg('d', []byte("7\n8\n")), msg('c')}, nil),
		bytes.Join([][]byte{msg('Q', "COPY t FROM STDIN"), msg('d', []byte("7\n")), msg('f', "no")}, nil),
		bytes.Join([][]byte{msg('P', "", "SELECT a FROM t", int16(0)), msg('H'),
			msg('B', "p", "", int16(0), int16(0), int16(0)), msg('E', "p", int32(1)), msg('H'),
			msg('E', "p", int32(0)), msg('S')}, nil)}
	var script [][]byte
	for range 1000 {
		script = append(script, kinds[random.IntN(len(kinds))])
	}
	var heard [2][]byte
	s := newStand(t, dbtest.Postgres(t, dbtest.Setup("CREATE TABLE t (a int);")), way{})
	for i, at := range []string{s.database, s.url} {
		dbtest.Psql(t, s.database, "TRUNCATE t;")
		r := logIn(t, at)
		done := make(chan error, 1)
		go func() {
			for b := bytes.Join(script, nil); len(b) > 0; {
				n := min(len(b), 1+random.IntN(3000))
				if _, err := r.Write(b[:n]); err != nil {
					done <- err
					return
				}
				b = b[n:]
			}
			done <- nil
		}()
		r.until(len(script))
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		heard[i] = r.said
	}
	if !bytes.Equal(heard[0], heard[1]) {
		t.Errorf("%d bytes direct, %d relayed", len(heard[0]), len(heard[1]))
	}
	if len(heard[0]) < 1_000_000 {
		t.Errorf("only %d bytes were compared", len(heard[0]))
	}
}

// pid returns the process of the session.
func (r *raw) pid() uint32 { return binary.BigEndian.Uint32(r.key) }

// cancel asks to cancel what the session does, and waits until the server has taken that.
func (r *raw) cancel() {
	r.t.Helper()
	other := dialRaw(r.t, "postgres://"+r.RemoteAddr().String())
	other.write(cancelPacket(r.key))
	other.rest()
	_ = other.Close()
}
