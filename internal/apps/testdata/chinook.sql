-- The tables of chinook as far as its questions need them, with rows that are made up.
CREATE TABLE artist (artist_id INTEGER PRIMARY KEY, name VARCHAR(120));
CREATE TABLE album (album_id INTEGER PRIMARY KEY, title VARCHAR(160) NOT NULL, artist_id INTEGER NOT NULL REFERENCES artist);
CREATE INDEX album_artist ON album (artist_id);
CREATE TABLE genre (genre_id INTEGER PRIMARY KEY, name VARCHAR(120));
CREATE TABLE track (track_id INTEGER PRIMARY KEY, name VARCHAR(200) NOT NULL, album_id INTEGER REFERENCES album,
	media_type_id INTEGER NOT NULL, genre_id INTEGER REFERENCES genre, composer VARCHAR(220), milliseconds INTEGER NOT NULL,
	bytes INTEGER, unit_price NUMERIC(10,2) NOT NULL);
CREATE INDEX track_album ON track (album_id);
CREATE INDEX track_genre ON track (genre_id);
CREATE TABLE employee (employee_id INTEGER PRIMARY KEY, last_name VARCHAR(20) NOT NULL, reports_to INTEGER REFERENCES employee);
CREATE TABLE customer (customer_id INTEGER PRIMARY KEY, first_name VARCHAR(40) NOT NULL, last_name VARCHAR(20) NOT NULL,
	country VARCHAR(40), email VARCHAR(60) NOT NULL, support_rep_id INTEGER REFERENCES employee);
CREATE TABLE invoice (invoice_id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customer,
	invoice_date TIMESTAMP NOT NULL, billing_country VARCHAR(40), total NUMERIC(10,2) NOT NULL);
CREATE INDEX invoice_customer ON invoice (customer_id);
CREATE TABLE invoice_line (invoice_line_id INTEGER PRIMARY KEY, invoice_id INTEGER NOT NULL REFERENCES invoice,
	track_id INTEGER NOT NULL REFERENCES track, unit_price NUMERIC(10,2) NOT NULL, quantity INTEGER NOT NULL);
CREATE INDEX invoice_line_invoice ON invoice_line (invoice_id);
CREATE TABLE playlist (playlist_id INTEGER PRIMARY KEY, name VARCHAR(120));
CREATE TABLE playlist_track (playlist_id INTEGER NOT NULL REFERENCES playlist, track_id INTEGER NOT NULL REFERENCES track,
	PRIMARY KEY (playlist_id, track_id));
CREATE TABLE beat (id INTEGER PRIMARY KEY, n INTEGER NOT NULL);
INSERT INTO beat VALUES (1, 0);
