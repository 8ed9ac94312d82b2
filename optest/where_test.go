package optest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/ir"
)

// TestWhere holds that a failing operator points at its line of the schema, from a package
// at any depth below it.
func TestWhere(t *testing.T) {
	root := t.TempDir()
	deep := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(deep, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "my.yaml"), []byte("schema: 1\n- op: ff(x Tensor)\n- op: f(x Tensor)\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Chdir(deep)
	o := Operator{Op: &ir.Op{Name: "f"}, Schema: "my.yaml"}
	if got := o.where(); !strings.HasSuffix(got, "my.yaml:3") {
		t.Errorf("%s, want line 3 of my.yaml", got)
	}
	o.Op.Name = "g"
	if got := o.where(); got != "my.yaml: op g" {
		t.Errorf("%s", got)
	}
}
