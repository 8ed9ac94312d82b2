package rows

import "unsafe"

// piece is how many elements of a row are searched before the best of them is
// compared with the best so far.
const piece = 4096

// ArgMax writes the position of the largest element of each row of n elements: the
// first of equal ones, and the first NaN where there is one. ArgMin, where least is
// set, finds the smallest in the same way.
func (f *Funcs[T]) Arg(x []T, n int, index []int64, least bool) {
	search := f.argMax
	if least {
		search = f.argMin
	}
	switch {
	case search == nil:
		for i := range index {
			index[i] = int64(best(x[i*n:(i+1)*n], least))
		}
	case n <= piece:
		blocks(len(index), n, func(lo, rows int) { search(rows, n, &x[lo*n], &index[lo]) })
	default:
		at := new(int64)
		for i := range index {
			row, found := x[i*n:(i+1)*n], 0
			chunks(n, piece, func(lo, n int) {
				search(1, n, &row[lo], at)
				if k := lo + int(*at); better(row[k], row[found], least) {
					found = k
				}
			})
			index[i] = int64(found)
		}
	}
}

// ArgColumns writes the row of the largest element of each of n columns, or of the
// smallest, as Arg does. Rows are stride elements apart.
func (f *Funcs[T]) ArgColumns(x []T, rows, n, stride int, index []int64, least bool) {
	search := f.argMaxColumns
	if least {
		search = f.argMinColumns
	}
	if search == nil || rows > 1<<30 {
		argColumns(x, rows, n, stride, index, least)
		return
	}
	var top, at [widest]T
	size := int(unsafe.Sizeof(top[0]))
	for first := 0; first < n; first += widest {
		m := min(widest, n-first)
		copy(top[:m], x[first:])
		clear(at[:m])
		chunks(rows, tall, func(r, rows int) { search(rows, m, stride*size, r, &x[first+r*stride], &top[0], &at[0]) })
		for j := range m { // the lanes hold integers as wide as T
			if p := unsafe.Pointer(&at[j]); size == 4 {
				index[first+j] = int64(*(*int32)(p))
			} else {
				index[first+j] = *(*int64)(p)
			}
		}
	}
}

// better reports whether b comes before a in a search: a NaN before every number.
func better[T Float](b, a T, least bool) bool {
	if least {
		return b < a || b != b && a == a
	}
	return b > a || b != b && a == a
}

func best[T Float](x []T, least bool) int {
	at := 0
	for i, v := range x {
		if better(v, x[at], least) {
			at = i
		}
	}
	return at
}

func argColumns[T Float](x []T, rows, n, stride int, index []int64, least bool) {
	top := append([]T(nil), x[:n]...)
	clear(index[:n])
	for r := 1; r < rows; r++ {
		for j, v := range x[r*stride : r*stride+n] {
			if better(v, top[j], least) {
				top[j], index[j] = v, int64(r)
			}
		}
	}
}
