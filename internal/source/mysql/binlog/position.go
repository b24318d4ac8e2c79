package binlog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	driver "github.com/go-sql-driver/mysql"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
)

// OffsetBits is how much of a source.Position is the offset within a file of
// the binary log; the number of the file stands above. A file is as large as
// max_binlog_size (1 GiB) and the transaction that does not fit into it.
const OffsetBits = 40

// errNoBinlog is the error of a server that writes no binary log.
var errNoBinlog = errors.New("the server writes no binary log; start it with --log-bin")

// A place is where something stands in the binary log. GTIDs are no positions
// here: those of MariaDB are ordered within one domain only, and not even there
// without gtid_strict_mode, while the log itself has one order.
type place struct {
	file   string // "binlog.000012"
	offset uint64
}

// An ending is where the binary log ends, and which databases it leaves out.
type ending struct {
	place
	filters string // binlog_do_db and binlog_ignore_db
}

// position returns the place as a position: it does not hold the base name of
// the files, which is the same for all of one server.
func (p place) position() (source.Position, error) {
	_, digits, found := cutLast(p.file, '.')
	n, err := strconv.ParseUint(digits, 10, 64-OffsetBits)
	if !found || err != nil || p.offset>>OffsetBits != 0 {
		return 0, fmt.Errorf("%q, %d is not a place in a binary log", p.file, p.offset)
	}
	return source.Position(n<<OffsetBits | p.offset), nil
}

// spell returns a position as SHOW BINARY LOGS and SHOW MASTER STATUS would, with the base
// name of the server's files.
func spell(base string, pos source.Position) string {
	return fmt.Sprintf("%s.%06d:%d", base, uint64(pos)>>OffsetBits, uint64(pos)&(1<<OffsetBits-1))
}

// cutLast is strings.Cut at the last sep.
func cutLast(s string, sep byte) (before, after string, found bool) {
	if i := strings.LastIndexByte(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

// moved returns the place where the event ends whose header has this offset of
// 32 bits; 0 says nothing. Within a file it grows, beyond 4 GiB as well.
func (p place) moved(end uint32) place {
	switch low := uint32(p.offset); {
	case end == 0:
	case end >= low:
		p.offset += uint64(end - low)
	case low-end > 1<<31:
		p.offset += 1<<32 - uint64(low-end)
	}
	return p
}

// errSyntax is the number of the error of a statement that a server does not
// know.
const errSyntax = 1064

// binlogEnd returns the end of the binary log, which no visible change is
// behind: a transaction is written to the log first and becomes visible later.
func binlogEnd(ctx context.Context, c catalog.Conn) (ending, error) {
	p, err := masterStatus(ctx, c, "SHOW MASTER STATUS")
	var e *driver.MySQLError
	if errors.As(err, &e) && e.Number == errSyntax { // MySQL 8.4
		p, err = masterStatus(ctx, c, "SHOW BINARY LOG STATUS")
	}
	return p, err
}

// masterStatus reads the first four columns of the statement's one row.
func masterStatus(ctx context.Context, c catalog.Conn, statement string) (ending, error) {
	var p ending
	err := c.Query(ctx, statement, nil, func(v []any) error {
		if len(v) < 4 {
			return fmt.Errorf("%s: %d columns", statement, len(v))
		}
		p.place = place{file: catalog.AsText(v[0]), offset: uint64(catalog.AsInt(v[1]))}
		p.filters = fmt.Sprintf("%q %q", catalog.AsText(v[2]), catalog.AsText(v[3]))
		return nil
	})
	if err == nil && p.file == "" {
		err = errNoBinlog
	}
	return p, err
}

// WritePosition returns a position that includes whatever has committed on the
// connection, or anywhere else, before it is asked.
func WritePosition(ctx context.Context, c catalog.Conn) (source.Position, error) {
	p, err := binlogEnd(ctx, c)
	if err != nil {
		return 0, err
	}
	return p.position()
}

// SeenPosition returns a position that nothing is behind which is visible when it is asked.
//
// MariaDB notes where a commit ends in the log right before the commit becomes visible, and
// says that at any time. Where its log ends it does not say while a commit waits for the disk
// or for a semi-synchronous replica.
func SeenPosition(ctx context.Context, c catalog.Conn, mariadb bool) (source.Position, error) {
	if !mariadb {
		return WritePosition(ctx, c)
	}
	p, err := commitPlace(ctx, c)
	if err == nil && p.file == "" {
		err = errNoBinlog
	}
	if err != nil {
		return 0, err
	}
	return p.position()
}

// commitPlace returns where the snapshot of MariaDB's transaction is in the log or, where
// there is none, the last commit.
func commitPlace(ctx context.Context, c catalog.Conn) (p place, err error) {
	err = c.Query(ctx, "SHOW STATUS LIKE 'binlog\\_snapshot\\_%'", nil, func(v []any) error {
		switch strings.ToLower(catalog.AsText(v[0])) {
		case "binlog_snapshot_file":
			p.file = catalog.AsText(v[1])
		case "binlog_snapshot_position":
			p.offset = uint64(catalog.AsInt(v[1]))
		}
		return nil
	})
	return p, err
}

// LastMark returns the mark of the last transaction of the connection to MariaDB that is in
// the log. MySQL tells no connection what its transactions are called.
func LastMark(ctx context.Context, c catalog.Conn) (mark uint64, err error) {
	err = c.Query(ctx, "SELECT @@SESSION.last_gtid", nil, func(v []any) error {
		mark = markOf(catalog.AsText(v[0]))
		return nil
	})
	return mark, err
}

// markOf returns the source.Tx.Mark of a transaction of MariaDB: a number for its GTID; 0:
// it has none.
func markOf(gtid string) uint64 {
	if gtid == "" {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(gtid))
	return h.Sum64() | 1
}

// originOf names the history that positions belong to: the one of this server.
// What it holds does not leave the program.
func originOf(identity string) string {
	sum := sha256.Sum256([]byte(identity))
	return hex.EncodeToString(sum[:8])
}
