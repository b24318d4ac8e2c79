-- The tables of sakila as far as its questions need them, with rows that are made up.
CREATE TABLE actor (actor_id smallint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, first_name varchar(45) NOT NULL,
	last_name varchar(45) NOT NULL, last_update timestamp NOT NULL DEFAULT now(), KEY idx_actor_last_name (last_name));
CREATE TABLE film (film_id smallint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, title varchar(128) NOT NULL, description text,
	release_year year, rental_rate decimal(4,2) NOT NULL DEFAULT 4.99, length smallint unsigned,
	rating enum('G','PG','PG-13','R','NC-17') DEFAULT 'G',
	special_features set('Trailers','Commentaries','Deleted Scenes','Behind the Scenes'), KEY idx_title (title));
CREATE TABLE film_actor (actor_id smallint unsigned NOT NULL, film_id smallint unsigned NOT NULL,
	last_update timestamp NOT NULL DEFAULT now(), PRIMARY KEY (actor_id, film_id), KEY idx_fk_film_id (film_id),
	CONSTRAINT fk_film_actor_actor FOREIGN KEY (actor_id) REFERENCES actor (actor_id),
	CONSTRAINT fk_film_actor_film FOREIGN KEY (film_id) REFERENCES film (film_id));
CREATE TABLE film_category (film_id smallint unsigned NOT NULL, category_id tinyint unsigned NOT NULL,
	last_update timestamp NOT NULL DEFAULT now(), PRIMARY KEY (film_id, category_id), KEY (category_id));
CREATE TABLE customer (customer_id smallint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, store_id tinyint unsigned NOT NULL,
	first_name varchar(45) NOT NULL, last_name varchar(45) NOT NULL, email varchar(50), active boolean NOT NULL DEFAULT TRUE,
	KEY idx_fk_store_id (store_id), KEY idx_last_name (last_name));
CREATE TABLE inventory (inventory_id mediumint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, film_id smallint unsigned NOT NULL,
	store_id tinyint unsigned NOT NULL, last_update timestamp NOT NULL DEFAULT now(), KEY idx_store_id_film_id (store_id, film_id));
CREATE TABLE rental (rental_id int NOT NULL AUTO_INCREMENT PRIMARY KEY, rental_date datetime NOT NULL,
	inventory_id mediumint unsigned NOT NULL, customer_id smallint unsigned NOT NULL, return_date datetime,
	staff_id tinyint unsigned NOT NULL, UNIQUE KEY (rental_date, inventory_id, customer_id),
	KEY idx_fk_inventory_id (inventory_id), KEY idx_fk_customer_id (customer_id));
CREATE TABLE payment (payment_id smallint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, customer_id smallint unsigned NOT NULL,
	rental_id int, amount decimal(5,2) NOT NULL, payment_date datetime NOT NULL, KEY idx_fk_customer_id (customer_id));
CREATE TABLE beat (id int PRIMARY KEY, n int NOT NULL);
INSERT INTO beat VALUES (1, 0);
CREATE TABLE seq (n int PRIMARY KEY);
INSERT INTO seq SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d + 1 FROM
	(WITH RECURSIVE x AS (SELECT 0 AS d UNION ALL SELECT d + 1 FROM x WHERE d < 9) SELECT d FROM x) a,
	(WITH RECURSIVE x AS (SELECT 0 AS d UNION ALL SELECT d + 1 FROM x WHERE d < 9) SELECT d FROM x) b,
	(WITH RECURSIVE x AS (SELECT 0 AS d UNION ALL SELECT d + 1 FROM x WHERE d < 9) SELECT d FROM x) c,
	(WITH RECURSIVE x AS (SELECT 0 AS d UNION ALL SELECT d + 1 FROM x WHERE d < 9) SELECT d FROM x) e,
	(SELECT 0 AS d UNION ALL SELECT 1) f;
INSERT INTO actor (first_name, last_name) SELECT concat('FIRST', n), concat('LAST', n % 120) FROM seq WHERE n <= 200;
INSERT INTO film (title, description, release_year, length, rating, special_features)
	SELECT concat('FILM ', n), concat('A Story of ', n), 2006, 60 + n % 90, 1 + n % 5, n % 16 FROM seq WHERE n <= 1000;
INSERT INTO film_actor (actor_id, film_id) SELECT 1 + n % 200, 1 + n % 999 FROM seq WHERE n <= 3000;
INSERT INTO film_category (film_id, category_id) SELECT n, 1 + n % 16 FROM seq WHERE n <= 1000;
INSERT INTO customer (store_id, first_name, last_name, email)
	SELECT 1 + n % 2, concat('F', n), concat('L', n), concat('F', n, '.L', n, '@sakilacustomer.org') FROM seq WHERE n <= 600;
INSERT INTO inventory (film_id, store_id) SELECT 1 + n % 1000, 1 + n % 2 FROM seq WHERE n <= 4500;
INSERT INTO rental (rental_date, inventory_id, customer_id, return_date, staff_id)
	SELECT '2005-05-24' + INTERVAL n MINUTE, 1 + n % 4500, 1 + n % 600,
		IF(n > 15000, NULL, '2005-05-30' + INTERVAL n MINUTE), 1 + n % 2 FROM seq WHERE n <= 16000;
INSERT INTO payment (customer_id, rental_id, amount, payment_date)
	SELECT 1 + n % 600, n, 2.99, '2005-05-24' + INTERVAL n MINUTE FROM seq WHERE n <= 16000;
DROP TABLE seq;
