package api

import (
	"net/http"
	"strconv"

	"github.com/hotrow/hotrow/internal/links"
	"github.com/hotrow/hotrow/internal/row"
)

// A keyDocument is a key as clients see it.
type keyDocument struct {
	ID         int64      `json:"id"`
	Name       string     `json:"name"`
	Role       links.Role `json:"role"`
	CreatedAt  string     `json:"created_at"`
	LastUsedAt *string    `json:"last_used_at"`
}

func keyOf(k *links.Key) keyDocument {
	d := keyDocument{ID: k.ID, Name: k.Name, Role: k.Role, CreatedAt: links.FormatTime(k.CreatedAt)}
	if k.LastUsedAt != 0 {
		at := links.FormatTime(k.LastUsedAt)
		d.LastUsedAt = &at
	}
	return d
}

// keys answers with all keys: their names and roles, never the keys themselves.
func (c *call) keys() error {
	if err := c.may(links.RoleAdmin, false); err != nil {
		return err
	}
	list, err := c.o.Keys.List(c.r.Context())
	if err != nil {
		return err
	}
	docs := make([]keyDocument, len(list))
	for i := range list {
		docs[i] = keyOf(&list[i])
	}
	return c.answer(http.StatusOK, member{"keys", docs})
}

// keyShape is the body of a new key.
var keyShape = row.NewShape([]row.Field{
	{Name: "name", Kind: row.Text}, {Name: "role", Kind: row.Text},
})

// addKey makes a key. The answer is the only place where it is ever shown.
func (c *call) addKey() error {
	if err := c.may(links.RoleAdmin, false); err != nil {
		return err
	}
	in, err := c.input(keyShape)
	if err != nil {
		return err
	}
	name, role := in.Values[0].Text(), links.Role(in.Values[1].Text())
	k, secret, err := c.o.Keys.Add(c.r.Context(), name, role)
	if err != nil {
		return err
	}
	d := keyOf(&k)
	c.w.Header().Set("Location", "/api/v1/keys/"+strconv.FormatInt(k.ID, 10))
	return c.answer(http.StatusCreated, member{"id", d.ID}, member{"name", d.Name},
		member{"role", d.Role}, member{"created_at", d.CreatedAt}, member{"key", secret})
}

// input reads a body of a shape.
func (c *call) input(shape *row.Shape) (*row.Input, error) {
	f, err := c.format()
	if err != nil {
		return nil, err
	}
	body, err := c.read()
	if err != nil {
		return nil, err
	}
	var in *row.Input
	if f == row.FormatMsgPack {
		in, err = shape.DecodeMsgPack(body)
	} else {
		in, err = shape.DecodeJSON(body)
	}
	if err != nil && readable(body, f) {
		return nil, problem{kind: kindInvalid, detail: err.Error()}
	}
	return in, err
}

// removeKey takes a key away.
func (c *call) removeKey(id string) error {
	if err := c.may(links.RoleAdmin, false); err != nil {
		return err
	}
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return links.ErrNoKey
	}
	if err := c.o.Keys.Remove(c.r.Context(), n); err != nil {
		return err
	}
	c.sent = true
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}
