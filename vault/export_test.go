package vault

// Secrets lists the raw bytes of every key that this process knows.
func (v *Vault) Secrets() (all [][]byte) {
	v.ring.mu.RLock()
	defer v.ring.mu.RUnlock()
	for _, s := range v.ring.sets {
		for _, k := range s.keys {
			all = append(all, k.secret[:])
		}
	}
	for _, r := range v.ring.rows {
		all = append(all, r.secret[:])
	}
	return all
}

// Cached counts everything in the cache.
func (v *Vault) Cached() int {
	v.ring.mu.RLock()
	defer v.ring.mu.RUnlock()
	return len(v.ring.sets) + len(v.ring.rows) + len(v.ring.handed) + len(v.ring.sealers)
}

// Sweep is what the sweeper does every few seconds.
func (v *Vault) Sweep() { v.ring.sweep(v.cfg.Now()) }

// Refilled waits until no block of the organisation is on its way.
func (v *Vault) Refilled(org string) {
	s := v.stock(org)
	s.mu.Lock()
	r := s.refill
	s.mu.Unlock()
	if r != nil {
		<-r.done
	}
}

// Acquired counts the connections taken from the pool so far: the round trips.
func (v *Vault) Acquired() int64 { return v.pool.Stat().AcquireCount() }

// Bech32 is how age writes keys.
func Bech32(prefix string, data []byte) string { return bech32(prefix, data) }

// Asked counts the directory's lookups that wait for the query that is away.
func (v *Vault) Asked() (n int) {
	for _, l := range []*lookups{&v.identities, &v.members} {
		l.mu.Lock()
		n += len(l.asked)
		l.mu.Unlock()
	}
	return n
}
