package apps

import (
	_ "embed"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// wordpressTables are the tables of a blog, as its installer makes them: its collation,
// indexes of the first 191 characters, and dates that are none.
//
//go:embed testdata/wordpress.sql
var wordpressTables string

//go:embed testdata/wordpress.yaml
var wordpressResources string

var wordpress = []question{
	{asks: "an option", path: "/options?option_name=eq.opt_7",
		other:  "UPDATE wp_options SET option_value = '%d' WHERE option_name = 'opt_8'",
		change: "UPDATE wp_options SET option_value = 'changed' WHERE option_name = 'opt_7'"},
	{asks: "the options that each page needs", path: "/options?autoload=in.(yes,on,auto-on,auto)&limit=1000",
		other:  "UPDATE wp_options SET option_value = '%d' WHERE option_name = 'opt_8'",
		change: "UPDATE wp_options SET option_value = 'changed' WHERE option_name = 'opt_9'"},
	{asks: "the post with this slug", path: "/posts?post_name=eq.post-17&post_type=eq.post&post_status=eq.publish",
		other:  "UPDATE wp_posts SET comment_count = comment_count + 1 WHERE ID = 18",
		change: "UPDATE wp_posts SET comment_count = comment_count + 1 WHERE ID = 17"},
	{asks: "the post with a slug of other letters than ASCII's",
		path: "/posts?post_name=eq.beitrag-ü-300", kept: coarse,
		why:    "such texts may be equal to any",
		other:  "UPDATE wp_posts SET comment_count = comment_count + 1 WHERE ID = 18",
		change: "UPDATE wp_posts SET comment_count = comment_count + 1 WHERE ID = 300"},
	{asks: "a post with its meta and comments", path: "/post_pages/25",
		other: "UPDATE wp_comments SET comment_content = '%d' WHERE comment_post_ID = 26",
		change: "INSERT INTO wp_comments (comment_post_ID, comment_author, comment_content)" +
			" VALUES (25, 'me', 'new')"},
	{asks: "the front page", path: "/posts?post_type=eq.post&post_status=eq.publish&order=post_date.desc&limit=10",
		other: "UPDATE wp_posts SET comment_count = comment_count + 1 WHERE ID = 70",
		change: "INSERT INTO wp_posts " +
			"(post_author, post_date, post_content, post_title, post_name)" +
			" VALUES (1, '2026-01-01', '', 'New', 'new')"},
	{asks: "its next page",
		path: "/posts?post_type=eq.post&post_status=eq.publish&order=post_date.desc&limit=10", next: true,
		other:  "UPDATE wp_posts SET comment_count = comment_count + 1 WHERE ID = 70",
		change: "UPDATE wp_posts SET comment_count = comment_count + 1 WHERE ID BETWEEN 11970 AND 11990"},
	{asks: "the posts of a writer",
		path:   "/posts?post_author=eq.3&post_type=eq.post&post_status=eq.publish&order=post_date.desc&limit=10",
		other:  "UPDATE wp_posts SET comment_count = comment_count + 1 WHERE ID = 3",
		change: "UPDATE wp_posts SET comment_count = comment_count + 1 WHERE post_author = 3"},
	{asks: "the pages below a page", path: "/posts?post_parent=eq.12&post_type=eq.page&order=menu_order",
		other:  "UPDATE wp_posts SET comment_count = comment_count + 1 WHERE ID = 20",
		change: "UPDATE wp_posts SET comment_count = comment_count + 1 WHERE ID = 10"},
	{asks: "how many drafts there are",
		path: "/posts?post_type=eq.post&post_status=eq.draft&select=ID&limit=1", prefer: "count=exact",
		other: "UPDATE wp_posts SET comment_count = comment_count + 1 WHERE ID = 1",
		change: "UPDATE wp_posts " +
			"SET ID = 200000 WHERE ID = 7"},
	{asks: "the meta of a post", path: "/postmeta?post_id=eq.31",
		other:  "UPDATE wp_postmeta SET meta_value = '%d' WHERE post_id = 32",
		change: "INSERT INTO wp_postmeta (post_id, meta_key, meta_value) VALUES (31, '_edit_lock', '1')"},
	{asks: "the comments of a post, the newest first",
		path: "/comments?comment_post_ID=eq.41&comment_approved=eq.1&" +
			"order=comment_date_gmt.desc&limit=50",
		other: "UPDATE wp_comments SET comment_content = '%d' WHERE comment_post_ID = 42",
		change: "INSERT INTO wp_comments " +
			"(comment_post_ID, comment_author, comment_content) VALUES (41, 'me', 'new')"},
	{asks: "the newest comments of all", path: "/comments?comment_approved=eq.1&order=comment_date_gmt.desc&limit=5",
		other: "UPDATE wp_comments SET comment_content = '%d' WHERE comment_ID = 9",
		change: "INSERT INTO wp_comments " +
			"(comment_post_ID, comment_author, comment_content, comment_date_gmt)" +
			" VALUES (41, 'me', 'newest', now())"},
	{asks: "the user who logs in", path: "/users?user_login=eq.writer8",
		other:  "UPDATE wp_users SET display_name = '%d' WHERE ID = 9",
		change: "UPDATE wp_users SET display_name = 'changed' WHERE ID = 8"},
	{asks: "the user with this e-mail", path: "/users?user_email=eq.writer10@example.com",
		other:  "UPDATE wp_users SET display_name = '%d' WHERE ID = 9",
		change: "UPDATE wp_users SET display_name = 'changed' WHERE ID = 10"},
	{asks: "the meta of a user", path: "/usermeta?user_id=eq.12",
		other:  "UPDATE wp_usermeta SET meta_value = '%d' WHERE user_id = 13",
		change: "UPDATE wp_usermeta SET meta_value = 'changed' WHERE user_id = 12"},
	{asks: "the category with this slug", path: "/terms?slug=eq.cat-5",
		other:  "UPDATE wp_terms SET name = '%d' WHERE term_id = 6",
		change: "UPDATE wp_terms SET name = 'Changed' WHERE term_id = 5"},
	{asks: "all categories", path: "/term_taxonomy?taxonomy=eq.category",
		other:  "UPDATE wp_term_taxonomy SET count = count + 1 WHERE term_id = 30",
		change: "UPDATE wp_term_taxonomy SET count = count + 1 WHERE term_id = 3"},
	{asks: "the categories of a post, by name", path: "/post_terms/77", kept: coarse, why: whyJoin,
		other:  "UPDATE wp_terms SET name = '%d' WHERE term_id = 6",
		change: "INSERT INTO wp_term_relationships (object_id, term_taxonomy_id) VALUES (77, 1)"},
	{asks: "the titles in a category", path: "/category_posts/5", kept: coarse, why: whyJoin,
		other:  "UPDATE wp_posts SET comment_count = comment_count + 1 WHERE ID = 1",
		change: "UPDATE wp_posts SET post_title = 'Changed' WHERE ID = 4"},
	{asks: "posts with a word in their title", path: "/posts?post_title=ilike.*ipsum*", kept: refused,
		why: "it would read every row"},
}

func TestWordPress(t *testing.T) {
	url := dbtest.MariaDB(t)
	dbtest.MariaDBShell(t, url, wordpressTables)
	serve(t, url, wordpressResources, mariadb(t, url)).ask(t, wordpress)
}
