package pgserver

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Config is what Start needs. The zero value of every field but DataDir is usable.
type Config struct {
	// DataDir is PostgreSQL's data directory; its parent is made when missing.
	// A file DataDir+".lock" stands beside it.
	DataDir string
	// BinDir holds postgres and initdb. Empty: IRIS_POSTGRES_BIN, then a search.
	BinDir string
	// RunAs is the user that runs the server when we are root. An existing data
	// directory is run as its owner instead.
	RunAs string
	// Superuser is the role that initdb makes. It matters at the first start only.
	Superuser string
	// Settings are extra server settings; ours win.
	Settings map[string]string
	// StartTimeout bounds the way to the first answer: initdb, crash recovery,
	// waiting for a predecessor that is still going down.
	StartTimeout time.Duration
	Logger       *slog.Logger

	// UnsafeNoSync turns fsync off. For tests only: a crash of the machine may
	// lose or damage everything in DataDir.
	UnsafeNoSync bool
}

const (
	defaultRunAs        = "postgres"
	defaultSuperuser    = "postgres"
	defaultStartTimeout = time.Minute // initdb takes half a second, on a busy machine ten
)

// WithDefaults fills what is empty. It reads the environment, nothing else.
func (c Config) WithDefaults() Config {
	if c.BinDir == "" {
		c.BinDir = os.Getenv("IRIS_POSTGRES_BIN")
	}
	if c.RunAs == "" {
		c.RunAs = defaultRunAs
	}
	if c.Superuser == "" {
		c.Superuser = defaultSuperuser
	}
	if c.StartTimeout == 0 {
		c.StartTimeout = defaultStartTimeout
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.DataDir != "" {
		if abs, err := filepath.Abs(c.DataDir); err == nil {
			c.DataDir = abs
		}
	}
	return c
}

var (
	settingName = regexp.MustCompile(`^[a-z][a-z0-9_.]*$`)
	roleName    = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)
)

// Validate is called after WithDefaults and touches no file.
func (c Config) Validate() error {
	switch {
	case !filepath.IsAbs(c.DataDir):
		return c.invalid("DataDir", c.DataDir, "an absolute path is needed")
	case filepath.Dir(c.DataDir) == c.DataDir:
		return c.invalid("DataDir", c.DataDir, "the root of a file system can't be a data directory")
	case strings.ContainsAny(c.DataDir, "\x00\n\r"):
		return c.invalid("DataDir", fmt.Sprintf("%q", c.DataDir), "control characters in a path")
	case !roleName.MatchString(c.Superuser):
		return c.invalid("Superuser", c.Superuser, "must match "+roleName.String())
	case c.StartTimeout < 0:
		return c.invalid("StartTimeout", c.StartTimeout.String(), "must be positive")
	}
	for name, value := range c.Settings {
		if !settingName.MatchString(name) || strings.ContainsRune(value, 0) {
			return c.invalid("Settings", name, "not a setting")
		}
	}
	return nil
}

func (c Config) invalid(field, value, why string) error {
	return &Error{Code: ErrConfig, Act: "check " + field, Input: value, Cause: errors.New(why)}
}

// fixedSettings are the ones nobody may change: they go last on the command
// line, which also beats ALTER SYSTEM.
func (c Config) fixedSettings(socketDir string) [][2]string {
	onOff := map[bool]string{true: "on", false: "off"}[!c.UnsafeNoSync]
	return [][2]string{
		{"listen_addresses", ""},
		{"port", socketPort},
		{"unix_socket_directories", quoteListItem(socketDir)},
		{"unix_socket_permissions", "0700"},
		{"fsync", onOff},
		{"full_page_writes", onOff},
		{"wal_recycle", "off"}, // a recycled segment keeps old row images on disk
		{"jit", "off"},
		{"logging_collector", "off"},
		{"log_destination", "stderr"},
		{"log_line_prefix", "%m [%p] "},
		{"log_error_verbosity", "terse"},
		{"log_min_error_statement", "panic"},
		{"log_statement", "none"},
		{"log_min_duration_statement", "-1"},
		{"log_min_duration_sample", "-1"},
		{"log_parameter_max_length", "0"},
		{"log_parameter_max_length_on_error", "0"},
		{"lc_messages", "C"}, // retryable() reads the log
	}
}

func (c Config) serverArgs(socketDir string) []string {
	args := []string{"-D", c.DataDir}
	for name, value := range c.Settings {
		args = append(args, "-c", name+"="+value)
	}
	for _, s := range c.fixedSettings(socketDir) {
		args = append(args, "-c", s[0]+"="+s[1])
	}
	return args
}

// quoteListItem quotes one element of a comma separated setting.
func quoteListItem(s string) string {
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
