package testkit

import (
	"time"

	"go.uber.org/goleak"
)

const lingering = time.Minute // a server's last goroutines may end late on a busy machine

// leaks looks again for as long as something may still be ending.
func leaks(within time.Duration) (err error) {
	for begun := time.Now(); ; {
		if err = goleak.Find(); err == nil || time.Since(begun) > within {
			return err
		}
	}
}
