package page

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// A did is what has been done with several links, and how it is undone.
type did struct {
	Do    string // a key of deeds
	Tag   string
	Codes []string
}

// A deed is something that can be done with several links at once.
type deed struct {
	said string // of one link and of several: "is deleted", "are deleted"
	undo string // the deed that takes it back; "": nothing is offered
}

// deeds are what can be done. Nothing that is offered as an undo deletes: the
// address of a page must not make a button that does.
var deeds = map[string]deed{
	"off": {"switched off", "on"}, "on": {"switched on", "off"},
	"delete": {"deleted", "restore"}, "restore": {"back, with all clicks", ""},
	"tag": {"tagged", "untag"}, "untag": {"no longer tagged", "tag"},
}

// didOf reads what a redirect says has been done; nil: nothing.
func didOf(v url.Values) *did {
	d := &did{Do: v.Get("did"), Tag: v.Get("with")}
	if _, ok := deeds[d.Do]; !ok || v.Get("codes") == "" {
		return nil
	}
	d.Codes = strings.Split(v.Get("codes"), ",")
	if len(d.Codes) > pageSize {
		return nil
	}
	return d
}

// address returns the address of a list with d on top.
func (d *did) address(list string) string {
	v := url.Values{"did": {d.Do}, "codes": {strings.Join(d.Codes, ",")}}
	if d.Tag != "" {
		v.Set("with", d.Tag)
	}
	if strings.Contains(list, "?") {
		return list + "&" + v.Encode()
	}
	return list + "?" + v.Encode()
}

// Who returns the code of one link, or how many there are.
func (d *did) Who() string {
	if len(d.Codes) == 1 {
		return d.Codes[0]
	}
	return fmt.Sprintf("%d links", len(d.Codes))
}

// Said returns what they are now.
func (d *did) Said() string {
	verb, with := " are ", ""
	if len(d.Codes) == 1 {
		verb = " is "
	}
	if d.Tag != "" {
		with = " with " + d.Tag
	}
	return verb + deeds[d.Do].said + with + "."
}

// Undo returns what takes it back.
func (d *did) Undo() string { return deeds[d.Do].undo }

// serveSeveral does what the list's form asks for with the links that are ticked,
// or takes it back. Links that are so already are left alone, so that an undo
// changes no others.
func (p *Page) serveSeveral(w http.ResponseWriter, r *http.Request) {
	if !methods(w, r, http.MethodPost) || !parseForm(w, r) {
		return
	}
	d := &did{Do: r.PostForm.Get("do")}
	if strings.HasSuffix(d.Do, "tag") {
		d.Tag = strings.TrimSpace(r.PostForm.Get("tag"))
	}
	codes := r.PostForm["code"]
	bad := refusalOf(d, codes)
	for _, code := range codes {
		if bad != nil {
			break
		}
		var changed bool
		if changed, bad = p.deed(r, d, code); changed {
			d.Codes = append(d.Codes, code)
		}
	}
	list := r.PostForm.Get("back")
	if list != "/+" && !strings.HasPrefix(list, "/+?") {
		list = "/+"
	}
	switch {
	case bad != nil && bad.keyless():
		p.signIn(w, r, "/+", "Changing links needs a key that may write.")
	case bad != nil:
		view := listView{Problem: bad}
		if len(d.Codes) > 0 {
			view.Did = d
		}
		p.list(w, r, bad.Status, view)
	case len(d.Codes) == 0:
		http.Redirect(w, r, list, http.StatusSeeOther)
	default:
		http.Redirect(w, r, d.address(list), http.StatusSeeOther)
	}
}

// refusalOf returns why a form asks for nothing that can be done; nil: it does.
func refusalOf(d *did, codes []string) *problem {
	bad := func(detail string) *problem {
		return &problem{Status: http.StatusUnprocessableEntity, Title: "Nothing is changed",
			Detail: detail}
	}
	_, known := deeds[d.Do]
	switch {
	case len(codes) == 0:
		return bad("Tick the links that are meant.")
	case len(codes) > pageSize:
		return bad(fmt.Sprintf("There are more than %d links.", pageSize))
	case !known:
		return bad("Say what is to be done with them.")
	case strings.HasSuffix(d.Do, "tag") && d.Tag == "":
		return bad("Say which tag.")
	}
	return nil
}

// deed does one link. It reports whether it has changed it.
func (p *Page) deed(r *http.Request, d *did, code string) (bool, *problem) {
	path := "/api/v1/links/" + url.PathEscape(code)
	if d.Do == "restore" {
		_, bad := p.ask(r, call{method: http.MethodPost, path: path + "/restore"}, nil)
		return bad == nil, about(code, bad)
	}
	var l link
	header, bad := p.ask(r, call{method: http.MethodGet, path: path}, &l)
	if bad != nil {
		return false, about(code, bad)
	}
	c := call{method: http.MethodPatch, path: path, ifMatch: header.Get("ETag"),
		mediaType: "application/merge-patch+json"}
	has := slices.Contains(l.Tags, d.Tag)
	switch {
	case d.Do == "delete":
		c.method, c.mediaType = http.MethodDelete, ""
	case d.Do == "tag" && !has:
		c.body = map[string]any{"tags": append(l.Tags, d.Tag)}
	case d.Do == "untag" && has:
		others := slices.DeleteFunc(l.Tags, func(tag string) bool { return tag == d.Tag })
		c.body = map[string]any{"tags": others}
	case d.Do == "on" && !l.Enabled, d.Do == "off" && l.Enabled:
		c.body = map[string]any{"enabled": !l.Enabled}
	default:
		return false, nil
	}
	_, bad = p.ask(r, c, nil)
	return bad == nil, about(code, bad)
}

// about says of which link a problem is.
func about(code string, bad *problem) *problem {
	if bad != nil {
		bad.Detail = code + ": " + bad.say()
	}
	return bad
}
