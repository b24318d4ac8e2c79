// Command service is that of github.com/stanaka/go-rest-api-server, written anew
// with net/http: a user by its id as MessagePack or JSON, out of MariaDB or
// memcached. The client names the id; there the server counted.
//
// The original compared its varchar key with a number, which no index helps with;
// so do the routes below /number. All others bind the key as the text that it is.
package main

import (
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"log"
	"net/http"
	"strconv"
	"strings"

	"github.com/bradfitz/gomemcache/memcache"
	_ "github.com/go-sql-driver/mysql"
	"github.com/vmihailenco/msgpack/v5"
)

// idle is how many connections to the database, and to memcached, are kept: as
// in the original.
const idle = 16

// A user is what is served.
type user struct {
	Name string `json:"name" msgpack:"name"`
	Mail string `json:"mail" msgpack:"mail"`
}

// errNone is what a look-up returns when there is no such user.
var errNone = errors.New("no such user")

// A service looks users up.
type service struct {
	text   *sql.Stmt
	number *sql.DB
	cache  *memcache.Client
}

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address")
	dsn := flag.String("database", "", "of MariaDB: user@unix(socket)/database")
	cache := flag.String("memcached", "", "address of memcached")
	flag.Parse()
	db, err := sql.Open("mysql", *dsn)
	if err != nil {
		log.Fatal(err)
	}
	db.SetMaxIdleConns(idle)
	text, err := db.Prepare("SELECT name, mail FROM user WHERE id = ?")
	if err != nil {
		log.Fatal(err)
	}
	s := &service{text: text, number: db, cache: memcache.New(*cache)}
	s.cache.MaxIdleConns = idle
	log.Fatal(http.ListenAndServe(*listen, s.routes()))
}

// routes are the four of the original, and the two of which it was slow.
func (s *service) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{id}", answer(s.fromSQL, asMsgPack))
	mux.HandleFunc("GET /json/{id}", answer(s.fromSQL, asJSON))
	mux.HandleFunc("GET /mem/{id}", answer(s.fromMemcached, asMsgPack))
	mux.HandleFunc("GET /mem.json/{id}", answer(s.fromMemcached, asJSON))
	mux.HandleFunc("GET /number/{id}", answer(s.byNumber, asMsgPack))
	mux.HandleFunc("GET /number/json/{id}", answer(s.byNumber, asJSON))
	return mux
}

// fromSQL looks a user up by its key.
func (s *service) fromSQL(id string) (u user, err error) {
	err = s.text.QueryRow(id).Scan(&u.Name, &u.Mail)
	return u, none(err, sql.ErrNoRows)
}

// byNumber looks a user up by what its key would be as a number: in all rows.
func (s *service) byNumber(id string) (u user, err error) {
	n, err := strconv.Atoi(id)
	if err != nil {
		return u, errNone
	}
	query := "SELECT name, mail FROM user WHERE id = " + strconv.Itoa(n)
	err = s.number.QueryRow(query).Scan(&u.Name, &u.Mail)
	return u, none(err, sql.ErrNoRows)
}

// fromMemcached looks a user up in the cache, where its parts have a bar between
// them.
func (s *service) fromMemcached(id string) (u user, err error) {
	item, err := s.cache.Get(id)
	if err != nil {
		return u, none(err, memcache.ErrCacheMiss)
	}
	u.Name, u.Mail, _ = strings.Cut(string(item.Value), "|")
	return u, nil
}

// none returns errNone for the error that says so, and any other as it is.
func none(err, is error) error {
	if errors.Is(err, is) {
		return errNone
	}
	return err
}

// An encoding makes the body of an answer.
type encoding struct {
	contentType string
	encode      func(any) ([]byte, error)
}

var (
	asJSON    = encoding{"application/json", json.Marshal}
	asMsgPack = encoding{"application/x-msgpack", msgpack.Marshal}
)

// answer makes the handler of a route.
func answer(look func(id string) (user, error), as encoding) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		u, err := look(req.PathValue("id"))
		var body []byte
		if err == nil {
			body, err = as.encode(&u)
		}
		switch {
		case errors.Is(err, errNone):
			http.NotFound(w, req)
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		default:
			w.Header().Set("Content-Type", as.contentType)
			_, _ = w.Write(body)
		}
	}
}
