package binlog

import (
	"fmt"

	binlog "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
)

// Types that the log of MariaDB has for columns which are COMPRESSED. The library does not
// know them. Their values stand there as those of a blob and a varchar do.
const (
	blobCompressed    = 140
	varcharCompressed = 141
)

// A sealedValue is one of a COMPRESSED column, which nobody opens.
type sealedValue struct{}

// tableMap takes what the log says of a table before its rows. With a type that it does not
// know the library takes what follows of later columns for that of others: it reads the event
// again, with types that it knows.
func (r *reader) tableMap(e *replication.TableMapEvent, raw []byte) error {
	var sealed []int
	for i, t := range e.ColumnType { // a part of raw
		switch t {
		case blobCompressed:
			e.ColumnType[i] = binlog.MYSQL_TYPE_BLOB
		case varcharCompressed:
			e.ColumnType[i] = binlog.MYSQL_TYPE_VARCHAR
		default:
			continue
		}
		sealed = append(sealed, i)
	}
	if sealed == nil {
		return nil
	}
	end := len(raw)
	if r.checksums {
		end -= replication.BinlogChecksumLength
	}
	if err := e.Decode(raw[replication.EventHeaderSize:end]); err != nil {
		return fmt.Errorf("%w: columns of %s.%s cannot be read", errBinlog, e.Schema, e.Table)
	}
	if r.sealed == nil {
		r.sealed = make(map[*replication.TableMapEvent][]int)
	}
	r.sealed[e] = sealed
	return nil
}

// seal takes the values of COMPRESSED columns out of rows: they are not what a read returns.
func (r *reader) seal(e *replication.RowsEvent) {
	for _, i := range r.sealed[e.Table] {
		for _, values := range e.Rows {
			if values[i] != nil {
				values[i] = sealedValue{}
			}
		}
	}
}
