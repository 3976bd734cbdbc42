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
}

// numerals, those with the strictest check first. Words are written as page.before reads them: folded, blanks around.
var numerals = [...]numeral{
	{ItemBankAccount, "iban", "", "*", "", iban},
	{ItemCard, "card", "", "*", "", card},
	{ItemNationalID, "it-cf", "aaaaaaxxaxxaxxxa", "*", "", itCodice},
	{ItemNationalID, "fr-nir", "dddddxxdddddddd", "*", "", frNIR},
	{ItemNationalID, "cn-id", "dddddddddddddddddx", "*", "", cnID},
	{ItemNationalID, "mx-curp", "aaaaddddddaaaaaaxd", "*", "", mxCURP},
	{ItemTaxNumber, "br-cnpj", "dddddddddddddd", "*", "", brCNPJ},
	{ItemNationalID, "ch-ahv", "ddddddddddddd", "*", "", chAHV},
	{ItemNationalID, "ro-cnp", "ddddddddddddd", "*", "", roCNP},
	{ItemNationalID, "za-id", "ddddddddddddd", "*", "", zaID},
	{ItemNationalID, "kr-rrn", "ddddddddddddd", "dddddd-ddddddd", "주민등록번호|주민번호|resident registration", krRRN},
	{ItemNationalID, "in-aadhaar", "dddddddddddd", "dddd dddd dddd|dddd-dddd-dddd", "aadhaar|aadhar|uid|uidai|आधार", inAadhaar},
	{ItemNationalID, "jp-mynumber", "dddddddddddd", "", "マイナンバー|個人番号|my number", jpMyNumber},
	{ItemNationalID, "se-pin-long", "dddddddddddd", "dddddddd-dddd", "personnummer|samordningsnummer|personal identity", sePIN},
	{ItemNationalID, "fi-hetu", "ddddddadddx", "*", "", fiHETU},
	{ItemNationalID, "fi-hetu-dash", "dddddddddx", "dddddd-dddx|dddddd+dddx", "henkilotunnus|hetu|personbeteckning", fiHETU},
	{ItemNationalID, "no-fnr", "ddddddddddd", "*", "", noFNR},
	{ItemNationalID, "be-nrn", "ddddddddddd", "*", "", beNRN},
	{ItemTaxNumber, "br-cpf", "ddddddddddd", "*", "", brCPF},
	{ItemNationalID, "tr-tckn", "ddddddddddd", "*", "", trTCKN},
	{ItemNationalID, "pl-pesel", "ddddddddddd", "*", "", plPESEL},
	{ItemNationalID, "baltic", "ddddddddddd", "*", "", baltic},
	{ItemNationalID, "gr-amka", "ddddddddddd", "", "amka|αμκα", grAMKA},
	{ItemTaxNumber, "de-tax-id", "ddddddddddd", "dd ddd ddd ddd", "steuer|steuerid|steuernummer|identifikationsnummer|idnr|tin|tax|steueridentifikationsnummer", deTaxID},
	{ItemTaxNumber, "hr-oib", "ddddddddddd", "", "oib|osobni identifikacijski", hrOIB},
	{ItemTaxNumber, "in-pan", "aaaaadddda", "*", "", inPAN},
	{ItemNationalID, "se-pin", "dddddddddd", "dddddd-dddd|dddddd+dddd", "personnummer|samordningsnummer|personal identity", sePIN},
	{ItemNationalID, "dk-cpr", "dddddddddd", "dddddd-dddd", "cpr|personnummer|civil registration", dkCPR},
	{ItemNationalID, "cz-rc", "dddddddddd", "dddddd/dddd", "rodne cislo|rodne|birth number", czRC},
	{ItemNationalID, "bg-egn", "dddddddddd", "", "egn|егн", bgEGN},
	{ItemNationalID, "at-svnr", "dddddddddd", "dddd dddddd|dddd-dddddd", "sozialversicherungsnummer|versicherungsnummer|svnr|sv nummer|sv nr", atSVNR},
	{ItemNationalID, "uk-nhs", "dddddddddd", "", "nhs", ukNHS},
	{ItemNationalID, "au-medicare", "dddddddddd", "", "medicare", auMedicare},
	{ItemTaxNumber, "uk-utr", "dddddddddd", "", "utr|taxpayer|tax", ukUTR},
	{ItemTaxNumber, "pl-nip", "dddddddddd", "ddd-ddd-dd-dd", "nip", plNIP},
	{ItemNationalID, "uk-nino", "aadddddda", "*", "", ukNINO},
	{ItemNationalID, "es-dni", "dddddddda", "*", "", esDNI},
	{ItemNationalID, "es-nie", "addddddda", "*", "", esNIE},
	{ItemNationalID, "ie-pps", "ddddddda", "", "pps|ppsn", iePPS},
	{ItemNationalID, "ie-pps-long", "dddddddaa", "", "pps|ppsn", iePPS},
	{ItemTaxNumber, "us-itin", "ddddddddd", "ddd-dd-dddd|ddd dd dddd", "itin|taxpayer|tax", usITIN},
	{ItemNationalID, "us-ssn", "ddddddddd", "ddd-dd-dddd|ddd dd dddd", "ssn|ss|social security|social|soc sec", usSSN},
	{ItemTaxNumber, "us-ein", "ddddddddd", "", "ein|employer identification|fein", func(string) bool { return true }},
	{ItemBankAccount, "us-routing", "ddddddddd", "", "routing|aba|rtn|transit", usRouting},
	{ItemNationalID, "ca-sin", "ddddddddd", "ddd-ddd-ddd", "sin|nas|social insurance|assurance sociale", caSIN},
	{ItemTaxNumber, "au-tfn", "ddddddddd", "", "tfn|tax", auTFN},
	{ItemNationalID, "nl-bsn", "ddddddddd", "", "bsn|burgerservicenummer|sofinummer|sofi", nlBSN},
	{ItemTaxNumber, "pt-nif", "ddddddddd", "", "nif|contribuinte", ptNIF},
	{ItemNationalID, "il-id", "ddddddddd", "", "teudat|zehut|id", ilID},
	{ItemNationalID, "ca-sin-spaced", "ddddddddd", "ddd ddd ddd", "", caSIN},
	{ItemTaxNumber, "au-tfn-spaced", "ddddddddd", "ddd ddd ddd", "", auTFN},
	{ItemBankAccount, "uk-sort-code", "dddddd", "", "sort code|sortcode|sort", func(string) bool { return true }},
}

type paper struct {
	item      Item
	words     string
	from, to  int // how many letters and digits
	minDigits int
}

// papers are documents and accounts whose numbers have no check that could be known: the word in front is all there is.
var papers = [...]paper{
	{ItemNationalID, "passport|passport no|passport number|passeport|reisepass|pasaporte|passaporto|paspoort|паспорт|passnummer", 6, 10, 4},
	{ItemNationalID, "driver license|drivers license|driver s license|driving licence|driving license|driver licence|dl number|fuhrerschein|fuhrerscheinnummer|permis de conduire|carnet de conducir|patente|license number|licence number|driver license number|driver s license number|drivers license number", 5, 18, 4},
	{ItemNationalID, "national id|identity card|id card|national insurance number|national identity|personalausweis|personalausweisnummer|carte d identite|carta d identita|dowod osobisty|cedula|identity number|id number|national id number", 6, 18, 5},
	{ItemTaxNumber, "tax id|tax number|tax identification number|taxpayer id|steuernummer|numero fiscal|vat number|vat id|ust id|ustidnr|umsatzsteuer id|partita iva|codigo fiscal|inn|инн|snils|снилс", 8, 15, 6},
	{ItemBankAccount, "account number|account no|acct|bank account|account|konto|kontonummer|numero de cuenta|cuenta bancaria|numero de compte|compte bancaire|rekeningnummer|conto corrente|numero di conto|счет|счета|口座番号|账号|a c", 6, 20, 6},
	{ItemBankAccount, "bic|swift|bic code|swift code", 8, 11, 0},
}

// The most that a number has: IBANs of 33 letters and digits, in groups of four.
const (
	mostSigns  = 34
	mostGroups = 12
	nearWords  = 40
)

// numbers takes national and tax numbers, accounts and cards.
func (p *page) numbers() {
	for i := range p.words {
		p.numbersFrom(i)
	}
	p.paperNumbers()
}

// numbersFrom reads on from a word that may begin a number, group by group, and takes what is one.
func (p *page) numbersFrom(first int) {
	w := p.words[first]
	if !p.beginsNumber(first) {
		return
	}
	var bare, written []byte
	before := ""
	for i := first; i < len(p.words) && i < first+mostGroups; i++ {
		next := p.words[i]
		if i > first {
			sep, ok := p.separator(p.words[i-1].to, next.from)
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
			if !n.reads(string(bare)) {
				continue
			}
			if before == "" {
				before = p.before(w.from, nearWords)
			}
			if n.told(string(written), before) && p.take(n.item, w.from, next.to) {
				return
			}
		}
	}
}

// beginsNumber: a group with a digit, or a few letters with a digit to follow; not what goes on from a plus sign or a number before.
func (p *page) beginsNumber(i int) bool {
	w := p.words[i]
	if before := p.at(w.from - 1); before == '+' || (before == '.' || before == ',') && asciiDigit(p.at(w.from-2)) {
		return false
	}
	for _, r := range p.signs[w.from:w.to] {
		if asciiDigit(r) {
			return true
		}
	}
	return w.to-w.from < 4 && i+1 < len(p.words) && asciiDigit(p.signs[p.words[i+1].from])
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
	case "card":
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

// told reports whether the way it is written, or the words before it, say that it is one.
func (n *numeral) told(written, before string) bool {
	if n.forms == "*" {
		return n.id != "card" || cardForm(written)
	}
	for form := range strings.SplitSeq(n.forms, "|") {
		if len(form) == len(written) && form != "" && writtenAs(written, form) {
			return true
		}
	}
	return anyWord(before, n.words)
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

// anyWord reports whether one of the words, with bars between, stands in text, which has one blank between its words. Words of
// scripts without blanks may stand inside.
func anyWord(text, words string) bool {
	for word := range strings.SplitSeq(words, "|") {
		switch {
		case word == "":
		case unspaced([]rune(word)[0]):
			if strings.Contains(text, word) {
				return true
			}
		case strings.Contains(text, " "+word+" "):
			return true
		}
	}
	return false
}

// paperNumbers takes what follows the name of a document or account.
func (p *page) paperNumbers() {
	for _, w := range p.words {
		if p.taken[w.from] || !p.digitIn(w) && w.to-w.from != 8 && w.to-w.from != 11 {
			continue
		}
		before := p.before(w.from, nearWords)
		for i := range p.screen.scrub.papers {
			k := &p.screen.scrub.papers[i]
			end, n, d := p.run(w.from)
			if n < k.from || n > k.to || d < k.minDigits || k.minDigits == 0 && !p.upper(w) {
				continue
			}
			if anyWord(before, k.words) && p.take(k.item, w.from, end) {
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
