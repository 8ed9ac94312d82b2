package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/gen/emit"
	"github.com/sinter-go/sinter/gen/schema"
)

// TestGoldenBuilds compiles what the archives of testdata wish for, so that a
// wanted file can never be nonsense. The modules replace this one by the tree.
func TestGoldenBuilds(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles several modules")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	base := baseSpec(t)
	for _, name := range []string{"compose", "elementwise", "fold"} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile("testdata/" + name + ".txtar")
			if err != nil {
				t.Fatal(err)
			}
			_, files := sections(data)
			spec, err := schema.Parse("ops.yaml", files[0].data, base)
			if err != nil {
				t.Fatal(err)
			}
			emitted, err := emit.Files(spec, userTarget)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			p := project{root: dir, files: emitted}
			changes, err := p.compare()
			if err == nil {
				err = p.apply(changes)
			}
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "kernels", "flipped.cu"), "// written by hand\n")
			write(t, filepath.Join(dir, "go.sum"), string(sums))
			write(t, filepath.Join(dir, "go.mod"), strings.Join([]string{
				"module example.com/user", "go 1.26.0", "require " + emit.Module + " v0.0.0",
				"replace " + emit.Module + " => " + root, ""}, "\n\n"))
			cmd := exec.Command("go", "vet", "-mod=mod", "./...")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=", "GOWORK=off")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("go vet: %v\n%s", err, out)
			}
		})
	}
}
