// Command shortcut redirects as github.com/davidkroell/shortcut does at the
// revision of its README's benchmark: a SELECT for each hit, then the hit given
// to nine writers through a channel without a buffer, each of which inserts one
// row in a transaction of its own; links and log share a pool of ten connections
// to MariaDB. It is written anew after that design, without the router, and its
// line for each request on standard output is left out.
package main

import (
	"database/sql"
	"errors"
	"flag"
	"log"
	"net/http"
	"time"

	_ "github.com/go-sql-driver/mysql"
)

// The sizes of the original.
const (
	connections = 10
	idle        = 4
	lifetime    = 20 * time.Minute
	writers     = 9
)

var tables = []string{
	`CREATE TABLE IF NOT EXISTS Shortcuts (ID INT AUTO_INCREMENT PRIMARY KEY,
		ShortIdentifier CHAR(50) UNIQUE, RedirectURL VARCHAR(1024), RedirectStatus INT(3),
		CreatedAt DATETIME DEFAULT now(), UpdatedAt DATETIME DEFAULT now(),
		ValidThru DATETIME NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS ShortcutLog (ShortcutID INT, IPAddress VARCHAR(64),
		UserAgent VARCHAR(100), Region VARCHAR(40), AccessedAt DATETIME DEFAULT now(),
		ResponseTime INT(6), FOREIGN KEY (ShortcutID) REFERENCES Shortcuts (ID))`,
	`INSERT IGNORE INTO Shortcuts (ID, ShortIdentifier, RedirectURL, RedirectStatus, ValidThru)
		VALUES (1, 'asdf', 'https://davidkroell.github.io', 301, '2099-01-01')`,
}

// An entry is one hit.
type entry struct {
	id        int64
	ip, agent string
	took      time.Duration
}

// A server is the shortener.
type server struct {
	db   *sql.DB
	hits chan entry
}

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address")
	dsn := flag.String("database", "", "of MariaDB: user@tcp(host)/database")
	_ = flag.String("docs", "", "not used: this server has links")
	flag.Parse()
	db, err := sql.Open("mysql", *dsn)
	if err != nil {
		log.Fatal(err)
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(idle)
	db.SetConnMaxLifetime(lifetime)
	for _, t := range tables {
		if _, err := db.Exec(t); err != nil {
			log.Fatal(err)
		}
	}
	s := &server{db: db, hits: make(chan entry)}
	for range writers {
		go s.write()
	}
	log.Fatal(http.ListenAndServe(*listen, s))
}

// write inserts hits one by one.
func (s *server) write() {
	for e := range s.hits {
		_, err := s.db.Exec("INSERT INTO ShortcutLog (ShortcutID, IPAddress, UserAgent, Region, "+
			"ResponseTime) VALUES (?, ?, ?, '', ?)", e.id, e.ip, e.agent[:min(len(e.agent), 100)],
			e.took.Microseconds())
		if err != nil {
			log.Print(err)
		}
	}
}

// ServeHTTP redirects.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	var id int64
	var url string
	var status int
	err := s.db.QueryRowContext(r.Context(), "SELECT ID, RedirectURL, RedirectStatus FROM "+
		"Shortcuts WHERE ShortIdentifier = ?", r.URL.Path[1:]).Scan(&id, &url, &status)
	if errors.Is(err, sql.ErrNoRows) {
		http.NotFound(w, r)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	http.Redirect(w, r, url, status)
	s.hits <- entry{id, r.RemoteAddr, r.UserAgent(), time.Since(began)}
}
