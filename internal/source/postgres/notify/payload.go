package notify

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
)

// A table is what a notification is read with.
type table struct {
	id      string
	watched []string
	key     []string          // primary key
	types   map[string]uint32 // of columns
	coarse  bool              // see feed.Table.Coarse
}

// A reader turns notifications into changes. It does no I/O.
type reader struct {
	tables   map[string]*table // by ID, for the channel of hotrow's triggers
	channels map[string]*table // of triggers that are not ours

	tx   string         // transaction of the last notification of hotrow's triggers
	rows map[*table]int // of that transaction
}

func newReader(facts *feed.Facts) *reader {
	r := &reader{
		tables:   make(map[string]*table),
		channels: make(map[string]*table),
		rows:     make(map[*table]int),
	}
	for _, t := range facts.Tables {
		n := &table{
			id: t.ID(), watched: t.Watched, key: t.Key, types: t.Types(), coarse: t.Coarse(),
		}
		r.tables[t.ID()] = n
		if !installed(t) {
			r.channels[facts.Names.Prefix+"_"+t.Name] = n
		}
	}
	return r
}

// read adds what one notification tells to batch. What cannot be understood
// counts as the whole table: it may not be passed over.
func (r *reader) read(channel, payload string, batch *source.Batch) {
	if channel == ownChannel {
		r.own(payload, batch)
		return
	}
	t := r.channels[channel]
	if t == nil {
		return
	}
	c, ok := t.foreign(payload)
	if !ok || t.coarse {
		batch.Table(t.id)
		return
	}
	batch.Add(c)
}

// own reads a payload of hotrow's triggers (see notifyBody).
func (r *reader) own(payload string, batch *source.Batch) {
	var m struct {
		Table, Op, Tx string
		Old, New      map[string]*string
	}
	err := json.Unmarshal([]byte(payload), &m)
	t := r.tables[m.Table]
	switch {
	case t == nil && err == nil:
		return // a table that only another node serves
	case t == nil: // not ours, or cut: it may have been about any table
		for id := range r.tables {
			batch.Table(id)
		}
		return
	}
	if t.coarse || err != nil {
		batch.Table(t.id)
		return
	}
	if r.bulk(m.Tx, t, batch) {
		return
	}
	c := source.Change{Table: t.id}
	ok, okOld := true, true
	switch m.Op {
	case "I":
		c.Op = source.Insert
		c.New, ok = t.texts(m.New)
	case "U":
		c.Op = source.Update
		c.Old, okOld = t.texts(m.Old)
		c.New, ok = t.texts(m.New)
	case "D":
		c.Op = source.Delete
		c.Old, okOld = t.texts(m.Old)
	default:
		ok = false
	}
	if !ok || !okOld {
		batch.Table(t.id)
		return
	}
	batch.Add(c)
}

// bulk counts the rows of one transaction, whose notifications come one after
// the other. The first beyond the bound tells the table; the rest are passed
// over, because what is notified was committed as a whole before the first of it
// came: a read that begins after the table was told sees all of it.
func (r *reader) bulk(tx string, t *table, batch *source.Batch) bool {
	if tx == "" {
		return false
	}
	if tx != r.tx {
		r.tx = tx
		clear(r.rows)
	}
	r.rows[t]++
	if r.rows[t] == source.BulkRows+1 {
		batch.Table(t.id)
	}
	return r.rows[t] > source.BulkRows
}

// texts returns the watched columns of a row that the triggers sent.
func (t *table) texts(values map[string]*string) (source.Tuple, bool) {
	tuple := make(source.Tuple, 0, len(t.watched))
	for _, c := range t.watched {
		v, ok := values[c]
		if !ok {
			return nil, false
		}
		if v == nil {
			tuple = append(tuple, source.Cell{Column: c, Null: true})
			continue
		}
		text, ok := feed.KeyText(t.types[c], *v)
		if !ok {
			return nil, false
		}
		tuple = append(tuple, source.Cell{Column: c, Text: text})
	}
	return tuple, true
}

// foreign reads a payload of triggers that are not ours: the bare key of a row,
// or a JSON object {"table", "action", "data"} whose data is the row. A bare key
// says nothing of the other columns, so it is enough only where none is watched.
func (t *table) foreign(payload string) (source.Change, bool) {
	if strings.HasPrefix(payload, "{") {
		return t.foreignRow(payload)
	}
	if len(t.key) != 1 || len(t.watched) != 1 || t.watched[0] != t.key[0] {
		return source.Change{}, false
	}
	text, ok := feed.KeyText(t.types[t.key[0]], payload)
	if !ok {
		return source.Change{}, false
	}
	tuple := source.Tuple{{Column: t.key[0], Text: text}}
	return source.Change{Table: t.id, Op: source.Update, Old: tuple, New: tuple}, true
}

// foreignRow reads the JSON form. An update tells the row as it is now; of the
// row before no more than its key is known, on the word that keys do not change.
func (t *table) foreignRow(payload string) (source.Change, bool) {
	var m struct {
		Action string
		Data   map[string]any
	}
	d := json.NewDecoder(bytes.NewReader([]byte(payload)))
	d.UseNumber() // a bigint has more digits than a float64
	if d.Decode(&m) != nil {
		return source.Change{}, false
	}
	row, ok := t.scalars(m.Data)
	if !ok {
		return source.Change{}, false
	}
	c := source.Change{Table: t.id}
	switch strings.ToUpper(m.Action) {
	case "INSERT":
		c.Op, c.New = source.Insert, row
	case "UPDATE":
		c.Op, c.New = source.Update, row
		for _, cell := range row {
			if slices.Contains(t.key, cell.Column) {
				c.Old = append(c.Old, cell)
			}
		}
	case "DELETE":
		c.Op, c.Old = source.Delete, row
	default:
		return source.Change{}, false
	}
	return c, true
}

// scalars returns the watched columns of a row in JSON.
func (t *table) scalars(values map[string]any) (source.Tuple, bool) {
	texts := make(map[string]*string, len(t.watched))
	for _, c := range t.watched {
		v, there := values[c]
		if !there {
			return nil, false
		}
		var text string
		switch v := v.(type) {
		case nil:
			texts[c] = nil
			continue
		case string:
			text = v
		case json.Number:
			text = v.String()
		case bool:
			text = strconv.FormatBool(v)
		default:
			return nil, false
		}
		texts[c] = &text
	}
	return t.texts(texts)
}

// jsonText returns s as a JSON string.
func jsonText(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""` // a string always has a JSON form
	}
	return string(b)
}
