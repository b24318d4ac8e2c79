-- A site of links with comments and votes, as Lobsters has it: the tables that its pages read.
CREATE TABLE users (id bigserial PRIMARY KEY, username varchar(50) NOT NULL UNIQUE, email varchar(100), about text,
	karma int NOT NULL DEFAULT 0, session_token varchar(75) NOT NULL UNIQUE, created_at timestamp NOT NULL DEFAULT '2024-01-01',
	banned_at timestamp, is_admin boolean NOT NULL DEFAULT false, show_avatars boolean DEFAULT true);
CREATE TABLE stories (id bigserial PRIMARY KEY, user_id bigint NOT NULL, url varchar(250), title varchar(150) NOT NULL,
	description text, short_id varchar(6) NOT NULL UNIQUE, is_expired boolean NOT NULL DEFAULT false, upvotes int NOT NULL DEFAULT 1,
	score int NOT NULL DEFAULT 1, hotness numeric(20, 10) NOT NULL DEFAULT 0, comments_count int NOT NULL DEFAULT 0,
	merged_story_id bigint, created_at timestamp NOT NULL DEFAULT '2024-01-01', markeddown_description text);
CREATE INDEX ON stories (hotness);
CREATE INDEX ON stories (merged_story_id);
CREATE INDEX ON stories (user_id);
CREATE TABLE comments (id bigserial PRIMARY KEY, short_id varchar(10) NOT NULL UNIQUE, story_id bigint NOT NULL, user_id bigint NOT NULL,
	parent_comment_id bigint, comment text NOT NULL, markeddown_comment text, upvotes int NOT NULL DEFAULT 1,
	confidence numeric(20, 19) NOT NULL DEFAULT 0, is_deleted boolean NOT NULL DEFAULT false,
	is_moderated boolean NOT NULL DEFAULT false, created_at timestamp NOT NULL DEFAULT '2024-01-01');
CREATE INDEX ON comments (story_id);
CREATE INDEX ON comments (user_id);
CREATE TABLE votes (id bigserial PRIMARY KEY, user_id bigint NOT NULL, story_id bigint NOT NULL, comment_id bigint,
	vote smallint NOT NULL, reason varchar(1));
CREATE INDEX ON votes (user_id, story_id);
CREATE INDEX ON votes (user_id, comment_id);
CREATE TABLE tags (id bigserial PRIMARY KEY, tag varchar(25) NOT NULL UNIQUE, description varchar(100),
	privileged boolean DEFAULT false, is_media boolean DEFAULT false, inactive boolean DEFAULT false, hotness_mod float8 DEFAULT 0);
CREATE TABLE taggings (id bigserial PRIMARY KEY, story_id bigint NOT NULL, tag_id bigint NOT NULL);
CREATE UNIQUE INDEX ON taggings (story_id, tag_id);
CREATE TABLE suggested_titles (id bigserial PRIMARY KEY, story_id bigint, user_id bigint, title varchar(150));
CREATE INDEX ON suggested_titles (story_id);
CREATE TABLE suggested_taggings (id bigserial PRIMARY KEY, story_id bigint, user_id bigint, tag_id bigint);
CREATE INDEX ON suggested_taggings (story_id);
CREATE TABLE hidden_stories (id bigserial PRIMARY KEY, user_id bigint NOT NULL, story_id bigint NOT NULL);
CREATE UNIQUE INDEX ON hidden_stories (user_id, story_id);
CREATE TABLE saved_stories (id bigserial PRIMARY KEY, user_id bigint NOT NULL, story_id bigint NOT NULL);
CREATE UNIQUE INDEX ON saved_stories (user_id, story_id);
CREATE TABLE read_ribbons (id bigserial PRIMARY KEY, user_id bigint NOT NULL, story_id bigint NOT NULL, is_following boolean DEFAULT true,
	updated_at timestamp NOT NULL DEFAULT now());
CREATE INDEX ON read_ribbons (user_id, story_id);
CREATE TABLE tag_filters (id bigserial PRIMARY KEY, user_id bigint NOT NULL, tag_id bigint NOT NULL);
CREATE INDEX ON tag_filters (user_id);
CREATE TABLE hats (id bigserial PRIMARY KEY, user_id bigint NOT NULL, hat varchar(255) NOT NULL);
CREATE INDEX ON hats (user_id);
CREATE TABLE messages (id bigserial PRIMARY KEY, author_user_id bigint, recipient_user_id bigint NOT NULL, body text,
	has_been_read boolean DEFAULT false, deleted_by_recipient boolean DEFAULT false);
CREATE INDEX ON messages (recipient_user_id);
CREATE TABLE keystores (key varchar(50) PRIMARY KEY, value bigint);

INSERT INTO users (username, email, about, session_token, karma)
	SELECT 'user' || i, 'u' || i || '@example.org', repeat('about ', i % 20), md5('token' || i), i % 900 FROM generate_series(1, 2000) i;
INSERT INTO stories (user_id, url, title, description, short_id, upvotes, score, hotness, comments_count, created_at)
	SELECT 1 + (i::bigint * i) % 2000, 'https://example.org/' || i, 'Story ' || i || ' ' || repeat('title ', i % 9), repeat('text ', i % 7 * 10),
		's' || i, 1 + i % 60, 1 + i % 60, -(i / 7.0 + i % 60), i % 20, timestamp '2024-01-01' + i * interval '1 minute'
	FROM generate_series(1, 8000) i;
INSERT INTO comments (short_id, story_id, user_id, comment, markeddown_comment, upvotes, confidence)
	SELECT 'c' || i, 1 + (i::bigint * 7919) % 8000, 1 + (i::bigint * 104729) % 2000, repeat('word ', 10 + i % 60), '<p>' || repeat('word ', 10 + i % 60),
		1 + i % 30, (i % 97) / 100.0 FROM generate_series(1, 48000) i;
INSERT INTO votes (user_id, story_id, vote) SELECT 1 + (i::bigint * 31) % 2000, 1 + (i::bigint * 17) % 8000, 1 FROM generate_series(1, 60000) i;
INSERT INTO votes (user_id, story_id, comment_id, vote)
	SELECT 1 + (id * 13) % 2000, story_id, id, 1 FROM comments;
INSERT INTO tags (tag, description) SELECT 'tag' || i, 'about ' || i FROM generate_series(1, 70) i;
INSERT INTO taggings (story_id, tag_id) SELECT i, 1 + i % 70 FROM generate_series(1, 8000) i
	UNION SELECT i, 1 + i % 67 FROM generate_series(1, 8000) i;
INSERT INTO suggested_titles (story_id, user_id, title) SELECT i * 11, i, 'better' FROM generate_series(1, 300) i;
INSERT INTO hidden_stories (user_id, story_id) SELECT i % 2000 + 1, i * 3 % 8000 + 1 FROM generate_series(1, 4000) i ON CONFLICT DO NOTHING;
INSERT INTO saved_stories (user_id, story_id) SELECT i % 2000 + 1, i * 7 % 8000 + 1 FROM generate_series(1, 4000) i ON CONFLICT DO NOTHING;
INSERT INTO tag_filters (user_id, tag_id) SELECT i * 5 % 2000 + 1, i % 70 + 1 FROM generate_series(1, 500) i;
INSERT INTO hats (user_id, hat) SELECT i * 40, 'hat' FROM generate_series(1, 50) i;
INSERT INTO keystores SELECT 'user:' || i || ':' || k, i % 50
	FROM generate_series(1, 2000) i, unnest(ARRAY['unread_messages', 'stories_submitted', 'comments_posted']) k;
VACUUM ANALYZE;
