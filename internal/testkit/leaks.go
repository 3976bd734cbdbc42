package testkit

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

const lingering = time.Minute // a server's last goroutines may end late on a busy machine

// MainWithoutLeaks runs a package's tests, which must leave no goroutine behind:
//
//	func TestMain(m *testing.M) { testkit.MainWithoutLeaks(m) }
func MainWithoutLeaks(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := leaks(lingering); err != nil {
			fmt.Fprintln(os.Stderr, "testkit:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// leaks looks again for as long as something may still be ending.
func leaks(within time.Duration) (err error) {
	for begun := time.Now(); ; {
		if err = goleak.Find(); err == nil || time.Since(begun) > within {
			return err
		}
	}
}
