// Package demo makes the data of hotrow demo: a shop of five tables whose rows
// change (Story), short links with their clicks, the classic departments and
// employees of Oracle's SCOTT schema, a table of 10,000 users, and as many more
// departments as are asked for.
//
// All of it is the same every time. The package writes SQL; it reads nothing
// and serves nothing.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/internal/source/sqlite"
)

// Options say how much there is to be.
type Options struct {
	// Scale is the number of departments besides the classic four, numbered
	// from FirstDept on, with EmpsPerDept employees each.
	Scale int

	// Progress is told how many of the departments are written. It may be nil.
	Progress func(done, total int)
}

// deptsPerTx is how many departments one transaction writes: some 10,000 rows.
const deptsPerTx = 900

// Create makes the SQLite file at path. A file that is there already is left
// alone, with an error that wraps fs.ErrExist. The file appears under its name
// when it is complete, so that one which is there can be used.
func Create(ctx context.Context, path string, o Options) (err error) {
	if o.Scale < 0 || o.Scale > MaxScale {
		return fmt.Errorf("demo of %d departments: want 0 to %d", o.Scale, MaxScale)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = fs.ErrExist
		}
		return fmt.Errorf("demo %s: %w", path, err)
	}
	part := path + ".part-" + strconv.Itoa(os.Getpid())
	remove := func() {
		for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
			_ = os.Remove(part + suffix)
		}
	}
	remove()
	defer func() {
		if err != nil {
			remove()
			err = fmt.Errorf("demo %s: %w", path, err)
		}
	}()
	if err := fill(ctx, part, o); err != nil {
		return err
	}
	return os.Rename(part, path)
}

// fill makes the database and closes it, which leaves one file.
func fill(ctx context.Context, path string, o Options) (err error) {
	src, err := sqlite.Open(ctx, path, sqlite.Options{Own: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	statements := append([]string(nil), shopTables...)
	statements = append(statements, shopRows()...)
	statements = append(statements, sqliteTables...)
	statements = append(statements, classicRows...)
	statements = append(statements, userRows()...)
	if err := src.Exec(ctx, statements...); err != nil {
		return err
	}
	for done := 0; done < o.Scale; {
		n := min(deptsPerTx, o.Scale-done)
		if err := src.Exec(ctx, scaleRows(done, n)...); err != nil {
			return err
		}
		if done += n; o.Progress != nil {
			o.Progress(done, o.Scale)
		}
	}
	return src.Exec(ctx, "ANALYZE")
}

// YAML returns the configuration that serves the demo from the database at
// url: the documents have the members that resttest gave them.
func YAML(url string) string {
	quoted := strconv.QuoteToASCII(strings.ReplaceAll(url, "${", "$${"))
	return "version: 1\nsources:\n  main:\n    url: " + quoted + "\n" + resources
}

const resources = `resources:
  depts:
    table: dept
    key: deptno
    fields:
      deptno: {name: deptNumber}
      dname: {name: deptName, required: true}
      loc: {name: deptLocation}
    embed:
      emps: {resource: emps, on: deptno, order: empno}
    access: {read: public, write: public}
  emps:
    table: emp
    key: empno
    fields:
      empno: {name: empNo}
      ename: {name: empName}
      mgr: {omit_null: true}
      hiredate: {format: rfc3339}
      deptno: {name: deptNumber}
    access: {read: public, write: public}
  users:
    table: user
    key: id
    only: true
    fields:
      id: {}
      name: {}
      mail: {}
    access: {read: public, write: public}
`

// Shop are the resources of the shop, for behind those of YAML.
const Shop = `  products:
    table: products
    embed:
      reviews: {resource: reviews, on: product_id, order: id}
    access: {read: public, write: public}
  customers:
    table: customers
    access: {read: public, write: public}
  orders:
    table: orders
    embed:
      lines: {resource: order_lines, on: order_id, order: line}
    access: {read: public, write: public}
  order_lines:
    table: order_lines
    access: {read: public, write: public}
  reviews:
    table: reviews
    access: {read: public, write: public}
`
