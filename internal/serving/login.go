package serving

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"iris.example/iris/identity"
	"iris.example/iris/web"
)

// openLogin is where members sign in; nil where a token has to be pasted.
func (p *Process) openLogin(ctx context.Context, verifier *identity.Verifier) (web.Provider, error) {
	l := p.cfg.OIDC.Login
	if !l.set() {
		return nil, nil
	}
	secret, err := readSecret(l.SecretFile)
	if err != nil {
		return nil, err
	}
	login, err := identity.OpenLogin(ctx, verifier, identity.LoginConfig{ClientID: l.ClientID, Secret: secret, RedirectURL: l.RedirectURL, Scopes: l.Scopes})
	if err != nil {
		return nil, fmt.Errorf("%w; see what discovery of the issuer %s says", err, p.cfg.OIDC.Issuer)
	}
	return login, nil
}

const maxSecret = 4 << 10

// readSecret names no path in its errors: a secret that was set in place of its file would stand there.
func readSecret(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	raw, err := os.ReadFile(path)
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	secret := strings.TrimSpace(string(raw))
	if err == nil && (secret == "" || len(secret) > maxSecret) {
		err = errors.New("it is empty or longer than a secret")
	}
	if err != nil {
		return "", fmt.Errorf("read the file of the client's secret: %w; IRIS_OIDC_CLIENT_SECRET_FILE names it", err)
	}
	return secret, nil
}
