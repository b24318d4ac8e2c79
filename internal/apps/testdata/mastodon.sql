-- The tables of mastodon as far as its questions need them, with rows that are made up.
CREATE TABLE accounts (id bigint PRIMARY KEY, username varchar NOT NULL DEFAULT '', domain varchar, display_name varchar NOT NULL DEFAULT '',
	note text NOT NULL DEFAULT '', uri varchar NOT NULL DEFAULT '', created_at timestamp NOT NULL, updated_at timestamp NOT NULL);
CREATE UNIQUE INDEX ON accounts (lower(username), COALESCE(lower(domain), ''));
CREATE INDEX ON accounts (uri);
CREATE TABLE users (id bigint PRIMARY KEY, account_id bigint NOT NULL, email varchar NOT NULL DEFAULT '', locale varchar);
CREATE UNIQUE INDEX ON users (email);
CREATE INDEX ON users (account_id);
CREATE TABLE statuses (id bigint PRIMARY KEY, uri varchar, text text NOT NULL DEFAULT '', created_at timestamp NOT NULL,
	updated_at timestamp NOT NULL, in_reply_to_id bigint, reblog_of_id bigint, visibility int NOT NULL DEFAULT 0,
	account_id bigint NOT NULL, deleted_at timestamp);
CREATE INDEX ON statuses (account_id, id DESC, visibility, updated_at) WHERE deleted_at IS NULL;
CREATE INDEX ON statuses (account_id);
CREATE INDEX ON statuses (in_reply_to_id) WHERE in_reply_to_id IS NOT NULL;
CREATE INDEX ON statuses (reblog_of_id, account_id);
CREATE UNIQUE INDEX ON statuses (uri text_pattern_ops) WHERE uri IS NOT NULL;
CREATE TABLE status_stats (id bigserial PRIMARY KEY, status_id bigint NOT NULL UNIQUE, replies_count bigint NOT NULL DEFAULT 0,
	favourites_count bigint NOT NULL DEFAULT 0);
CREATE TABLE media_attachments (id bigserial PRIMARY KEY, status_id bigint, description text);
CREATE INDEX ON media_attachments (status_id);
CREATE TABLE follows (id bigserial PRIMARY KEY, account_id bigint NOT NULL, target_account_id bigint NOT NULL,
	notify boolean NOT NULL DEFAULT false, UNIQUE (account_id, target_account_id));
CREATE INDEX ON follows (target_account_id);
CREATE TABLE favourites (id bigserial PRIMARY KEY, account_id bigint NOT NULL, status_id bigint NOT NULL, UNIQUE (account_id, status_id));
CREATE INDEX ON favourites (status_id);
CREATE TABLE mentions (id bigserial PRIMARY KEY, status_id bigint, account_id bigint, silent boolean NOT NULL DEFAULT false,
	UNIQUE (account_id, status_id));
CREATE INDEX ON mentions (status_id);
CREATE TABLE notifications (id bigserial PRIMARY KEY, account_id bigint NOT NULL, from_account_id bigint NOT NULL, type varchar,
	created_at timestamp NOT NULL);
CREATE INDEX ON notifications (account_id, id DESC, type);
CREATE TABLE markers (id bigserial PRIMARY KEY, user_id bigint, timeline varchar NOT NULL DEFAULT '', last_read_id bigint NOT NULL DEFAULT 0,
	UNIQUE (user_id, timeline));
CREATE TABLE beat (id int PRIMARY KEY, n int NOT NULL);
INSERT INTO beat VALUES (1, 0);
INSERT INTO accounts SELECT i, 'user' || i, CASE WHEN i % 2 = 0 THEN 'example.org' END, 'User ' || i, '', 'https://example.org/' || i,
	now(), now() FROM generate_series(1, 10500) i;
INSERT INTO users SELECT i, i, 'user' || i || '@example.com', 'en' FROM generate_series(1, 500) i;
INSERT INTO statuses SELECT i, 'https://example.org/s/' || i, 'Toot ' || i, now(), now(), CASE WHEN i % 7 = 0 THEN i - 3 END,
	CASE WHEN i % 11 = 0 THEN i - 5 END, i % 3, 1 + i % 1000 FROM generate_series(1, 12000) i;
INSERT INTO status_stats (status_id) SELECT i FROM generate_series(1, 12000) i;
INSERT INTO media_attachments (status_id) SELECT i FROM generate_series(1, 2000) i;
INSERT INTO follows (account_id, target_account_id) SELECT a, 1 + (a * 31 + k * 17) % 1000 FROM generate_series(1, 1000) a,
	generate_series(1, 12) k;
INSERT INTO favourites (account_id, status_id) SELECT 1 + i % 1000, i FROM generate_series(1, 12000) i;
INSERT INTO mentions (account_id, status_id) SELECT 1 + i % 999, i FROM generate_series(1, 3000) i;
INSERT INTO notifications (account_id, from_account_id, type, created_at)
	SELECT 1 + i % 300, 1 + i % 1000, CASE i % 3 WHEN 0 THEN 'mention' ELSE 'favourite' END, now() FROM generate_series(1, 12000) i;
INSERT INTO markers (user_id, timeline, last_read_id) SELECT i, 'notifications', 0 FROM generate_series(1, 300) i;
ANALYZE;
