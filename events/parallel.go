package events

import (
	"runtime"
	"sync"
)

// worthAnother is how many commits another processor has to be given before it is worth waking (measured: opening one takes about as
// long as waking one).
const worthAnother = 4

// spread does n things on all processors, in contiguous shares, and returns the error of the first that failed.
func spread(n int, do func(i int) error) error {
	shares := max(1, min(runtime.GOMAXPROCS(0), n/worthAnother))
	failed := make([]error, shares)
	share := func(k int) {
		for i := n * k / shares; i < n*(k+1)/shares && failed[k] == nil; i++ {
			failed[k] = do(i)
		}
	}
	var others sync.WaitGroup
	for k := 1; k < shares; k++ {
		others.Go(func() { share(k) })
	}
	share(0)
	others.Wait()
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}
