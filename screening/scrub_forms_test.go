package screening

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// found is what Scrub finds of an item, as it stands in the text.
func found(item Item, text string) []string {
	cleaned, _ := clean(text)
	signs := []rune(cleaned)
	var all []string
	for _, l := range shared().Scrub(text, Known{}) {
		if l.Item == item {
			all = append(all, string(signs[l.Start:l.End]))
		}
	}
	return all
}

// Every sign that RFC 5321 allows in a name, inside it and at its end.
func TestEmailNamesHaveEverySign(t *testing.T) {
	t.Parallel()
	for _, sign := range "!#$%&'*+-/=?^_`{|}~" {
		for _, name := range []string{"o" + string(sign) + "neill", "o" + string(sign)} {
			require.Equal(t, []string{name + "@example.org"}, found(ItemEmail, "Ask "+name+"@example.org today."))
			require.Equal(t, []string{name + "@example.org"}, found(ItemEmail, "Ada <"+name+"@example.org>, Bob"))
		}
	}
}

// Every way to write an IPv6 address that ends in an IPv4 one (RFC 4291 2.2): where the zeros are left out, if they are.
func TestAddressesWithAnAddressInThem(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		groups := rapid.SliceOfN(rapid.SampledFrom([]string{"0", "0", "0000", "ffff", "FFFF", "64", "ff9b", "2001", "db8", "0a"}), 6, 6).Draw(t, "groups")
		four := fmt.Sprintf("%d.%d.%d.%d", rapid.Byte().Draw(t, "a"), rapid.Byte().Draw(t, "b"), rapid.Byte().Draw(t, "c"), rapid.Byte().Draw(t, "d"))
		address := strings.Join(groups, ":") + ":" + four
		if rapid.Bool().Draw(t, "shortened") {
			from := rapid.IntRange(0, 5).Draw(t, "from")
			to := rapid.IntRange(from+1, 6).Draw(t, "to")
			address = strings.Join(groups[:from], ":") + "::" + strings.Join(append(groups[to:len(groups):len(groups)], four), ":")
		}
		for _, text := range []string{address, "Peer " + address + " left.", "[" + address + "]:443", "at " + address + ".", address + "%eth0"} {
			want := address
			if strings.HasSuffix(text, "%eth0") {
				want = text
			}
			require.Equal(t, []string{want}, found(ItemIP, text), text)
		}
	})
}

func TestFormsThatAreFoundWhole(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		item Item
		all  []string
	}{
		`"ada lovelace"@example.org`:              {ItemEmail, []string{`"ada lovelace"@example.org`}},
		`ada@[192.0.2.1]`:                         {ItemEmail, []string{`ada@[192.0.2.1]`}},
		`ada@[IPv6:2001:db8::1]`:                  {ItemEmail, []string{`ada@[IPv6:2001:db8::1]`}},
		`<mailto:o'neill@example.org?subject=hi>`: {ItemEmail, []string{`o'neill@example.org`}},
		`{'mail':'ada@example.org'}`:              {ItemEmail, []string{`ada@example.org`}},
		`mail='ada@example.org'`:                  {ItemEmail, []string{`ada@example.org`}},
		"`ada@example.org`":                       {ItemEmail, []string{`ada@example.org`}},
		`jo.me_x@example.org`:                     {ItemEmail, []string{`jo.me_x@example.org`}},

		`::1`:                           {ItemIP, []string{`::1`}},
		`net 2001:db8::, and fe80::`:    {ItemIP, []string{`2001:db8::`, `fe80::`}},
		`[fe80::1%eth0]:80`:             {ItemIP, []string{`fe80::1%eth0`}},
		`IPv6:2001:db8::1`:              {ItemIP, []string{`2001:db8::1`}},
		`IP：192.0.2.1`:                  {ItemIP, []string{`192.0.2.1`}},
		`サーバー10.0.0.1です`:                {ItemIP, []string{`10.0.0.1`}},
		`10.0.0.1–10.0.0.9`:             {ItemIP, []string{`10.0.0.1`, `10.0.0.9`}},
		`http://[2001:db8::1]:443/a/da`: {ItemURL, []string{`http://[2001:db8::1]:443/a/da`}},

		"IBAN DE89\u00a03704\u202f0044\u00a00532\u00a00130\u00a000": {ItemBankAccount, []string{"DE89\u00a03704\u202f0044\u00a00532\u00a00130\u00a000"}},
		"DE89‑3704‑0044‑0532‑0130‑00":                               {ItemBankAccount, []string{"DE89‑3704‑0044‑0532‑0130‑00"}},
		"口座はＤＥ８９３７０４００４４０５３２０１３０００です":                               {ItemBankAccount, []string{"ＤＥ８９３７０４００４４０５３２０１３０００"}},
		"我的身份证号是11010519491231002X请查":                               {ItemNationalID, []string{"11010519491231002X"}},
		"カード4111111111111111です":                                     {ItemCard, []string{"4111111111111111"}},

		"(+49) 30 1234567":              {ItemPhone, []string{"(+49) 30 1234567"}},
		"+1 (212) - 555 - 0123":         {ItemPhone, []string{"+1 (212) - 555 - 0123"}},
		"01·84·17·61·18":                {ItemPhone, []string{"01·84·17·61·18"}},
		"＋４４ ２０ ７９４６‑０９５８":              {ItemPhone, []string{"＋４４ ２０ ７９４６‑０９５８"}},
		"tel:+1-201-555-0123;ext=123":   {ItemPhone, []string{"+1-201-555-0123;ext=123"}},
		"+1 201 555 0123 (ext.: 123).":  {ItemPhone, []string{"+1 201 555 0123 (ext.: 123)"}},
		"+49 30 1234567, Durchwahl 12.": {ItemPhone, []string{"+49 30 1234567, Durchwahl 12"}},
		"電話03-1234-5678です":              {ItemPhone, []string{"03-1234-5678"}},
		"我的电话是13800138000请联系":           {ItemPhone, []string{"13800138000"}},
	} {
		require.Equal(t, want.all, found(want.item, text), text)
	}
}
