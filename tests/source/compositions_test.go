package source_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// asksDevice matches what tells one kind of device from another.
var asksDevice = regexp.MustCompile(`\.Accelerator\(\)|\.Kind\b|KindCPU|KindCUDA|CodeFor|\.Runs\(`)

// TestCompositionsAskNoDevice: what stands for an operator where a device has no code of it
// is decided by core.InParts for all, not by compositions.
func TestCompositionsAskNoDevice(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "runtime", "composite", "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no compositions: %v", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if at := asksDevice.FindIndex(text); at != nil {
			t.Errorf("%s asks for the kind of device: %s; give the entry parts in the schema", name, text[at[0]:at[1]])
		}
	}
}
