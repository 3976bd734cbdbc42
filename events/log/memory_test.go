package log_test

import (
	"testing"

	"iris.example/iris/events/log"
	"iris.example/iris/events/log/logtest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	logtest.Run(t, func(*testing.T) logtest.Backend { return logtest.Backend{Log: log.NewMemory()} })
}
