package figures

import "testing"

func TestShortSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 10239: "10239 B", 10240: "10 KiB", 3 << 20: "3072 KiB", 22 << 20: "22 MiB", 1 << 40: "1024 GiB", 1 << 62: "4096 PiB",
	} {
		if got := shortSize(n); got != want {
			t.Errorf("%d bytes are %s, want %s", n, got, want)
		}
	}
}
