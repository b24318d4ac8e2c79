package servers

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/hotrow/hotrow/bench/harness"
	"github.com/hotrow/hotrow/internal/demo"
)

// postsPerKey is how many posts there are for each document that the other scenarios have,
// and postsPerAuthor how many of them an author has.
const (
	postsPerKey    = 10
	postsPerAuthor = 40
)

// hotAuthors are those whose lists are asked for where all are to be equal: as many pages
// there are, each as long as their lists.
const hotAuthors = 1000

// NewestPosts is the path of a list of 25 posts, and Threads that of the same with the
// comments of each.
const (
	NewestPosts = "/posts?author=eq.{n}&order=created.desc&limit=25"
	Threads     = "/threads?author=eq.{n}&order=created.desc&limit=25"
)

// withLists adds what answers with lists to others.
func withLists(all map[string]harness.Starter) map[string]harness.Starter {
	maps.Copy(all, map[string]harness.Starter{
		"hotrow-posts": startHotrowPosts, "postgres-posts": startPosts,
		"hotrow-uncached": startHotrowUncached, "nginx-second": startNginxSecond,
	})
	return all
}

// authors are how many there are.
func authors(w *harness.Fixture) int { return max(w.Opts.Keys*postsPerKey/postsPerAuthor, 100) }

// postsSQL makes posts of authors from demo.FirstDept on, one after the other, and comments on
// those of the last authors, whom only the rows that change belong to.
func postsSQL(authors int) string {
	first, posts := demo.FirstDept, authors*postsPerAuthor
	return fmt.Sprintf(`
CREATE TABLE pages (id int PRIMARY KEY, body text NOT NULL);
CREATE TABLE posts (id int PRIMARY KEY, author int NOT NULL, created timestamp NOT NULL,
	title text NOT NULL, body text NOT NULL);
INSERT INTO posts SELECT i, %d + i %% %d, timestamp '2026-01-01' + i * interval '1 second',
	'What happened on day ' || i, repeat('All of it is true. ', 6) FROM generate_series(1, %d) i;
INSERT INTO posts SELECT %d + i, 1, now(), 'changes', '' FROM generate_series(1, 1000) i;
CREATE INDEX ON posts (author, created DESC, id);
CREATE TABLE comments (id int PRIMARY KEY, post int NOT NULL, body text NOT NULL);
INSERT INTO comments SELECT i, %d + i, 'changes' FROM generate_series(1, 1000) i;
CREATE INDEX ON comments (post);
ALTER TABLE posts REPLICA IDENTITY FULL; ALTER TABLE comments REPLICA IDENTITY FULL;
`, first, authors, posts, posts, posts)
}

// postsYAML serves them.
func postsYAML(url string) string {
	return fmt.Sprintf(`version: 1
sources: {main: {url: %q}}
resources:
  pages: {table: pages}
  posts: {table: posts}
  comments: {table: comments}
  threads: {table: posts, embed: {comments: {resource: comments, "on": post}}}
`, url)
}

// newPosts makes a server with the posts.
func newPosts(ctx context.Context, w *harness.Fixture, dir string) (*cluster, error) {
	db, err := newCluster(ctx, dir)
	if err != nil {
		return nil, err
	}
	err = db.await(ctx)
	for _, sql := range []string{postsSQL(authors(w)), "VACUUM ANALYZE; CHECKPOINT;"} {
		if err == nil {
			err = db.psql(ctx, strings.NewReader(sql))
		}
	}
	if err != nil {
		db.server.Stop()
		return nil, db.server.Failed(err)
	}
	return db, nil
}

// startPosts starts PostgreSQL with posts, to be asked by itself.
func startPosts(
	ctx context.Context, w *harness.Fixture, _ harness.Placement, dir string,
) (*harness.Server, error) {
	db, err := newPosts(ctx, w, dir)
	if err != nil {
		return nil, err
	}
	r := harness.NewDatabase(db.server, db.url(), authors(w))
	r.Database = db.url()
	return r, nil
}

// startHotrowPosts starts hotrow over posts. What is asked for is in memory: lists of all
// authors, and pages that are as long as lists.
func startHotrowPosts(
	ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
) (*harness.Server, error) {
	db, err := newPosts(ctx, w, dir)
	if err != nil {
		return nil, err
	}
	err = db.psql(ctx, strings.NewReader(fmt.Sprintf("INSERT INTO pages VALUES (%d, '')",
		demo.FirstDept)))
	if err != nil {
		return overDatabase(nil, db, err)
	}
	r, err := hotrowOver(ctx, w, on, dir, "hotrow-posts", db.url(), flavour{
		config: postsYAML(db.url()), path: "/pages/{n}", expect: "{", cache: "memory: 4GiB"})
	if r, err = overDatabase(r, db, err); err != nil {
		return nil, err
	}
	if err = fillPages(ctx, r, db); err == nil {
		err = warmLists(ctx, w, r)
	}
	if err != nil {
		r.Close()
		return nil, r.Main.Failed(err)
	}
	return r, nil
}

// fillPages makes pages as long as the lists.
func fillPages(ctx context.Context, r *harness.Server, db *cluster) error {
	first := fmt.Sprint(demo.FirstDept)
	list, err := harness.Fetch(ctx, strings.ReplaceAll(r.Base+NewestPosts, "{n}", first))
	if err != nil {
		return err
	}
	page, err := harness.Fetch(ctx, strings.ReplaceAll(r.URL, "{n}", first))
	if err != nil {
		return err
	}
	return db.psql(ctx, strings.NewReader(fmt.Sprintf("DELETE FROM pages; INSERT INTO pages"+
		" SELECT i, repeat('x', %d) FROM generate_series(%d, %d) i",
		len(list)-len(page), demo.FirstDept, demo.FirstDept+hotAuthors-1)))
}

// warmLists asks for every list until it is kept: at its second miss.
func warmLists(ctx context.Context, w *harness.Fixture, r *harness.Server) error {
	r.Keys = authors(w)
	for range 3 { // and once more, should a set of columns have been told apart late
		if err := w.WarmURL(ctx, r, r.Base+NewestPosts, nil); err != nil {
			return err
		}
	}
	r.Keys = min(r.Keys, hotAuthors)
	for _, path := range []string{Threads, Threads, Threads, "/pages/{n}"} {
		if err := w.WarmURL(ctx, r, r.Base+path, nil); err != nil {
			return err
		}
	}
	r.Keys, r.URL = authors(w), r.Base+NewestPosts
	return nil
}

// uncachedYAML is the demo's configuration of a hotrow that keeps nothing.
func uncachedYAML(url string) string {
	return strings.ReplaceAll(demo.YAML(url), "\n    table:", "\n    tiers: []\n    table:")
}

// startHotrowUncached starts hotrow over PostgreSQL that keeps nothing.
func startHotrowUncached(
	ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
) (*harness.Server, error) {
	db, err := startPostgres(ctx, w, dir)
	if err != nil {
		return nil, err
	}
	r, err := hotrowOver(ctx, w, on, dir, "hotrow-uncached", db.url(),
		flavour{config: uncachedYAML(db.url())})
	return overDatabase(r, db, err)
}

// startNginxSecond starts nginx, which keeps what it has got for a second, in front of a
// hotrow that keeps nothing.
func startNginxSecond(
	ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
) (*harness.Server, error) {
	back, err := startHotrowUncached(ctx, w, on, dir)
	if err != nil {
		return nil, err
	}
	const cache = `proxy_cache_path %s/cache levels=1:2 keys_zone=docs:64m inactive=1h;
	upstream rows { server %s; keepalive 64; keepalive_requests 1000000000; }
	server {
		listen %s;
		location / {
			proxy_pass http://rows; proxy_http_version 1.1; proxy_set_header Connection "";
			proxy_set_header Host %s;
			proxy_cache docs; proxy_cache_valid 200 1s; proxy_cache_lock on;
			proxy_ignore_headers Cache-Control Expires;
		}
	}`
	r, err := startNginx(ctx, "nginx-second", on, dir, w.Opts.Keys, keyed, func(at string) string {
		return fmt.Sprintf(cache, dir, back.Address(), at, back.Address())
	})
	if err != nil {
		back.Close()
		return nil, err
	}
	r.Behind = append(append(r.Behind, back.Main), back.Behind...)
	return r, nil
}
