package screening

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// note is about 4,000 characters of ordinary talk, in one script or in several.
func note(pieces ...string) string {
	var b strings.Builder
	for i := 0; b.Len() < 20_000; i++ {
		b.WriteString(pieces[i%len(pieces)])
		b.WriteByte(' ')
	}
	return string([]rune(b.String())[:MaxBody])
}

// notes are ordinary talk in scripts that are folded, found and decoded in different ways.
func notes() map[string]string {
	return map[string]string{
		"English": note(
			"Prefers metric units in all tables and short answers in the morning.", "Her doctor asked her to forget the old dose and take 20 mg instead.",
			"Works with the release team; the system is rebuilt every Tuesday, and you can tell from the report what the users wrote.",
			"Remembers the instructions of the physiotherapist, answers mail at night.", "Must not eat nuts; the message from the school said so.",
		),
		"German":   note("Mag kurze Antworten und keine Anglizismen.", "Der Arzt hat gesagt, sie soll die alten Tabletten vergessen.", "Arbeitet über die Straße im Büro, grüßt höflich."),
		"Russian":  note("Предпочитает метрические единицы и короткие ответы по утрам.", "Врач попросил забыть о старой дозе и принимать 20 мг.", "Работает в отделе выпуска, система обновляется по вторникам."),
		"Japanese": note("朝は短い答えを好みます。", "医師は古い用量を忘れて、二十ミリグラムを飲むように言いました。", "システムは火曜日に更新されます。"),
		"Chinese":  note("早上喜欢简短的回答。", "医生说忘记旧的剂量，改服二十毫克。", "系统每周二更新，可以在报告里看到用户写了什么。"),
		"Arabic":   note("يفضل الإجابات القصيرة في الصباح.", "طلب منها الطبيب نسيان الجرعة القديمة.", "يتم تحديث النظام كل يوم ثلاثاء."),
		"Hindi":    note("सुबह छोटे जवाब पसंद हैं।", "डॉक्टर ने पुरानी खुराक भूलने को कहा।", "सिस्टम हर मंगलवार को अपडेट होता है।"),
		"numbers":  note("Order 4821 of 2024-05-03, 12 boxes, 3.5 kg each, lot 99-1234, ask 7 times.", "Pays 12,50 on 03.05.2024 at 11:30, room 204, row 7."),
	}
}

func BenchmarkBody(b *testing.B) {
	s := New()
	for name, text := range notes() {
		b.Run(name, func(b *testing.B) {
			p50(b, func() {
				if _, err := s.Body(text); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

func BenchmarkScrub(b *testing.B) {
	s := New()
	for name, text := range notes() {
		b.Run(name, func(b *testing.B) { p50(b, func() { s.Scrub(text, known) }) })
	}
}

func p50(b *testing.B, op func()) {
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		op()
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		New()
	}
}
