package growth

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// whole is what an instance has to fulfil altogether: every schema of it.
type whole []*schema

// flat resolves allOf: the schema itself, then all that must hold with it.
func flat(s *schema) whole {
	if s == nil {
		return nil
	}
	all := whole{s}
	for _, more := range s.all {
		all = append(all, flat(more)...)
	}
	return all
}

func (w whole) never() bool { return slices.ContainsFunc(w, func(s *schema) bool { return s.never }) }

// kinds are the types that an instance can have.
func (w whole) kinds() kinds {
	k := anything
	for _, s := range w {
		if s.kinds != 0 {
			k &= s.kinds
		}
		if s.values != nil {
			var of kinds
			for value := range s.values {
				of |= kindOf(value)
			}
			k &= of
		}
	}
	return k
}

// values are the only values that an instance can have; nil: they aren't listed.
func (w whole) values() map[string]bool {
	var left map[string]bool
	for _, s := range w {
		switch {
		case s.values == nil:
		case left == nil:
			left = maps.Clone(s.values)
		default:
			maps.DeleteFunc(left, func(value string, _ bool) bool { return !s.values[value] })
		}
	}
	return left
}

func (w whole) requires(name string) bool {
	return slices.ContainsFunc(w, func(s *schema) bool { return slices.Contains(s.required, name) })
}

// property is what the value of a property has to fulfil. It is never() where the property can't be there.
func (w whole) property(name string) whole {
	var all whole
	for _, s := range w {
		if p, ok := s.properties[name]; ok {
			all = append(all, flat(p)...)
		} else {
			all = append(all, flat(s.additional)...)
		}
	}
	return all
}

func (w whole) names() []string {
	all := map[string]bool{}
	for _, s := range w {
		for name := range s.properties {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// item is what the item at i has to fulfil.
func (w whole) item(i int) whole {
	var all whole
	for _, s := range w {
		if i < len(s.prefix) {
			all = append(all, flat(s.prefix[i])...)
		} else {
			all = append(all, flat(s.items)...)
		}
	}
	return all
}

// comparison asks whether what fulfils one schema fulfils another. branched: the other one is a branch, which need not repeat
// what stands before the branches.
type comparison struct {
	as       Direction
	branched bool
}

// rule is one keyword, or the keywords that can only be read together. It says in what way an instance of w may break s.
type rule func(c comparison, w whole, s *schema) []Finding

func ofSchema() []rule {
	return []rule{
		comparison.kinds, comparison.values, comparison.required, comparison.properties, comparison.rest, comparison.propertyNames,
		comparison.dependent, comparison.items, comparison.limits, comparison.forms, comparison.contains, comparison.not,
		comparison.anyOf, comparison.oneOf, comparison.branch,
	}
}

// implies lists in what ways an instance of w may break s; none: it can't.
func (c comparison) implies(w whole, s *schema) []Finding {
	if w.never() || w.kinds() == 0 {
		return nil
	}
	var found []Finding
	for _, part := range flat(s) {
		if part.never {
			found = append(found, c.finding(part.at, codeRefused, ""))
			continue
		}
		for _, r := range ofSchema() {
			found = append(found, c.fulfils(w, part, r)...)
		}
	}
	return append(found, c.defaults(w, flat(s))...)
}

// fulfils tries a rule on the whole, then on each alternative that the whole has.
func (c comparison) fulfils(w whole, s *schema, r rule) []Finding {
	found := r(c, w, s)
	if len(found) == 0 {
		return nil
	}
	i := slices.IndexFunc(w, func(s *schema) bool { return s.anyOf != nil || s.oneOf != nil })
	if i < 0 {
		return found
	}
	rest := *w[i]
	alternatives := rest.anyOf
	if rest.anyOf != nil {
		rest.anyOf = nil
	} else {
		alternatives, rest.oneOf = rest.oneOf, nil
	}
	found = nil
	for _, alternative := range alternatives {
		one := slices.Concat(w[:i], whole{&rest}, w[i+1:], flat(alternative))
		if !one.never() && one.kinds() != 0 {
			found = append(found, c.fulfils(one, s, r)...)
		}
	}
	return found
}

func (c comparison) kinds(w whole, s *schema) []Finding {
	if more := w.kinds() &^ s.kinds; s.kinds != 0 && more != 0 {
		return []Finding{c.finding(s.at+"/type", codeType, more.String())}
	}
	return nil
}

func (c comparison) values(w whole, s *schema) []Finding {
	if s.values == nil {
		return nil
	}
	has := w.values()
	if has == nil && w.kinds()&^(null|boolean) == 0 { // a closed list by itself
		has = map[string]bool{}
		for value, kind := range map[string]kinds{"null": null, "true": boolean, "false": boolean} {
			if w.kinds()&kind != 0 {
				has[value] = true
			}
		}
	}
	if has == nil {
		return []Finding{c.finding(s.at+"/enum", codeEnum, "any value")}
	}
	var found []Finding
	for _, value := range slices.Sorted(maps.Keys(has)) {
		if !s.values[value] {
			found = append(found, c.finding(s.at+"/enum", codeEnum, value))
		}
	}
	return found
}

func (c comparison) required(w whole, s *schema) (found []Finding) {
	if w.kinds()&object == 0 {
		return nil
	}
	for _, name := range s.required {
		if !w.requires(name) {
			found = append(found, c.finding(s.at+"/required", codeRequired, name))
		}
	}
	return found
}

// properties holds the named properties of s to what w lets stand there.
func (c comparison) properties(w whole, s *schema) (found []Finding) {
	if w.kinds()&object == 0 {
		return nil
	}
	c.branched = false // further down, all is compared
	for _, name := range slices.Sorted(maps.Keys(s.properties)) {
		property, has := s.properties[name], w.property(name)
		at := s.at + "/properties/" + escape(name)
		named := slices.ContainsFunc(w, func(s *schema) bool { return s.properties[name] != nil })
		if c.as == Events && !property.never && !named {
			found = append(found, c.finding(at, codeRemoved, name)) // a reader may have counted on it, optional or not
			continue
		}
		found = append(found, c.implies(has, property)...)
	}
	return found
}

// defaults: what a property means where it is left out stays what it was.
func (c comparison) defaults(w, s whole) (found []Finding) {
	for _, name := range s.names() {
		before, now := w.absent(name), s.absent(name)
		if c.as == Events {
			before, now = now, before
		}
		if before == "" || before == now || c.branched && (now == "" || c.as == Events) {
			continue
		}
		at := s[slices.IndexFunc(s, func(one *schema) bool { return one.properties[name] != nil })].at
		found = append(found, c.finding(at+"/properties/"+escape(name)+"/default", codeDefault, before))
	}
	return found
}

// absent is the default of a property.
func (w whole) absent(name string) string {
	for _, s := range w {
		if p := s.properties[name]; p != nil && p.absent != "" {
			return p.absent
		}
	}
	return ""
}

// rest holds the properties that s doesn't name to its additionalProperties.
func (c comparison) rest(w whole, s *schema) (found []Finding) {
	if s.additional == nil || w.kinds()&object == 0 || c.as == Events && s.additional.never { // readers ignore what they don't know
		return nil
	}
	c.branched = false
	unnamed := whole{}
	for _, one := range w {
		unnamed = append(unnamed, flat(one.additional)...)
	}
	at := s.at + "/additionalProperties"
	for _, name := range w.names() {
		if has := w.property(name); s.properties[name] == nil && !has.never() {
			if s.additional.never {
				found = append(found, c.finding(at, codeRemoved, name))
			} else {
				found = append(found, c.implies(has, s.additional)...)
			}
		}
	}
	if s.additional.never && !unnamed.never() {
		return append(found, c.finding(at, codeClosed, ""))
	}
	return append(found, c.implies(unnamed, s.additional)...)
}

func (c comparison) propertyNames(w whole, s *schema) []Finding {
	if s.names == nil || w.kinds()&object == 0 {
		return nil
	}
	for _, one := range w {
		if one.names != nil && len(c.implies(flat(one.names), s.names)) == 0 {
			return nil
		}
	}
	return []Finding{c.finding(s.at+"/propertyNames", codeForm, "of a name")}
}

func (c comparison) dependent(w whole, s *schema) (found []Finding) {
	if w.kinds()&object == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(s.dependent)) {
		for _, need := range s.dependent[name] {
			given := slices.ContainsFunc(w, func(s *schema) bool { return slices.Contains(s.dependent[name], need) })
			if !given && !w.requires(need) && !w.property(name).never() {
				found = append(found, c.finding(s.at+"/dependentRequired", codeRequired, need))
			}
		}
	}
	return found
}

func (c comparison) items(w whole, s *schema) (found []Finding) {
	if w.kinds()&array == 0 || s.items == nil && s.prefix == nil {
		return nil
	}
	c.branched = false
	longest := len(s.prefix)
	for _, one := range w {
		longest = max(longest, len(one.prefix))
	}
	for i := range longest + 1 { // the last stands for all that follow
		rule := s.items
		if i < len(s.prefix) {
			rule = s.prefix[i]
		}
		if rule != nil {
			found = append(found, c.implies(w.item(i), rule)...)
		}
	}
	return found
}

// limits compares each bound with the tightest that w has of the same keyword.
func (c comparison) limits(w whole, s *schema) (found []Finding) {
	for _, keyword := range slices.Sorted(maps.Keys(s.limits)) {
		limit, lower := s.limits[keyword], strings.HasPrefix(strings.ToLower(keyword), "min") || keyword == "exclusiveMinimum"
		if w.kinds()&boundedBy(keyword) == 0 || slices.ContainsFunc(w, func(one *schema) bool { return within(one.limits[keyword], limit, lower) }) {
			continue
		}
		if lower && boundedBy(keyword) != number && limit.Sign() <= 0 {
			continue // nothing is shorter than nothing
		}
		found = append(found, c.finding(s.at+"/"+keyword, codeLimit, limit.RatString()))
	}
	return found
}

func within(has, limit *big.Rat, lower bool) bool {
	if has == nil {
		return false
	}
	if lower {
		return has.Cmp(limit) >= 0
	}
	return has.Cmp(limit) <= 0
}

func boundedBy(keyword string) kinds {
	switch {
	case strings.HasSuffix(keyword, "Length"):
		return text
	case strings.HasSuffix(keyword, "Items"):
		return array
	case strings.HasSuffix(keyword, "Properties"):
		return object
	}
	return number
}

// forms are the rules that only their like fulfils.
func (c comparison) forms(w whole, s *schema) (found []Finding) {
	for _, form := range []struct {
		keyword string
		of      kinds
		set     bool
		same    func(one *schema) bool
	}{
		{"pattern", text, s.pattern != "", func(one *schema) bool { return one.pattern == s.pattern }},
		{"format", text, s.format != "", func(one *schema) bool { return one.format == s.format }},
		{"uniqueItems", array, s.unique, func(one *schema) bool { return one.unique }},
	} {
		if form.set && w.kinds()&form.of != 0 && !slices.ContainsFunc(w, form.same) {
			found = append(found, c.finding(s.at+"/"+form.keyword, codeForm, form.keyword))
		}
	}
	return found
}

func (c comparison) contains(w whole, s *schema) []Finding {
	if s.contains == nil || w.kinds()&array == 0 || slices.ContainsFunc(w, func(one *schema) bool { return same(one.contains, s.contains) }) {
		return nil
	}
	return []Finding{c.finding(s.at+"/contains", codeForm, "of what it holds")}
}

func (c comparison) not(w whole, s *schema) []Finding {
	if s.not == nil || apart(w, s.not) || slices.ContainsFunc(w, func(one *schema) bool { return same(one.not, s.not) }) {
		return nil
	}
	return []Finding{c.finding(s.at+"/not", codeRefused, "")}
}

// anyOf is fulfilled where one alternative is. What is reported is what breaks the nearest.
func (c comparison) anyOf(w whole, s *schema) []Finding {
	var nearest []Finding
	for i, alternative := range s.anyOf {
		found := c.implies(w, alternative)
		if len(found) == 0 {
			return nil
		}
		if i == 0 || distance(found) < distance(nearest) {
			nearest = found
		}
	}
	if has := w.kinds(); has&(has-1) != 0 && len(nearest) > 0 { // each type may have an alternative of its own
		var each []Finding
		for one := null; one <= object; one <<= 1 {
			if has&one != 0 {
				each = append(each, c.anyOf(append(slices.Clip(w), &schema{rules: rules{kinds: one}}), s)...)
			}
		}
		return each
	}
	return nearest
}

func distance(found []Finding) int {
	far := len(found)
	for _, f := range found {
		if f.Code == codeType || f.Code == codeRefused {
			far += 1000
		}
	}
	return far
}

// oneOf is fulfilled where it is the same, or where one alternative is fulfilled and each of the others excluded.
func (c comparison) oneOf(w whole, s *schema) []Finding {
	alike := func(one *schema) bool {
		return len(one.oneOf) == len(s.oneOf) && form(&schema{rules: rules{oneOf: one.oneOf}}) == form(&schema{rules: rules{oneOf: s.oneOf}})
	}
	if s.oneOf == nil || slices.ContainsFunc(w, alike) {
		return nil
	}
	for i, alternative := range s.oneOf {
		others := slices.Delete(slices.Clone(s.oneOf), i, i+1)
		excluded := !slices.ContainsFunc(others, func(other *schema) bool { return !apart(w, other) })
		if excluded && len(c.implies(w, alternative)) == 0 {
			return nil
		}
	}
	return []Finding{c.finding(s.at+"/oneOf", codeAlternative, "")}
}

// branch is if, then and else: the same condition with branches that are fulfilled, or a condition that never holds, or both
// branches fulfilled.
func (c comparison) branch(w whole, s *schema) []Finding {
	if s.cond == nil {
		return nil
	}
	c.branched = true
	branches := func(w, otherwise whole) []Finding {
		var found []Finding
		if s.then != nil && !apart(w, s.cond) {
			found = c.implies(w, s.then)
		}
		if s.otherwise != nil {
			found = append(found, c.implies(otherwise, s.otherwise)...)
		}
		return found
	}
	nearest := branches(w, w)
	for i, one := range w {
		if len(nearest) > 0 && same(one.cond, s.cond) {
			rest := slices.Delete(slices.Clone(w), i, i+1)
			bare := *one
			bare.cond, bare.then, bare.otherwise = nil, nil, nil
			rest = append(rest, &bare)
			nearest = branches(slices.Concat(rest, flat(one.then)), slices.Concat(rest, flat(one.otherwise)))
		}
	}
	return nearest
}

// apart reports whether nothing can fulfil both, as far as types, lists of values and properties show it.
func apart(w whole, s *schema) bool {
	for _, part := range flat(s) {
		if part.never || part.kinds != 0 && w.kinds()&part.kinds == 0 || disjoint(w.values(), part.values) {
			return true
		}
		if w.kinds() != object { // another type passes whatever is said of objects
			continue
		}
		for _, name := range part.required {
			if w.property(name).never() {
				return true
			}
		}
		for name, property := range part.properties {
			if (w.requires(name) || slices.Contains(part.required, name)) && apart(w.property(name), property) {
				return true
			}
		}
	}
	return false
}

func disjoint(a, b map[string]bool) bool {
	if a == nil || b == nil {
		return false
	}
	for value := range a {
		if b[value] {
			return false
		}
	}
	return true
}

func same(a, b *schema) bool { return a != nil && b != nil && form(a) == form(b) }

// form writes what a schema demands, so that equal texts mean equal schemas wherever they stand.
func form(s *schema) string {
	var b strings.Builder
	part := func(name string, all ...*schema) {
		for _, one := range all {
			if one != nil {
				fmt.Fprintf(&b, "%s(%s)", name, form(one))
			}
		}
		b.WriteString(";")
	}
	fmt.Fprintf(&b, "%t %d %q %t %q %q %t ", s.never, s.kinds, slices.Sorted(maps.Keys(s.values)), s.values == nil, s.pattern, s.format, s.unique)
	fmt.Fprintf(&b, "%q ", slices.Sorted(slices.Values(s.required)))
	for _, keyword := range slices.Sorted(maps.Keys(s.limits)) {
		fmt.Fprintf(&b, "%s=%s ", keyword, s.limits[keyword].RatString())
	}
	for _, name := range slices.Sorted(maps.Keys(s.dependent)) {
		fmt.Fprintf(&b, "%q needs %q ", name, slices.Sorted(slices.Values(s.dependent[name])))
	}
	for _, name := range slices.Sorted(maps.Keys(s.properties)) {
		part(fmt.Sprintf("%q:", name), s.properties[name])
	}
	part("additional", s.additional)
	part("names", s.names)
	part("items", s.items)
	part("prefix", s.prefix...)
	part("contains", s.contains)
	part("not", s.not)
	part("any", s.anyOf...)
	part("one", s.oneOf...)
	part("all", s.all...)
	part("if", s.cond)
	part("then", s.then)
	part("else", s.otherwise)
	return b.String()
}
