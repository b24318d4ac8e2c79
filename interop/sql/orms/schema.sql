-- What the programs of scripts/sql-orms read and write.
DROP TABLE IF EXISTS posts, authors;
CREATE TABLE authors (id serial PRIMARY KEY, name text NOT NULL, email text NOT NULL UNIQUE);
CREATE TABLE posts (
	id serial PRIMARY KEY,
	author_id int NOT NULL REFERENCES authors,
	title text NOT NULL,
	body text,
	published boolean NOT NULL DEFAULT true,
	views bigint NOT NULL DEFAULT 0,
	created_at timestamptz NOT NULL DEFAULT '2026-01-01 00:00:00+00'
);
CREATE INDEX ON posts (author_id, created_at);
INSERT INTO authors (name, email)
	SELECT 'Author ' || n, 'a' || n || '@example.org' FROM generate_series(1, 5) n;
INSERT INTO posts (author_id, title, body, views, created_at)
	SELECT 1 + n % 5, 'Post ' || n, 'Größe ' || repeat('text ', n % 7), n * n,
		timestamptz '2025-01-01 00:00:00+00' + n * interval '1 hour'
	FROM generate_series(1, 200) n;
