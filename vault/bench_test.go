package vault_test

import (
	"testing"
	"time"

	"iris.example/iris/events"
	"iris.example/iris/vault"
)

func BenchmarkSeal(b *testing.B) {
	v := setup(b)
	ref := v.memory(v.member())
	plain := make([]byte, 600)
	v.seal(ref)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = v.Seal(b.Context(), ref, aad, plain)
	}
}

func BenchmarkOpen(b *testing.B) {
	v := setup(b)
	ref := v.memory(v.member())
	box, err := v.Seal(b.Context(), ref, aad, make([]byte, 600))
	if err != nil {
		b.Fatal(err)
	}
	v.opens(v.Vault, ref, v.seal(ref))
	b.ReportAllocs()
	for b.Loop() {
		_, _ = v.Open(b.Context(), ref, aad, box)
	}
}

// BenchmarkAllocate is the steady state: the next block is there before the last one runs out, and rows are used soon.
func BenchmarkAllocate(b *testing.B) {
	v := setup(b, func(c *vault.Config) { c.Block, c.Now = 1<<16, time.Now })
	v.row()
	v.Refilled(org)
	batch := make([]events.ID, 1<<10)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		if i%len(batch) == 0 {
			b.StopTimer()
			v.Refilled(org)
			v.Forget(batch...)
			b.StartTimer()
		}
		batch[i%len(batch)], _ = v.Allocate(b.Context(), org)
	}
}

// BenchmarkAllocateFlatOut is faster than the database: it waits for blocks of 64.
func BenchmarkAllocateFlatOut(b *testing.B) {
	v := setup(b)
	for b.Loop() {
		v.row()
	}
}
