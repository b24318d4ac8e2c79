// Command sql logs in by Go's drivers of PostgreSQL; see logins.py for what comes in and goes
// out. It has a module of its own so that hotrow does not depend on lib/pq.
package main

import (
	"bufio"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/lib/pq"
)

func main() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		c := strings.Fields(in.Text())
		if len(c) != 7 {
			fmt.Fprintf(os.Stderr, "no case: %q\n", in.Text())
			os.Exit(2)
		}
		name, host, sslmode, binding, user, password := c[0], c[1]+":"+c[2], c[3], c[4], c[5], c[6]
		q := url.Values{"sslmode": {sslmode}, "connect_timeout": {"10"}}
		if binding != "default" {
			q.Set("channel_binding", binding)
		}
		u := url.URL{Scheme: "postgres", User: url.UserPassword(user, password), Host: host,
			Path: "/postgres", RawQuery: q.Encode()}
		fmt.Printf("pgx\t%s\t%s\n", name, logIn("pgx", u.String()))
		if binding == "default" { // lib/pq has no such setting
			fmt.Printf("lib/pq\t%s\t%s\n", name, logIn("postgres", u.String()))
		}
	}
}

// logIn returns the user of a session, or why there is none.
func logIn(driver, url string) (user string) {
	db, err := sql.Open(driver, url)
	if err != nil {
		return err.Error()
	}
	defer db.Close()
	if err := db.QueryRow("SELECT current_user").Scan(&user); err != nil {
		return strings.Join(strings.Fields(err.Error()), " ")
	}
	return user
}
