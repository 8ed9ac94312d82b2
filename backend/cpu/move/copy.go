package move

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// leastCopy is the bytes of rows that vectors copy, at least.
const leastCopy = 64

// CopyRows copies rows of n bytes, which begin to and from bytes apart. The two must not
// overlap.
func CopyRows(level simd.Level, dst, src unsafe.Pointer, rows, n, to, from int) {
	f := rowCopier(level)
	if f == nil || n < leastCopy {
		for r := range rows {
			copyBytes(unsafe.Add(dst, r*to), unsafe.Add(src, r*from), n)
		}
		return
	}
	once, aheadTo, aheadFrom := max(1, copyOnce/n), ahead(n, to), ahead(n, from)
	for r := 0; r < rows; r += once {
		d, s := unsafe.Add(dst, r*to), unsafe.Add(src, r*from)
		done := 0
		for ; n-done >= copyOnce+leastCopy; done += copyOnce {
			f(Bytes(unsafe.Add(d, done)), Bytes(unsafe.Add(s, done)), 1, copyOnce, 0, 0, aheadBytes, aheadBytes)
		}
		f(Bytes(unsafe.Add(d, done)), Bytes(unsafe.Add(s, done)), min(once, rows-r), n-done, to, from, aheadTo, aheadFrom)
	}
}

// aheadBytes is how many bytes before they are copied memory is asked for: processors do
// so of themselves only up to the end of a page.
const aheadBytes = 2048

// ahead returns how far after its bytes a row of n asks for what is copied aheadBytes later:
// for that of a later row, where rows are short and others' bytes lie between them.
func ahead(n, step int) int {
	if step == n || n >= 4*aheadBytes {
		return aheadBytes
	}
	return (aheadBytes + n - 1) / n * step
}

// Copy copies n bytes. The two must not overlap.
func Copy(level simd.Level, dst, src unsafe.Pointer, n int) { CopyRows(level, dst, src, 1, n, n, n) }

// copyOnce is how many bytes a call copies, or a little more: the collector waits for it.
const copyOnce = 64 << 10

func copyBytes(dst, src unsafe.Pointer, n int) {
	copy(unsafe.Slice((*byte)(dst), n), unsafe.Slice((*byte)(src), n))
}
