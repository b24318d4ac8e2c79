package binlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
)

// errBinlog is the error of a binary log that is not as the server's manual has
// it, or that says itself that something is missing.
var errBinlog = errors.New("the binary log cannot be followed")

// maxPrepared XA transactions are remembered until they are committed; of more,
// a commit is told as a change of everything.
const maxPreparedXA = 1000

// A reader turns the events of the binary log into transactions of changes. It
// does no I/O. Rows of tables that nobody watches are not even decoded.
type reader struct {
	watched map[catalog.Name]string // IDs
	index   nameIndex               // of watched
	ids     []string
	views   func() map[string][]string // see Source; nil: there are none

	defs *definitions // what the catalogue said last; nil: nothing yet
	ddls uint64       // changes of definitions so far

	keepsAll bool // rows are kept to be read later, too, whose columns are known: see late

	at       place
	done     place           // of the end of the last group
	pos      source.Position // the same
	born     uint32          // when the file was made; 0: not known yet
	resumed  bool            // the next stream must be of that file
	group    *group          // the one that is open, or nil
	prepared map[string]*group

	// whole are the tables whose rows had the columns that the catalogue shows, since
	// privileges were last changed.
	whole map[catalog.Name]bool

	checksums bool                                 // events end with one
	sealed    map[*replication.TableMapEvent][]int // columns of the statement's tables

	// undecoded is called for an event whose rows cannot be decoded (may be nil).
	undecoded func(catalog.Name)

	// Called for each transaction, and for the name of a file before which all
	// transactions with an XID are visible (may be nil).
	emit       func(*commit) error
	checkpoint func(file string)

	// verified is called when the first file has turned out to be the one that it
	// was resumed in (may be nil).
	verified func()
}

// A group is what the log calls the events of one transaction.
type group struct {
	gtid        string
	transaction bool // it ends with its commit, not with its first statement
	decided     bool // transaction is known
	batch       source.Batch
	rows        map[catalog.Name]int
	locks       []lockRow
	late        *lateRows // if there are no locks
	changed     []string  // tables whose definition may have changed
	proven      bool      // only of definitions: whoever reads waits for their locks
	xid         bool      // it ends with an XID: the storage engine commits in log order
}

// A lockRow names a row that a transaction has locked until it was visible.
type lockRow struct {
	table   *tableDef
	key     []any
	gone    bool // the transaction has deleted it
	certain bool // the key is of integers and texts, which find what they were read from
}

// A commit is a transaction of the log.
type commit struct {
	*group
	tx *source.Tx // without changes when it touched nothing that is watched
}

func newReader(tables []source.Watched, database string, at place) (*reader, error) {
	pos, err := at.position()
	r := &reader{at: at, done: at, pos: pos, prepared: make(map[string]*group),
		whole: make(map[catalog.Name]bool)}
	r.watch(tables, database)
	return r, err
}

// watch makes tables those that are watched.
func (r *reader) watch(tables []source.Watched, database string) {
	r.watched, r.index, r.ids = make(map[catalog.Name]string), make(nameIndex), nil
	for _, w := range tables {
		r.ids = append(r.ids, w.Table)
		for _, name := range catalog.Names(w.Table, database) {
			if r.watched[name] == "" {
				r.index.add(name)
			}
			r.watched[name] = w.Table
		}
	}
}

// event takes the next event.
func (r *reader) event(e *replication.BinlogEvent) error {
	artificial := e.Header.Flags&replication.LOG_EVENT_ARTIFICIAL_F != 0
	// A heartbeat is not in the log. After a rotation MariaDB gives it the name of the new
	// file with the offset of the old one, until the first transaction there is visible.
	if _, ok := e.Event.(*replication.HeartbeatEvent); ok {
		return nil
	}
	if !artificial {
		r.at = r.at.moved(e.Header.LogPos)
	}
	var err error
	switch v := e.Event.(type) {
	case *replication.FormatDescriptionEvent:
		r.checksums = v.ChecksumAlgorithm == replication.BINLOG_CHECKSUM_ALG_CRC32
		return r.opened(e.Header.Timestamp)
	case *replication.RotateEvent:
		return r.rotate(place{string(v.NextLogName), v.Position}, artificial)
	case *replication.MariadbGTIDEvent:
		err = r.begin(v.GTID.String(), true, v.Flags&replication.BINLOG_MARIADB_FL_STANDALONE == 0)
	case *replication.GTIDEvent:
		set, setErr := v.GTIDNext()
		if setErr != nil {
			return fmt.Errorf("%w: %w", errBinlog, setErr)
		}
		err = r.begin(set.String(), false, false)
	case *replication.QueryEvent:
		err = r.query(v, e.Header)
	case *replication.TableMapEvent:
		err = r.tableMap(v, e.RawData)
	case *replication.RowsEvent:
		err = r.rows(v)
		if v.Flags&replication.RowsEventStmtEndFlag != 0 {
			clear(r.sealed)
		}
	case *replication.XIDEvent:
		if r.group != nil {
			r.group.xid = true
		}
		err = r.end(e.Header)
	case *replication.TransactionPayloadEvent:
		for _, inner := range v.Events {
			inner.Header.LogPos = e.Header.LogPos
			if err := r.event(inner); err != nil {
				return err
			}
		}
	case *replication.ExecuteLoadQueryEvent:
		err = r.unknown()
	case *replication.MariadbBinlogCheckPointEvent:
		if n := len(v.Info); n > 4 && r.checkpoint != nil {
			r.checkpoint(string(v.Info[4:]))
		}
	case *replication.GenericEvent:
		err = r.generic(e.Header, v.Data)
	}
	if err != nil || r.group != nil {
		return err
	}
	return r.advance()
}

// opened takes the first event of a file, which the server sends before any other
// of it: its time tells the file from another one of the same name.
func (r *reader) opened(born uint32) error {
	if r.resumed && r.born != born {
		return fmt.Errorf("%w: %s is another file than before", errBinlog, r.at.file)
	}
	r.resumed, r.born = false, born
	if r.verified != nil {
		r.verified()
	}
	return nil
}

// resume prepares for another stream that begins where the last transaction
// ended, in the same file.
func (r *reader) resume() place {
	r.group, r.at, r.resumed = nil, r.done, true
	return r.at
}

// advance takes the place over as the position: no transaction is half here.
func (r *reader) advance() error {
	pos, err := r.at.position()
	if err != nil {
		return fmt.Errorf("%w: %w", errBinlog, err)
	}
	r.pos, r.done = max(r.pos, pos), r.at
	return nil
}

// rotate goes on in another file. The first one, which the server makes up,
// says where the stream begins.
func (r *reader) rotate(to place, artificial bool) error {
	if r.group != nil {
		return fmt.Errorf("%w: %s ends within a transaction", errBinlog, r.at.file)
	}
	if artificial && to.file == r.at.file {
		return nil
	}
	if r.resumed {
		return fmt.Errorf("%w: it goes on in %s instead of %s", errBinlog, to.file, r.at.file)
	}
	r.at = to
	return r.advance()
}

// generic takes the events that the library knows only by name.
func (r *reader) generic(h *replication.EventHeader, data []byte) error {
	switch h.EventType {
	case replication.INCIDENT_EVENT:
		return fmt.Errorf("%w: the server says that events are missing", errBinlog)
	case replication.XA_PREPARE_LOG_EVENT:
		id, once, err := preparedXA(data)
		if err != nil || r.group == nil {
			return errors.Join(err, r.end(h))
		}
		if once {
			return r.end(h)
		}
		if len(r.prepared) < maxPreparedXA {
			r.prepared[id] = r.group
		}
		r.group = &group{gtid: r.group.gtid} // which brings nothing yet
		return r.end(h)
	case replication.EXEC_LOAD_EVENT, replication.LOAD_EVENT, replication.NEW_LOAD_EVENT:
		return r.unknown()
	}
	return nil
}

// preparedXA returns the identifier of an XA PREPARE event, as XA COMMIT writes
// it, and whether the transaction is committed with it.
func preparedXA(data []byte) (id string, once bool, err error) {
	if len(data) < 13 {
		return "", false, fmt.Errorf("%w: an XA PREPARE of %d bytes", errBinlog, len(data))
	}
	format := int32(binary.LittleEndian.Uint32(data[1:]))
	g, b := binary.LittleEndian.Uint32(data[5:]), binary.LittleEndian.Uint32(data[9:])
	text := data[13:]
	if g > 64 || b > 64 || int(g+b) > len(text) {
		return "", false, fmt.Errorf("%w: an XA PREPARE without its identifier", errBinlog)
	}
	return fmt.Sprintf("x'%x',x'%x',%d", text[:g], text[g:g+b], format), data[0] != 0, nil
}

// begin begins a group.
func (r *reader) begin(gtid string, decided, transaction bool) error {
	if r.group != nil {
		return fmt.Errorf("%w: a transaction begins within another one", errBinlog)
	}
	r.group = &group{gtid: gtid, decided: decided, transaction: transaction,
		rows: make(map[catalog.Name]int)}
	return nil
}

// query takes a statement: how transactions begin and end, definitions, and what
// a session with the STATEMENT format changes.
func (r *reader) query(e *replication.QueryEvent, h *replication.EventHeader) error {
	text := string(e.Query)
	kind := kindOf(text)
	if r.group == nil {
		return fmt.Errorf("%w: a statement that belongs to no transaction", errBinlog)
	}
	if !r.group.decided {
		r.group.decided, r.group.transaction = true, kind == beginStatement
	}
	switch kind {
	case commitStatement:
		return r.end(h)
	case xaStatement:
		return r.xa(text, h)
	case definition, truncation:
		r.define(text, kind)
	case privileges:
		clear(r.whole)
	case otherStatement:
		if err := r.unknown(); err != nil {
			return err
		}
	}
	if !r.group.transaction {
		return r.end(h)
	}
	return nil
}

// unknown is a statement that changed rows which the log does not name.
func (r *reader) unknown() error {
	if r.group == nil {
		return fmt.Errorf("%w: a change that belongs to no transaction", errBinlog)
	}
	r.group.all(r.ids)
	return nil
}

// all says that any row of these tables may have changed.
func (g *group) all(ids []string) {
	for _, id := range ids {
		g.batch.Table(id)
	}
}

// define takes a statement that changes what tables are, or empties them.
func (r *reader) define(text string, kind statementKind) {
	statement := words(text)
	concerned := r.defs == nil || len(r.defs.index.mentioned(statement)) > 0
	for _, name := range r.index.mentioned(statement) {
		id := r.watched[name]
		concerned = true
		r.group.batch.Table(id)
		if kind == definition {
			r.group.changed = appendNew(r.group.changed, id)
		}
	}
	if kind == definition && r.views != nil {
		r.defineView(statement)
	}
	r.group.proven = !r.group.transaction
	if slices.ContainsFunc(statement[:min(6, len(statement))], func(w string) bool {
		return w == "user" || w == "role"
	}) {
		clear(r.whole) // it may take privileges away
	}
	if concerned && kind == definition {
		r.ddls++
	}
}

// defineView takes a statement that changes definitions and may be about a view: whatever
// reads that is another query now, though none of the tables that it depends on is named.
func (r *reader) defineView(statement []string) {
	for name, ids := range r.views() {
		if !mentions(statement, name) {
			continue
		}
		for _, id := range ids {
			r.group.batch.Table(id)
			r.group.changed = appendNew(r.group.changed, id)
		}
	}
}

// xa ends a prepared transaction, in another group than the one that it was
// prepared in.
func (r *reader) xa(text string, h *replication.EventHeader) error {
	text = strings.ToLower(text)
	id, committed := strings.CutPrefix(text, "xa commit ")
	if !committed {
		id = strings.TrimPrefix(text, "xa rollback ")
	}
	id, once := strings.CutSuffix(strings.TrimSpace(id), " one phase")
	was := r.prepared[id]
	delete(r.prepared, id)
	switch {
	case !committed:
	case was != nil:
		was.gtid, was.xid = r.group.gtid, false
		r.group = was
	case !once:
		r.group.all(r.ids) // prepared before the feed began
	}
	return r.end(h)
}

// end ends the group and hands its transaction on.
func (r *reader) end(h *replication.EventHeader) error {
	g := r.group
	if g == nil {
		return fmt.Errorf("%w: the end of no transaction", errBinlog)
	}
	r.group = nil
	if err := r.advance(); err != nil {
		return err
	}
	c := &commit{group: g, tx: &source.Tx{Pos: r.pos, Time: time.Unix(int64(h.Timestamp), 0)}}
	g.batch.Take(c.tx)
	return r.emit(c)
}

// holds reports whether the definitions are those of the rows that come now.
func (r *reader) holds() bool {
	return r.defs != nil && r.defs.ddls == r.ddls && r.pos >= r.defs.end
}
