package api

import (
	"context"
	"time"

	"github.com/hotrow/hotrow/internal/links"
	"github.com/hotrow/hotrow/internal/source"
)

// take adds a user with the hash of its password. It sets u.ID to the number that the
// user has, and reports false when there was one of that address.
func (s *users) take(ctx context.Context, u *takenUser, now time.Time) (made bool, err error) {
	asked := u.ID
	_, err = s.db.Tx(ctx, func(tx source.StoreTx) error {
		there := int64(0)
		err := tx.Query(ctx, "SELECT id FROM link_users WHERE email = ?", []any{u.Email},
			func(r source.StoreRow) error { there = r.Int(0); return nil })
		if made = err == nil && there == 0; !made {
			u.ID = there
			return err
		}
		u.ID, made, err = s.insertTaken(ctx, tx, u, asked, now)
		if err != nil || !made && asked == 0 {
			return err
		}
		if !made { // another user has the number
			if u.ID, made, err = s.insertTaken(ctx, tx, u, 0, now); err != nil {
				return err
			}
		}
		return links.AfterNumbers(ctx, s.db.Dialect(), tx, "link_users")
	})
	return made, err
}

// insertTaken adds the row, with a number unless that is 0.
func (s *users) insertTaken(
	ctx context.Context, tx source.StoreTx, u *takenUser, id int64, now time.Time,
) (int64, bool, error) {
	millis := func(t *time.Time, byDefault any) any {
		if t == nil {
			return byDefault
		}
		return t.UnixMilli()
	}
	columns := []string{"email", "first_name", "last_name", "password", "created_at", "last_login",
		"id"}
	values := []any{u.Email, u.FirstName, u.LastName, []byte(u.Password),
		millis(u.CreatedAt, now.UnixMilli()), millis(u.LastLogin, nil), id}
	n := len(columns)
	if id == 0 {
		n--
	}
	got, ok, err := tx.Insert(ctx, "link_users", columns[:n], values[:n]...)
	if id != 0 {
		got = id
	}
	return got, ok, err
}
