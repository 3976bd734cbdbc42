package web_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/web"
)

// TestAPageThatPanics: the reader gets a page, and the log where it was, without a word of what was said.
func TestAPageThatPanics(t *testing.T) {
	t.Parallel()
	b := setup(t)
	config := b.config()
	config.Codes = func(code string) (string, string, bool) { panic("who has " + code) }
	site, err := web.New(config)
	require.NoError(t, err)
	answer := httptest.NewRecorder()
	site.Handler().ServeHTTP(answer, httptest.NewRequest("GET", "/sign-in?code=a-secret", nil))
	require.Equal(t, http.StatusInternalServerError, answer.Code)
	require.Contains(t, answer.Body.String(), "Something went wrong on our side")
	require.NotContains(t, answer.Body.String(), "a-secret")
	logged := b.logged.String()
	require.Contains(t, logged, "page panicked")
	require.Contains(t, logged, "type=string")
	require.NotContains(t, logged, "a-secret")
}

// Browsers that came over TLS come over TLS from then on.
func TestStrictTransport(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, secure := range []bool{false, true} {
		config := b.config()
		config.Secure = secure
		site, err := web.New(config)
		require.NoError(t, err)
		answer := httptest.NewRecorder()
		site.Handler().ServeHTTP(answer, httptest.NewRequest("GET", "/sign-in", nil))
		require.Equal(t, secure, answer.Header().Get("Strict-Transport-Security") != "")
	}
}
