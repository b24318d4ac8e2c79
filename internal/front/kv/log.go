package kv

import (
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
)

// appendPath appends keys with blanks between them.
func appendPath(dst []byte, keys [][]byte) []byte {
	for i, key := range keys {
		if i > 0 {
			dst = append(dst, ' ')
		}
		if dst = append(dst, key[:min(len(key), front.LogPath)]...); len(dst) > front.LogPath {
			break
		}
	}
	return dst
}

// BytesOf returns how many bytes the documents of an answer have.
func BytesOf(found []Found) (sum int) {
	for i := range found {
		if d := found[i].Doc; d != nil {
			sum += len(found[i].Value())
		}
	}
	return sum
}

// resourceOf returns the name of the resource of the first key, "" if there is none.
func resourceOf(found []Found) string {
	if len(found) == 0 || found[0].Res == nil {
		return ""
	}
	return found[0].Res.Name()
}

// LogHit writes the line of a command that was answered from memory.
func (s *Scope) LogHit(c *Session, command string, keys [][]byte, found []Found) {
	s.path = appendPath(s.path[:0], keys)
	line := front.AccessLine{
		Peer: c.Addr, Method: command, Path: row.Alias(s.path), Bytes: BytesOf(found),
		Cache: "hit", Resource: resourceOf(found), Principal: c.Principal(),
	}
	for i := range found {
		if found[i].Err != nil { // the error of a key is that of the command
			line.Cache, line.Bytes = CodeOf(found[i].Err), 0
		}
	}
	if weight, picked := s.Access.Start(s.Began); picked {
		s.Access.End(&line, weight)
	}
}

// LogRefusal writes the line of a command that is not done, for a reason of front.Failure.
func (s *Scope) LogRefusal(c *Session, command string, keys [][]byte, code string) {
	if !s.Access.On() {
		return
	}
	s.path = appendPath(s.path[:0], keys)
	line := front.AccessLine{Peer: c.Addr, Method: command, Path: row.Alias(s.path),
		Cache: code, Principal: c.Principal()}
	if weight, picked := s.Access.Start(s.Began); picked {
		s.Access.End(&line, weight)
	}
}

// logBatch writes the lines of a batch.
func (c *Session) logBatch(b *Batch) {
	for _, r := range b.reads {
		var err error
		for i := range r.Found {
			if CodeOf(r.Found[i].Err) != "" {
				err = r.Found[i].Err
			}
		}
		c.log(b.began, r.Name, r.Keys, err, func(line *front.AccessLine) {
			line.Cache, line.Resource, line.Bytes = "miss", resourceOf(r.Found), BytesOf(r.Found)
		})
	}
}

// LogAsk writes the line of a read by Ask.
func (c *Session) LogAsk(
	began time.Time, command string, key []byte, res *resource.Resource, a *resource.Answer,
	err error,
) {
	c.log(began, command, [][]byte{key}, err, func(line *front.AccessLine) {
		if res != nil {
			line.Resource = res.Name()
		}
		if line.Cache = "miss"; a.Origin == resource.HitMemory || a.Origin == resource.HitDisk {
			line.Cache = "hit"
		}
		if err == nil && a.Doc != nil && !a.Doc.Absent() {
			line.Bytes = len(a.Doc.Body())
		}
	})
}

// LogWrite writes the line of a command that was to change rows: of is the key of the one
// that was changed last.
func (c *Session) LogWrite(
	began time.Time, command string, keys [][]byte, of []byte, err error,
) {
	c.log(began, command, keys, err, func(line *front.AccessLine) {
		line.Cache = "write"
		if res, _ := c.store.Live().Find(of); res != nil {
			line.Resource = res.Name()
		}
	})
}

// log writes the line of a command that was not answered by the loop. fill says of the line
// what is of the command alone; a failure has its code in the place of Cache.
func (c *Session) log(
	began time.Time, command string, keys [][]byte, err error, fill func(*front.AccessLine),
) {
	o := c.store.Live()
	if o.Access == nil || !o.Access.On() {
		return
	}
	took := time.Since(began)
	line := front.AccessLine{Peer: c.Addr, Method: command, Path: string(appendPath(nil, keys)),
		Principal: c.Principal()}
	fill(&line)
	if code := CodeOf(err); code != "" {
		line.Cache = code
	}
	o.Access.Record(began, took, err != nil || took >= front.Slow, line.Fill)
}
