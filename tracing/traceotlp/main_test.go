package traceotlp_test

import (
	"testing"

	"iris.example/iris/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }
