package asyncapi

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestATypeWithoutAChannelIsAnError(t *testing.T) {
	t.Parallel()
	_, err := channelOf("iris.weather.observed.v1")
	require.ErrorContains(t, err, "iris.weather.observed.v1")
}
