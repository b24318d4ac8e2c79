package demo

import (
	"strconv"
	"time"
)

// The sizes of the shop: some 10,000 rows. Rows are numbered from 1 on.
const (
	Products  = 240
	customers = 1_200
	orders    = 2_400
	reviews   = 1_200
	underWay  = 60 // the newest orders, which are not all delivered
)

// shopTables are the tables of the shop, of which Story changes a few rows.
var shopTables = []string{
	`CREATE TABLE products (
	id       INTEGER PRIMARY KEY,
	name     TEXT NOT NULL,
	category TEXT NOT NULL,
	price    DECIMAL(8, 2) NOT NULL,
	stock    INTEGER NOT NULL
)`,
	`CREATE INDEX products_category ON products (category)`,
	`CREATE TABLE customers (
	id    INTEGER PRIMARY KEY,
	name  TEXT NOT NULL,
	email TEXT NOT NULL UNIQUE,
	city  TEXT NOT NULL,
	since DATE NOT NULL
)`,
	`CREATE TABLE orders (
	id          INTEGER PRIMARY KEY,
	customer_id INTEGER NOT NULL REFERENCES customers (id),
	placed_on   DATE NOT NULL,
	status      TEXT NOT NULL
)`,
	`CREATE INDEX orders_customer ON orders (customer_id)`,
	`CREATE INDEX orders_status ON orders (status)`,
	`CREATE TABLE order_lines (
	order_id   INTEGER NOT NULL REFERENCES orders (id),
	line       INTEGER NOT NULL,
	product_id INTEGER NOT NULL REFERENCES products (id),
	quantity   INTEGER NOT NULL,
	price      DECIMAL(8, 2) NOT NULL,
	PRIMARY KEY (order_id, line)
)`,
	`CREATE INDEX order_lines_product ON order_lines (product_id)`,
	`CREATE TABLE reviews (
	id          INTEGER PRIMARY KEY,
	product_id  INTEGER NOT NULL REFERENCES products (id),
	customer_id INTEGER NOT NULL REFERENCES customers (id),
	stars       INTEGER NOT NULL,
	text        TEXT NOT NULL,
	written_on  DATE NOT NULL
)`,
	`CREATE INDEX reviews_product ON reviews (product_id)`,
	`CREATE INDEX reviews_customer ON reviews (customer_id)`,
}

// opened is the day on which the shop began.
var opened = time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)

// dayOf returns one of the first 900 days of the shop.
func dayOf(h uint64) string { return opened.AddDate(0, 0, int(h%900)).Format(time.DateOnly) }

// skewed returns a number from 1 to n that looks random. Small ones are more likely: some
// products sell better, and some customers come again.
func skewed(n int64, h uint64) int64 {
	at := float64(h>>11) / (1 << 53)
	return 1 + int64(at*at*float64(n))
}

// price writes what product p costs, in whole cents.
func (w *inserter) price(p int64) {
	cents := 590 + int64(hash(uint64(p)+7<<40)%190)*50
	w.next()
	w.b = strconv.AppendInt(w.b, cents/100, 10)
	w.b = append(w.b, '.', byte('0'+cents/10%10), byte('0'+cents%10))
}

// shopRows returns the INSERTs of the shop.
func shopRows() []string {
	out := productRows()
	out = append(out, customerRows()...)
	out = append(out, orderRows()...)
	return append(out, reviewRows()...)
}

func productRows() []string {
	w := &inserter{head: "INSERT INTO products (id, name, category, price, stock) VALUES"}
	for id := int64(1); id <= Products; id++ {
		thing := things[int(id*7)%len(things)]
		w.begin()
		w.number(id)
		w.text(materials[int(id-1)/len(things)] + " " + thing.name)
		w.text(thing.category)
		w.price(id)
		w.number(20 + int64(hash(uint64(id)+1<<41)%180))
	}
	return w.statements()
}

func customerRows() []string {
	w := &inserter{head: "INSERT INTO customers (id, name, email, city, since) VALUES"}
	for id := int64(1); id <= customers; id++ {
		h := hash(uint64(id) + 2<<41)
		first, last := pick(firstNames, h, 0), pick(lastNames, h, 16)
		w.begin()
		w.number(id)
		w.text(first + " " + last)
		w.text(mailPart(first) + "." + mailPart(last) + strconv.FormatInt(id, 10) + "@" +
			pick(mailHosts, h, 32))
		w.text(pick(towns, h, 40))
		w.text(dayOf(h >> 20))
	}
	return w.statements()
}

// orderRows returns the INSERTs of the orders and, behind them, of their lines: two on average.
func orderRows() []string {
	w := &inserter{head: "INSERT INTO orders (id, customer_id, placed_on, status) VALUES"}
	lines := &inserter{head: "INSERT INTO order_lines (order_id, line, product_id, quantity, " +
		"price) VALUES"}
	for id := int64(1); id <= orders; id++ {
		h := hash(uint64(id) + 3<<41)
		status := "delivered"
		if id > orders-underWay {
			status = statuses[int(h>>8%uint64(len(statuses)))]
		}
		w.begin()
		w.number(id)
		w.number(skewed(customers, hash(h)))
		w.text(opened.AddDate(0, 0, int(id*900/orders)).Format(time.DateOnly))
		w.text(status)
		for line := range int64(1 + h>>32%3) {
			of := hash(h + uint64(line))
			product := skewed(Products, of)
			lines.begin()
			lines.number(id)
			lines.number(line + 1)
			lines.number(product)
			lines.number(1 + int64(of&3)/2)
			lines.price(product)
		}
	}
	return append(w.statements(), lines.statements()...)
}

func reviewRows() []string {
	w := &inserter{head: "INSERT INTO reviews (id, product_id, customer_id, stars, text, " +
		"written_on) VALUES"}
	for id := int64(1); id <= reviews; id++ {
		writeReview(w, id, dayOf(hash(uint64(id))))
	}
	return w.statements()
}

// writeReview writes review id. Most are good.
func writeReview(w *inserter, id int64, day string) {
	h := hash(uint64(id) + 4<<41)
	said := verdicts[int(skewed(int64(len(verdicts)), h))-1]
	w.begin()
	w.number(id)
	w.number(1 + int64(hash(h)%Products)) // some five each: they stand within their product
	w.number(skewed(customers, hash(h+1)))
	w.number(said.stars)
	w.text(said.text)
	w.text(day)
}

// statuses are those that an order has in turn.
var statuses = []string{"placed", "paid", "packed", "shipped", "delivered"}

var materials = []string{"Oak", "Linen", "Copper", "Enamel", "Wool", "Bamboo", "Glass", "Cork",
	"Stoneware", "Leather", "Steel", "Cotton"}

var things = []struct{ name, category string }{
	{"chopping board", "kitchen"}, {"salt cellar", "kitchen"}, {"pepper mill", "kitchen"},
	{"bread bin", "kitchen"}, {"teapot", "kitchen"}, {"tea towel", "kitchen"},
	{"fruit bowl", "table"}, {"napkin", "table"}, {"candlestick", "table"}, {"carafe", "table"},
	{"serving tray", "table"}, {"desk lamp", "office"}, {"pen cup", "office"},
	{"letter rack", "office"}, {"notebook", "office"}, {"coat hook", "hall"},
	{"doormat", "hall"}, {"umbrella stand", "hall"}, {"key bowl", "hall"}, {"blanket", "rest"},
}

var towns = []string{"Amsterdam", "Bern", "Bologna", "Bristol", "Brno", "Dublin", "Gdańsk",
	"Ghent", "Graz", "Kobe", "Leeds", "Lisbon", "Lyon", "Malmö", "Montréal", "Oslo", "Porto",
	"Seville", "Tallinn", "Turku", "Utrecht", "Zürich"}

var verdicts = []struct {
	stars int64
	text  string
}{
	{5, "Exactly as described."}, {5, "My third one. It lasts."}, {5, "A gift, and a success."},
	{4, "Good, if a little heavy."}, {4, "Smaller than I thought, and well made."},
	{5, "Arrived in two days."}, {4, "The colour is warmer than in the picture."},
	{3, "It does what it should."}, {3, "Nice, but the lid does not close well."},
	{2, "It was scratched. The shop sent another one."}, {1, "Not for me: I sent it back."},
}
