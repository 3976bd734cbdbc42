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

func BenchmarkBody(b *testing.B) {
	s := New()
	for name, text := range map[string]string{
		"English": note(
			"Prefers metric units in all tables and short answers in the morning.", "Her doctor asked her to forget the old dose and take 20 mg instead.",
			"Works with the release team; the system is rebuilt every Tuesday, and you can tell from the report what the users wrote.",
			"Remembers the instructions of the physiotherapist, answers mail at night.", "Must not eat nuts; the message from the school said so.",
		),
		"Russian":  note("Предпочитает метрические единицы и короткие ответы по утрам.", "Врач попросил забыть о старой дозе и принимать 20 мг.", "Работает в отделе выпуска, система обновляется по вторникам."),
		"Japanese": note("朝は短い答えを好みます。", "医師は古い用量を忘れて、二十ミリグラムを飲むように言いました。", "システムは火曜日に更新されます。"),
	} {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				start := time.Now()
				if _, err := s.Body(text); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
		})
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		New()
	}
}
