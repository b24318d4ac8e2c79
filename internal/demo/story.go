package demo

import (
	"fmt"
	"strconv"
	"time"
)

// Story returns what happens in the shop at step n, from 0 on: one or two statements that
// change few rows. The same step is the same statements. now dates a review.
func Story(n int, now time.Time) []string {
	h := hash(uint64(n) + 5<<41)
	product := skewed(Products/10, h) // what sells: a page of products shows it
	switch {
	case n%12 == 5:
		return []string{fmt.Sprintf("UPDATE products SET stock = stock + 40 WHERE id = %d",
			product)}
	case n%6 == 2:
		return []string{fmt.Sprintf(moveOrder, orders-n/6%underWay)}
	case n%24 == 7:
		w := &inserter{head: "INSERT INTO reviews (id, product_id, customer_id, stars, text, " +
			"written_on) VALUES"}
		writeReview(w, reviews+1+int64(n), now.UTC().Format(time.DateOnly))
		return []string{"DELETE FROM reviews WHERE id = " + strconv.Itoa(reviews+1+n),
			w.statements()[0]}
	case n%8 == 4:
		return []string{fmt.Sprintf("UPDATE products SET price = price + %s WHERE id = %d",
			[]string{"0.50", "-0.50"}[n/8%2], product)}
	}
	return []string{fmt.Sprintf(
		"UPDATE products SET stock = stock - 1 WHERE id = %d AND stock > 0", product)}
}

// moveOrder has an order take its next status. The one that is delivered begins again: the
// story has no end.
const moveOrder = `UPDATE orders SET status = CASE status WHEN 'placed' THEN 'paid'
	WHEN 'paid' THEN 'packed' WHEN 'packed' THEN 'shipped' WHEN 'shipped' THEN 'delivered'
	ELSE 'placed' END WHERE id = %d`

// A Click is one that somebody has made on a link of the demo.
type Click struct {
	Code     string
	At       time.Time
	IP       [4]byte
	Agent    string
	Referrer string // "": none
}

// clickDays is of how many days the demo has clicks.
const clickDays = 30

// Clicks returns the clicks of the thirty days before now, oldest first: more by day than by
// night, fewer at weekends, and a link in twenty is followed most.
func Clicks(now time.Time) (all []Click) {
	first := now.UTC().Truncate(time.Hour).Add(-clickDays * 24 * time.Hour)
	for hour := range clickDays * 24 {
		at := first.Add(time.Duration(hour) * time.Hour)
		h := hash(uint64(hour) + 6<<41)
		many := int(h%4) + 6*dayness(at)/10
		for i := range many {
			h := hash(h + uint64(i))
			all = append(all, Click{
				Code: linkCode(int(skewed(int64(len(namedLinks)+len(plainLinks)), h)) - 1),
				At:   at.Add(time.Duration(i) * time.Hour / time.Duration(many)),
				// TEST-NET-1 to 3 of RFC 5737: the addresses are nobody's.
				IP:    testNet(hash(h + 1)),
				Agent: pick(agents, hash(h+2), 0), Referrer: pick(referrers, hash(h+3), 0),
			})
		}
	}
	return all
}

// dayness returns how much is going on at a time: 0 to 20.
func dayness(at time.Time) int {
	n := []int{1, 0, 0, 0, 1, 2, 4, 8, 14, 18, 20, 19, 16, 17, 18, 17, 16, 14, 12, 12, 13, 11, 7,
		3}[at.Hour()]
	if day := at.Weekday(); day == time.Saturday || day == time.Sunday {
		n = n * 2 / 5
	}
	return n
}

// testNet returns an address of the networks that are for examples.
func testNet(h uint64) [4]byte {
	net := [][3]byte{{192, 0, 2}, {198, 51, 100}, {203, 0, 113}}[h%3]
	return [4]byte{net[0], net[1], net[2], byte(h >> 8)}
}

var agents = []string{
	"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) " +
		"Chrome/131.0.0.0 Safari/537.36",
	"Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, " +
		"like Gecko) Version/18.1 Mobile/15E148 Safari/604.1",
	"Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) " +
		"Chrome/131.0.0.0 Mobile Safari/537.36",
	"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) " +
		"Version/18.1 Safari/605.1.15",
	"Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0",
	"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
}

var referrers = []string{"", "", "https://news.example/today", "https://mail.example/",
	"https://social.example/post/18", "https://search.example/?q=oak+board"}
