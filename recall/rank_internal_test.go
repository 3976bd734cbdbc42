package recall

import (
	"math/big"
	"testing"

	"github.com/cockroachdb/apd/v3"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"iris.example/iris/policy"
)

const thirtyDays = 30 * 24 * 60

const precision = 320 // bits of the independent computation

// Every age that a recall can meet at a half-life of 30 days, against 2^(−1/43200) multiplied up in 320 bits: no sample, the whole
// function.
func TestRecencyOfEveryAge(t *testing.T) {
	t.Parallel()
	step := rootOfHalf(thirtyDays)
	power := new(big.Int).Lsh(big.NewInt(1), precision) // 2^(−m/43200) for m below one half-life
	for m := range uint64(thirtyDays) {
		billionths := new(big.Int).Mul(power, big.NewInt(policy.One))
		for halvings := range uint64(33) {
			want := roundHalfEven(billionths, uint(precision+halvings))
			if got := recency(halvings*thirtyDays+m, thirtyDays); got != want {
				t.Fatalf("%d halvings and %d minutes: got %d, want %d", halvings, m, got, want)
			}
		}
		power.Rsh(power.Mul(power, step), precision)
	}
}

// rootOfHalf is 2^(−1/n) in units of 2^-precision, by bisection on x^n = 1/2.
func rootOfHalf(n int) *big.Int {
	low, high := new(big.Int), new(big.Int).Lsh(big.NewInt(1), precision)
	half := new(big.Int).Lsh(big.NewInt(1), precision-1)
	for bit := precision - 1; bit >= 0; bit-- {
		try := new(big.Int).SetBit(low, bit, 1)
		if fixedPower(try, n).Cmp(half) <= 0 && try.Cmp(high) < 0 {
			low = try
		}
	}
	return low
}

func fixedPower(x *big.Int, n int) *big.Int {
	result, square := new(big.Int).Lsh(big.NewInt(1), precision), new(big.Int).Set(x)
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			result = new(big.Int).Rsh(new(big.Int).Mul(result, square), precision)
		}
		square = new(big.Int).Rsh(new(big.Int).Mul(square, square), precision)
	}
	return result
}

// roundHalfEven is x·2^-shift: the bit behind the point decides, unless it is the last one that is set.
func roundHalfEven(x *big.Int, shift uint) int64 {
	doubled := new(big.Int).Rsh(x, shift-1).Int64()
	whole := doubled >> 1
	if doubled&1 == 1 && (x.TrailingZeroBits() < shift-1 || whole&1 == 1) {
		whole++
	}
	return whole
}

func TestRecencyIsTheDecimalDefinition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		half := rapid.SampledFrom([]uint64{thirtyDays, 1, 3, 1440, 10 * thirtyDays}).Draw(t, "half")
		minutes := rapid.Uint64Range(0, 31*half).Draw(t, "minutes")
		require.Equal(t, recencyDefinition(minutes, half), recency(minutes, half))
	})
}

func TestRecencyWhereItIsKnown(t *testing.T) {
	t.Parallel()
	for minutes, want := range map[uint64]int64{
		0: policy.One, thirtyDays: 500_000_000, 2 * thirtyDays: 250_000_000, 10 * thirtyDays: 976_562, // 976562.5: to the even one
		30 * thirtyDays: 1, 31 * thirtyDays: 0, 1 << 40: 0, thirtyDays / 2: 707_106_781,
	} {
		require.Equal(t, want, recency(minutes, thirtyDays), "%d minutes", minutes)
	}
}

func TestRootsAreTheNearest(t *testing.T) {
	t.Parallel()
	root := new(big.Int).Lsh(big.NewInt(1), precision-1) // 1/2
	one := new(big.Int).Lsh(big.NewInt(1), precision)
	for k, have := range halfRoots {
		root = new(big.Int).Sqrt(new(big.Int).Mul(root, one))
		nearest := new(big.Int).Rsh(new(big.Int).Add(root, new(big.Int).Lsh(big.NewInt(1), precision-65)), precision-64)
		if !nearest.IsUint64() { // the last root rounds up to 1, which the table can't hold
			nearest.SetUint64(^uint64(0))
		}
		require.Equal(t, nearest.Uint64(), have, "root %d", k)
	}
}

// The whole score against decimals: each factor and the sum quantized once, half even.
func TestScoreIsTheDecimalFormula(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		weights := drawWeights(t)
		origin := rapid.Int64Range(0, policy.One).Draw(t, "origin")
		minutes := rapid.Uint64Range(0, 400*24*60).Draw(t, "minutes")
		shared := rapid.Uint64Range(0, 60).Draw(t, "shared")
		union := shared + rapid.Uint64Range(1, 600).Draw(t, "others")
		uses := rapid.IntRange(0, 100_000).Draw(t, "uses")
		e := &ranked{
			recency: recency(minutes, thirtyDays), semantic: ratio(shared, union), references: references(uses, 5), origin: origin,
		}

		factors := []*apd.Decimal{
			apd.New(recencyDefinition(minutes, thirtyDays), -9),
			quotient(t, int64(shared), int64(union)),
			quotient(t, int64(uses), int64(uses)+5),
			apd.New(origin, -9),
		}
		sum := new(apd.Decimal)
		for i, w := range []policy.Decimal{weights.Recency, weights.Semantic, weights.References, weights.Origin} {
			weight, _, err := apd.NewFromString(string(w))
			require.NoError(t, err)
			product := new(apd.Decimal)
			exactly(t, func(c *apd.Context) (apd.Condition, error) { return c.Mul(product, weight, factors[i]) })
			exactly(t, func(c *apd.Context) (apd.Condition, error) { return c.Add(sum, sum, product) })
		}
		require.Equal(t, nine(t, sum).Text('f'), string(policy.FromUnits(score(e, weights))))
		require.Equal(t, factors[1].Text('f'), string(policy.FromUnits(e.semantic)))
		require.Equal(t, factors[2].Text('f'), string(policy.FromUnits(e.references)))
	})
}

func drawWeights(t *rapid.T) policy.Weights {
	left := int64(policy.One)
	parts := [4]policy.Decimal{}
	for i := range 3 {
		part := rapid.Int64Range(0, left).Draw(t, "weight")
		parts[i], left = policy.FromUnits(part), left-part
	}
	return policy.Weights{Recency: parts[0], Semantic: parts[1], References: parts[2], Origin: policy.FromUnits(left)}
}

func exactly(t *rapid.T, act func(*apd.Context) (apd.Condition, error)) {
	condition, err := act(apd.BaseContext.WithPrecision(60))
	require.NoError(t, err)
	require.False(t, condition.Inexact())
}

func quotient(t *rapid.T, n, d int64) *apd.Decimal {
	q := new(apd.Decimal)
	_, err := apd.BaseContext.WithPrecision(60).Quo(q, apd.New(n, 0), apd.New(d, 0))
	require.NoError(t, err)
	return nine(t, q)
}

func nine(t *rapid.T, d *apd.Decimal) *apd.Decimal {
	c := apd.BaseContext.WithPrecision(60)
	c.Rounding = apd.RoundHalfEven
	rounded := new(apd.Decimal)
	_, err := c.Quantize(rounded, d, -9)
	require.NoError(t, err)
	return rounded
}

func TestReferences(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int64{-3: 0, 0: 0, 1: 166_666_667, 5: 500_000_000, 1 << 62: policy.One} {
		require.Equal(t, want, references(n, 5), n)
	}
}
