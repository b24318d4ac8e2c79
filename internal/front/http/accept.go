package httpfront

import (
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/httprule"
	"github.com/hotrow/hotrow/internal/row"
)

// A media is a representation and the name under which it is sent: MessagePack
// has three, and a client is answered with the one that it asked for.
type media struct {
	format row.Format
	name   string
}

// documentMedia are the representations of documents, the preferred one first. One is told
// from another by its address.
var documentMedia = [7]media{
	{row.FormatJSON, "application/json"},
	{row.FormatMsgPack, "application/vnd.msgpack"},
	{row.FormatMsgPack, "application/msgpack"},
	{row.FormatMsgPack, "application/x-msgpack"},
	{row.FormatCBOR, "application/cbor"},
	{row.FormatJSON, objectType},
	{row.FormatJSON, arrayType},
}

// objectType is the type of a list that has one document, as that document.
const objectType = "application/vnd.pgrst.object+json"

// mediaOf has the name of each format under which documents are stored.
var mediaOf = func() (of [row.NumFormats]*media) {
	for f := range row.Format(row.NumFormats) {
		i := slices.Index(documentNames[:], f.MediaType())
		if i < 0 {
			of[f] = &media{format: f} // no client is sent it
			continue
		}
		of[f] = &documentMedia[i]
	}
	return of
}()

// stored reports whether documents are stored under the name.
func (m *media) stored() bool { return m == mediaOf[m.format] }

// documentNames are the names of documentMedia.
var documentNames = func() (names [len(documentMedia)]string) {
	for i, m := range documentMedia {
		names[i] = m.name
	}
	return names
}()

// formatNames are the values of ?format=.
const formatNames = "json, msgpack or cbor"

// negotiateDocument picks the representation of a document or list by an Accept header,
// "" if there was none.
func negotiateDocument(accept string) (*media, error) {
	i, ok := httprule.Negotiate([]string{accept}, documentNames[:])
	if !ok || strings.Contains(accept, "nulls=stripped") { // which no document is
		return nil, problem{kind: kindNotAcceptable}
	}
	return &documentMedia[i], nil
}

// mediaByName returns the representation that ?format= names, which beats the Accept
// header. err is why there is no name.
func mediaByName(format string, err error) (*media, error) {
	if err != nil {
		return nil, err
	}
	for i := range documentMedia {
		if m := &documentMedia[i]; m.format.String() == format {
			return m, nil
		}
	}
	return nil, problem{kind: kindBadQuery, detail: "format must be " + formatNames}
}
