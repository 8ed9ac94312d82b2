package cache

import (
	"os"
	"path/filepath"
	"testing"
)

func TestLast(t *testing.T) {
	for _, test := range []struct {
		name  string
		sizes map[string]string // by level
		want  int
	}{
		{"third level", map[string]string{"2": "512K\n", "3": "32768K\n"}, 32 << 20},
		{"second level", map[string]string{"2": "1M\n"}, 1 << 20},
		{"shared by machines", map[string]string{"3": "491520K\n"}, most},
		{"not understood", map[string]string{"3": "large", "2": "-5K"}, usual},
		{"not said", nil, usual},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for level, size := range test.sizes {
				if err := os.Mkdir(filepath.Join(dir, "index"+level), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, "index"+level, "size"), []byte(size), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got := last(filepath.Join(dir, "index")); got != test.want {
				t.Errorf("%d, want %d", got, test.want)
			}
		})
	}
	if Last() <= 0 || Last() > most {
		t.Errorf("this machine's last cache has %d bytes", Last())
	}
}
