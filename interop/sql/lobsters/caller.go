package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// How much there is: see schema.sql.
const (
	users    = 2000
	stories  = 8000
	comments = 48000
)

// A caller asks for one page after the other over a connection of its own.
type caller struct {
	*site
	db  *pgx.Conn
	r   *rand.Rand
	err error // the first of the page

	user   int64 // who looks at the page; 0: somebody who is not signed in
	number int   // of the page
}

// A row is one that was read, by the names of its columns.
type row map[string]any

func (r row) id(column string) int64 {
	switch v := r[column].(type) {
	case int64:
		return v
	case int32:
		return int64(v)
	}
	return 0
}

// find reads rows.
func (c *caller) find(sql string, args ...any) (list []row) {
	if c.err != nil {
		return nil
	}
	c.counts.selects.Add(1)
	rows, err := c.db.Query(context.Background(), sql, args...)
	if err != nil {
		c.err = fmt.Errorf("%s: %w", sql, err)
		return nil
	}
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			c.err = err
			return nil
		}
		one := make(row, len(values))
		for i, f := range rows.FieldDescriptions() {
			one[f.Name] = values[i]
		}
		list = append(list, one)
	}
	c.counts.rows.Add(int64(len(list)))
	if err := rows.Err(); err != nil {
		c.err = fmt.Errorf("%s: %w", sql, err)
	}
	return list
}

// one reads a row; nil: there is none.
func (c *caller) one(sql string, args ...any) row {
	if list := c.find(sql, args...); len(list) > 0 {
		return list[0]
	}
	return nil
}

// write runs a statement that writes.
func (c *caller) write(sql string, args ...any) {
	if c.err != nil {
		return
	}
	if sql != "BEGIN" && sql != "COMMIT" {
		c.counts.writes.Add(1)
	}
	if _, err := c.db.Exec(context.Background(), sql, args...); err != nil {
		c.err = fmt.Errorf("%s: %w", sql, err)
	}
}

// in reads the rows of a table whose column has one of some values, as a preload does.
func (c *caller) in(table, column string, of []int64) []row {
	return c.inOf(table, column, "", nil, of)
}

// inOf is in with more conditions in front. Its arguments are numbered after those.
func (c *caller) inOf(table, column, first string, args []any, of []int64) []row {
	if len(of) == 0 {
		return nil
	}
	n := len(args)
	if len(of) == 1 {
		return c.find(fmt.Sprintf(`SELECT "%[1]s".* FROM "%[1]s" WHERE %[2]s"%[1]s"."%[3]s" = $%[4]d`,
			table, first, column, n+1), append(args, of[0])...)
	}
	var list strings.Builder
	for i, v := range of {
		if i > 0 {
			list.WriteString(", ")
		}
		list.WriteString("$" + strconv.Itoa(n+i+1))
		args = append(args, v)
	}
	return c.find(fmt.Sprintf(`SELECT "%[1]s".* FROM "%[1]s" WHERE %[2]s"%[1]s"."%[3]s" IN (%[4]s)`,
		table, first, column, list.String()), args...)
}

// idsOf returns the values of a column, each once.
func idsOf(list []row, column string) (ids []int64) {
	seen := make(map[int64]bool)
	for _, r := range list {
		if id := r.id(column); id != 0 && !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

// popular returns one of 1 to n, of which the first are wanted most: the one of place k as often as
// 1/k says.
func (c *caller) popular(n int) int64 {
	return int64(math.Exp(c.r.Float64() * math.Log(float64(n+1)))) // of which no part is 0
}

// processorTime returns what a server and its processes have used.
func processorTime(server int) (time.Duration, error) {
	if server == 0 {
		return 0, nil
	}
	all, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	ticks := 0
	for _, d := range all {
		pid, err := strconv.Atoi(d.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + d.Name() + "/stat")
		if err != nil {
			continue // it has ended
		}
		f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+2:]))
		if pid != server && f[1] != strconv.Itoa(server) {
			continue
		}
		for _, text := range f[11:15] {
			n, err := strconv.Atoi(text)
			if err != nil {
				return 0, err
			}
			ticks += n
		}
	}
	return time.Duration(ticks) * (time.Second / 100), nil
}
