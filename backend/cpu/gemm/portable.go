package gemm

import "unsafe"

// plainTile is runTile in plain Go, for panels of four columns and up to two rows
// at once.
func plainTile[T Number](class, rows int, t *tile) {
	size := int(unsafe.Sizeof(*new(T)))
	columns := t.last
	switch class {
	case twoVectors:
		columns = 4
	case twoEdge:
		columns += 2
	case oneVector:
		columns = 2
	}
	now := *t
	for g := range t.groups {
		now.a, now.c = unsafe.Add(t.a, g*rows*t.aRow), unsafe.Add(t.c, g*rows*t.cRow)
		if t.src != nil {
			now.src = unsafe.Add(t.src, g*rows*t.srcRow)
		}
		if rows == 2 && columns == 4 && t.aCol == size && t.bRow == 4*size {
			plainGroup[T](&now)
		} else {
			plainEdge[T](&now, rows, columns)
		}
	}
}

// plainEdge computes a group of at most two rows of at most four columns, with any
// strides.
func plainEdge[T Number](t *tile, rows, columns int) {
	size := int(unsafe.Sizeof(*new(T)))
	for i := range rows {
		var sums [4]T
		a, b := unsafe.Add(t.a, i*t.aRow), t.b
		for p := range t.k {
			x := *(*T)(unsafe.Add(a, p*t.aCol))
			row := unsafe.Slice((*T)(unsafe.Add(b, p*t.bRow)), columns)
			for j, y := range row {
				sums[j&3] += x * y
			}
		}
		for j := range columns {
			sum := sums[j]
			if t.src != nil {
				sum += *(*T)(unsafe.Add(t.src, i*t.srcRow+j*size))
			}
			*(*T)(unsafe.Add(t.c, i*t.cRow+j*size)) = sum
		}
	}
}

// plainGroup multiplies two rows whose terms are contiguous with a packed panel of
// four columns. The eight sums and their factors are what 16 registers hold; the
// loop is unrolled because Go moves loop variables to other registers in each
// round.
func plainGroup[T Number](t *tile) {
	size := int(unsafe.Sizeof(*new(T)))
	var c00, c01, c02, c03, c10, c11, c12, c13 T
	row0, row1 := t.a, unsafe.Add(t.a, t.aRow)
	p := 0
	for ; p+4 <= t.k; p += 4 {
		x := (*[4]T)(unsafe.Add(row0, p*size))
		z := (*[4]T)(unsafe.Add(row1, p*size))
		y := (*[16]T)(unsafe.Add(t.b, p*4*size))
		a0, a1 := x[0], z[0]
		v := y[0]
		c00, c10 = c00+a0*v, c10+a1*v
		v = y[1]
		c01, c11 = c01+a0*v, c11+a1*v
		v = y[2]
		c02, c12 = c02+a0*v, c12+a1*v
		v = y[3]
		c03, c13 = c03+a0*v, c13+a1*v
		a0, a1 = x[1], z[1]
		v = y[4]
		c00, c10 = c00+a0*v, c10+a1*v
		v = y[5]
		c01, c11 = c01+a0*v, c11+a1*v
		v = y[6]
		c02, c12 = c02+a0*v, c12+a1*v
		v = y[7]
		c03, c13 = c03+a0*v, c13+a1*v
		a0, a1 = x[2], z[2]
		v = y[8]
		c00, c10 = c00+a0*v, c10+a1*v
		v = y[9]
		c01, c11 = c01+a0*v, c11+a1*v
		v = y[10]
		c02, c12 = c02+a0*v, c12+a1*v
		v = y[11]
		c03, c13 = c03+a0*v, c13+a1*v
		a0, a1 = x[3], z[3]
		v = y[12]
		c00, c10 = c00+a0*v, c10+a1*v
		v = y[13]
		c01, c11 = c01+a0*v, c11+a1*v
		v = y[14]
		c02, c12 = c02+a0*v, c12+a1*v
		v = y[15]
		c03, c13 = c03+a0*v, c13+a1*v
	}
	for ; p < t.k; p++ {
		a0, a1 := *(*T)(unsafe.Add(row0, p*size)), *(*T)(unsafe.Add(row1, p*size))
		y := (*[4]T)(unsafe.Add(t.b, p*4*size))
		c00, c10 = c00+a0*y[0], c10+a1*y[0]
		c01, c11 = c01+a0*y[1], c11+a1*y[1]
		c02, c12 = c02+a0*y[2], c12+a1*y[2]
		c03, c13 = c03+a0*y[3], c13+a1*y[3]
	}
	to0, to1 := (*[4]T)(t.c), (*[4]T)(unsafe.Add(t.c, t.cRow))
	if t.src != nil {
		s0, s1 := (*[4]T)(t.src), (*[4]T)(unsafe.Add(t.src, t.srcRow))
		c00, c01, c02, c03 = c00+s0[0], c01+s0[1], c02+s0[2], c03+s0[3]
		c10, c11, c12, c13 = c10+s1[0], c11+s1[1], c12+s1[2], c13+s1[3]
	}
	*to0, *to1 = [4]T{c00, c01, c02, c03}, [4]T{c10, c11, c12, c13}
}
