package bench

import (
	"slices"
	"strings"
	"time"

	"iris.example/iris/screening"
)

// notes are ordinary talk in scripts that the screening reads in different ways.
var notes = [...]string{
	"Prefers metric units in all tables, takes 20 mg at night; the system is rebuilt every Tuesday, and you can tell from the report. ",
	"Предпочитает метрические единицы и короткие ответы по утрам. Врач попросил забыть о старой дозе. ",
	"朝は短い答えを好みます。医師は古い用量を忘れて、二十ミリグラムを飲むように言いました。",
	"يفضل الإجابات القصيرة في الصباح. طلب منها الطبيب نسيان الجرعة القديمة. ",
}

// screeningLimit is what 4,000 characters may take (spec 1.7 as the issue states it), rather than a raw limit of the machine.
const screeningLimit = time.Millisecond

// Screening measures the screening of a body of the greatest length, the median over several scripts.
func Screening(rounds int) Figure {
	screen := screening.New()
	var took []time.Duration
	for range rounds * 20 {
		for _, note := range notes {
			text := string([]rune(strings.Repeat(note, 1+screening.MaxBody/20))[:screening.MaxBody-1])
			began := time.Now()
			_, _ = screen.Body(text)
			took = append(took, time.Since(began))
		}
	}
	slices.Sort(took)
	median := took[len(took)/2]
	return Figure{
		Name: "screening of 4,000 characters, four scripts", Measured: "p50 " + median.Round(time.Microsecond).String(), Raw: screeningLimit.String(),
		Ratio: median.Seconds() / screeningLimit.Seconds(), Promise: "≤ " + screeningLimit.String() + " p50", Met: median <= screeningLimit,
	}
}
