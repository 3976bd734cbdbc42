package screening

import (
	"strings"
)

// numeral is one way to write a number that names a person or an account.
type numeral struct {
	item  Item
	id    string
	shape string // of the number without separators: d a digit, a a letter, x either
	// forms are ways of writing it, separators included, that are told without a word in front; "*" is any. Other ways count only
	// where one of the words stands near.
	forms string
	words string
	check func(string) bool
	near  phrases // words, read
}

// numerals, those with the strictest check first. Words are written as page.before reads them: folded, blanks around.
var numerals = [...]numeral{
	{ItemBankAccount, "iban", "", "*", "", iban, phrases{}},
	{ItemCard, "card", "", "*", "", card, phrases{}},
	{ItemCard, "card-named", "", "", "card|cards|cc|credit|debit|visa|mastercard|maestro|amex|karte|kreditkarte|kartennummer|carte|tarjeta|cartao|carta|kaart|karta|карта|карты|карту|kart|kartu|tarheta|thẻ|カード|卡|카드|بطاقة|कार्ड|কার্ড", luhn, phrases{}},
	{ItemNationalID, "it-cf", "aaaaaaxxaxxaxxxa", "*", "", itCodice, phrases{}},
	{ItemNationalID, "fr-nir", "dddddxxdddddddd", "*", "", frNIR, phrases{}},
	{ItemNationalID, "cn-id", "dddddddddddddddddx", "*", "", cnID, phrases{}},
	{ItemNationalID, "mx-curp", "aaaaddddddaaaaaaxd", "*", "", mxCURP, phrases{}},
	{ItemTaxNumber, "br-cnpj", "dddddddddddddd", "*", "", brCNPJ, phrases{}},
	{ItemNationalID, "ch-ahv", "ddddddddddddd", "*", "", chAHV, phrases{}},
	{ItemNationalID, "ro-cnp", "ddddddddddddd", "*", "", roCNP, phrases{}},
	{ItemNationalID, "za-id", "ddddddddddddd", "*", "", zaID, phrases{}},
	{ItemNationalID, "kr-rrn", "ddddddddddddd", "dddddd-ddddddd", "주민등록번호|주민번호|resident registration", krRRN, phrases{}},
	{ItemNationalID, "in-aadhaar", "dddddddddddd", "dddd dddd dddd|dddd-dddd-dddd", "aadhaar|aadhar|uid|uidai|आधार", inAadhaar, phrases{}},
	{ItemNationalID, "jp-mynumber", "dddddddddddd", "", "マイナンバー|個人番号|my number", jpMyNumber, phrases{}},
	{ItemNationalID, "se-pin-long", "dddddddddddd", "dddddddd-dddd", "personnummer|samordningsnummer|personal identity", sePIN, phrases{}},
	{ItemNationalID, "fi-hetu", "ddddddadddx", "*", "", fiHETU, phrases{}},
	{ItemNationalID, "fi-hetu-dash", "dddddddddx", "dddddd-dddx|dddddd+dddx", "henkilotunnus|hetu|personbeteckning", fiHETU, phrases{}},
	{ItemNationalID, "no-fnr", "ddddddddddd", "*", "", noFNR, phrases{}},
	{ItemNationalID, "be-nrn", "ddddddddddd", "*", "", beNRN, phrases{}},
	{ItemTaxNumber, "br-cpf", "ddddddddddd", "*", "", brCPF, phrases{}},
	{ItemNationalID, "tr-tckn", "ddddddddddd", "*", "", trTCKN, phrases{}},
	{ItemNationalID, "pl-pesel", "ddddddddddd", "*", "", plPESEL, phrases{}},
	{ItemNationalID, "baltic", "ddddddddddd", "*", "", baltic, phrases{}},
	{ItemNationalID, "gr-amka", "ddddddddddd", "", "amka|αμκα", grAMKA, phrases{}},
	{ItemTaxNumber, "de-tax-id", "ddddddddddd", "dd ddd ddd ddd", "steuer|steuerid|steuernummer|identifikationsnummer|idnr|tin|tax|steueridentifikationsnummer", deTaxID, phrases{}},
	{ItemTaxNumber, "hr-oib", "ddddddddddd", "", "oib|osobni identifikacijski", hrOIB, phrases{}},
	{ItemTaxNumber, "in-pan", "aaaaadddda", "*", "", inPAN, phrases{}},
	{ItemNationalID, "se-pin", "dddddddddd", "dddddd-dddd|dddddd+dddd", "personnummer|samordningsnummer|personal identity", sePIN, phrases{}},
	{ItemNationalID, "dk-cpr", "dddddddddd", "dddddd-dddd", "cpr|personnummer|civil registration", dkCPR, phrases{}},
	{ItemNationalID, "cz-rc", "dddddddddd", "dddddd/dddd", "rodne cislo|rodne|birth number", czRC, phrases{}},
	{ItemNationalID, "bg-egn", "dddddddddd", "", "egn|егн", bgEGN, phrases{}},
	{ItemNationalID, "at-svnr", "dddddddddd", "dddd dddddd|dddd-dddddd", "sozialversicherungsnummer|versicherungsnummer|svnr|sv nummer|sv nr", atSVNR, phrases{}},
	{ItemNationalID, "uk-nhs", "dddddddddd", "", "nhs", ukNHS, phrases{}},
	{ItemNationalID, "au-medicare", "dddddddddd", "", "medicare", auMedicare, phrases{}},
	{ItemTaxNumber, "uk-utr", "dddddddddd", "", "utr|taxpayer|tax", ukUTR, phrases{}},
	{ItemTaxNumber, "pl-nip", "dddddddddd", "ddd-ddd-dd-dd", "nip", plNIP, phrases{}},
	{ItemNationalID, "uk-nino", "aadddddda", "*", "", ukNINO, phrases{}},
	{ItemNationalID, "es-dni", "dddddddda", "*", "", esDNI, phrases{}},
	{ItemNationalID, "es-nie", "addddddda", "*", "", esNIE, phrases{}},
	{ItemNationalID, "ie-pps", "ddddddda", "", "pps|ppsn", iePPS, phrases{}},
	{ItemNationalID, "ie-pps-long", "dddddddaa", "", "pps|ppsn", iePPS, phrases{}},
	{ItemTaxNumber, "us-itin", "ddddddddd", "ddd-dd-dddd|ddd dd dddd", "itin|taxpayer|tax", usITIN, phrases{}},
	{ItemNationalID, "us-ssn", "ddddddddd", "ddd-dd-dddd|ddd dd dddd", "ssn|ss|social security|social|soc sec", usSSN, phrases{}},
	{ItemTaxNumber, "us-ein", "ddddddddd", "", "ein|employer identification|fein", func(string) bool { return true }, phrases{}},
	{ItemBankAccount, "us-routing", "ddddddddd", "", "routing|aba|rtn|transit", usRouting, phrases{}},
	{ItemNationalID, "ca-sin", "ddddddddd", "ddd-ddd-ddd", "sin|nas|social insurance|assurance sociale", caSIN, phrases{}},
	{ItemTaxNumber, "au-tfn", "ddddddddd", "", "tfn|tax", auTFN, phrases{}},
	{ItemNationalID, "nl-bsn", "ddddddddd", "", "bsn|burgerservicenummer|sofinummer|sofi", nlBSN, phrases{}},
	{ItemTaxNumber, "pt-nif", "ddddddddd", "", "nif|contribuinte", ptNIF, phrases{}},
	{ItemNationalID, "il-id", "ddddddddd", "", "teudat|zehut|id", ilID, phrases{}},
	{ItemNationalID, "ca-sin-spaced", "ddddddddd", "ddd ddd ddd", "", caSIN, phrases{}},
	{ItemTaxNumber, "au-tfn-spaced", "ddddddddd", "ddd ddd ddd", "", auTFN, phrases{}},
	{ItemBankAccount, "uk-sort-code", "dddddd", "", "sort code|sortcode|sort", func(string) bool { return true }, phrases{}},
}

type paper struct {
	item      Item
	words     string
	from, to  int // how many letters and digits
	minDigits int
	near      phrases // words, read
}

// papers are documents and accounts whose numbers have no check that could be known: the word in front is all there is.
var papers = [...]paper{
	{ItemNationalID, "passport|passport no|passport number|passeport|reisepass|pasaporte|passaporto|paspoort|паспорт|passnummer", 6, 10, 4, phrases{}},
	{ItemNationalID, "driver license|drivers license|driver s license|driving licence|driving license|driver licence|dl number|fuhrerschein|fuhrerscheinnummer|permis de conduire|carnet de conducir|patente|license number|licence number|driver license number|driver s license number|drivers license number", 5, 18, 4, phrases{}},
	{ItemNationalID, "national id|identity card|id card|national insurance number|national identity|personalausweis|personalausweisnummer|carte d identite|carta d identita|dowod osobisty|cedula|identity number|id number|national id number", 6, 18, 5, phrases{}},
	{ItemTaxNumber, "tax id|tax number|tax identification number|taxpayer id|steuernummer|numero fiscal|vat number|vat id|ust id|ustidnr|umsatzsteuer id|partita iva|codigo fiscal|inn|инн|snils|снилс", 8, 15, 6, phrases{}},
	{ItemBankAccount, "account number|account no|acct|bank account|account|konto|kontonummer|numero de cuenta|cuenta bancaria|numero de compte|compte bancaire|rekeningnummer|conto corrente|numero di conto|счет|счета|口座番号|账号|a c", 6, 20, 6, phrases{}},
	{ItemBankAccount, "bic|swift|bic code|swift code", 8, 11, 0, phrases{}},
}

// The most that a number has: IBANs of 33 letters and digits, in groups of four.
const (
	mostSigns  = 34
	mostGroups = 12
	nearWords  = 40
)

// numbers takes national and tax numbers, accounts and cards.
func (p *page) numbers() {
	for i := range p.groups {
		p.numbersFrom(i)
	}
	p.paperNumbers()
}

// numbersFrom reads on from a word that may begin a number, group by group, and takes what is one.
func (p *page) numbersFrom(first int) {
	w := p.groups[first]
	if !p.beginsNumber(first) {
		return
	}
	var bare, written []byte
	before, phone := "", false
	for i := first; i < len(p.groups) && i < first+mostGroups; i++ {
		next := p.groups[i]
		if i > first {
			sep, ok := p.separator(p.groups[i-1].to, next.from)
			if !ok {
				return
			}
			written = append(written, sep...)
		}
		for _, r := range p.signs[next.from:next.to] {
			if !asciiAlnum(r) {
				return
			}
			if 'a' <= r && r <= 'z' {
				r -= 'a' - 'A'
			}
			bare, written = append(bare, byte(r)), append(written, byte(r))
		}
		if len(bare) > mostSigns {
			return
		}
		if len(bare) < 6 {
			continue
		}
		for k := range p.screen.scrub.numerals {
			n := &p.screen.scrub.numerals[k]
			if !n.reads(string(bare)) || strings.ContainsRune(counters, p.at(next.to)) {
				continue
			}
			if before == "" {
				before = p.before(w.from, nearWords)
				phone = p.screen.scrub.phoneBefore.in(before)
			}
			if n.told(string(written), before, phone || p.screen.scrub.phoneAfter.in(p.after(next.to, 14))) && p.take(n.item, w.from, next.to) {
				return
			}
		}
	}
}

// beginsNumber: a group with a digit, or a few letters with a digit to follow; not what goes on from a plus sign or a number before.
func (p *page) beginsNumber(i int) bool {
	w := p.groups[i]
	if before := p.at(w.from - 1); before == '+' || (before == '.' || before == ',') && asciiDigit(p.at(w.from-2)) {
		return false
	}
	for _, r := range p.signs[w.from:w.to] {
		if asciiDigit(r) {
			return true
		}
	}
	return w.to-w.from < 4 && i+1 < len(p.groups) && asciiDigit(p.signs[p.groups[i+1].from])
}

// separator is what may stand between the groups of one number: one sign, or one with blanks around it.
func (p *page) separator(from, to int) (string, bool) {
	switch s := string(p.signs[from:to]); s {
	case " ", "-", ".", "/", "+", "\t":
		return s, true
	case " - ", "  ", " / ", "\n":
		return " ", true
	default:
		return "", false
	}
}

// reads reports whether bare can be such a number, its check included.
func (n *numeral) reads(bare string) bool {
	switch n.id {
	case "iban":
		return len(bare) > 14 && readsAs(bare[:4], "aadd") && n.check(bare)
	case "card", "card-named":
		return len(bare) > 11 && len(bare) < 20 && readsAs(bare, "ddddddddddddddddddd"[:len(bare)]) && n.check(bare)
	}
	return len(bare) == len(n.shape) && readsAs(bare, n.shape) && n.check(bare)
}

func readsAs(s, shape string) bool {
	for i := range len(shape) {
		digit := s[i] >= '0' && s[i] <= '9'
		if shape[i] == 'd' && !digit || shape[i] == 'a' && digit {
			return false
		}
	}
	return true
}

// told reports whether the way it is written, or the words before it, say that it is one; phone, that they speak of calling.
func (n *numeral) told(written, before string, phone bool) bool {
	if n.id == "card" {
		return cardForm(written)
	}
	if n.near.in(before) {
		return true
	}
	if n.loose() && phone {
		return false
	}
	if n.forms == "*" {
		return true
	}
	for form := range strings.SplitSeq(n.forms, "|") {
		if len(form) == len(written) && form != "" && writtenAs(written, form) {
			return true
		}
	}
	return false
}

// loose: nine to eleven digits with a check that one number in ten passes may as well be a telephone's.
func (n *numeral) loose() bool {
	return len(n.shape) > 8 && len(n.shape) < 12 && strings.Trim(n.shape, "d") == ""
}

func writtenAs(s, form string) bool {
	for i := range len(form) {
		switch c := s[i]; form[i] {
		case 'd':
			if c < '0' || c > '9' {
				return false
			}
		case 'x':
			if (c < '0' || c > '9') && (c < 'A' || c > 'Z') {
				return false
			}
		default:
			if c != form[i] {
				return false
			}
		}
	}
	return true
}

// cardForm: of one piece, or in groups of at least three as cards print them.
func cardForm(written string) bool {
	groups := strings.FieldsFunc(written, func(r rune) bool { return r < '0' || r > '9' })
	for i, g := range groups {
		if len(groups) > 1 && (len(g) < 3 || len(g) > 7 || i == 0 && len(g) != 4) {
			return false
		}
	}
	return true
}

// paperNumbers takes what follows the name of a document or account.
func (p *page) paperNumbers() {
	for _, w := range p.groups {
		if p.taken[w.from] || !p.digitIn(w) && w.to-w.from != 8 && w.to-w.from != 11 {
			continue
		}
		before := p.before(w.from, nearWords)
		end, n, d := p.run(w.from)
		for i := range p.screen.scrub.papers {
			k := &p.screen.scrub.papers[i]
			if n < k.from || n > k.to || d < k.minDigits || k.minDigits == 0 && !p.upper(w) {
				continue
			}
			if k.near.in(before) && p.take(k.item, w.from, end) {
				break
			}
		}
	}
}

func (p *page) digitIn(w piece) bool {
	for _, r := range p.signs[w.from:w.to] {
		if asciiDigit(r) {
			return true
		}
	}
	return false
}

func (p *page) upper(w piece) bool {
	for _, r := range p.signs[w.from:w.to] {
		if (r < 'A' || r > 'Z') && !asciiDigit(r) {
			return false
		}
	}
	return true
}

// run is how far letters and digits go on from i, groups with a digit in them joined by single separators.
func (p *page) run(i int) (end, signs, digits int) {
	end = i
	for i < len(p.signs) {
		group := i
		for i < len(p.signs) && asciiAlnum(p.signs[i]) {
			i++
		}
		if i == group || !p.digitIn(piece{group, i}) && signs > 0 {
			return end, signs, digits
		}
		for _, r := range p.signs[group:i] {
			if asciiDigit(r) {
				digits++
			}
		}
		signs, end = signs+i-group, i
		if !strings.ContainsRune(" -/.", p.at(i)) {
			return end, signs, digits
		}
		i++
	}
	return end, signs, digits
}
