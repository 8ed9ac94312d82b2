package main

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheck: what does not compile on a platform is found there, in tests and in other
// systems' files too, and is not elsewhere.
func TestCheck(t *testing.T) {
	if testing.Short() {
		t.Skip("loads packages for many platforms")
	}
	for _, test := range []struct {
		name, file, text string
		platform         string
		want             string // in the error; nothing for none
	}{
		{"sound", "a.go", "package a\n\nimport \"os\"\n\nvar X = os.Getpid()\n", "linux/arm", ""},
		{"narrow words", "a.go", "package a\n\nconst X int = 1 << 40\n", "linux/386", "overflows"},
		{"wide words", "a.go", "package a\n\nconst X int = 1 << 40\n", "linux/amd64", ""},
		{"another system", "a_windows.go", "package a\n\nvar X int = \"\"\n", "windows/amd64", "a_windows.go:3"},
		{"not this system", "a_windows.go", "package a\n\nvar X int = \"\"\n", "linux/amd64", ""},
		{"what a system lacks", "a.go", "package a\n\nimport \"syscall\"\n\nvar X = syscall.Mmap\n", "windows/amd64", "Mmap"},
		{"a test", "a_test.go", "package a\n\nvar x int = \"\"\n", "linux/arm", "a_test.go:3"},
		{"a test from outside", "b_test.go", "package a_test\n\nimport \"a.test/a\"\n\nvar x int = a.None\n", "linux/arm", "None"},
		{"no assembly", "a.go", "package a\n\nfunc X()\n", "linux/arm", "X has no body"},
		{"no package", "a.go", "package a\n\nimport _ \"a.test/b\"\n", "linux/arm", "a.test/b"},
		{"no platform", "a.go", "package a\n", "arm", "GOOS/GOARCH"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{
				"go.mod": "module a.test/a\n\ngo 1.26\n", "base.go": "package a\n", test.file: test.text,
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			t.Chdir(dir)
			_, err := check(test.platform, &files{set: token.NewFileSet(), parsed: map[string]func() (*ast.File, error){}})
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}
