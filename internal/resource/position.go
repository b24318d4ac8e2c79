package resource

import "github.com/hotrow/hotrow/internal/source"

// Position returns the position up to which every change of r's source has been
// worked in: what is read after this call includes it. It is the zero Token
// while no feed says.
func (r *Resource) Position() Token {
	f := r.revision.Load()
	return f.src.token(f.src.domain.Applied())
}

// Spell returns the position of a token of r's source as the database writes it, for people;
// "" for the zero Token.
func (r *Resource) Spell(t Token) string {
	if t.IsZero() {
		return ""
	}
	return r.revision.Load().src.spell(t.Pos)
}

// spell returns a position as the database writes it.
func (u *sourceState) spell(pos source.Position) string {
	var feed source.Feed
	if c := u.feed.Load(); c != nil {
		feed = c.feed
	}
	return source.Spell(feed, pos)
}

// Followed reports whether a feed tells of r's changes, so that a Watch of it
// will hear of them.
func (r *Resource) Followed() bool { return r.revision.Load().followed() }

// NoFeed reports whether it is known that no feed tells of changes. At the start, and after a
// reload, it is not known before the source has been asked for one.
func (r *Resource) NoFeed() bool {
	f := r.revision.Load()
	left := f.excluded.Load()
	return f.src.feedless() || left != nil && left != &toBeFollowed
}
