package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/examples/filetype/identify"
)

// TestCommand runs command lines.
func TestCommand(t *testing.T) {
	if _, err := os.Stat("model/model.onnx"); err != nil {
		t.Skip("no model: python3 examples/models.py filetype fetches it")
	}
	dir := t.TempDir()
	for name, body := range map[string]string{"b.txt": "", "a.go": "package main\n\nfunc main() { println(1) }\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	missing := filepath.Join(dir, "missing")
	run := func(args ...string) string {
		t.Helper()
		var out strings.Builder
		if err := command(t.Context(), &out, append([]string{"-device", "cpu"}, args...)); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if got, want := run(dir), dir+": A directory (inode) 100%\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	lines := strings.Split(strings.TrimSpace(run("-r", dir, missing)), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], "a.go: Golang source (code)") || !strings.Contains(lines[1], "b.txt: Empty file (inode)") || !strings.Contains(lines[2], "missing: ") {
		t.Errorf("got %q", lines)
	}
	var results []identify.Result
	if err := json.Unmarshal([]byte(run("-json", "-model", "model", filepath.Join(dir, "a.go"), missing)), &results); err != nil {
		t.Fatal(err)
	}
	if len(results) != 2 || results[0].Prediction.Type.Label != "go" || results[1].Status != identify.NotFound {
		t.Errorf("got %+v", results)
	}
}

// TestErrors gives command lines that are wrong.
func TestErrors(t *testing.T) {
	for want, args := range map[string][]string{
		"usage":       nil,
		"device":      {"-device", "nothing", "a"},
		"config.json": {"-model", t.TempDir(), "a"},
		"not defined": {"-nothing"},
	} {
		var out strings.Builder
		if err := command(t.Context(), &out, args); err == nil || !strings.Contains(err.Error(), want) || out.Len() > 0 {
			t.Errorf("%q: %v, want it to say %s; printed %q", args, err, want, out.String())
		}
	}
}
