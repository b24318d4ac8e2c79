package main

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/lib/pq"
)

const (
	columns   = "id, author_id, title, body, published, views, created_at"
	getSQL    = "SELECT " + columns + " FROM posts WHERE id = $1"
	uniqueSQL = "SELECT id, name, email FROM authors WHERE email = $1"
	listSQL   = "SELECT " + columns + " FROM posts WHERE author_id = $1 " +
		"ORDER BY created_at DESC, id DESC LIMIT 20"
	countSQL   = "SELECT count(*) FROM posts WHERE author_id = $1"
	existsSQL  = "SELECT 1 FROM posts WHERE author_id = $1 LIMIT 1"
	someSQL    = "SELECT " + columns + " FROM posts WHERE id <= $1 ORDER BY id"
	authorsSQL = "SELECT id, name, email FROM authors WHERE id = ANY($1) ORDER BY id"
	insertSQL  = "INSERT INTO posts (author_id, title) VALUES ($1, 'new') RETURNING id"
	updateSQL  = "UPDATE posts SET views = views + 1, title = 'changed' WHERE id = $1"
	deleteSQL  = "DELETE FROM posts WHERE id = $1"
)

// A rows is what both drivers have.
type rows interface {
	Next() bool
	Scan(to ...any) error
	Err() error
}

// A plain is a driver by which statements are sent as they are.
type plain struct {
	connect func() error
	query   func(statement string, value any) (rows, func(), error)
	exec    func(statement string, value any) error
	ids     func(ids []int) any // the form of an array
	within  func(do func(plain) error) error
}

// read reads all rows of an answer.
func read[T any](p plain, statement string, value any, into func(*T) []any) (list []T, err error) {
	found, done, err := p.query(statement, value)
	if err != nil {
		return nil, err
	}
	defer done()
	for found.Next() {
		var one T
		if err := found.Scan(into(&one)...); err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, found.Err()
}

func intoPost(p *post) []any {
	return []any{&p.ID, &p.AuthorID, &p.Title, &p.Body, &p.Published, &p.Views, &p.CreatedAt}
}
func intoAuthor(a *author) []any { return []any{&a.ID, &a.Name, &a.Email} }
func into[T any](n *T) []any     { return []any{n} }

// first returns the first of a list.
func first[T any](list []T, err error) (one T, _ error) {
	if err == nil && len(list) == 0 {
		err = errors.New("no row")
	}
	if err != nil {
		return one, err
	}
	return list[0], nil
}

func (p plain) Connect() error { return p.connect() }

func (p plain) Get(k int) (*post, error) {
	list, err := read(p, getSQL, k, intoPost)
	if len(list) == 0 {
		return nil, err
	}
	return &list[0], err
}

func (p plain) Unique(email string) (author, error) {
	return first(read(p, uniqueSQL, email, intoAuthor))
}
func (p plain) List(k int) ([]post, error) { return read(p, listSQL, k, intoPost) }
func (p plain) Count(k int) (int64, error) { return first(read(p, countSQL, k, into[int64])) }

func (p plain) Exists(k int) (bool, error) {
	list, err := read(p, existsSQL, k, into[int])
	return len(list) > 0, err
}

func (p plain) Preload(upTo int) (both preloaded, err error) {
	if both.Posts, err = read(p, someSQL, upTo, intoPost); err == nil {
		both.Authors, err = read(p, authorsSQL, p.ids(idsOf(both.Posts)), intoAuthor)
	}
	return both, err
}

func (p plain) Insert(k int) (int, error) { return first(read(p, insertSQL, k, into[int])) }
func (p plain) Update(k int) error        { return p.exec(updateSQL, k) }
func (p plain) Delete(k int) error        { return p.exec(deleteSQL, k) }

func (p plain) Transaction(k int) (found *post, err error) {
	err = p.within(func(p plain) (err error) {
		found, err = p.Get(k)
		return err
	})
	return found, err
}

func openPgx(url string) (client, error) {
	ctx := context.Background()
	db, err := pgxpool.New(ctx, url)
	if err != nil {
		return nil, err
	}
	type queryer interface {
		Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	}
	query := func(by queryer) func(string, any) (rows, func(), error) {
		return func(statement string, value any) (rows, func(), error) {
			r, err := by.Query(ctx, statement, value)
			if err != nil {
				return nil, nil, err
			}
			return r, r.Close, nil
		}
	}
	return plain{
		connect: func() error { return db.Ping(ctx) },
		query:   query(db),
		exec: func(statement string, value any) error {
			_, err := db.Exec(ctx, statement, value)
			return err
		},
		ids: func(ids []int) any { return ids },
		within: func(do func(plain) error) error {
			return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error { return do(plain{query: query(tx)}) })
		},
	}, nil
}

func openPQ(url string) (client, error) {
	db, err := sql.Open("postgres", url+"?sslmode=disable")
	if err != nil {
		return nil, err
	}
	type queryer interface {
		Query(statement string, args ...any) (*sql.Rows, error)
	}
	query := func(by queryer) func(string, any) (rows, func(), error) {
		return func(statement string, value any) (rows, func(), error) {
			r, err := by.Query(statement, value)
			if err != nil {
				return nil, nil, err
			}
			return r, func() { r.Close() }, nil
		}
	}
	return plain{
		connect: db.Ping,
		query:   query(db),
		exec: func(statement string, value any) error {
			_, err := db.Exec(statement, value)
			return err
		},
		ids: func(ids []int) any { return pq.Array(ids) },
		within: func(do func(plain) error) error {
			tx, err := db.Begin()
			if err != nil {
				return err
			}
			if err := do(plain{query: query(tx)}); err != nil {
				return errors.Join(err, tx.Rollback())
			}
			return tx.Commit()
		},
	}, nil
}
