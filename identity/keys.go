package identity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
)

const (
	fetchTimeout  = 5 * time.Second
	maxDocument   = 256 << 10
	refreshAfter  = 15 * time.Minute // a key the issuer withdrew is believed this long,
	staleAfter    = 24 * time.Hour   // or this long while the issuer can't be reached
	fetchInterval = 10 * time.Second // between two fetches, whatever is asked
)

// remoteKeys is the key set at one address, which is fixed when it is made.
type remoteKeys struct {
	url    string
	client *http.Client
	now    func() time.Time

	// known is replaced as a whole; readers never wait for a fetch.
	known atomic.Pointer[keySet]

	// fetching holds one token: the right to fetch, and to read and write tried.
	fetching chan struct{}
	tried    time.Time
}

type keySet struct {
	keys      []jose.JSONWebKey
	fetchedAt time.Time
}

func (s *keySet) find(kid string) []jose.JSONWebKey {
	if s == nil {
		return nil
	}
	if kid == "" {
		return s.keys
	}
	var found []jose.JSONWebKey
	for _, key := range s.keys {
		if key.KeyID == kid {
			found = append(found, key)
		}
	}
	return found
}

func (s *keySet) age(now time.Time) time.Duration {
	if s == nil {
		return staleAfter
	}
	return max(0, now.Sub(s.fetchedAt))
}

func newRemoteKeys(address string, client *http.Client, now func() time.Time) *remoteKeys {
	r := &remoteKeys{url: address, client: client, now: now, fetching: make(chan struct{}, 1)}
	r.fetching <- struct{}{}
	return r
}

// Keys answers from memory while the set is fresh and holds the id. An unknown
// id or an old set asks for a fetch, which the interval may refuse. A token
// without a key id never asks for one by itself.
func (r *remoteKeys) Keys(ctx context.Context, kid string) ([]jose.JSONWebKey, error) {
	set := r.known.Load()
	found, age := set.find(kid), set.age(r.now())
	if len(found) > 0 && age < refreshAfter {
		return found, nil
	}
	usable := len(found) > 0 && age < staleAfter
	if err := r.refresh(ctx, !usable); err != nil && usable {
		return found, nil
	} else if err != nil {
		return nil, err
	}
	set = r.known.Load()
	if set.age(r.now()) >= staleAfter {
		return nil, errors.New("no key set that is recent enough")
	}
	return set.find(kid), nil
}

// refresh fetches unless the last try is too recent, which is no error.
func (r *remoteKeys) refresh(ctx context.Context, wait bool) error {
	mine, err := r.acquire(ctx, wait)
	if !mine {
		return err
	}
	defer func() { r.fetching <- struct{}{} }()

	now := r.now()
	if since := now.Sub(r.tried); !r.tried.IsZero() && since >= 0 && since < fetchInterval {
		return nil
	}
	r.tried = now
	// A caller that hangs up must not spend the interval on a fetch that fails.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
	defer cancel()
	keys, err := r.fetch(ctx)
	if err != nil {
		return err
	}
	r.known.Store(&keySet{keys: keys, fetchedAt: now})
	return nil
}

// acquire takes the right to fetch. Only who has nothing to fall back on waits
// for a fetch that is under way.
func (r *remoteKeys) acquire(ctx context.Context, wait bool) (bool, error) {
	if !wait {
		select {
		case <-r.fetching:
			return true, nil
		default:
			return false, nil
		}
	}
	select {
	case <-r.fetching:
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

func (r *remoteKeys) fetch(ctx context.Context) ([]jose.JSONWebKey, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url, nil)
	if err != nil {
		return nil, fmt.Errorf("make key set request: %w", err)
	}
	response, err := r.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("fetch key set: %w", err)
	}
	defer response.Body.Close()
	var document struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.NewDecoder(response.Body).Decode(&document); err != nil {
		return nil, fmt.Errorf("decode key set: %w", err)
	}
	return readable(document.Keys), nil
}

// readable leaves out keys of kinds that go-jose doesn't know: RFC 7517, 5 says
// to ignore them.
func readable(raw []json.RawMessage) []jose.JSONWebKey {
	var keys []jose.JSONWebKey
	for _, one := range raw {
		var key jose.JSONWebKey
		if err := json.Unmarshal(one, &key); err == nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// discover reads the issuer's own document.
func discover(ctx context.Context, issuer string, client *http.Client, document any) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, client), issuer)
	if err != nil {
		return fmt.Errorf("identity: discover issuer: %w", err)
	}
	if err := provider.Claims(document); err != nil {
		return fmt.Errorf("identity: read discovery document: %w", err)
	}
	return nil
}

// discoverKeys reads the address of the key set there.
func discoverKeys(ctx context.Context, issuer string, client *http.Client) (string, error) {
	var document struct {
		JWKSURL string `json:"jwks_uri"`
	}
	if err := discover(ctx, issuer, client, &document); err != nil {
		return "", err
	}
	return document.JWKSURL, checkAddress(issuer, document.JWKSURL, keySetAddress)
}

// httpClient takes nothing but a 200 of a bounded length, so that neither we nor
// go-oidc follow a redirect, or read or repeat anything else.
func httpClient(transport http.RoundTripper) *http.Client {
	return &http.Client{Transport: guarded{transport}, Timeout: fetchTimeout}
}

type guarded struct{ next http.RoundTripper }

func (g guarded) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := g.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("answer %d", response.StatusCode), response.Body.Close())
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(response.Body, maxDocument), response.Body}
	return response, nil
}
