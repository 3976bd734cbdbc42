package policy

import (
	"fmt"
	"strconv"
	"strings"
)

// One is the number 1 in units of Decimal.
const One = 1_000_000_000

const decimalDigits = 9

// Decimal is a number from 0 to 1 with at most nine fractional digits, written out: a JSON number would pass through
// floating point on its way.
type Decimal string

// Units is the number in billionths. ok is false unless d is written as spec 3.2 wants it.
func (d Decimal) Units() (units int64, ok bool) {
	whole, fraction, dotted := strings.Cut(string(d), ".")
	if (whole != "0" && whole != "1") || len(fraction) > decimalDigits || dotted == (fraction == "") {
		return 0, false
	}
	digits := whole + fraction + strings.Repeat("0", decimalDigits-len(fraction))
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || n > One {
		return 0, false
	}
	return int64(n), true
}

// FromUnits writes billionths with all nine digits.
func FromUnits(units int64) Decimal {
	return Decimal(fmt.Sprintf("%d.%09d", units/One, units%One))
}
