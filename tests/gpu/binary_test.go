package gpu_test

import (
	"debug/elf"
	"os"
	"regexp"
	"testing"
)

// TestNoLibraries: this binary, which has all of the library in it, is linked to
// nothing of CUDA's; whatever it uses it opens while it runs.
func TestNoLibraries(t *testing.T) {
	f, err := elf.Open("/proc/self/exe")
	if os.IsNotExist(err) {
		t.Skip("needs /proc")
	}
	must(t, err)
	defer f.Close()
	names, err := f.ImportedLibraries()
	must(t, err)
	symbols, err := f.ImportedSymbols()
	if err != nil { // a static binary has no such table
		symbols = nil
	}
	for _, s := range symbols {
		names = append(names, s.Name)
	}
	theirs := regexp.MustCompile(`(?i)^(lib)?(cuda|cublas|cudnn|cufft|nvrtc|nccl|nvidia|nvjitlink)|^cu[A-Z]`)
	for _, name := range names {
		if theirs.MatchString(name) {
			t.Errorf("the binary needs %s", name)
		}
	}
	t.Logf("needs %d libraries and symbols: %v", len(names), names[:min(len(names), 5)])
}
