package documents_test

import (
	"debug/elf"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// TestContainer: what the Dockerfile of the chapter on deploying builds is what its
// shell commands build, and runs where there is nothing else. No container is made: the
// command is run here, and the program has to be one that no loader or library is
// needed for, in a folder without anything and with an empty environment.
func TestContainer(t *testing.T) {
	text := read(t, "docs/guide/deploying.md")
	_, docker, _ := strings.Cut(text, "```dockerfile\n")
	docker, _, _ = strings.Cut(docker, "```")
	line := func(pattern string) []string {
		found := regexp.MustCompile(`(?m)^` + pattern + `$`).FindStringSubmatch(docker)
		if found == nil {
			t.Fatalf("the Dockerfile has no line %s:\n%s", pattern, docker)
		}
		return found
	}
	built := line(`RUN (CGO_ENABLED=0 go build .* -o )(\S+) \.`)
	copied, entry := line(`COPY --from=build (\S+) (\S+)`), line(`ENTRYPOINT \["(\S+)"\]`)
	if copied[1] != built[2] || entry[1] != copied[2] {
		t.Errorf("it builds %s, copies %s to %s and runs %s", built[2], copied[1], copied[2], entry[1])
	}
	line(`FROM golang:1\.26 AS build`)
	line(`FROM scratch`)
	shown := strings.ReplaceAll(built[1], "-trimpath ", "") + "app ."
	if !strings.Contains(text, "\n"+shown+"\n") {
		t.Errorf("no block of commands has %q", shown)
	}
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("builds a program, for Linux")
	}
	app := filepath.Join(t.TempDir(), "app")
	cmd := exec.Command("sh", "-c", built[1]+app+" .")
	cmd.Dir = filepath.Join(root, "examples/devices")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	file, err := elf.Open(app)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("the program has a segment %v: it is not static", p.Type)
		}
	}
	run := exec.Command(app, "factories")
	run.Dir, run.Env = t.TempDir(), []string{}
	if out, err := run.CombinedOutput(); err != nil || len(out) == 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
