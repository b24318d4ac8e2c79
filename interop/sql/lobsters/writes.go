package main

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
)

// token returns what a browser of a user keeps.
func token(id int64) string {
	sum := md5.Sum(fmt.Appendf(nil, "token%d", id))
	return hex.EncodeToString(sum[:])
}

func (c *caller) login() {
	u := c.one(`SELECT "users".* FROM "users" WHERE "users"."username" = $1 LIMIT $2`,
		fmt.Sprintf("user%d", c.popular(users)), 1)
	c.write(`UPDATE "users" SET "about" = $1 WHERE "users"."id" = $2`, fmt.Sprintf("seen %d", c.number), u.id("id"))
}

func (c *caller) voteStory() {
	s := c.storyByName()
	id, by := s.id("id"), s.id("user_id")
	found := c.one(`SELECT "votes".* FROM "votes" WHERE "votes"."user_id" = $1 AND "votes"."story_id" = $2`+
		` AND "votes"."comment_id" IS NULL LIMIT $3`, c.user, id, 1)
	c.write("BEGIN")
	if found == nil {
		c.write(`INSERT INTO "votes" ("user_id", "story_id", "vote") VALUES ($1, $2, $3) RETURNING "id"`, c.user, id, 1)
	} else {
		c.write(`UPDATE "votes" SET "vote" = $1 WHERE "votes"."id" = $2`, 1, found.id("id"))
	}
	c.write(`UPDATE "users" SET "karma" = "users"."karma" + 1 WHERE "users"."id" = $1`, by)
	c.write(`UPDATE "stories" SET "upvotes" = "stories"."upvotes" + 1, "score" = "stories"."score" + 1,`+
		` "hotness" = "stories"."hotness" - 1 WHERE "stories"."id" = $1`, id)
	c.write("COMMIT")
}

func (c *caller) voteComment() {
	said := c.one(`SELECT "comments".* FROM "comments" WHERE "comments"."short_id" = $1 LIMIT $2`,
		fmt.Sprintf("c%d", comments+1-c.popular(comments)), 1)
	id, story, by := said.id("id"), said.id("story_id"), said.id("user_id")
	found := c.one(`SELECT "votes".* FROM "votes" WHERE "votes"."user_id" = $1 AND "votes"."story_id" = $2`+
		` AND "votes"."comment_id" = $3 LIMIT $4`, c.user, story, id, 1)
	c.write("BEGIN")
	if found == nil {
		c.write(`INSERT INTO "votes" ("user_id", "story_id", "comment_id", "vote") VALUES ($1, $2, $3, $4) RETURNING "id"`,
			c.user, story, id, 1)
	} else {
		c.write(`UPDATE "votes" SET "vote" = $1 WHERE "votes"."id" = $2`, 1, found.id("id"))
	}
	c.write(`UPDATE "users" SET "karma" = "users"."karma" + 1 WHERE "users"."id" = $1`, by)
	c.write(`UPDATE "comments" SET "upvotes" = "comments"."upvotes" + 1, "confidence" = $1 WHERE "comments"."id" = $2`,
		"0.5", id)
	c.write("COMMIT")
}

func (c *caller) comment() {
	s := c.storyByName()
	id, name := s.id("id"), fmt.Sprintf("n%d", c.number)
	c.one(`SELECT "users".* FROM "users" WHERE "users"."id" = $1 LIMIT $2`, s.id("user_id"), 1)
	if c.one(`SELECT 1 AS one FROM "comments" WHERE "comments"."short_id" = $1 LIMIT $2`, name, 1) != nil {
		return
	}
	c.write("BEGIN")
	c.write(`INSERT INTO "comments" ("short_id", "story_id", "user_id", "comment", "markeddown_comment") VALUES`+
		` ($1, $2, $3, $4, $5) RETURNING "id"`, name, id, c.user, "text", "<p>text</p>")
	c.write(`INSERT INTO "votes" ("user_id", "story_id", "vote") VALUES ($1, $2, $3) RETURNING "id"`, c.user, id, 1)
	c.write(`UPDATE "stories" SET "comments_count" = "stories"."comments_count" + 1, "hotness" = "stories"."hotness" - 0.5`+
		` WHERE "stories"."id" = $1`, id)
	c.write(`UPDATE "keystores" SET "value" = "keystores"."value" + 1 WHERE "keystores"."key" = $1`,
		fmt.Sprintf("user:%d:comments_posted", c.user))
	c.write("COMMIT")
}

func (c *caller) submit() {
	name := fmt.Sprintf("t%d", c.number%100_000)
	tags := c.find(`SELECT "tags".* FROM "tags" WHERE "tags"."inactive" = $1 AND "tags"."tag" = $2`, false, "tag7")
	if c.one(`SELECT 1 AS one FROM "stories" WHERE "stories"."short_id" = $1 LIMIT $2`, name, 1) != nil || c.err != nil {
		return
	}
	c.write("BEGIN")
	s := c.insertStory(name)
	c.write(`INSERT INTO "taggings" ("story_id", "tag_id") VALUES ($1, $2) RETURNING "id"`, s, tags[0].id("id"))
	c.write(`INSERT INTO "votes" ("user_id", "story_id", "vote") VALUES ($1, $2, $3) RETURNING "id"`, c.user, s, 1)
	c.write(`UPDATE "keystores" SET "value" = "keystores"."value" + 1 WHERE "keystores"."key" = $1`,
		fmt.Sprintf("user:%d:stories_submitted", c.user))
	c.write("COMMIT")
}

// insertStory returns the number of a new story.
func (c *caller) insertStory(name string) int64 {
	s := c.one(`INSERT INTO "stories" ("user_id", "url", "title", "short_id", "hotness") VALUES ($1, $2, $3, $4, $5) RETURNING "id"`,
		c.user, "https://example.org/new", "New "+name, name, "-1200")
	c.counts.selects.Add(-1) // it is none
	c.counts.writes.Add(1)
	return s.id("id")
}
