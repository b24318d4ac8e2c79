package binlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
	"github.com/hotrow/hotrow/internal/source/sourcetest"
)

// A told is what a reader hands on, as text.
type told struct {
	*reader
	txs []string
}

// newTold returns a reader that knows table t.
func newTold(t testing.TB) *told {
	t.Helper()
	r, err := newReader([]source.Watched{{Table: "db.t", Columns: []string{"id"}}}, "db",
		place{"binlog.000007", 100})
	if err != nil {
		t.Fatal(err)
	}
	out := &told{reader: r}
	r.emit = func(c *commit) error {
		if text := sourcetest.Text(c.tx); text != "" {
			out.txs = append(out.txs, text)
		}
		return nil
	}
	return out
}

// header is that of an event which ends at pos.
func header(kind replication.EventType, pos uint32) *replication.EventHeader {
	return &replication.EventHeader{EventType: kind, LogPos: pos, EventSize: 19}
}

// feedEvents gives events to the reader, and returns its error.
func (r *told) feedEvents(events ...*replication.BinlogEvent) error {
	for _, e := range events {
		if err := r.event(e); err != nil {
			return err
		}
	}
	return nil
}

func gtid(pos uint32, flags byte) *replication.BinlogEvent {
	return &replication.BinlogEvent{Header: header(replication.MARIADB_GTID_EVENT, pos),
		Event: &replication.MariadbGTIDEvent{Flags: flags}}
}

func statement(pos uint32, text string) *replication.BinlogEvent {
	return &replication.BinlogEvent{Header: header(replication.QUERY_EVENT, pos),
		Event: &replication.QueryEvent{Query: []byte(text)}}
}

func xid(pos uint32) *replication.BinlogEvent {
	return &replication.BinlogEvent{Header: header(replication.XID_EVENT, pos),
		Event: &replication.XIDEvent{}}
}

func TestReader_MovesOnlyBetweenTransactions(t *testing.T) {
	r := newTold(t)
	begin := r.pos
	if err := r.feedEvents(gtid(150, 0), statement(200, "UPDATE t SET a = 1")); err != nil {
		t.Fatal(err)
	}
	if r.pos != begin {
		t.Errorf("the position is %d within a transaction, want %d", r.pos, begin)
	}
	if err := r.feedEvents(xid(230)); err != nil {
		t.Fatal(err)
	}
	if want := source.Position(7<<OffsetBits | 230); r.pos != want ||
		!slices.Equal(r.txs, []string{"t*"}) {
		t.Errorf("after the commit: %d, %q, want %d and t*", r.pos, r.txs, want)
	}
}

// A heartbeat moves nothing: the offset in it may be that of another file.
func TestReader_PassesOverHeartbeats(t *testing.T) {
	r := newTold(t)
	err := r.feedEvents(
		&replication.BinlogEvent{Header: header(replication.ROTATE_EVENT, 5000),
			Event: &replication.RotateEvent{NextLogName: []byte("binlog.000008"), Position: 4}},
		&replication.BinlogEvent{Header: header(replication.HEARTBEAT_EVENT, 5000),
			Event: &replication.HeartbeatEvent{Version: 1, Filename: "binlog.000008"}})
	if want, _ := (place{"binlog.000008", 4}).position(); err != nil || r.pos != want {
		t.Errorf("%v, at %x, want %x", err, r.pos, want)
	}
}

func TestReader_RefusesWhatCannotBe(t *testing.T) {
	for name, events := range map[string][]*replication.BinlogEvent{
		"begin within": {gtid(1, 0), gtid(2, 0)},
		"stray commit": {xid(1)},
		"stray query":  {statement(1, "UPDATE t SET a = 1")},
		"incident": {{Header: header(replication.INCIDENT_EVENT, 1),
			Event: &replication.GenericEvent{}}},
		"rotation within": {gtid(1, 0), {Header: header(replication.ROTATE_EVENT, 2),
			Event: &replication.RotateEvent{NextLogName: []byte("binlog.000008"), Position: 4}}},
		"short xa": {gtid(1, 0), {Header: header(replication.XA_PREPARE_LOG_EVENT, 2),
			Event: &replication.GenericEvent{Data: []byte{0, 1}}}},
	} {
		if err := newTold(t).feedEvents(events...); !errors.Is(err, errBinlog) {
			t.Errorf("%s: error %v, want %v", name, err, errBinlog)
		}
	}
}

// A stream that goes on must be of the file that the one before was of.
func TestReader_ResumesInTheSameFileOnly(t *testing.T) {
	made := func(at uint32) *replication.BinlogEvent {
		h := header(replication.FORMAT_DESCRIPTION_EVENT, 0)
		h.Timestamp = at
		return &replication.BinlogEvent{Header: h, Event: &replication.FormatDescriptionEvent{}}
	}
	for at, want := range map[uint32]error{77: nil, 78: errBinlog} {
		r := newTold(t)
		if err := r.feedEvents(made(77), gtid(150, 0), xid(180), gtid(200, 0)); err != nil {
			t.Fatal(err)
		}
		if from := r.resume(); from != (place{"binlog.000007", 180}) {
			t.Errorf("it goes on at %v, want the end of the last transaction", from)
		}
		if err := r.feedEvents(made(at)); !errors.Is(err, want) {
			t.Errorf("a file made at %d: error %v, want %v", at, err, want)
		}
	}
	r := newTold(t)
	r.resume()
	err := r.feedEvents(&replication.BinlogEvent{Header: header(replication.ROTATE_EVENT, 0),
		Event: &replication.RotateEvent{NextLogName: []byte("binlog.000008"), Position: 4}})
	if !errors.Is(err, errBinlog) {
		t.Errorf("another file: error %v, want %v", err, errBinlog)
	}
}

func TestReader_DeliversPreparedTransactionsWhenTheyCommit(t *testing.T) {
	prepare := []byte{0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 'q'}
	r := newTold(t)
	err := r.feedEvents(gtid(150, 0), statement(160, "UPDATE t SET a = 1"),
		&replication.BinlogEvent{Header: header(replication.XA_PREPARE_LOG_EVENT, 200),
			Event: &replication.GenericEvent{Data: prepare}})
	if err != nil || len(r.txs) > 0 {
		t.Fatalf("prepared: %q, %v, want nothing", r.txs, err)
	}
	err = r.feedEvents(gtid(240, 1), statement(300, "XA COMMIT X'71',X'',1"),
		gtid(340, 1), statement(400, "XA COMMIT X'72',X'',1"))
	if want := []string{"t*", "t*"}; err != nil || !slices.Equal(r.txs, want) {
		t.Errorf("%q, %v, want %q: one is known, of the other everything", r.txs, err, want)
	}
}

func TestPlace_Moves(t *testing.T) {
	p := place{"binlog.000001", 1<<32 - 10}
	for _, test := range []struct {
		end  uint32
		want uint64
	}{{0, 1<<32 - 10}, {1<<32 - 5, 1<<32 - 5}, {20, 1<<32 + 20}, {10, 1<<32 + 20}} {
		if p = p.moved(test.end); p.offset != test.want {
			t.Errorf("after %d the offset is %d, want %d", test.end, p.offset, test.want)
		}
	}
	for _, file := range []string{"binlog", "binlog.", "binlog.x", "a.999999999"} {
		if pos, err := (place{file: file}).position(); err == nil {
			t.Errorf("%q is at %d, want an error", file, pos)
		}
	}
}

// formatEvent is the first event of a file of MariaDB 10.11, with no checksums.
func formatEvent() []byte {
	body := binary.LittleEndian.AppendUint16(nil, 4)
	body = append(body, append([]byte("10.11.19-MariaDB"), make([]byte, 34)...)...)
	body = append(body, 0, 0, 0, 0, 19)
	lengths := make([]byte, 167)
	for i := range lengths {
		lengths[i] = 8
	}
	body = append(append(body, lengths...), 0, 0, 0, 0, 0)
	return rawEvent(15, body)
}

// rawEvent is an event as the server sends it.
func rawEvent(kind byte, body []byte) []byte {
	h := binary.LittleEndian.AppendUint32(nil, 1)
	h = append(h, kind, 1, 0, 0, 0)
	h = binary.LittleEndian.AppendUint32(h, uint32(19+len(body)))
	h = binary.LittleEndian.AppendUint32(h, 500)
	return append(append(h, 0, 0), body...)
}

// Whatever a server sends, the reader says what is wrong with it or goes on, and
// its position never goes back. The library's panics are caught as in a stream.
func FuzzReader(f *testing.F) {
	f.Add(byte(162), make([]byte, 19), byte(16), make([]byte, 8))
	f.Add(byte(2), append(make([]byte, 14), "UPDATE t SET a = 1"...), byte(4), []byte("\x04\x00binlog.9"))
	f.Add(byte(19), []byte("\x01\x00\x00\x00\x00\x00\x00\x00\x02db\x00\x01t\x00\x01\x03\x00\x00"), byte(23),
		[]byte("\x01\x00\x00\x00\x00\x00\x01\x00\x01\xff\xfe\x05\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, kind1 byte, body1 []byte, kind2 byte, body2 []byte) {
		r := newTold(t)
		r.defs = knownTable()
		p := replication.NewBinlogParser()
		p.SetFlavor("mariadb")
		p.SetRowsEventDecodeFunc(r.decode)
		begin := rawEvent(162, make([]byte, 19))
		for i, raw := range [][]byte{formatEvent(), begin, rawEvent(kind1, body1),
			rawEvent(kind2, body2)} {
			before := r.pos
			if !r.takes(p, raw) {
				if i < 2 {
					t.Fatalf("event %d is refused", i)
				}
				return
			}
			if r.pos < before {
				t.Errorf("the position went from %d to %d", before, r.pos)
			}
		}
	})
}

// Rows with a column of a type that nobody knows count as a change of the whole table.
func TestReader_GoesOnBehindRowsThatItCannotDecode(t *testing.T) {
	r := newTold(t)
	r.defs = knownTable()
	var undecoded []catalog.Name
	r.undecoded = func(n catalog.Name) { undecoded = append(undecoded, n) }
	p := replication.NewBinlogParser()
	p.SetFlavor("mariadb")
	p.SetRowsEventDecodeFunc(r.decode)
	table := "\x01\x00\x00\x00\x00\x00\x00\x00\x02db\x00\x01t\x00\x01\xc8\x00\x00"
	rows := "\x01\x00\x00\x00\x00\x00\x01\x00\x01\xff\xfe\x05\x00\x00\x00"
	for i, raw := range [][]byte{formatEvent(), rawEvent(162, make([]byte, 19)),
		rawEvent(19, []byte(table)), rawEvent(23, []byte(rows)), rawEvent(16, make([]byte, 8))} {
		if !r.takes(p, raw) {
			t.Fatalf("event %d is refused", i)
		}
	}
	if !slices.Equal(r.txs, []string{"t*"}) || len(undecoded) != 1 || len(r.whole) > 0 {
		t.Errorf("it tells %q, of %v that they are not decoded", r.txs, undecoded)
	}
}

// What an error of the library has of an event's data is not told.
func TestWithoutData(t *testing.T) {
	h := header(replication.WRITE_ROWS_EVENTv1, 700)
	bad := &replication.EventError{Header: h, Err: "data \"hunter2\"", Data: []byte("hunter2")}
	for _, err := range []error{fmt.Errorf("it: %w", bad), errors.New("panic \"hunter2\"\nstack")} {
		got := withoutData(err)
		if !errors.Is(got, errUnreadable) || strings.Contains(got.Error(), "hunter2") {
			t.Errorf("of %v it tells %v", err, got)
		}
	}
	if err := errors.New("bad connection"); withoutData(err) != err || withoutData(nil) != nil {
		t.Errorf("of %v it tells %v", err, withoutData(err))
	}
}

// knownTable is the definition of db.t.
func knownTable() *definitions {
	t := catalog.Table{Cols: []catalog.Column{catalog.ResultColumn("id", "int")}}
	t.Schema, t.Name = "db", "t"
	return &definitions{tables: map[catalog.Name]*tableDef{t.Named(): {Table: &t, id: "db.t",
		watched: []string{"id"}, key: []int{0}}}}
}

// takes gives one raw event to the library and to the reader. It reports whether
// both took it.
func (r *told) takes(p *replication.BinlogParser, raw []byte) (ok bool) {
	parsed := false
	defer func() {
		if v := recover(); v != nil && parsed {
			panic(v) // of ours
		}
	}()
	e, err := p.Parse(raw)
	if err != nil {
		return false
	}
	parsed = true
	err = r.event(e)
	return err == nil || !strings.Contains(err.Error(), "cannot be followed")
}

// TestReader_TellsOfViewsThatResourcesRead: a statement about such a view may name none of
// the tables that are watched, and others concern nobody.
func TestReader_TellsOfViewsThatResourcesRead(t *testing.T) {
	for text, told := range map[string]bool{
		"CREATE OR REPLACE ALGORITHM=MERGE VIEW `v` AS SELECT 1": true,
		"DROP VIEW v": true, "ALTER VIEW db.V AS SELECT 2": true, "RENAME TABLE w TO v": true,
		"DROP VIEW IF EXISTS other, v": true, "CREATE VIEW vv AS SELECT 1": false,
		"DROP TABLE v2": false, "ALTER TABLE t ADD x int": true,
	} {
		r := newTold(t)
		r.views = func() map[string][]string { return map[string][]string{"v": {"db.t"}} }
		var changed []string
		emit := r.emit
		r.emit = func(c *commit) error {
			changed = c.changed
			return emit(c)
		}
		if err := r.feedEvents(gtid(150, 1), statement(200, text)); err != nil {
			t.Fatal(err)
		}
		if slices.Equal(changed, []string{"db.t"}) != told || slices.Equal(r.txs, []string{"t*"}) != told {
			t.Errorf("%s: %v, definitions of %v; want it told: %v", text, r.txs, changed, told)
		}
	}
}
