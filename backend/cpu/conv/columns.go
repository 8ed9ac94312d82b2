package conv

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// Columns are the windows of images as a matrix: a row for each term, which is a
// place in one of the channels, and a column for each window, images one after the
// other.
type Columns struct {
	Level  simd.Level
	Data   unsafe.Pointer // frames
	First  int            // the window that is column 0
	Image  int            // bytes from an image's frames to the next one's
	Terms  []int          // where each term's element lies for the first window of an image, in bytes
	Out    []int          // windows along each axis
	Steps  []int          // elements from a window to its neighbour along each axis
	Elem   int            // bytes of an element
	Window int            // windows of an image
	exact  bool           // nothing behind columns may be read
}

// NewColumns returns the windows over frames like f at data.
func NewColumns(f *Frame, data unsafe.Pointer, image int, terms, out []int) *Columns {
	c := &Columns{Level: simd.Active(), Data: data, Image: image, Terms: terms, Out: out, Elem: f.Elem, Window: 1}
	for a, n := range out {
		c.Steps = append(c.Steps, f.Step(a))
		c.Window *= n
	}
	return c
}

// NewRows returns rows of n contiguous elements in memory as columns: each row is a
// term, each element a window. Nothing behind the rows is read.
func NewRows(terms, n, elem int) *Columns {
	c := &Columns{Level: simd.Active(), Out: []int{n}, Steps: []int{1}, Elem: elem, Window: n, exact: true}
	for t := range terms {
		c.Terms = append(c.Terms, t*n*elem)
	}
	return c
}

// base returns where window w of an image starts, in bytes.
func (c *Columns) base(w int) int {
	at := 0
	for a := len(c.Out) - 1; a >= 0; a-- {
		q := w / c.Out[a]
		at += (w - q*c.Out[a]) * c.Steps[a]
		w = q
	}
	return at * c.Elem
}

// widest is how many bytes a row of a panel has at most.
const widest = 128

// most is how many pieces a table holds: the elements of the widest panel, or of a
// stretch of windows.
const most = 64

// A table lists pieces: where each comes from and where it goes, in bytes.
type table [2 * most]int

// runs fills t with pieces of size elements that cover columns [lo, hi), as many as
// it holds: their places in the frames, and in memory where a column takes width
// bytes. It returns how many there are and the first column they do not cover.
func (c *Columns) runs(t *table, lo, hi, size, width int) (n, end int) {
	row := c.Out[len(c.Out)-1]
	for j := lo; j < hi; {
		u := j / c.Window
		w := j - u*c.Window
		from := u*c.Image + c.base(w)
		run := min(row-w%row, hi-j)
		for at := 0; at < run; at += size {
			if n == most {
				return n, j + at
			}
			t[2*n], t[2*n+1] = from+at*c.Elem, (j-lo+at)*width
			n++
		}
		j += run
	}
	return n, hi
}

// Pack copies terms [p0, p1) of columns [j0, j1) to a panel of ld columns: those of
// a term side by side. They have no more than 128 bytes.
func (c *Columns) Pack(dst unsafe.Pointer, ld, j0, j1, p0, p1 int) {
	if p0 == p1 {
		return
	}
	j0, j1 = j0+c.First, j1+c.First
	vector := 32
	if c.Level >= simd.AVX512 {
		vector = 64
	}
	if c.Level == simd.Portable || c.exact && (j1-j0)*c.Elem%vector != 0 {
		c.packPortable(dst, ld, j0, j1, p0, p1)
		return
	}
	var t table
	n, _ := c.runs(&t, j0, j1, vector/c.Elem, c.Elem)
	if p1-1 > p0 {
		gather(vector, dst, ld*c.Elem, c.Data, &c.Terms[p0], p1-1-p0, &t, n)
	}
	// What follows the last row may belong to another panel.
	var last [widest + slack]byte
	gather(vector, unsafe.Pointer(&last), 0, c.Data, &c.Terms[p1-1], 1, &t, n)
	bytes := (j1 - j0) * c.Elem
	copy(unsafe.Slice((*byte)(unsafe.Add(dst, (p1-1-p0)*ld*c.Elem)), bytes), last[:bytes])
}

// PackRows copies columns [p0, p1) of terms [i0, i1) to rows of ld elements: those of
// a term side by side.
func (c *Columns) PackRows(dst unsafe.Pointer, ld, i0, i1, p0, p1 int) {
	p0, p1 = p0+c.First, p1+c.First
	if c.Level == simd.Portable {
		c.packPortable(dst, ld, p0, p1, i0, i1)
		return
	}
	vector := 32
	if c.Level >= simd.AVX512 {
		vector = 64
	}
	var t table
	for from := p0; from < p1; {
		n, end := c.runs(&t, from, p1, vector/c.Elem, c.Elem)
		to := unsafe.Add(dst, (from-p0)*c.Elem)
		// What follows the last row's end, or lies in rows between, is not to be changed.
		bytes := (end - from) * c.Elem
		whole := n
		for whole > 0 && t[2*whole-1]+vector > bytes {
			whole--
		}
		if whole > 0 {
			gather(vector, to, ld*c.Elem, c.Data, &c.Terms[i0], i1-i0, &t, whole)
		}
		for k := whole; k < n; k++ {
			c.packTail(unsafe.Add(to, t[2*k+1]), ld, i0, i1, t[2*k], min(vector, bytes-t[2*k+1]))
		}
		from = end
	}
}

// packTail copies so many bytes of terms [i0, i1), for the window at from.
func (c *Columns) packTail(dst unsafe.Pointer, ld, i0, i1, from, bytes int) {
	for i, at := range c.Terms[i0:i1] {
		to := unsafe.Add(dst, i*ld*c.Elem)
		copy(unsafe.Slice((*byte)(to), bytes), unsafe.Slice((*byte)(unsafe.Add(c.Data, from+at)), bytes))
	}
}

func (c *Columns) packPortable(dst unsafe.Pointer, ld, j0, j1, p0, p1 int) {
	for j := j0; j < j1; j++ {
		u := j / c.Window
		from := unsafe.Add(c.Data, u*c.Image+c.base(j-u*c.Window))
		to := unsafe.Add(dst, (j-j0)*c.Elem)
		for i, at := range c.Terms[p0:p1] {
			move(c.Elem, unsafe.Add(to, i*ld*c.Elem), unsafe.Add(from, at))
		}
	}
}

// move copies an element.
func move(size int, to, from unsafe.Pointer) {
	if size == 8 {
		*(*uint64)(to) = *(*uint64)(from)
		return
	}
	*(*uint32)(to) = *(*uint32)(from)
}

// PackT copies columns [p0, p1) of terms [j0, j1) to a panel of ld terms: those of
// a column side by side. ld is that of the level's panels.
func (c *Columns) PackT(dst unsafe.Pointer, ld, j0, j1, p0, p1 int) {
	p0, p1 = p0+c.First, p1+c.First
	if c.Level == simd.Portable {
		c.packPortableT(dst, ld, j0, j1, p0, p1)
		return
	}
	block := 32 / c.Elem
	var t table
	for from := p0; from < p1; {
		n, end := c.runs(&t, from, p1, block, ld*c.Elem)
		to, rows := unsafe.Add(dst, (from-p0)*ld*c.Elem), p1-from
		whole := n // blocks that end inside of the panel
		for whole > 0 && t[2*whole-1]/(ld*c.Elem)+block > rows {
			whole--
		}
		for j := j0; j < j1; j += block {
			c.packBlocks(unsafe.Add(to, (j-j0)*c.Elem), ld, j, j1, &t, whole)
		}
		for i := whole; i < n; i++ {
			c.packEnd(to, ld, j0, j1, t[2*i], t[2*i+1], rows)
		}
		from = end
	}
}

// packBlocks copies the first n blocks of a table, of terms from j on.
func (c *Columns) packBlocks(dst unsafe.Pointer, ld, j, j1 int, t *table, n int) {
	if n == 0 {
		return
	}
	block := 32 / c.Elem
	terms := &c.Terms[j]
	var some [8]int
	if j+block > j1 { // repeat the last one: nobody reads those columns
		for i := range some {
			some[i] = c.Terms[min(j+i, j1-1)]
		}
		terms = &some[0]
	}
	transpose(c.Level, c.Elem, dst, c.Data, terms, t, n)
}

// packEnd copies one block, of which the panel ends after rows.
func (c *Columns) packEnd(dst unsafe.Pointer, ld, j0, j1, from, to, rows int) {
	var room [8 * widest]byte
	var one table
	one[0] = from
	for j := j0; j < j1; j += 32 / c.Elem {
		c.packBlocks(unsafe.Pointer(&room[(j-j0)*c.Elem]), ld, j, j1, &one, 1)
	}
	bytes := rows*ld*c.Elem - to
	copy(unsafe.Slice((*byte)(unsafe.Add(dst, to)), bytes), room[:])
}

func (c *Columns) packPortableT(dst unsafe.Pointer, ld, j0, j1, p0, p1 int) {
	for p := p0; p < p1; p++ {
		u := p / c.Window
		from, to := unsafe.Add(c.Data, u*c.Image+c.base(p-u*c.Window)), unsafe.Add(dst, (p-p0)*ld*c.Elem)
		for j, at := range c.Terms[j0:j1] {
			move(c.Elem, unsafe.Add(to, j*c.Elem), unsafe.Add(from, at))
		}
	}
}
