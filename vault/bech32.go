package vault

import "strings"

// age writes its keys in Bech32 (BIP 173), and has no other way to make an identity of a known secret. Reading is age's own.

const (
	bech32Letters  = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
	bech32Checksum = 6
)

// bech32 writes data under a prefix in lower case.
func bech32(prefix string, data []byte) string {
	groups := fives(data)
	groups = append(groups, checksum(prefix, groups)...)
	var text strings.Builder
	text.WriteString(prefix + "1")
	for _, g := range groups {
		text.WriteByte(bech32Letters[g])
	}
	return text.String()
}

// fives cuts bytes into groups of five bits, the last one filled up with zeros.
func fives(data []byte) []byte {
	var groups []byte
	held, bits := uint(0), 0
	for _, b := range data {
		held, bits = held<<8|uint(b), bits+8
		for bits >= 5 {
			bits -= 5
			groups = append(groups, byte(held>>bits)&31)
		}
	}
	if bits > 0 {
		groups = append(groups, byte(held<<(5-bits))&31)
	}
	return groups
}

func checksum(prefix string, groups []byte) []byte {
	values := make([]byte, 0, 2*len(prefix)+1+len(groups)+bech32Checksum)
	for _, c := range []byte(prefix) {
		values = append(values, c>>5)
	}
	values = append(values, 0)
	for _, c := range []byte(prefix) {
		values = append(values, c&31)
	}
	values = append(append(values, groups...), make([]byte, bech32Checksum)...)
	sum := polymod(values) ^ 1
	check := make([]byte, bech32Checksum)
	for i := range check {
		check[i] = byte(sum>>(5*(bech32Checksum-1-i))) & 31
	}
	return check
}

func polymod(values []byte) uint32 {
	sum := uint32(1)
	for _, v := range values {
		top := sum >> 25
		sum = (sum&0x1ffffff)<<5 ^ uint32(v)
		for i, g := range [...]uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
			if top>>i&1 == 1 {
				sum ^= g
			}
		}
	}
	return sum
}
