package vault

import (
	"crypto/cipher"
	"sync"
	"time"

	"github.com/google/uuid"

	"iris.example/iris/events"
)

// owner says whose keys: a member's, those that hang on the organisation (nil id), or the organisation's own (root), which
// alone is wrapped by the master key.
type owner struct {
	organisation string
	id           uuid.UUID
	root         bool
}

// heldKey is an unwrapped key. Only the organisation's own wraps others.
type heldKey struct {
	id         uuid.UUID
	purpose    Purpose
	generation int
	secret     [keySize]byte
	wrap       cipher.AEAD
	derived    *derived
}

// derived is what was derived from a key for MACs. It lives as long as the key does.
type derived struct {
	mu   sync.Mutex // guards keys
	keys map[string][]byte
}

func newDerived() *derived { return &derived{keys: map[string][]byte{}} }

// macKey derives the key of one info, once: it is asked for with every command.
func (k heldKey) macKey(info string) ([]byte, error) {
	k.derived.mu.Lock()
	defer k.derived.mu.Unlock()
	if key, ok := k.derived.keys[info]; ok {
		return key, nil
	}
	key, err := deriveKey(k.secret[:], info)
	if err == nil {
		k.derived.keys[info] = key
	}
	return key, err
}

// keySet is all keys of one owner: a handful.
type keySet struct {
	keys  []heldKey
	until time.Time
}

// find returns the key of that id, or the newest generation if id is nil.
func (s keySet) find(purpose Purpose, id uuid.UUID) (found heldKey, ok bool) {
	for _, k := range s.keys {
		if k.purpose == purpose && (k.id == id || id == uuid.Nil && k.generation > found.generation) {
			found, ok = k, true
		}
	}
	return found, ok
}

func (s keySet) lacks(purposes []Purpose) (missing []Purpose) {
	for _, p := range purposes {
		if _, ok := s.find(p, uuid.Nil); !ok {
			missing = append(missing, p)
		}
	}
	return missing
}

// row is an unwrapped data-key row.
type row struct {
	organisation string
	secret       [keySize]byte
	until        time.Time
}

// handed is a row that Allocate gave away: still wrapped, kept so that its first use needs no round trip.
type handed struct {
	organisation string
	box          []byte
	until        time.Time
}

// sealerKey names a derived key: by reference for sealing (nil id, the current key), by reference and key id for opening.
type sealerKey struct {
	ref events.KeyRef
	id  uuid.UUID
}

// sealer lives no longer than the keys it was derived from.
type sealer struct {
	id    uuid.UUID
	aead  cipher.AEAD
	until time.Time
}

// keyring is what this process knows unwrapped. The epoch counts purges: whatever was read before a purge is not kept after it.
type keyring struct {
	limit int

	mu      sync.RWMutex // guards what follows
	epoch   uint64
	sets    map[owner]keySet
	rows    map[events.ID]row
	handed  map[events.ID]handed
	sealers map[sealerKey]sealer
}

func newKeyring(limit int) *keyring {
	k := &keyring{limit: limit}
	k.drop()
	return k
}

func (k *keyring) drop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.epoch++
	k.sets, k.rows = map[owner]keySet{}, map[events.ID]row{}
	k.handed, k.sealers = map[events.ID]handed{}, map[sealerKey]sealer{}
}

func (k *keyring) now() (epoch uint64) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.epoch
}

func (k *keyring) sealer(key sealerKey, now time.Time) (sealer, bool) {
	k.mu.RLock()
	s, ok := k.sealers[key]
	k.mu.RUnlock()
	return s, ok && now.Before(s.until)
}

func (k *keyring) set(o owner, now time.Time) (keySet, bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	s, ok := k.sets[o]
	return s, ok && now.Before(s.until)
}

func (k *keyring) row(id events.ID, now time.Time) (row, bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	r, ok := k.rows[id]
	return r, ok && now.Before(r.until)
}

func (k *keyring) handedRow(id events.ID, now time.Time) (handed, bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	h, ok := k.handed[id]
	return h, ok && now.Before(h.until)
}

// missing returns the ids that are not known, as the database wants them.
func (k *keyring) missing(ids []events.ID, now time.Time) ([]uuid.UUID, error) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	var missing []uuid.UUID
	for _, id := range ids {
		if r, ok := k.rows[id]; ok && now.Before(r.until) {
			continue
		}
		parsed, err := parseID("row", id)
		if err != nil {
			return nil, err
		}
		missing = append(missing, parsed)
	}
	return missing, nil
}

func (k *keyring) keepSet(epoch uint64, o owner, s keySet) {
	k.keep(epoch, func() { put(k.sets, k.limit, o, s) })
}

func (k *keyring) keepSealer(epoch uint64, key sealerKey, s sealer) {
	k.keep(epoch, func() { put(k.sealers, k.limit, key, s) })
}

func (k *keyring) keepRows(epoch uint64, rows map[events.ID]row) {
	k.keep(epoch, func() {
		for id, r := range rows {
			put(k.rows, k.limit, id, r)
			delete(k.handed, id)
		}
	})
}

func (k *keyring) keep(epoch uint64, write func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.epoch == epoch {
		write()
	}
}

func (k *keyring) hand(id events.ID, h handed) {
	k.mu.Lock()
	defer k.mu.Unlock()
	put(k.handed, k.limit, id, h)
}

func put[K comparable, V any](m map[K]V, limit int, key K, value V) {
	if len(m) >= limit {
		for arbitrary := range m {
			delete(m, arbitrary)
			break
		}
	}
	m[key] = value
}

// forget drops whatever one of the ids names or was derived from: a row, a member, or a key.
func (k *keyring) forget(ids []events.ID) {
	named := make(map[events.ID]bool, len(ids))
	for _, id := range ids {
		named[id] = true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.epoch++
	for id := range named {
		delete(k.rows, id)
		delete(k.handed, id)
	}
	for o, s := range k.sets {
		if named[writeID(o.id)] || s.holdsAny(named) {
			delete(k.sets, o)
		}
	}
	for key, s := range k.sealers {
		if named[key.ref.Row] || named[key.ref.Member] || named[writeID(s.id)] {
			delete(k.sealers, key)
		}
	}
}

func (s keySet) holdsAny(named map[events.ID]bool) bool {
	for _, k := range s.keys {
		if named[writeID(k.id)] {
			return true
		}
	}
	return false
}

// sweep drops what is past its time, which nobody could use any more.
func (k *keyring) sweep(now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	expire(k.sets, func(s keySet) bool { return now.Before(s.until) })
	expire(k.rows, func(r row) bool { return now.Before(r.until) })
	expire(k.handed, func(h handed) bool { return now.Before(h.until) })
	expire(k.sealers, func(s sealer) bool { return now.Before(s.until) })
}

func expire[K comparable, V any](m map[K]V, alive func(V) bool) {
	for key, value := range m {
		if !alive(value) {
			delete(m, key)
		}
	}
}
