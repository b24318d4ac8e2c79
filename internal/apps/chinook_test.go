package apps

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// chinookTables are the tables of a shop of music.
//
//go:embed testdata/chinook.sql
var chinookTables string

// chinookRows are its rows: 1000 tracks on 100 albums.
func chinookRows() string {
	var b strings.Builder
	rows := func(table string, n int, row func(i int) string) {
		fmt.Fprintf(&b, "INSERT INTO %s VALUES ", table)
		for i := 1; i <= n; i++ {
			if i > 1 {
				b.WriteString(", ")
			}
			b.WriteString("(" + row(i) + ")")
		}
		b.WriteString(";\n")
	}
	rows("artist", 25, func(i int) string { return fmt.Sprintf("%d, 'Artist %d'", i, i) })
	rows("album", 100, func(i int) string { return fmt.Sprintf("%d, 'Album %d', %d", i, i, 1+i%25) })
	rows("genre", 10, func(i int) string { return fmt.Sprintf("%d, 'Genre %d'", i, i) })
	rows("track", 1000, func(i int) string {
		composer := "NULL"
		if i%20 != 0 {
			composer = fmt.Sprintf("'Composer %d'", i%70)
		}
		return fmt.Sprintf("%d, 'Track %d', %d, %d, %d, %s, %d, %d, %s", i, i, 1+i%100, 1+i%5, 1+i%10,
			composer, 100_000+i*37%9999, 1000*i, []string{"0.99", "1.99"}[i%2])
	})
	rows("employee", 8, func(i int) string {
		return fmt.Sprintf("%d, 'Employee %d', %s", i, i, []string{"NULL", "1", "2"}[min(i-1, 2)])
	})
	rows("customer", 60, func(i int) string {
		return fmt.Sprintf("%d, 'First %d', 'Last %d', '%s', 'c%d@example.com', %d", i, i, i,
			[]string{"Brazil", "Canada", "Norway"}[i%3], i, 3+i%3)
	})
	rows("invoice", 420, func(i int) string {
		return fmt.Sprintf("%d, %d, '2025-%02d-%02d 00:00:00', '%s', 1.98", i, 1+i%60, 1+i%12, 1+i%28,
			[]string{"Brazil", "Canada", "Norway"}[(1+i%60)%3])
	})
	rows("invoice_line", 840, func(i int) string {
		return fmt.Sprintf("%d, %d, %d, 0.99, 1", i, 1+i%420, 1+i)
	})
	rows("playlist", 5, func(i int) string { return fmt.Sprintf("%d, 'Playlist %d'", i, i) })
	rows("playlist_track", 500, func(i int) string { return fmt.Sprintf("%d, %d", 1+i%5, i) })
	return b.String()
}

// chinookResources are its tables, and joins as queries of their own.
//
//go:embed testdata/chinook.yaml
var chinookResources string

const (
	whyDecimal = "a decimal has several texts that are equal (0.99, 0.990)"
	whyRange   = "no equality"
	whyPage    = "the first of all rows: any new one may be among them"
	whyJoin    = "a table that is joined is named as a whole"
)

var chinook = []question{
	{asks: "an album with its tracks", path: "/albums/7",
		other:  `PATCH /tracks/500 {"bytes":%d}`,
		change: `PATCH /tracks/6 {"name":"Track six"}`},
	{asks: "the tracks of an album", path: "/tracks?album_id=eq.8&order=track_id",
		other:  `PATCH /tracks/500 {"bytes":%d}`,
		change: `PATCH /tracks/7 {"name":"Track seven"}`},
	{asks: "the albums of an artist", path: "/albums?artist_id=eq.3&order=title&select=album_id,title",
		other:  `PATCH /albums/1 {"title":"Album one"}`,
		change: `PATCH /albums/2 {"title":"Album two"}`},
	{asks: "the customer with this e-mail", path: "/customers?email=eq.c5@example.com",
		other:  `PATCH /customers/6 {"country":"Chile %d"}`,
		change: `PATCH /customers/5 {"country":"Chile"}`},
	{asks: "the customers of an employee", path: "/customers?support_rep_id=eq.4&order=last_name",
		other:  `PATCH /customers/3 {"country":"Peru"}`,
		change: `PATCH /customers/4 {"country":"Peru"}`},
	{asks: "the invoices of a customer, the newest first",
		path:   "/invoices?customer_id=eq.9&order=invoice_date.desc&limit=25",
		other:  `PATCH /invoices/9 {"billing_country":"Peru"}`,
		change: `PATCH /invoices/8 {"billing_country":"Peru"}`},
	{asks: "their next page", path: "/invoices?customer_id=eq.10&order=invoice_date.desc&limit=3", next: true,
		other:  `PATCH /invoices/8 {"billing_country":"Cuba"}`,
		change: `PATCH /invoices/9 {"billing_country":"Cuba"}`},
	{asks: "the lines of an invoice", path: "/invoice_lines?invoice_id=eq.12",
		other:  `PATCH /invoice_lines/12 {"quantity":3}`,
		change: `PATCH /invoice_lines/11 {"quantity":4}`},
	{asks: "the tracks of a playlist, by their keys", path: "/playlist_tracks?playlist_id=eq.2&limit=200",
		other:  `POST /playlist_tracks {"playlist_id":3,"track_id":%d}`,
		change: `POST /playlist_tracks {"playlist_id":2,"track_id":900}`},
	{asks: "several tracks by their keys", path: "/tracks?track_id=in.(21,22,23)",
		other:  `PATCH /tracks/24 {"bytes":%d}`,
		change: `PATCH /tracks/22 {"name":"Track 22b"}`},
	{asks: "the tracks of two genres of a kind of file",
		path:   "/tracks?genre_id=in.(2,3)&media_type_id=eq.2&order=name&limit=20",
		other:  `PATCH /tracks/33 {"bytes":%d}`,
		change: `PATCH /tracks/1 {"name":"A track"}`},
	{asks: "who reports to nobody", path: "/employees?reports_to=is.null",
		other:  `PATCH /employees/5 {"last_name":"Park"}`,
		change: `PATCH /employees/1 {"last_name":"Adams"}`},
	{asks: "tracks at a price",
		path: "/tracks?unit_price=eq.1.99&order=track_id&limit=10", kept: coarse, why: whyDecimal,
		other:  `PATCH /tracks/900 {"bytes":%d}`,
		change: `PATCH /tracks/1 {"name":"Another track"}`},
	{asks: "the longest tracks", path: "/tracks?order=milliseconds.desc&limit=10", kept: coarse, why: whyPage,
		other:  `PATCH /tracks/1 {"bytes":%d}`,
		change: `PATCH /tracks/2 {"milliseconds":999999}`},
	{asks: "tracks by a part of their name", path: "/tracks?name=ilike.*99*", kept: coarse, why: whyRange,
		other:  `PATCH /tracks/1 {"bytes":%d}`,
		change: `PATCH /tracks/99 {"name":"No. 99"}`},
	{asks: "a track with its album and artist", path: "/track_pages/31", kept: coarse, why: whyJoin,
		other:  `PATCH /albums/50 {"title":"Album fifty"}`,
		change: `PATCH /artists/8 {"name":"Artist eight"}`},
	{asks: "the same, embedded", path: "/tracks?track_id=eq.31&select=name,albums(title,artists(name))",
		other:  `PATCH /albums/50 {"title":"Album 50 %d"}`,
		change: `PATCH /albums/32 {"title":"Album thirty-two"}`},
	{asks: "the invoices of a customer with what was bought",
		path:   "/invoices?customer_id=eq.9&select=invoice_date,invoice_lines(quantity,tracks(name))",
		other:  `PATCH /invoice_lines/300 {"quantity":%d}`,
		change: `PATCH /invoice_lines/7 {"quantity":7}`},
}

func TestChinook_SQLite(t *testing.T) {
	path := dbtest.SQLite(t)
	dbtest.SQLiteShell(t, path, "PRAGMA journal_mode = WAL;"+chinookTables+chinookRows())
	serve(t, "sqlite:"+path, chinookResources, nil).ask(t, chinook)
}

func TestChinook_PostgreSQL(t *testing.T) {
	url := dbtest.Postgres(t, dbtest.Setup(chinookTables, chinookRows()))
	serve(t, url, chinookResources, nil).ask(t, chinook)
}
