package screening

import "strings"

// Check digits. Every function takes the number without separators, letters in upper case, and may rely on its length and on where
// its letters stand: numbers.go says which.

func digits(s string) []int {
	all := make([]int, len(s))
	for i := range len(s) {
		all[i] = int(s[i] - '0')
	}
	return all
}

func number(s string) int {
	n := 0
	for i := range len(s) {
		n = n*10 + int(s[i]-'0')
	}
	return n
}

// weighted is the sum of the first digits, each times its weight.
func weighted(s string, weights ...int) int {
	sum := 0
	for i, w := range weights {
		sum += w * int(s[i]-'0')
	}
	return sum
}

// luhn: ISO/IEC 7812-1.
func luhn(s string) bool {
	sum := 0
	for i := range len(s) {
		d := int(s[len(s)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

// mod97 reads letters as 10…35 (ISO/IEC 7064, ISO 13616).
func mod97(s string) int {
	rest := 0
	for i := range len(s) {
		if c := s[i]; c >= 'A' {
			rest = (rest*100 + int(c-'A') + 10) % 97
		} else {
			rest = (rest*10 + int(c-'0')) % 97
		}
	}
	return rest
}

// mod1110 is ISO/IEC 7064 MOD 11,10.
func mod1110(s string) bool {
	p := 10
	for i := range len(s) - 1 {
		sum := (int(s[i]-'0') + p) % 10
		if sum == 0 {
			sum = 10
		}
		p = sum * 2 % 11
	}
	return (11-p)%10 == int(s[len(s)-1]-'0')
}

var (
	verhoeffTimes = [10]string{"0123456789", "1234067895", "2340178956", "3401289567", "4012395678", "5987604321", "6598710432", "7659821043", "8765932104", "9876543210"}
	verhoeffTurn  = [8]string{"0123456789", "1576283094", "5803796142", "8916043527", "9453126870", "4286573901", "2793806415", "7046913258"}
)

func verhoeff(s string) bool {
	c := byte('0')
	for i := range len(s) {
		c = verhoeffTimes[c-'0'][verhoeffTurn[i%8][s[len(s)-1-i]-'0']-'0']
	}
	return c == '0'
}

// date reports whether day and month can be.
func date(day, month int) bool { return day >= 1 && day <= 31 && month >= 1 && month <= 12 }

// same reports whether all digits are equal: a filler that satisfies most sums.
func same(s string) bool { return strings.Count(s, s[:1]) == len(s) }

func usSSN(s string) bool {
	area := number(s[:3])
	return area > 0 && area != 666 && area < 900 && s[3:5] != "00" && s[5:] != "0000"
}

func usITIN(s string) bool {
	group := number(s[3:5])
	return s[0] == '9' && (group >= 50 && group <= 65 || group >= 70 && group <= 88 || group >= 90 && group != 93)
}

func ukNINO(s string) bool {
	switch s[:2] {
	case "BG", "GB", "NK", "KN", "TN", "NT", "ZZ":
		return false
	}
	return !strings.ContainsAny(s[:2], "DFIUV") && s[1] != 'O' && s[8] >= 'A' && s[8] <= 'D'
}

func ukUTR(s string) bool {
	return "21987654321"[weighted(s[1:], 6, 7, 8, 9, 10, 5, 4, 3, 2)%11] == s[0]
}

func ukNHS(s string) bool {
	check := 11 - weighted(s, 10, 9, 8, 7, 6, 5, 4, 3, 2)%11
	return check%11 == int(s[9]-'0') && check != 10
}

// deTaxID: one of the first ten digits stands twice or three times, and a check digit.
func deTaxID(s string) bool {
	twice := 0
	for _, c := range "0123456789" {
		switch strings.Count(s[:10], string(c)) {
		case 0, 1:
		case 2, 3:
			twice++
		default:
			return false
		}
	}
	return s[0] != '0' && twice == 1 && mod1110(s)
}

func frNIR(s string) bool {
	s = strings.NewReplacer("2A", "19", "2B", "18").Replace(s[:7]) + s[7:]
	if strings.ContainsAny(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
		return false
	}
	month := number(s[3:5])
	return (s[0] == '1' || s[0] == '2') && (month >= 1 && month <= 12 || month >= 20 && month <= 42 || month >= 50) && 97-mod97(s[:13]) == number(s[13:])
}

const codiceMonth = "ABCDEHLMPRST"

// itCodice: letters may stand for digits (omocodia); the last letter is a sum over all the others.
func itCodice(s string) bool {
	const omocodia = "LMNPQRSTUV"
	odd := [36]int{1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23}
	if strings.IndexByte(codiceMonth, s[8]) < 0 {
		return false
	}
	for _, i := range [...]int{6, 7, 9, 10, 12, 13, 14} {
		if s[i] >= 'A' && strings.IndexByte(omocodia, s[i]) < 0 {
			return false
		}
	}
	sum := 0
	for i := range 15 {
		v := int(s[i] - '0')
		if s[i] >= 'A' {
			v = int(s[i]-'A') + 10
		}
		if i%2 == 0 {
			sum += odd[v]
		} else if v > 9 {
			sum += v - 10
		} else {
			sum += v
		}
	}
	return byte('A'+sum%26) == s[15]
}

const dniLetters = "TRWAGMYFPDXBNJZSQVHLCKE"

func esDNI(s string) bool { return dniLetters[number(s[:8])%23] == s[8] }

func esNIE(s string) bool {
	first := strings.IndexByte("XYZ", s[0])
	return first >= 0 && dniLetters[(first*10_000_000+number(s[1:8]))%23] == s[8]
}

func nlBSN(s string) bool {
	return !same(s) && (weighted(s, 9, 8, 7, 6, 5, 4, 3, 2)-int(s[8]-'0'))%11 == 0
}

func plPESEL(s string) bool {
	return date(number(s[4:6]), number(s[2:4])%20) && (weighted(s, 1, 3, 7, 9, 1, 3, 7, 9, 1, 3)+int(s[10]-'0'))%10 == 0
}

func plNIP(s string) bool {
	return weighted(s, 6, 5, 7, 2, 3, 4, 5, 6, 7)%11 == int(s[9]-'0') && !same(s)
}

// beNRN: born from 2000 on, the sum is taken over a 2 in front.
func beNRN(s string) bool {
	check := number(s[9:])
	month := number(s[2:4]) % 20
	return month <= 12 && number(s[4:6]) <= 31 && check > 0 && (97-number(s[:9])%97 == check || 97-(2_000_000_000+number(s[:9]))%97 == check)
}

func sePIN(s string) bool {
	s = s[len(s)-10:]
	day := number(s[4:6])
	return (date(day, number(s[2:4])) || date(day-60, number(s[2:4]))) && luhn(s)
}

// fiHETU comes as six digits, the sign of the century or nothing, three digits and the check.
func fiHETU(s string) bool {
	birth, rest := s[:6], s[len(s)-4:]
	for _, c := range rest[:3] {
		if c < '0' || c > '9' {
			return false
		}
	}
	return date(number(birth[:2]), number(birth[2:4])) && "0123456789ABCDEFHJKLMNPRSTUVWXY"[number(birth+rest[:3])%31] == rest[3]
}

func noFNR(s string) bool {
	day, month := number(s[:2]), number(s[2:4])
	if !date(day%40, month%40) {
		return false
	}
	return (weighted(s, 3, 7, 6, 1, 8, 9, 4, 5, 2)+int(s[9]-'0'))%11 == 0 && (weighted(s, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2)+int(s[10]-'0'))%11 == 0
}

// dkCPR: since 2007 numbers are given out that satisfy no sum; the date is what there is.
func dkCPR(s string) bool { return date(number(s[:2]), number(s[2:4])) }

func chAHV(s string) bool {
	return strings.HasPrefix(s, "756") && (weighted(s, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3)+int(s[12]-'0'))%10 == 0
}

func atSVNR(s string) bool {
	check := (weighted(s, 3, 7, 9) + weighted(s[4:], 5, 8, 4, 2, 1, 6)) % 11
	return check == int(s[3]-'0') && s[0] != '0' && number(s[4:6]) <= 31
}

func mod11Down(s string, weights ...int) byte {
	rest := weighted(s, weights...) % 11
	if rest < 2 {
		return '0'
	}
	return byte('0' + 11 - rest)
}

func brCPF(s string) bool {
	return !same(s) && mod11Down(s, 10, 9, 8, 7, 6, 5, 4, 3, 2) == s[9] && mod11Down(s, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2) == s[10]
}

func brCNPJ(s string) bool {
	return !same(s) && mod11Down(s, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2) == s[12] && mod11Down(s, 6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2) == s[13]
}

func inAadhaar(s string) bool { return s[0] >= '2' && verhoeff(s) }

func inPAN(s string) bool { return strings.IndexByte("ABCFGHJLPT", s[3]) >= 0 }

func caSIN(s string) bool { return s[0] != '0' && s[0] != '8' && luhn(s) }

func auTFN(s string) bool { return !same(s) && weighted(s, 1, 4, 3, 7, 5, 8, 6, 9, 10)%11 == 0 }

func auMedicare(s string) bool {
	return s[0] >= '2' && s[0] <= '6' && weighted(s, 1, 3, 7, 9, 1, 3, 7, 9)%10 == int(s[8]-'0')
}

func zaID(s string) bool { return date(number(s[4:6]), number(s[2:4])) && s[10] < '3' && luhn(s) }

func cnID(s string) bool {
	year := number(s[6:10])
	return year >= 1900 && year < 2100 && date(number(s[12:14]), number(s[10:12])) &&
		"10X98765432"[weighted(s, 7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)%11] == s[17]
}

// krRRN: since October 2020 the last digits are drawn by lot.
func krRRN(s string) bool { return date(number(s[4:6]), number(s[2:4])) && s[6] >= '0' && s[6] <= '9' }

func jpMyNumber(s string) bool {
	sum := weighted(s, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2) % 11
	return (sum < 2 && s[11] == '0' || sum > 1 && 11-sum == int(s[11]-'0')) && !same(s)
}

func mxCURP(s string) bool {
	const values = "0123456789ABCDEFGHIJKLMN.OPQRSTUVWXYZ"
	sum := 0
	for i := range 17 {
		sum += strings.IndexByte(values, s[i]) * (18 - i)
	}
	return date(number(s[8:10]), number(s[6:8])) && (10-sum%10)%10 == int(s[17]-'0')
}

func trTCKN(s string) bool {
	d := digits(s)
	odd, even := d[0]+d[2]+d[4]+d[6]+d[8], d[1]+d[3]+d[5]+d[7]
	return d[0] != 0 && (odd*7-even+10)%10 == d[9] && (odd+even+d[9])%10 == d[10]
}

func ptNIF(s string) bool { return mod11Down(s, 9, 8, 7, 6, 5, 4, 3, 2) == s[8] && s[0] != '0' }

func iePPS(s string) bool {
	sum := weighted(s, 8, 7, 6, 5, 4, 3, 2)
	if len(s) == 9 && s[8] != 'W' {
		sum += 9 * int(s[8]-'A'+1)
	}
	return "WABCDEFGHIJKLMNOPQRSTUV"[sum%23] == s[7]
}

func czRC(s string) bool {
	return date(number(s[4:6]), number(s[2:4])%50%20) && number(s[:9])%11%10 == int(s[9]-'0')
}

func roCNP(s string) bool {
	check := weighted(s, 2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9) % 11
	return s[0] != '0' && date(number(s[5:7]), number(s[3:5])) && (check == 10 && s[12] == '1' || check == int(s[12]-'0'))
}

func bgEGN(s string) bool {
	return date(number(s[4:6]), number(s[2:4])%20) && weighted(s, 2, 4, 8, 5, 10, 9, 7, 3, 6)%11%10 == int(s[9]-'0')
}

// baltic: Estonia and Lithuania.
func baltic(s string) bool {
	check := weighted(s, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1) % 11
	if check == 10 {
		check = weighted(s, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3) % 11 % 10
	}
	return s[0] >= '1' && s[0] <= '8' && date(number(s[5:7]), number(s[3:5])) && check == int(s[10]-'0')
}

func hrOIB(s string) bool { return mod1110(s) }

func grAMKA(s string) bool { return date(number(s[:2]), number(s[2:4])) && luhn(s) }

func ilID(s string) bool { return luhn(s) && !same(s) }

func usRouting(s string) bool {
	first := number(s[:2])
	return (first <= 12 && first > 0 || first >= 21 && first <= 32 || first >= 61 && first <= 72 || first == 80) &&
		weighted(s, 3, 7, 1, 3, 7, 1, 3, 7, 1)%10 == 0
}

// ibanLengths by country (ISO 13616 registry).
var ibanLengths = map[string]int{
	"AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22, "BI": 27, "BR": 29, "BY": 28, "CH": 21, "CR": 22, "CY": 28,
	"CZ": 24, "DE": 22, "DJ": 27, "DK": 18, "DO": 28, "EE": 20, "EG": 29, "ES": 24, "FI": 18, "FK": 18, "FO": 18, "FR": 27, "GB": 22, "GE": 22, "GI": 23,
	"GL": 18, "GR": 27, "GT": 28, "HN": 28, "HR": 21, "HU": 28, "IE": 22, "IL": 23, "IQ": 23, "IS": 26, "IT": 27, "JO": 30, "KW": 30, "KZ": 20, "LB": 28,
	"LC": 32, "LI": 21, "LT": 20, "LU": 20, "LV": 21, "LY": 25, "MC": 27, "MD": 24, "ME": 22, "MK": 19, "MN": 20, "MR": 27, "MT": 31, "MU": 30, "NI": 28,
	"NL": 18, "NO": 15, "OM": 23, "PK": 24, "PL": 28, "PS": 29, "PT": 25, "QA": 29, "RO": 24, "RS": 22, "RU": 33, "SA": 24, "SC": 31, "SD": 18, "SE": 24,
	"SI": 19, "SK": 24, "SM": 27, "SO": 23, "ST": 25, "SV": 28, "TL": 23, "TN": 24, "TR": 26, "UA": 29, "VA": 22, "VG": 24, "XK": 20, "YE": 30,
}

func iban(s string) bool {
	return ibanLengths[s[:2]] == len(s) && mod97(s[4:]+s[:4]) == 1
}

// card: the ranges of the issuers and Luhn's digit.
func card(s string) bool {
	n := len(s)
	two, three, four := number(s[:2]), number(s[:3]), number(s[:4])
	var issued bool
	switch {
	case s[0] == '4':
		issued = n == 13 || n == 16 || n == 19
	case two >= 51 && two <= 55, four >= 2221 && four <= 2720:
		issued = n == 16
	case two == 34, two == 37:
		issued = n == 15
	case three >= 300 && three <= 305, three == 309, two == 36, two == 38, two == 39:
		issued = n >= 14
	case four == 6011, two == 65, three >= 644 && three <= 649, two == 62, two == 60, two == 81, two == 82:
		issued = n >= 16
	case four >= 3528 && four <= 3589:
		issued = n >= 16
	case four == 2131, four == 1800:
		issued = n == 15
	case two == 50, two >= 56 && two <= 58, two == 63, two == 67, two == 68, two == 69:
		issued = n >= 12
	case four >= 2200 && four <= 2204:
		issued = n >= 16
	}
	return issued && luhn(s)
}
