package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// readyCommand asks one process, for a container without a shell to ask with.
type readyCommand struct {
	URL string `arg:"" help:"Where the process listens, as https://localhost:8443."`
	CA  string `name:"ca" help:"Certificates that vouch for it (PEM); left out: the machine's." placeholder:"FILE"`
}

func (c readyCommand) Run(ctx context.Context, out output) error {
	transport := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
	if c.CA != "" {
		authority, err := os.ReadFile(c.CA)
		if err != nil {
			return &exit{exitCouldNot, err}
		}
		transport.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(authority) {
			return &exit{exitCouldNot, fmt.Errorf("--ca %s: there is no certificate in it; it takes PEM", c.CA)}
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL+"/readyz", nil)
	if err != nil {
		return &exit{exitCouldNot, err}
	}
	answer, err := (&http.Client{Transport: transport, Timeout: 10 * time.Second}).Do(request)
	if err != nil {
		return &exit{exitCouldNot, err}
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	if err != nil {
		return &exit{exitCouldNot, err}
	}
	if _, err := fmt.Fprintln(out.Out, strings.TrimSpace(string(said))); err != nil {
		return &exit{exitCouldNot, err}
	}
	if answer.StatusCode != http.StatusOK {
		return &exit{exitNot, fmt.Errorf("%s is not ready", c.URL)}
	}
	return nil
}
