package binlog

import (
	"testing"

	binlog "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/pingcap/tidb/pkg/parser/charset"
)

// The collation that a connection has unless it asks for another is the one that the package
// in place of TiDB's knows, also after an upgrade of the library: else no feed would connect.
func TestReplaced_KnowsTheDefaultCollation(t *testing.T) {
	got, err := charset.GetCollationByName(binlog.DEFAULT_COLLATION_NAME)
	if err != nil || got.ID != 255 {
		t.Errorf("%s: %+v, %v, want the number 255", binlog.DEFAULT_COLLATION_NAME, got, err)
	}
	if got, err := charset.GetCollationByName("utf8mb4_bin"); err == nil {
		t.Errorf("utf8mb4_bin is %+v: a number nobody has looked up", got)
	}
}
