package apps

import (
	_ "embed"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// mastodonTables are the tables of a server of a social network, with the indexes that it
// has: of expressions, and of parts of the rows.
//
//go:embed testdata/mastodon.sql
var mastodonTables string

//go:embed testdata/mastodon.yaml
var mastodonResources string

const whyEdited = "a write does not tell whose a status was: `REPLICA IDENTITY FULL`"

var mastodon = []question{
	{asks: "a status with its media", path: "/statuses/15",
		other:  "UPDATE statuses SET text = 'Toot %d' WHERE id = 16",
		change: "UPDATE media_attachments SET description = 'A cat' WHERE status_id = 15"},
	{asks: "the statuses of an account, the newest first",
		path:  "/statuses?account_id=eq.21&deleted_at=is.null&order=id.desc&limit=20&select=id,text,visibility",
		other: "UPDATE statuses SET text = 'Toot %d' WHERE account_id = 22",
		change: "INSERT INTO statuses (id, text, created_at, updated_at, account_id)" +
			" VALUES (20001, 'New', now(), now(), 21)"},
	{asks: "their next page", path: "/statuses?account_id=eq.23&deleted_at=is.null&order=id.desc&limit=5", next: true,
		other:  "UPDATE statuses SET text = 'Toot %d' WHERE account_id = 22",
		change: "UPDATE statuses SET deleted_at = now() WHERE id = 5022"},
	{asks: "the replies to a status", path: "/statuses?in_reply_to_id=eq.18&order=id",
		other: "UPDATE statuses SET text = 'Toot %d' WHERE id = 34",
		change: "UPDATE statuses SET text = 'Reply' " +
			"WHERE id = (SELECT min(id) FROM statuses WHERE in_reply_to_id = 18)"},
	{asks: "who has boosted a status", path: "/statuses?reblog_of_id=eq.17&order=id",
		other:  "UPDATE statuses SET text = 'Toot %d' WHERE id = 33",
		change: "UPDATE statuses SET text = 'Boost' WHERE id = 22"},
	{asks: "the counts of a status", path: "/status_stats?status_id=eq.31",
		other:  "UPDATE status_stats SET replies_count = replies_count + 1 WHERE status_id = 32",
		change: "UPDATE status_stats SET replies_count = replies_count + 1 WHERE status_id = 31"},
	{asks: "who follows an account", path: "/follows?target_account_id=eq.41&order=id.desc&limit=40",
		other:  "UPDATE follows SET notify = NOT notify WHERE target_account_id = 42",
		change: "INSERT INTO follows (account_id, target_account_id) VALUES (5001, 41)"},
	{asks: "whom an account follows", path: "/follows?account_id=eq.43&order=id.desc&limit=40",
		other:  "UPDATE follows SET notify = NOT notify WHERE account_id = 44",
		change: "DELETE FROM follows WHERE id = (SELECT min(id) FROM follows WHERE account_id = 43)"},
	{asks: "whether one account follows another", path: "/follows?account_id=eq.1&target_account_id=eq.49",
		other:  "UPDATE follows SET notify = NOT notify WHERE account_id = 2",
		change: "UPDATE follows SET notify = NOT notify WHERE account_id = 1"},
	{asks: "who likes a status", path: "/favourites?status_id=eq.51",
		other:  "INSERT INTO favourites (account_id, status_id) VALUES (%d, 6001)",
		change: "INSERT INTO favourites (account_id, status_id) VALUES (3, 51)"},
	{asks: "the notifications of an account", path: "/notifications?account_id=eq.61&order=id.desc&limit=20",
		other: "UPDATE notifications SET from_account_id = %d WHERE account_id = 62",
		change: "INSERT INTO notifications " +
			"(account_id, from_account_id, type, created_at) VALUES (61, 2, 'follow', now())"},
	{asks: "those that are not read", path: "/notifications?account_id=eq.63&id=gt.5000&order=id.desc&limit=20",
		other: "UPDATE notifications SET from_account_id = %d WHERE account_id = 62",
		change: "INSERT INTO notifications " +
			"(account_id, from_account_id, type, created_at) VALUES (63, 2, 'follow', now())"},
	{asks: "how many these are", path: "/notifications?account_id=eq.64&id=gt.5000&limit=1", prefer: "count=exact",
		kept: coarse, why: "a count needs what rows were: `REPLICA IDENTITY FULL`",
		other: "UPDATE notifications SET from_account_id = %d WHERE account_id = 62",
		change: "DELETE FROM notifications " +
			"WHERE id = (SELECT min(id) FROM notifications WHERE account_id = 64 AND id > 5000)"},
	{asks: "up to where they are read", path: "/markers?user_id=eq.71&timeline=eq.notifications",
		other:  "UPDATE markers SET last_read_id = last_read_id + 1 WHERE user_id = 72",
		change: "UPDATE markers SET last_read_id = 900 WHERE user_id = 71"},
	{asks: "who is named in a status", path: "/mentions?status_id=eq.81",
		other:  "UPDATE mentions SET silent = NOT silent WHERE status_id = 82",
		change: "UPDATE mentions SET silent = NOT silent WHERE status_id = 81"},
	{asks: "the user with this e-mail", path: "/users?email=eq.user91@example.com",
		other:  "UPDATE users SET locale = 'l%d' WHERE id = 92",
		change: "UPDATE users SET locale = 'de' WHERE id = 91"},
	{asks: "the account at this address", path: "/accounts?uri=eq.https://example.org/95",
		other:  "UPDATE accounts SET note = '%d' WHERE id = 96",
		change: "UPDATE accounts SET note = 'changed' WHERE id = 95"},
	{asks: "accounts by a regular expression", path: "/accounts?id=lt.300&username=match.r20.$", kept: coarse,
		why:    whyRange,
		other:  "UPDATE accounts SET note = '%d' WHERE id = 104",
		change: "UPDATE accounts SET note = 'changed' WHERE id = 203"},
	{asks: "the account of this name", path: "/accounts?username=eq.user101&domain=is.null", kept: refused,
		why: "its index is of `lower(username)`, as 400 says: a query of your own asks for it"},
	{asks: "the same, as a query of your own", path: "/account_by_name/user103", kept: coarse,
		why:    "a write does not tell what `username` was: `REPLICA IDENTITY FULL`",
		other:  "UPDATE accounts SET note = '%d' WHERE id = 104",
		change: "UPDATE accounts SET note = 'changed' WHERE id = 103"},
	{asks: "the home timeline", path: "/home/111",
		other: "INSERT INTO statuses (id, text, created_at, updated_at, account_id)" +
			" SELECT 30000 + %d, 'Other', now(), now(), min(id) FROM accounts WHERE id NOT IN" +
			" (SELECT target_account_id FROM follows WHERE account_id = 111)",
		change: "INSERT INTO statuses (id, text, " +
			"created_at, updated_at, account_id)" +
			" SELECT 20002, 'New', now(), now(), min(target_account_id) FROM follows WHERE account_id = 111"},
	{asks: "the same, when its reader follows somebody", path: "/home/113",
		other: "INSERT INTO follows (account_id, target_account_id) VALUES (5112, 6000 + %d)",
		change: "INSERT INTO follows (account_id, target_account_id) SELECT 113, max(account_id)" +
			" FROM statuses WHERE id > 19000 AND account_id NOT IN" +
			" (SELECT target_account_id FROM follows WHERE account_id = 113)"},
	{asks: "the same, when a status is edited", path: "/home/115", kept: coarse, why: whyEdited,
		other: "UPDATE statuses SET text = 'Toot %d' WHERE id = 1",
		change: "UPDATE statuses SET text = 'Edited' WHERE id = (SELECT max(statuses.id) FROM statuses" +
			" JOIN follows ON target_account_id = statuses.account_id WHERE follows.account_id = 115)"},
	{asks: "the public timeline",
		path: "/statuses?visibility=eq.0&deleted_at=is.null&order=id.desc&limit=20", kept: refused,
		why: "no index has `visibility`: 400 names the one that admits it"},
}

func TestMastodon(t *testing.T) {
	url := dbtest.Postgres(t, dbtest.Setup(mastodonTables))
	serve(t, url, mastodonResources, postgres(t, url)).ask(t, mastodon)
}
