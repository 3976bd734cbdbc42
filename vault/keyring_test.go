package vault

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
)

// What was read before a purge and arrives after it must not be kept: the row may be gone by now.
func TestAPurgeOutrunsWhatIsBeingRead(t *testing.T) {
	t.Parallel()
	k, now := newKeyring(8), time.Unix(0, 0)
	later := now.Add(time.Second)
	o := owner{organisation: "acme", id: uuid.New()}
	arrive := func(epoch uint64) {
		k.keepRows(epoch, map[events.ID]row{"r": {organisation: "acme", until: later}})
		k.keepSet(epoch, o, keySet{until: later})
		k.keepSealer(epoch, sealerKey{}, sealer{until: later})
	}
	known := func() (n int) {
		if _, ok := k.row("r", now); ok {
			n++
		}
		if _, ok := k.set(o, now); ok {
			n++
		}
		if _, ok := k.sealer(sealerKey{}, now); ok {
			n++
		}
		return n
	}
	before := k.now()
	k.forget([]events.ID{"another"})
	arrive(before)
	require.Zero(t, known())
	arrive(k.now())
	require.Equal(t, 3, known())
	now = later
	require.Zero(t, known())
}
