package corpus

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"iris.example/iris/screening"
)

// Addressed are the variants that address the model itself: for those detection is promised.
var Addressed = [...]string{
	"ignore_previous_instructions", "system_mode", "token_smuggling", "mixed_techniques", "virtualization", "few_shot_attack", "many_shot_attack",
	"output_formatting_manipulation",
}

// itemOf names the scrubber's item for the types that corpora of personal data know; a type without one needs a model.
var itemOf = map[string]screening.Item{
	"EMAIL_ADDRESS": screening.ItemEmail, "EMAIL": screening.ItemEmail, "PHONE_NUMBER": screening.ItemPhone, "PHONE": screening.ItemPhone,
	"URL": screening.ItemURL, "DOMAIN_NAME": screening.ItemURL, "IP_ADDRESS": screening.ItemIP, "MAC_ADDRESS": screening.ItemMAC,
	"STREET_ADDRESS": screening.ItemAddress, "ADDRESS": screening.ItemAddress, "ZIP_CODE": screening.ItemAddress,
	"CREDIT_CARD": screening.ItemCard, "CREDIT_CARD_NUMBER": screening.ItemCard, "IBAN_CODE": screening.ItemBankAccount, "IBAN": screening.ItemBankAccount,
	"US_BANK_NUMBER": screening.ItemBankAccount, "US_SSN": screening.ItemNationalID, "SSN": screening.ItemNationalID, "US_ITIN": screening.ItemTaxNumber,
	"US_DRIVER_LICENSE": screening.ItemNationalID, "US_PASSPORT": screening.ItemNationalID, "UK_NHS": screening.ItemNationalID,
	"DATE_OF_BIRTH": screening.ItemBirthDate,
}

// Report is what was measured. Rates are decimals from 0 to 1; one that would be taken of nothing is null.
type Report struct {
	Rules     string    `json:"rules"` // the version of the rules that were measured
	Injection Injection `json:"injection"`
	PII       PII       `json:"pii"`
}

// Injection is what the rules found: in attacks, and where there was none.
type Injection struct {
	FalsePositiveRate       *float64            `json:"falsePositiveRate"`
	ModelAddressedDetection *float64            `json:"modelAddressedDetection"`
	Detection               *float64            `json:"detection"` // of all attacks, those too that ask for no more than another task
	Benign                  int                 `json:"benign"`
	Attacks                 int                 `json:"attacks"`
	ByVariant               map[string]*Variant `json:"byVariant"`
}

// Variant is one kind of text. Of attacks Detection is the part that was found, of benign texts FalsePositiveRate.
type Variant struct {
	Label             string   `json:"label"`
	ModelAddressed    bool     `json:"modelAddressed"`
	Texts             int      `json:"texts"`
	Flagged           int      `json:"flagged"`
	Detection         *float64 `json:"detection,omitempty"`
	FalsePositiveRate *float64 `json:"falsePositiveRate,omitempty"`
}

// PII is what the scrubber found.
type PII struct {
	ByType map[string]*Type `json:"byType"`
}

// Type is one type of personal data. A span is found when a leak of its item touches it, and found whole when leaks cover every
// letter and digit of it. A leak is right when it touches a span of a type with its item.
type Type struct {
	Item      screening.Item `json:"item,omitempty"` // empty: the scrubber knows no such item
	Spans     int            `json:"spans"`
	Found     int            `json:"found"`
	Whole     int            `json:"whole"`
	Leaks     int            `json:"leaks"`
	Right     int            `json:"right"`
	Recall    *float64       `json:"recall"`
	Precision *float64       `json:"precision"`
}

// Measure screens every text of the corpus.
func Measure(c *Corpus, screen *screening.Screen, progress io.Writer) *Report {
	fmt.Fprintf(progress, "screening %d texts for injection\n", len(c.Injection))
	report := &Report{Rules: screening.Version(), Injection: injection(c.Injection, screen)}
	fmt.Fprintf(progress, "scrubbing %d texts\n", len(c.PII))
	report.PII = PII{ByType: pii(c.PII, screen)}
	return report
}

func injection(rows []Labelled, screen *screening.Screen) Injection {
	all := Injection{ByVariant: map[string]*Variant{}}
	var flagged, detected, addressed, addressedFound int
	for _, row := range rows {
		v := all.ByVariant[row.Variant]
		if v == nil {
			v = &Variant{Label: row.Label, ModelAddressed: row.Label == "attack" && slices.Contains(Addressed[:], row.Variant)}
			all.ByVariant[row.Variant] = v
		}
		_, found := screen.Text(row.Text)
		hit := 0
		if len(found) > 0 {
			hit = 1
		}
		v.Texts++
		v.Flagged += hit
		if row.Label == "benign" {
			all.Benign++
			flagged += hit
			continue
		}
		all.Attacks++
		detected += hit
		if v.ModelAddressed {
			addressed++
			addressedFound += hit
		}
	}
	for _, v := range all.ByVariant {
		if v.Label == "benign" {
			v.FalsePositiveRate = rate(v.Flagged, v.Texts)
		} else {
			v.Detection = rate(v.Flagged, v.Texts)
		}
	}
	all.FalsePositiveRate, all.Detection = rate(flagged, all.Benign), rate(detected, all.Attacks)
	all.ModelAddressedDetection = rate(addressedFound, addressed)
	return all
}

func pii(rows []Tagged, screen *screening.Screen) map[string]*Type {
	types := map[string]*Type{}
	leaks, right := map[screening.Item]int{}, map[screening.Item]int{}
	for _, row := range rows {
		clean := screening.Clean(row.Text)
		found := screen.Scrub(row.Text, screening.Known{})
		spans := placed(row, clean)
		for _, s := range spans {
			t := types[s.Type]
			if t == nil {
				t = &Type{Item: itemOf[s.Type]}
				types[s.Type] = t
			}
			t.Spans++
			if slices.ContainsFunc(found, func(l screening.Leak) bool { return l.Item == t.Item && touches(l, s) }) {
				t.Found++
			}
			if covered([]rune(clean), s, found) {
				t.Whole++
			}
		}
		for _, l := range found {
			leaks[l.Item]++
			if slices.ContainsFunc(spans, func(s Span) bool { return itemOf[s.Type] == l.Item && touches(l, s) }) {
				right[l.Item]++
			}
		}
	}
	for _, t := range types {
		t.Recall = rate(t.Found, t.Spans)
		if t.Item != "" {
			t.Leaks, t.Right = leaks[t.Item], right[t.Item]
			t.Precision = rate(t.Right, t.Leaks)
		}
	}
	return types
}

func touches(l screening.Leak, s Span) bool { return l.Start < s.End && s.Start < l.End }

// covered reports whether no letter and no digit of a span is left outside the leaks.
func covered(text []rune, s Span, found []screening.Leak) bool {
	for i := s.Start; i < s.End; i++ {
		if strings.ContainsRune(" \t\n.,;:-/()'\"", text[i]) {
			continue
		}
		if !slices.ContainsFunc(found, func(l screening.Leak) bool { return l.Start <= i && i < l.End }) {
			return false
		}
	}
	return true
}

// placed moves the spans of a row to where they lie in its clean text: cleaning strips what can't be seen, the outer blanks first of
// all. A span whose words the cleaning changed is looked for by what is left of them.
func placed(row Tagged, clean string) []Span {
	text, kept := []rune(row.Text), []rune(clean)
	var spans []Span
	for _, s := range row.Spans {
		want := screening.Clean(string(text[s.Start:s.End]))
		near := len([]rune(screening.Clean("."+string(text[:s.Start])+"."))) - 2
		if at := nearest(kept, []rune(want), near); at >= 0 {
			s.Start, s.End = at, at+len([]rune(want))
			spans = append(spans, s)
		}
	}
	return spans
}

// nearest is where want stands in text, as near as can be to a place; -1 where it doesn't.
func nearest(text, want []rune, near int) int {
	best := -1
	if len(want) == 0 {
		return best
	}
	for i := 0; i+len(want) <= len(text); i++ {
		if slices.Equal(text[i:i+len(want)], want) && (best < 0 || abs(i-near) < abs(best-near)) {
			best = i
		}
	}
	return best
}

func abs(n int) int { return max(n, -n) }

func rate(part, of int) *float64 {
	if of == 0 {
		return nil
	}
	r := float64(part) / float64(of)
	return &r
}
