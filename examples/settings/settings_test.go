package settings

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/tests/self"
)

// variable makes the process a program that has one flag, and ends with its number.
const variable = "SINTER_TEST_SETTINGS"

func TestMain(m *testing.M) {
	if os.Getenv(variable) == "" {
		os.Exit(m.Run())
	}
	flag.CommandLine = flag.NewFlagSet("program", flag.ExitOnError)
	n := flag.Int("n", 1, "a number")
	Parse()
	os.Exit(*n)
}

// TestParse runs a program with and without stray arguments.
func TestParse(t *testing.T) {
	for _, c := range []struct {
		args, says string
		code       int
	}{
		{"-n 7", "", 7},
		{"n 7", `unknown arguments ["n" "7"]; settings are flags`, 2},
		{"-n 7 -- more", `unknown arguments ["more"]`, 2},
		{"more -n 7", `unknown arguments ["more" "-n" "7"]`, 2},
	} {
		out, err := self.Command(t, []string{variable + "=1"}, strings.Fields(c.args)...).CombinedOutput()
		var ended *exec.ExitError
		if !errors.As(err, &ended) || ended.ExitCode() != c.code || !strings.Contains(string(out), c.says) || c.code == 2 && !strings.Contains(string(out), "-n int") {
			t.Errorf("%q: %v\n%s", c.args, err, out)
		}
	}
}

// TestEveryExample: no program of the examples ignores what it does not know.
func TestEveryExample(t *testing.T) {
	own, refuses := regexp.MustCompile(`\bflags?\.Parse\(`), regexp.MustCompile(`\bNArg\(|\bflags?\.Args\(`)
	programs := 0
	for _, pattern := range []string{"../*/*.go", "../*/*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), "\npackage main\n") || strings.HasSuffix(name, "_test.go") {
				continue
			}
			programs++
			if own.Match(text) && !refuses.Match(text) {
				t.Errorf("%s calls flag.Parse and ignores arguments; settings.Parse does not", name)
			}
		}
	}
	if programs < 10 {
		t.Errorf("%d files of programs found", programs)
	}
}
