package engine

import (
	"context"

	"iris.example/iris/tracing"
)

// begins begins a span for each commit that can be applied, in the trace that its envelope names. Only those of a transaction
// that is committed end, and so are seen.
func (l *Line) begins(ctx context.Context, items []item) []tracing.Span {
	if !l.config.Tracer.On() {
		return nil
	}
	var spans []tracing.Span
	for _, i := range items {
		all := i.events()
		if len(all) == 0 || all[0].Trace.Parent == "" {
			continue
		}
		_, span := l.config.Tracer.Continue(ctx, all[0].Trace.Parent, tracing.Project, tracing.Position(i.commit.Position), tracing.Types(all))
		spans = append(spans, span)
	}
	return spans
}

func ends(spans []tracing.Span) {
	for _, span := range spans {
		span.End("")
	}
}
