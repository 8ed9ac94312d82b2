package gemm

// runTile runs the kernel of a family for a class of tiles and a number of rows.
func runTile[T Number](f family, class, rows int, t *tile) {
	switch f {
	case f32AVX2:
		runF32AVX2(class, rows, t)
	case f64AVX2:
		runF64AVX2(class, rows, t)
	case f32AVX512:
		runF32AVX512(class, rows, t)
	case f64AVX512:
		runF64AVX512(class, rows, t)
	case i32AVX2:
		runI32AVX2(class, rows, t)
	case i64AVX2:
		runI64AVX2(class, rows, t)
	case i32AVX512:
		runI32AVX512(class, rows, t)
	case i64AVX512:
		runI64AVX512(class, rows, t)
	case i8AVX2:
		runI8AVX2(class, rows, t)
	case i8AVX512VNNI:
		runI8AVX512VNNI(class, rows, t)
	default:
		plainTile[T](class, rows, t)
	}
}

// runDots runs the kernel of a family for sums of products.
func runDots(f family, rows, columns int, t *thin) {
	switch f {
	case f32AVX2:
		dotsF32AVX2(rows, columns, t)
	case f64AVX2:
		dotsF64AVX2(rows, columns, t)
	case f32AVX512:
		dotsF32AVX512(rows, columns, t)
	case f64AVX512:
		dotsF64AVX512(rows, columns, t)
	}
}

// runUpdates runs the kernel of a family that adds rows.
func runUpdates(f family, rows, depth int, t *thin) {
	switch f {
	case f32AVX2:
		updatesF32AVX2(rows, depth, t)
	case f64AVX2:
		updatesF64AVX2(rows, depth, t)
	case f32AVX512:
		updatesF32AVX512(rows, depth, t)
	case f64AVX512:
		updatesF64AVX512(rows, depth, t)
	}
}
