package recall

import (
	"math/bits"

	"github.com/cockroachdb/apd/v3"

	"iris.example/iris/policy"
)

// recency is 2^(−minutes/half) in billionths, correctly rounded: whole halvings are a shift, and the rest of the exponent a
// product of square roots in 64-bit fixed point. Where that product lies too near the border between two roundings to be sure
// of the side, the decimal definition decides; so the result is the definition's always.
func recency(minutes, half uint64) int64 {
	halvings, rest := minutes/half, minutes%half
	switch {
	case halvings > 30: // under half a billionth
		return 0
	case rest == 0: // rational, and the only place for an exact tie
		divisor := uint64(1) << halvings
		return int64(halfEven(policy.One/divisor, policy.One%divisor, divisor))
	}
	whole, fraction := bits.Mul64(power(rest, half), policy.One)
	whole, fraction = shifted(whole, fraction, halvings)
	if sure(fraction) {
		return int64(whole + fraction>>63)
	}
	return recencyDefinition(minutes, half)
}

// power is 2^(−rest/half) in units of 2⁻⁶⁴, for 0 < rest < half: over the bits of rest/half, the product of 2^(−2^(−k)). Each
// of at most 64 products cuts less than one unit, each root is half a unit off, and the exponent is cut to 64 bits: in all less
// than 2⁷ units.
func power(rest, half uint64) uint64 {
	exponent, _ := bits.Div64(rest, 0, half)
	product := ^uint64(0)
	for k := range halfRoots {
		if exponent&(1<<(63-k)) != 0 {
			product, _ = bits.Mul64(product, halfRoots[k])
		}
	}
	return product
}

func shifted(whole, fraction, by uint64) (uint64, uint64) {
	return whole >> by, fraction>>by | whole<<(64-by)
}

// sure reports whether the error of power, times 10⁹ < 2³⁰, can't carry the fraction over one half. Near 0 and near 1 nothing
// changes: the rounding is the same on both sides.
func sure(fraction uint64) bool {
	const margin = 1 << 38
	return fraction < 1<<63-margin || fraction > 1<<63+margin
}

// recencyDefinition is the same in decimals, as spec 3.2 writes it. It takes 0.1 ms or more.
func recencyDefinition(minutes, half uint64) int64 {
	context := apd.BaseContext.WithPrecision(60)
	context.Rounding = apd.RoundHalfEven
	exponent, power, rounded := new(apd.Decimal), new(apd.Decimal), new(apd.Decimal)
	must(context.Quo(exponent, apd.New(-int64(minutes), 0), apd.New(int64(half), 0)))
	must(context.Pow(power, apd.New(2, 0), exponent))
	must(context.Quantize(rounded, power, -9))
	rounded.Exponent += 9
	units, err := rounded.Int64()
	must(apd.Condition(0), err)
	return units
}

// must holds what can't fail for the arguments that reach it: a power of two between 2⁻³¹ and 1.
func must(_ apd.Condition, err error) {
	if err != nil {
		panic("recall: decimal arithmetic: " + err.Error())
	}
}

// halfRoots[k] is 2^(−2^(−k−1)) in units of 2⁻⁶⁴, to the nearest; a test makes them again.
var halfRoots = [64]uint64{
	0xb504f333f9de6484, 0xd744fccad69d6af4, 0xeac0c6e7dd24392f, 0xf5257d152486cc2c,
	0xfa83b2db722a033a, 0xfd3e0c0cf486c175, 0xfe9e115c7b8f884c, 0xff4ecb59511ec8a5,
	0xffa756521c8daed2, 0xffd3a751c0f7e10c, 0xffe9d2b2f7db2756, 0xfff4e91bff1b8c3e,
	0xfffa747ea0040664, 0xfffd3a3b7814eb54, 0xfffe9d1cc60ddab1, 0xffff4e8e25879bfa,
	0xffffa7470363f451, 0xffffd3a37dda0313, 0xffffe9d1bdf703af, 0xfffff4e8debe025e,
	0xfffffa746f4fa150, 0xfffffd3a37a3f8b0, 0xfffffe9d1bd1065a, 0xffffff4e8de845ae,
	0xffffffa746f41377, 0xffffffd3a37a05e4, 0xffffffe9d1bd01fc, 0xfffffff4e8de80c0,
	0xfffffffa746f4051, 0xfffffffd3a37a025, 0xfffffffe9d1bd011, 0xffffffff4e8de808,
	0xffffffffa746f404, 0xffffffffd3a37a02, 0xffffffffe9d1bd01, 0xfffffffff4e8de81,
	0xfffffffffa746f40, 0xfffffffffd3a37a0, 0xfffffffffe9d1bd0, 0xffffffffff4e8de8,
	0xffffffffffa746f4, 0xffffffffffd3a37a, 0xffffffffffe9d1bd, 0xfffffffffff4e8df,
	0xfffffffffffa746f, 0xfffffffffffd3a38, 0xfffffffffffe9d1c, 0xffffffffffff4e8e,
	0xffffffffffffa747, 0xffffffffffffd3a3, 0xffffffffffffe9d2, 0xfffffffffffff4e9,
	0xfffffffffffffa74, 0xfffffffffffffd3a, 0xfffffffffffffe9d, 0xffffffffffffff4f,
	0xffffffffffffffa7, 0xffffffffffffffd4, 0xffffffffffffffea, 0xfffffffffffffff5,
	0xfffffffffffffffa, 0xfffffffffffffffd, 0xffffffffffffffff, 0xffffffffffffffff,
}
