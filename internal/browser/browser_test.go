package browser_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/internal/browser"
)

func serve(t *testing.T, page string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusTeapot)
		}
		_, _ = io.WriteString(w, "<!doctype html><html lang=en><title>A page</title>"+page)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestItSeesWhatIsWrong(t *testing.T) {
	t.Parallel()
	tab := browser.Open(t)
	tab.Visit(serve(t, `<style>:root {color-scheme: light dark} p {background: light-dark(white, #111); color: light-dark(black, #222)}</style>
		<main><h1>Title</h1><img src=x><p>Words that can't be read in the dark.</p></main>`))
	require.Contains(t, strings.Join(tab.Violations(), " "), "image-alt")
	require.NotContains(t, strings.Join(tab.Violations(), " "), "color-contrast")
	tab.Media("", "dark")
	require.Contains(t, strings.Join(tab.Violations(), " "), "color-contrast")
}

func TestWithoutScriptNoneRuns(t *testing.T) {
	t.Parallel()
	address := serve(t, `<main><h1>Off</h1><form method=post><input id=name><button>Send</button></form></main>
		<script>document.querySelector("h1").textContent = "On"</script>`)
	tab := browser.Open(t)
	tab.Visit(address)
	require.Equal(t, "On", tab.Text("h1"))
	tab.WithoutScript()
	require.EqualValues(t, http.StatusOK, tab.Visit(address))
	require.Equal(t, "Off", tab.Text("h1"))
	tab.Write("#name", "one")
	tab.Write("#name", "two")
	require.Equal(t, "two", tab.Value("#name"))
	require.EqualValues(t, http.StatusTeapot, tab.Press("button"))
	require.EqualValues(t, http.StatusTeapot, tab.Enter("#name"))
}
