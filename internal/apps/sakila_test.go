package apps

import (
	_ "embed"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// sakilaTables are the tables of a shop that lends films, and 16,000 rentals. Texts have
// MariaDB's usual collation.
//
//go:embed testdata/sakila.sql
var sakilaTables string

//go:embed testdata/sakila.yaml
var sakilaResources string

const (
	whySet = "a SET has other texts that are equal"
)

var sakila = []question{
	{asks: "a film", path: "/film/20", other: "UPDATE film SET length = length + 1 WHERE film_id = 21",
		change: "UPDATE film SET title = 'ACADEMY DINOSAUR' WHERE film_id = 20"},
	{asks: "the film with this title", path: "/film?title=eq.FILM%2030",
		other:  "UPDATE film SET length = length + 1 WHERE film_id = 31",
		change: "UPDATE film SET length = length + 1 WHERE film_id = 30"},
	{asks: "the actors of a name", path: "/actor?last_name=eq.LAST7&order=first_name",
		other:  "UPDATE actor SET first_name = 'A%d' WHERE actor_id = 8",
		change: "UPDATE actor SET first_name = 'JOE' WHERE actor_id = 7"},
	{asks: "the films of an actor, by their keys", path: "/film_actor?actor_id=eq.5",
		other:  "INSERT INTO film_actor (actor_id, film_id) VALUES (6, %d)",
		change: "DELETE FROM film_actor WHERE actor_id = 5 LIMIT 1"},
	{asks: "several films by their keys", path: "/film?film_id=in.(41,42,43)",
		other:  "UPDATE film SET length = length + 1 WHERE film_id = 44",
		change: "UPDATE film SET length = length + 1 WHERE film_id = 42"},
	{asks: "the actor and the titles of all films with it", path: "/films_of_actor/9", kept: coarse, why: whyJoin,
		other:  "UPDATE film SET length = length + 1 WHERE film_id = 1",
		change: "UPDATE film JOIN film_actor USING (film_id) SET title = concat('NEW ', title) WHERE actor_id = 9"},
	{asks: "the same, embedded", path: "/actor?actor_id=eq.9&select=first_name,film(title)",
		other: "UPDATE film SET length = length + 1 WHERE film_id NOT IN (SELECT film_id FROM film_actor" +
			" WHERE actor_id = 9) LIMIT 1",
		change: "UPDATE film JOIN film_actor USING (film_id) SET title = concat('NEWER ', title) WHERE actor_id = 9"},
	{asks: "the films of a category, by their keys", path: "/film_category?category_id=eq.4&limit=50",
		other:  "INSERT INTO film_category (film_id, category_id) VALUES (%d, 17)",
		change: "DELETE FROM film_category WHERE category_id = 4 LIMIT 1"},
	{asks: "the rentals of a customer that are not returned", path: "/rental?customer_id=eq.101&return_date=is.null",
		other: "UPDATE rental SET staff_id = 3 - staff_id WHERE customer_id = 102",
		change: "UPDATE rental SET " +
			"return_date = now() WHERE customer_id = 101 AND return_date IS NULL LIMIT 1"},
	{asks: "the payments of a customer, the newest first",
		path:   "/payment?customer_id=eq.7&order=payment_date.desc&limit=10",
		other:  "UPDATE payment SET amount = amount + 1 WHERE customer_id = 8",
		change: "INSERT INTO payment (customer_id, amount, payment_date) VALUES (7, 0.99, now())"},
	{asks: "their next page", path: "/payment?customer_id=eq.7&order=payment_date.desc&limit=10", next: true,
		other:  "UPDATE payment SET amount = amount + 1 WHERE customer_id = 8",
		change: "UPDATE payment SET amount = amount + 1 WHERE customer_id = 7"},
	{asks: "the customer with this e-mail", path: "/customer?email=eq.F11.L11@sakilacustomer.org",
		other:  "UPDATE customer SET active = NOT active WHERE customer_id = 12",
		change: "UPDATE customer SET active = NOT active WHERE customer_id = 11"},
	{asks: "the active customers of a shop", path: "/customer?store_id=eq.1&active=is.true&order=last_name&limit=50",
		other:  "UPDATE customer SET first_name = 'F%d' WHERE customer_id = 13",
		change: "UPDATE customer SET active = NOT active WHERE customer_id = 10"},
	{asks: "how many copies of a film a shop has",
		path: "/inventory?film_id=eq.14&store_id=eq.2", prefer: "count=exact",
		other:  "UPDATE inventory SET last_update = '2020-01-01' + INTERVAL %d SECOND WHERE film_id = 15",
		change: "INSERT INTO inventory (film_id, store_id) VALUES (14, 2)"},
	{asks: "the films with a rating", path: "/film?rating=eq.PG-13&order=title&limit=20",
		other:  "UPDATE film SET length = length + 1 WHERE film_id = 3",
		change: "UPDATE film SET rating = 'PG-13', title = 'A' WHERE film_id = 4"},
	{asks: "the films with a feature", path: "/film?special_features=eq.Trailers&limit=20", kept: coarse, why: whySet,
		other:  "UPDATE film SET length = length + 1 WHERE film_id = 2",
		change: "UPDATE film SET length = length + 1 WHERE film_id = 1"},
	{asks: "films by a part of their description",
		path: "/film?description=ilike.*of%2077*", kept: coarse, why: whyRange,
		other:  "UPDATE film SET length = length + 1 WHERE film_id = 2",
		change: "UPDATE film SET length = length + 1 WHERE film_id = 77"},
	{asks: "the newest rentals", path: "/rental?order=rental_date.desc&limit=25", kept: coarse, why: whyPage,
		other:  "UPDATE rental SET staff_id = 3 - staff_id WHERE rental_id = 1",
		change: "UPDATE rental SET staff_id = 3 - staff_id WHERE rental_id = 16000"},
	{asks: "what is overdue", path: "/rental?return_date=is.null&rental_date=lt.2005-06-01T00:00:00Z", kept: refused,
		why: "no index has `return_date`; 400 names the one that admits it"},
}

func TestSakila(t *testing.T) {
	url := dbtest.MariaDB(t)
	dbtest.MariaDBShell(t, url, sakilaTables)
	serve(t, url, sakilaResources, mariadb(t, url)).ask(t, sakila)
}
