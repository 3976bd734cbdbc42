package web

import (
	"bytes"
	"crypto/cipher"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"runtime/debug"
	"strconv"
	"strings"

	"iris.example/iris/events"
)

//go:embed templates static
var files embed.FS

// Site serves the pages.
type Site struct {
	cfg    Config
	pages  map[string]*template.Template
	assets map[string]asset // by hashed name
	names  map[string]string
	login  cipher.AEAD // seals the cookie of a sign-in; nil: there is no provider
}

type asset struct {
	kind string
	body []byte
}

// New reads the templates and builds the site. It does no I/O.
func New(cfg Config) (*Site, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Site{cfg: cfg, pages: map[string]*template.Template{}, assets: map[string]asset{}, names: map[string]string{}}
	if err := s.prepareLogin(); err != nil {
		return nil, fmt.Errorf("web: prepare the sign-in: %w", err)
	}
	if err := s.readAssets(); err != nil {
		return nil, fmt.Errorf("web: read the assets: %w", err)
	}
	if err := s.readTemplates(); err != nil {
		return nil, fmt.Errorf("web: read the templates: %w", err)
	}
	return s, nil
}

// readAssets names each file after its bytes, so that it may be cached for ever.
func (s *Site) readAssets() error {
	kinds := map[string]string{".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
	entries, err := fs.ReadDir(files, "static")
	for _, e := range entries {
		body, err := files.ReadFile("static/" + e.Name())
		if err != nil {
			return err
		}
		sum, ext := sha256.Sum256(body), path.Ext(e.Name())
		name := strings.TrimSuffix(e.Name(), ext) + "-" + hex.EncodeToString(sum[:8]) + ext
		s.assets[name], s.names[e.Name()] = asset{kinds[ext], body}, "/static/"+name
	}
	return err
}

func (s *Site) readTemplates() error {
	shared, err := template.ParseFS(files, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return err
	}
	for _, name := range []string{"memory", "new", "edit", "elsewhere", "history", "consents", "roles", "settings", "receipt", "sign-in", "signed-in", "message"} {
		page, err := shared.Clone()
		if err == nil {
			page, err = page.ParseFS(files, "templates/"+name+".html")
		}
		if err != nil {
			return err
		}
		s.pages[name] = page
	}
	return nil
}

// Handler serves every route of the table. What another site posts is refused before anything is read.
func (s *Site) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, route := range Routes() {
		mux.HandleFunc(strings.TrimSpace(route.Method+" "+route.Pattern), func(w http.ResponseWriter, r *http.Request) {
			v := &visit{site: s, w: w, r: r, route: route}
			defer v.recovered()
			if route.Who == Member && !v.identify() {
				return
			}
			route.serve(v)
		})
	}
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &visit{site: s, w: w, r: r}
		v.message(&problem{Status: http.StatusForbidden, Code: "cross_site_request", What: "Nothing was done.",
			Why: "The request came from another site.", Next: "Open the page here and try again."})
	}))
	return s.guarded(guard.Handler(mux))
}

const contentSecurityPolicy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; " +
	"frame-ancestors 'none'" // showForm widens form-action

// guarded sets what every answer carries. The referrer policy can't be no-referrer: browsers would then send "Origin: null" with
// our own forms, which the cross-site check must refuse.
func (s *Site) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentSecurityPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if s.cfg.Secure {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		next.ServeHTTP(w, r)
	})
}

// page is what every page has.
type page struct {
	Title        string
	CSS, Icon    string
	Organisation string // empty: nobody is signed in
	Here         string // the navigation's entry, if it is one of them
	Curates      bool   // role memory is among what this person may read
	Problem      *problem
	Status       *status
	Phrase       string
	NoTraining   string
}

// status is what the live region says.
type status struct {
	Text     string
	Link     string // where Text points on to
	LinkText string
	Undo     *undo
	Saving   uint64 // the position of a change that isn't visible yet; 0: none
	Refresh  string
}

// undo is a form that takes back what was done.
type undo struct{ Action, Key string }

func (v *visit) page(title, here string) page {
	return page{
		Title: title, CSS: v.site.names["iris.css"], Icon: v.site.names["icon.svg"], Organisation: v.caller.Organisation, Here: here,
		Phrase: events.FixedPhrase, NoTraining: events.NoTraining, Curates: v.readsRoles(),
	}
}

// render writes a page in one piece, or nothing of it.
func (v *visit) render(code int, name string, data any) {
	var out bytes.Buffer
	if err := v.site.pages[name].ExecuteTemplate(&out, "layout", data); err != nil {
		v.site.cfg.Logger.Error("render a page", "page", name, "route", v.route.Pattern, "error", err)
		http.Error(v.w, "This page can't be shown.", http.StatusInternalServerError)
		return
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(code)
	_, _ = v.w.Write(out.Bytes()) // a caller that hung up
}

// recovered answers for what panicked. The log has its type and where it was: its words may be anyone's.
func (v *visit) recovered() {
	panicked := recover()
	if panicked == nil {
		return
	}
	if panicked == http.ErrAbortHandler {
		panic(panicked)
	}
	v.site.cfg.Logger.Error("page panicked", "route", v.route.Pattern, "type", fmt.Sprintf("%T", panicked), "stack", string(debug.Stack()))
	v.message(describe(errPanicked))
}

var errPanicked = errors.New("panicked")

// message is a page that says only what went wrong.
func (v *visit) message(p *problem) {
	data := v.page(p.What, "")
	data.Problem = p
	v.render(p.Status, "message", data)
}

// fail answers an error that no form can show.
func (v *visit) fail(err error) { v.message(v.problem(err)) }

func (v *visit) see(path string, query url.Values) {
	http.Redirect(v.w, v.r, (&url.URL{Path: path, RawQuery: query.Encode()}).String(), http.StatusSeeOther)
}

// done is the 303 after a command. Focus goes to the live region of the page, which says what was done.
func (v *visit) done(path string, query url.Values, kind string, position uint64) {
	query.Set("done", kind)
	query.Set("at", strconv.FormatUint(position, 10))
	target := url.URL{Path: path, RawQuery: query.Encode(), Fragment: "status"}
	http.Redirect(v.w, v.r, target.String(), http.StatusSeeOther)
}

func (v *visit) home() { v.see("/memory", nil) }

func (v *visit) nothingHere() {
	v.message(&problem{Status: http.StatusNotFound, Code: "not_found", What: "There is no such page.",
		Why: "The address is not one of ours.", Next: "Go to what Iris remembers."})
}

func (v *visit) asset() {
	file, ok := v.site.assets[v.r.PathValue("file")]
	if !ok {
		v.nothingHere()
		return
	}
	v.w.Header().Set("Content-Type", file.kind)
	v.w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = v.w.Write(file.body)
}
