//go:build unix

package module

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestForeignFiles: in a directory that others can write to, a file of another owner or
// that others can write to is not used; in the user's own it is.
func TestForeignFiles(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	const nobody = 65534
	tests := []struct {
		name      string
		dir, file os.FileMode
		owner     int
		dirOwner  int
		wantFound bool
	}{
		{"own", 0o700, 0o600, 0, 0, true},
		{"own file, open directory", 0o777, 0o600, 0, 0, true},
		{"own file, directory with a sticky bit", 0o777 | os.ModeSticky, 0o644, 0, 0, true},
		{"another's file, open directory", 0o777, 0o600, nobody, 0, false},
		{"another's file, open directory with a sticky bit", 0o777 | os.ModeSticky, 0o644, nobody, 0, false},
		{"another's file, group can write to the directory", 0o770, 0o600, nobody, 0, false},
		{"another's file and directory", 0o755, 0o644, nobody, nobody, false},
		{"own file that others can write to, open directory", 0o777, 0o666, 0, 0, false},
		{"another's file in the own directory", 0o755, 0o644, nobody, 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "kernels")
			c := &Cache{dir: dir, limit: maxCached, append: (*os.File).Write}
			c.Put("k.bin", []byte("code"))
			for _, err := range []error{
				os.Chmod(filepath.Join(dir, "k.bin"), tt.file), os.Chown(filepath.Join(dir, "k.bin"), tt.owner, tt.owner),
				os.Chmod(dir, tt.dir), os.Chown(dir, tt.dirOwner, tt.dirOwner),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			if got := c.Get("k.bin"); bytes.Equal(got, []byte("code")) != tt.wantFound {
				t.Errorf("found %q", got)
			}
		})
	}
}
