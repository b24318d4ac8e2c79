package page

import (
	"net/http"
	"strings"
)

// cookieName names the cookie that holds a visitor's API key. Scripts cannot read
// it, and no request that another site causes carries it.
const cookieName = "hotrow_key"

// maxKey bounds what is taken for a key.
const maxKey = 256

// keyOf returns the key of a visitor's cookie, or "".
func keyOf(r *http.Request) string {
	c, err := r.Cookie(cookieName)
	if err != nil || len(c.Value) > maxKey {
		return ""
	}
	return c.Value
}

// authorized returns a request that carries the cookie's key as the API wants it.
// One that has an Authorization of its own is left as it is.
func authorized(r *http.Request) *http.Request {
	key := keyOf(r)
	if key == "" || r.Header.Get("Authorization") != "" {
		return r
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Del("Cookie")
	return r
}

// serveSession signs a visitor in or out.
func (p *Page) serveSession(w http.ResponseWriter, r *http.Request) {
	if !methods(w, r, http.MethodPost) || !parseForm(w, r) {
		return
	}
	back := r.PostForm.Get("back")
	if !p.Handles(back) || strings.HasPrefix(back, "/api/") {
		back = "/+"
	}
	if r.PostForm.Get("do") == "out" {
		p.setKey(w, "", -1)
		http.Redirect(w, r, "/+", http.StatusSeeOther)
		return
	}
	key := strings.TrimSpace(r.PostForm.Get("key"))
	if !isKey(key) {
		p.signIn(w, r, back, "This is not a key. A key begins with hr_; it was shown once.")
		return
	}
	r.Header.Set("Authorization", "Bearer "+key)
	if status := p.get(r, "/api/v1/links?limit=1", nil); status != http.StatusOK {
		why := "The server does not know this key."
		if status != http.StatusUnauthorized {
			why = "The server could not check the key now (" + http.StatusText(status) + ")."
		}
		p.signIn(w, r, back, why)
		return
	}
	p.setKey(w, key, 30*24*3600)
	http.Redirect(w, r, back, http.StatusSeeOther)
}

// isKey reports whether a text could be a key, and can stand in a cookie.
func isKey(key string) bool {
	if len(key) < 8 || len(key) > maxKey {
		return false
	}
	for _, c := range []byte(key) {
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') &&
			c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

// setKey sets the cookie for that many seconds; -1 removes it.
func (p *Page) setKey(w http.ResponseWriter, key string, seconds int) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: key, Path: "/", MaxAge: seconds, HttpOnly: true,
		SameSite: http.SameSiteStrictMode, Secure: strings.HasPrefix(p.o.BaseURL, "https:"),
	})
}

// A signInView is what the page that asks for a key shows.
type signInView struct {
	frame
	Back, Why string
}

// signIn answers with the form that asks for a key.
func (p *Page) signIn(w http.ResponseWriter, r *http.Request, back, why string) {
	view := signInView{frame: p.frame(r, "Sign in"), Back: back, Why: why}
	p.render(w, http.StatusUnauthorized, signInPage(view))
}
