package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestCommand looks for a sentence, and for the neighbours of all.
func TestCommand(t *testing.T) {
	if _, err := os.Stat("model/model.safetensors"); err != nil {
		t.Skip("no model: python3 examples/models.py embed fetches it")
	}
	run := func(in string, args ...string) string {
		t.Helper()
		var out strings.Builder
		if err := command(&out, strings.NewReader(in), append([]string{"-device", "cpu", "-model", "model"}, args...)); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	got := run("", "-top", "2", "-query", "give me my money back", "testdata/sentences.txt")
	if lines := strings.Split(strings.TrimSpace(got), "\n"); len(lines) != 2 || !strings.Contains(lines[0], "refund") {
		t.Errorf("got %q", lines)
	}
	file := filepath.Join(t.TempDir(), "v.npy")
	got = run("A cat sleeps.\n\nStocks fell.\nA kitten naps.\n", "-out", file)
	if lines := strings.Split(strings.TrimSpace(got), "\n"); len(lines) != 3 || !strings.HasSuffix(lines[0], "A cat sleeps. | A kitten naps.") || !strings.HasSuffix(lines[2], "A kitten naps. | A cat sleeps.") {
		t.Errorf("got %q", lines)
	}
	if v, err := data.LoadArray(file, device.CPU); err != nil || v.Size(0) != 3 || v.Size(1) != 384 {
		t.Errorf("the vectors are %v, %v", v.Shape(), err)
	}
}

// TestErrors gives command lines that are wrong.
func TestErrors(t *testing.T) {
	for want, args := range map[string][]string{
		"no sentences": nil,
		"device":       {"-device", "nothing"},
		"missing":      {"missing"},
		"config.json":  {"-model", t.TempDir(), "testdata/sentences.txt"},
	} {
		var out strings.Builder
		if err := command(&out, strings.NewReader(""), args); err == nil || !strings.Contains(err.Error(), want) || out.Len() > 0 {
			t.Errorf("%q: %v, want it to say %s", args, err, want)
		}
	}
}
