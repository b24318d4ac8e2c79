package source

import (
	"context"
	"errors"
	"fmt"

	"github.com/hotrow/hotrow/internal/row"
)

// A KeyFinder is a Source that can be asked for keys by a query of the
// configuration.
type KeyFinder interface {
	// Keys runs a SELECT whose columns are those of a key, in order, and returns
	// its rows as keys, spelled as the database spells them, in the order of the
	// query. Rows with a null are left out.
	Keys(ctx context.Context, query string) ([]row.Key, error)

	// CheckKeys has the database prepare the SELECT, without running it: the error is that of
	// Keys where the text is wrong, or names what is not there.
	CheckKeys(ctx context.Context, query string) error
}

// ErrNoColumns is the error of a query for keys that returns none.
var ErrNoColumns = errors.New("the query for keys has no columns")

// AppendKey appends the key of one row of a query for keys, whose values are as a
// driver gives them.
func AppendKey(keys []row.Key, values []any) ([]row.Key, error) {
	if len(values) == 0 {
		return keys, ErrNoColumns
	}
	parts := make([]string, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case nil:
			return keys, nil
		case []byte:
			parts[i] = string(v)
		default:
			parts[i] = fmt.Sprint(v)
		}
	}
	return append(keys, row.JoinKey(parts...)), nil
}
