package log

// OnOneNode says whether a load to the head is asked of whoever answers first.
func (l *JetStream) OnOneNode() bool { return l.onOneNode() }
