package recall

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"iris.example/iris/policy"
)

// Numbers here are integers of billionths (policy.One): decimals with nine fractional digits, so that every machine agrees. Each
// factor is rounded once, half to even; products and their sum are exact in 10⁻¹⁸; the score is rounded once (spec 3.2). Tests
// hold all of it to the same formula in decimals.

// rank is stage 6: score, then the newest, then the id.
func (r *run) rank() {
	scores := r.semantics()
	for i, e := range r.alive {
		e.recency = recency(wholeMinutes(e.UpdatedAt.Time, r.now.Time), wholeMinutesOf(r.policy.RecencyHalfLife()))
		e.semantic = scores[i]
		e.references = references(e.ReferenceCount, r.policy.Ranker.ReferencesHalf)
		e.origin, _ = r.policy.Ranker.OriginFactors[e.Origin].Units()
		e.score = score(e, r.policy.Weights)
	}
	slices.SortFunc(r.alive, func(a, b *ranked) int {
		return cmp.Or(
			cmp.Compare(b.score, a.score),
			b.UpdatedAt.Compare(a.UpdatedAt.Time),
			cmp.Compare(a.MemoryID, b.MemoryID),
			cmp.Compare(a.RevisionID, b.RevisionID))
	})
}

// semantics asks the scorer that the policy names, for everything that survived stage 5 at once.
func (r *run) semantics() []int64 {
	bodies := make([]string, len(r.alive))
	for i, e := range r.alive {
		bodies[i] = e.Body
	}
	switch r.policy.Ranker.Scorer {
	case policy.ScorerJaccard:
		return jaccard(bodies, r.request.Query)
	}
	return make([]int64, len(bodies)) // not admitted by the policy's validation
}

func wholeMinutes(from, to time.Time) uint64 { return wholeMinutesOf(to.Sub(from)) }

func wholeMinutesOf(d time.Duration) uint64 { return uint64(max(d, 0) / time.Minute) }

// references is n/(n+half).
func references(n, half int) int64 {
	if n <= 0 {
		return 0
	}
	return ratio(uint64(n), uint64(n)+uint64(half))
}

// score is the weighted sum. Weights sum to 1 and factors are at most 1, so the exact sum is at most 10¹⁸.
func score(e *ranked, w policy.Weights) int64 {
	sum := uint64(0)
	for _, term := range [...]struct {
		weight policy.Decimal
		factor int64
	}{{w.Recency, e.recency}, {w.Semantic, e.semantic}, {w.References, e.references}, {w.Origin, e.origin}} {
		weight, _ := term.weight.Units()
		sum += uint64(weight) * uint64(term.factor)
	}
	return int64(halfEven(sum/policy.One, sum%policy.One, policy.One))
}

// ratio is n/d in billionths, rounded half to even, for n ≤ d and d > 0.
func ratio(n, d uint64) int64 {
	high, low := bits.Mul64(n, policy.One)
	quotient, remainder := bits.Div64(high, low, d)
	return int64(halfEven(quotient, remainder, d))
}

// halfEven rounds quotient + remainder/divisor.
func halfEven(quotient, remainder, divisor uint64) uint64 {
	switch rest := divisor - remainder; {
	case remainder > rest, remainder == rest && quotient%2 == 1:
		return quotient + 1
	}
	return quotient
}
