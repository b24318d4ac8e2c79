package main

import (
	"fmt"
	"math/rand/v2"
)

// A kind of page, and how many of 100,000 requests are for it.
type kind struct {
	weight int
	load   func(c *caller)
	signed bool // only somebody who is signed in asks for it
}

var kinds = []kind{
	{55_842, (*caller).story, false}, {30_105, (*caller).front, false},
	{6_702, (*caller).profile, false}, {4_674, (*caller).newComments, false},
	{967, (*caller).recent, false}, {684, (*caller).voteComment, true},
	{496, (*caller).voteStory, true}, {387, (*caller).comment, true},
	{87, (*caller).login, false}, {53, (*caller).submit, true},
}

// page asks for a page of the script.
func (c *caller) page(n int) error {
	c.r, c.err, c.user, c.number = rand.New(rand.NewPCG(1, uint64(n))), nil, 0, n
	all := 0
	for _, k := range kinds {
		all += k.weight
	}
	at := c.r.IntN(all)
	for _, k := range kinds {
		if at -= k.weight; at >= 0 {
			continue
		}
		if k.signed || c.r.IntN(100) < c.signed {
			c.signIn()
		}
		k.load(c)
		break
	}
	if c.err != nil {
		return fmt.Errorf("page %d: %w", n, c.err)
	}
	return nil
}

// signIn reads who looks at the page, and what its head shows them.
func (c *caller) signIn() {
	id := c.popular(users)
	u := c.one(`SELECT "users".* FROM "users" WHERE "users"."session_token" = $1 LIMIT $2`, token(id), 1)
	if c.user = u.id("id"); c.user == 0 && c.err == nil {
		c.err = fmt.Errorf("user %d is not there", id)
	}
	c.one(`SELECT COUNT(*) FROM "messages" WHERE "messages"."recipient_user_id" = $1 AND`+
		` "messages"."has_been_read" = $2 AND "messages"."deleted_by_recipient" = $3`, c.user, false, false)
	c.keystore("unread_messages", c.user)
}

// keystore reads a number that is kept by name.
func (c *caller) keystore(name string, user int64) {
	c.one(`SELECT "keystores".* FROM "keystores" WHERE "keystores"."key" = $1 LIMIT $2`,
		fmt.Sprintf("user:%d:%s", user, name), 1)
}

// storyByName reads a story. Which are popular changes as they get old: those of late are.
func (c *caller) storyByName() row {
	return c.one(`SELECT "stories".* FROM "stories" WHERE "stories"."short_id" = $1 LIMIT $2`,
		fmt.Sprintf("s%d", stories+1-c.popular(stories)), 1)
}

func (c *caller) story() {
	s := c.storyByName()
	id := s.id("id")
	c.one(`SELECT "users".* FROM "users" WHERE "users"."id" = $1 LIMIT $2`, s.id("user_id"), 1)
	c.find(`SELECT "stories"."id" FROM "stories" WHERE "stories"."merged_story_id" = $1`, id)
	if c.user != 0 {
		c.ribbon(id)
	}
	said := c.find(`SELECT "comments".* FROM "comments" WHERE "comments"."story_id" = $1`+
		` ORDER BY "comments"."confidence" DESC`, id)
	c.in("users", "id", idsOf(said, "user_id"))
	if c.user != 0 {
		c.inOf("votes", "comment_id", `"votes"."user_id" = $1 AND `, []any{c.user}, idsOf(said, "id"))
		c.one(`SELECT "votes".* FROM "votes" WHERE "votes"."user_id" = $1 AND "votes"."story_id" = $2`+
			` AND "votes"."comment_id" IS NULL LIMIT $3`, c.user, id, 1)
		c.of("hidden_stories", id)
		c.of("saved_stories", id)
	}
	c.tags([]int64{id})
}

// of reads whether the user has a story in a table.
func (c *caller) of(table string, story int64) {
	c.one(fmt.Sprintf(`SELECT "%s".* FROM "%[1]s" WHERE "%[1]s"."user_id" = $1 AND "%[1]s"."story_id" = $2 LIMIT $3`,
		table), c.user, story, 1)
}

// ribbon notes that the user has read a story.
func (c *caller) ribbon(story int64) {
	r := c.one(`SELECT "read_ribbons".* FROM "read_ribbons" WHERE "read_ribbons"."user_id" = $1`+
		` AND "read_ribbons"."story_id" = $2 LIMIT $3`, c.user, story, 1)
	if r == nil {
		c.write(`INSERT INTO "read_ribbons" ("user_id", "story_id") VALUES ($1, $2) RETURNING "id"`, c.user, story)
	} else {
		c.write(`UPDATE "read_ribbons" SET "updated_at" = $1 WHERE "read_ribbons"."id" = $2`,
			"2025-01-01 00:00:00", r.id("id"))
	}
}

// tags reads what stories are about.
func (c *caller) tags(stories []int64) {
	c.in("suggested_titles", "story_id", stories)
	c.in("suggested_taggings", "story_id", stories)
	c.in("tags", "id", idsOf(c.in("taggings", "story_id", stories), "tag_id"))
}

// list shows stories.
func (c *caller) list(found []row) {
	ids := idsOf(found, "id")
	c.in("users", "id", idsOf(found, "user_id"))
	c.tags(ids)
	if c.user != 0 {
		c.inOf("votes", "story_id", `"votes"."user_id" = $1 AND "votes"."comment_id" IS NULL AND `, []any{c.user}, ids)
		c.inOf("hidden_stories", "story_id", `"hidden_stories"."user_id" = $1 AND `, []any{c.user}, ids)
		c.inOf("saved_stories", "story_id", `"saved_stories"."user_id" = $1 AND `, []any{c.user}, ids)
	}
}

// filters reads what the user does not want to see.
func (c *caller) filters() {
	if c.user != 0 {
		c.find(`SELECT "hidden_stories"."story_id" FROM "hidden_stories" WHERE "hidden_stories"."user_id" = $1`, c.user)
		c.find(`SELECT "tag_filters".* FROM "tag_filters" WHERE "tag_filters"."user_id" = $1`, c.user)
	}
}

func (c *caller) front() {
	c.filters()
	c.list(c.find(`SELECT "stories".* FROM "stories" WHERE "stories"."merged_story_id" IS NULL AND`+
		` "stories"."is_expired" = $1 AND "stories"."score" >= $2 ORDER BY "stories"."hotness" ASC LIMIT $3 OFFSET $4`,
		false, 0, 26, 0))
}

func (c *caller) recent() {
	c.filters()
	c.list(c.find(`SELECT "stories".* FROM "stories" WHERE "stories"."merged_story_id" IS NULL AND`+
		` "stories"."is_expired" = $1 ORDER BY "stories"."id" DESC LIMIT $2 OFFSET $3`, false, 26, 0))
}

func (c *caller) profile() {
	u := c.one(`SELECT "users".* FROM "users" WHERE "users"."username" = $1 LIMIT $2`,
		fmt.Sprintf("user%d", c.popular(users)), 1)
	id := u.id("id")
	c.keystore("stories_submitted", id)
	c.keystore("comments_posted", id)
	most := c.one(`SELECT "tags"."id", COUNT(*) AS count FROM "taggings" INNER JOIN "tags" ON "taggings"."tag_id" = "tags"."id"`+
		` INNER JOIN "stories" ON "stories"."id" = "taggings"."story_id" WHERE "tags"."inactive" = $1 AND`+
		` "stories"."user_id" = $2 GROUP BY "tags"."id" ORDER BY count DESC LIMIT $3`, false, id, 1)
	c.one(`SELECT "tags".* FROM "tags" WHERE "tags"."id" = $1 LIMIT $2`, most.id("id"), 1)
	c.one(`SELECT 1 AS one FROM "hats" WHERE "hats"."user_id" = $1 LIMIT $2`, id, 1)
}

func (c *caller) newComments() {
	said := c.find(`SELECT "comments".* FROM "comments" WHERE "comments"."is_deleted" = $1 AND`+
		` "comments"."is_moderated" = $2 ORDER BY "comments"."id" DESC LIMIT $3 OFFSET $4`, false, false, 20, 0)
	c.in("users", "id", idsOf(said, "user_id"))
	about := c.in("stories", "id", idsOf(said, "story_id"))
	c.in("users", "id", idsOf(about, "user_id"))
	if c.user != 0 {
		c.inOf("votes", "comment_id", `"votes"."user_id" = $1 AND `, []any{c.user}, idsOf(said, "id"))
		c.inOf("hidden_stories", "story_id", `"hidden_stories"."user_id" = $1 AND `, []any{c.user}, idsOf(about, "id"))
	}
}
