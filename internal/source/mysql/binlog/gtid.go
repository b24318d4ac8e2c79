package binlog

import (
	"context"

	binlog "github.com/go-mysql-org/go-mysql/mysql"

	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
)

// executedGTIDs returns the transactions that MySQL has executed. MySQL puts one
// there when its storage engine has committed it, so it is visible then. MariaDB has
// no variable that says as much.
func executedGTIDs(ctx context.Context, c Conn) (binlog.GTIDSet, error) {
	var text string
	err := c.Query(ctx, "SELECT @@GLOBAL.gtid_executed", nil, func(v []any) error {
		text = catalog.AsText(v[0])
		return nil
	})
	if err != nil {
		return nil, err
	}
	return binlog.ParseMysqlGTIDSet(text)
}

// executed drops the proofs of transactions that MySQL has executed.
func (s *settler) executed(ctx context.Context, c Conn, open []uint64) error {
	done, err := executedGTIDs(ctx, c)
	if err != nil {
		return err
	}
	for _, id := range open {
		p := s.of(id)
		if p == nil {
			continue
		}
		one, err := binlog.ParseMysqlGTIDSet(p.gtid)
		if err != nil {
			return err
		}
		if done.Contain(one) {
			s.drop(id)
		}
	}
	return nil
}
