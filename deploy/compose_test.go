package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

type service struct {
	Image       string            `yaml:"image"`
	Build       map[string]string `yaml:"build"`
	User        string            `yaml:"user"`
	Command     []string          `yaml:"command"`
	Environment map[string]string `yaml:"environment"`
	EnvFile     string            `yaml:"env_file"`
	Volumes     []string          `yaml:"volumes"`
	Ports       []string          `yaml:"ports"`
	Healthcheck struct{ Test []string }
	DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
}

func compose(t *testing.T) map[string]service {
	t.Helper()
	content, err := os.ReadFile("compose.yml")
	require.NoError(t, err)
	var file struct {
		Services map[string]service `yaml:"services"`
	}
	require.NoError(t, yaml.Unmarshal(content, &file))
	return file.Services
}

// secrets makes them in a folder of this test, which stands for ../.secrets of the compose file.
func secrets(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "secrets")
	out, err := exec.Command("go", "run", "./secrets", dir).CombinedOutput()
	require.NoError(t, err, string(out))
	again, err := exec.Command("go", "run", "./secrets", dir).CombinedOutput()
	require.Error(t, err, "nothing is replaced")
	require.Contains(t, string(again), "nothing that is there is replaced")
	return dir
}

// There is no container engine where this is tested: what can be held without one is that the file is YAML, that its services are
// those that there are, and that whatever it names is there.
func TestComposeNamesWhatIsThere(t *testing.T) {
	t.Parallel()
	services, dir := compose(t), secrets(t)
	var names []string
	for name := range services {
		names = append(names, name)
	}
	require.ElementsMatch(t, []string{"iris-a", "iris-b", "iris-c", "database", "migrate", "serve", "intake", "projector", "streamguard"}, names)
	evidence := map[string]string{}
	for name, s := range services {
		require.NotEmpty(t, s.Image, name)
		require.Contains(t, s.User, "IRIS_USER", "%s runs as nobody special", name)
		mounted := map[string]bool{}
		for _, volume := range s.Volumes {
			parts := strings.Split(volume, ":")
			source := strings.Replace(parts[0], "../.secrets", dir, 1)
			require.FileExists(t, file(source), "%s: %s", name, volume)
			mounted[parts[1]] = true
			if parts[1] == "/state/evidence" {
				require.Empty(t, evidence[parts[0]], "%s has the evidence of another", name)
				evidence[parts[0]] = name
			}
		}
		for variable, value := range s.Environment {
			for _, word := range strings.FieldsFunc(value, func(r rune) bool { return r == '=' || r == '&' || r == ',' }) {
				if strings.HasPrefix(word, "/secrets/") {
					require.True(t, mounted[word], "%s: %s names %s, which isn't mounted", name, variable, word)
				}
			}
		}
		for on := range s.DependsOn {
			require.Contains(t, services, on, name)
			require.True(t, s.DependsOn[on].Condition == "service_completed_successfully" || len(services[on].Healthcheck.Test) > 0, "%s waits for %s, which has no health", name, on)
		}
		for _, port := range s.Ports {
			require.True(t, strings.HasPrefix(port, "127.0.0.1:"), "%s is published beyond this machine", name)
		}
		if name != "migrate" {
			require.NotEmpty(t, s.Healthcheck.Test, name)
		}
		if s.Image == "iris" {
			require.FileExists(t, filepath.Join(s.Build["context"], s.Build["dockerfile"]))
		}
		if s.EnvFile != "" {
			require.FileExists(t, strings.Replace(s.EnvFile, "../.secrets", dir, 1))
		}
	}
}

// file is something in a folder that can be looked for as a file: a folder is there when its parent lists it.
func file(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return os.Args[0]
	}
	return path
}

// A node reads its configuration with exactly the environment that the compose file and the secrets give it.
func TestANodeReadsWhatComposeGivesIt(t *testing.T) {
	services, dir := compose(t), secrets(t)
	content, err := os.ReadFile(filepath.Join(dir, "nats.env"))
	require.NoError(t, err)
	for _, line := range strings.Fields(string(content)) {
		name, value, _ := strings.Cut(line, "=")
		t.Setenv(name, value)
	}
	for _, node := range []string{"iris-a", "iris-b", "iris-c"} {
		for name, value := range services[node].Environment {
			for _, volume := range services[node].Volumes {
				parts := strings.Split(volume, ":")
				if parts[1] == value {
					value = strings.Replace(parts[0], "../.secrets", dir, 1)
				}
			}
			t.Setenv(name, value)
		}
		options, err := server.ProcessConfigFile("nats/cluster.conf")
		require.NoError(t, err, node)
		require.Equal(t, node, options.ServerName)
		require.Len(t, options.Routes, 3)
		require.True(t, options.SyncAlways)
		require.NotEmpty(t, options.JetStreamKey)
	}
}

// The image has nobody's rights and one static binary.
func TestContainerfile(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("Containerfile")
	require.NoError(t, err)
	for _, line := range []string{"FROM scratch", "USER 10001:10001", "CGO_ENABLED=0", `ENTRYPOINT ["/iris"]`} {
		require.Contains(t, string(content), line)
	}
}
