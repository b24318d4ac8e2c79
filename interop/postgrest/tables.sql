-- The tables of calls.mjs. Lines that begin with a database's name in a comment are of it alone.
CREATE TABLE users (username varchar(40) PRIMARY KEY, status varchar(20), age integer, data json);
CREATE TABLE channels (id integer PRIMARY KEY, slug varchar(40) UNIQUE);
CREATE TABLE messages (id integer PRIMARY KEY, message varchar(200), username varchar(40), channel_id integer, FOREIGN KEY (username) REFERENCES users (username), FOREIGN KEY (channel_id) REFERENCES channels (id));
INSERT INTO users VALUES ('supabot', 'ONLINE', 25, '{"plan": "pro", "n": 3, "list": [1]}'), ('kiwicopple', 'OFFLINE', 30, '{"plan": "team", "n": 2}'), ('awailas', 'ONLINE', 22, '{}'), ('dragarcia', 'ONLINE', 20, NULL);
INSERT INTO channels VALUES (1, 'public'), (2, 'random');
INSERT INTO messages VALUES (1, 'Hello World', 'supabot', 1), (2, 'Perfection is attained', 'supabot', 2), (3, 'hi', 'kiwicopple', 1);
-- postgresql: ALTER TABLE users ALTER data TYPE jsonb, ADD tags text[], ADD age_range int4range, ADD catchphrase tsvector;
-- postgresql: UPDATE users SET tags = '{a,b}', age_range = '[1,5)', catchphrase = to_tsvector('english', 'the fat cat') WHERE username = 'supabot';
-- postgresql: UPDATE users SET tags = '{x}', age_range = '[25,35)', catchphrase = to_tsvector('english', 'cats') WHERE username = 'kiwicopple';
-- mariadb: ALTER TABLE users ADD tags text, ADD age_range text, ADD catchphrase text;
-- sqlite: ALTER TABLE users ADD tags text;
-- sqlite: ALTER TABLE users ADD age_range text;
-- sqlite: ALTER TABLE users ADD catchphrase text;
