package clicks

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/hotrow/hotrow/internal/source"
)

// saltRow is the id of the one row of click_salt.
const saltRow = 1

// renewSalt makes the meanings use the salt of a day. The one row that holds it is
// overwritten when the day is over, and with it goes the way from what was stored
// back to an address. All nodes use one salt.
func (d *Drainer) renewSalt(ctx context.Context, day int64) error {
	if d.saltDay == day && d.salted {
		return nil
	}
	fresh := make([]byte, 32)
	if _, err := rand.Read(fresh); err != nil {
		return err
	}
	var salt []byte
	_, err := d.store.Tx(ctx, func(tx source.StoreTx) error {
		there := int64(-1)
		err := tx.Query(ctx, "SELECT day, salt FROM click_salt WHERE id = ?", []any{saltRow},
			func(r source.StoreRow) error {
				there, salt = r.Int(0), r.Bytes(1)
				return nil
			})
		if err != nil || there >= day && len(salt) == len(fresh) {
			return err
		}
		salt = fresh
		return tx.Bulk(ctx, &source.Bulk{
			Table: "click_salt", Columns: []string{"id", "day", "salt"}, Rows: 1,
			Key:   []string{"id"},
			Merge: []source.Merge{{Column: "day"}, {Column: "salt"}},
			Row: func(_ int, into []any) {
				into[0], into[1], into[2] = int64(saltRow), day, salt
			},
		})
	})
	if err != nil {
		return fmt.Errorf("the salt of visitors: %w", err)
	}
	d.meaning.Lock()
	d.meanings.salted(salt)
	d.meaning.Unlock()
	d.saltDay, d.salted = day, true
	return nil
}
