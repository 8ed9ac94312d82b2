// Package conv writes the vector functions that convolutions and poolings are made
// of: copies of images, sums over the places of windows where they lie, and the
// largest elements. It knows nothing of shapes; package backend/cpu/conv calls them.
//
// Vectors that end in a run are written whole: what lies behind it is overwritten
// by the next one, so runs come in the order of memory.
package conv

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/sinter-go/sinter/gen/simd/asm"
	"github.com/sinter-go/sinter/gen/simd/wide"
)

// Files returns the functions as assembly.
func Files(by string) ([]asm.File, error) {
	var files []asm.File
	for _, part := range []struct {
		name  string
		write func(*build.Context)
	}{{"moves", moves}, {"sums", sums}, {"tiles", allTiles}, {"winograd", winograd}, {"pools", pools}} {
		unit := asm.Unit{Dir: "backend/cpu/conv", Pkg: "conv", Name: part.name, By: by}
		two, err := unit.Build(part.write)
		if err != nil {
			return nil, err
		}
		files = append(files, two...)
	}
	return files, nil
}

func moves(ctx *build.Context) {
	wide.Masks(ctx)
	fill(&wide.Kit{C: ctx})
	for _, k := range []*wide.Kit{{C: ctx}, {C: ctx, Double: true}} {
		split(k)
		merge(k)
	}
}

func sums(ctx *build.Context) {
	wide.Each(ctx, func(k *wide.Kit) {
		for rows := 1; rows <= Rows; rows++ {
			taps(k, rows)
		}
		for _, blocks := range []int{4, 9} {
			dots(k, false, blocks)
			dots(k, true, blocks)
		}
	})
	wide.Masks(ctx)
}

func allTiles(ctx *build.Context) {
	wide.Each(ctx, func(k *wide.Kit) {
		for vectors := 1; vectors <= 2; vectors++ {
			for rows := 1; rows <= MostRows(k.AVX512); rows++ {
				tiles(k, rows, vectors, false)
			}
			for half := 1; half <= MostPaired(k.AVX512, vectors); half++ {
				tiles(k, 2*half, vectors, true)
			}
		}
	})
	ask(&wide.Kit{C: ctx})
}

func pools(ctx *build.Context) {
	for _, k := range []*wide.Kit{{C: ctx}, {C: ctx, Double: true}} {
		maxima(k)
		quads(k)
	}
	wide.Masks(ctx)
	evenNumbers(ctx)
	wide.Each(ctx, divide)
	wide.Each(ctx, add)
}

// function begins a function that does not keep its pointers.
func function(k *wide.Kit, name, signature string, doc ...string) {
	k.C.Function(name)
	k.C.Pragma("noescape")
	k.C.Attributes(attr.NOSPLIT)
	k.C.SignatureExpr(signature)
	k.C.Doc(doc...)
}

// at returns memory behind a base, at an index where there is one.
func at(base reg.Register, index reg.Register) operand.Mem {
	if index == nil {
		return operand.Mem{Base: base}
	}
	return operand.Mem{Base: base, Index: index, Scale: 1}
}

// fill copies rows of planes; the vector that a row ends in is filled up with zeros.
func fill(k *wide.Kit) {
	const name = "fillAVX2"
	function(k, name, "func(dst *byte, toPlane int, to int, src *byte, fromPlane int, from int, planes int, rows int, n int)",
		name+" copies planes of rows of n words of 4 bytes. Planes are toPlane and fromPlane bytes apart, rows",
		"to and from. What is left of a row's last vector becomes zero in dst. planes and rows are at least 1.")
	dst, to, src, from, n := k.Arg("dst"), k.Arg("to"), k.Arg("src"), k.Arg("from"), k.Arg("n")
	planes := k.Arg("planes")
	words := uint64(k.Bytes() / 4)
	last := k.C.GP64()
	k.C.MOVQ(n, last)
	k.C.ANDQ(operand.Imm(words-1), last)
	full := k.C.GP64()
	k.C.MOVQ(n, full)
	k.C.SUBQ(last, full)
	k.C.SHLQ(operand.Imm(2), full) // bytes in whole vectors
	rest := k.C.GP64()
	k.C.MOVQ(last, rest)
	tail := k.Tail(last)
	i, v := k.C.GP64(), k.Vec()
	k.C.Label("plane")
	rowTo, rowFrom, rows := k.C.GP64(), k.C.GP64(), k.Arg("rows")
	k.C.MOVQ(dst, rowTo)
	k.C.MOVQ(src, rowFrom)
	k.C.Label("row")
	k.C.XORQ(i, i)
	k.C.CMPQ(i, full)
	k.C.JE(operand.LabelRef("end"))
	k.C.Label("vector")
	k.Move(at(rowFrom, i), v)
	k.Move(v, at(rowTo, i))
	k.C.ADDQ(operand.Imm(uint64(k.Bytes())), i)
	k.C.CMPQ(i, full)
	k.C.JNE(operand.LabelRef("vector"))
	k.C.Label("end")
	k.C.TESTQ(rest, rest)
	k.C.JE(operand.LabelRef("next"))
	tail.Load(at(rowFrom, i), v)
	k.Move(v, at(rowTo, i))
	k.C.Label("next")
	k.C.ADDQ(to, rowTo)
	k.C.ADDQ(from, rowFrom)
	k.C.DECQ(rows)
	k.C.JNE(operand.LabelRef("row"))
	distance := k.Arg("toPlane")
	k.C.ADDQ(distance, dst)
	distance = k.Arg("fromPlane")
	k.C.ADDQ(distance, src)
	k.C.DECQ(planes)
	k.C.JNE(operand.LabelRef("plane"))
	k.End()
}

// split takes pairs of elements apart. 256 bits serve AVX-512, too; rows that do not
// fill two such vectors are taken by 128.
func split(k *wide.Kit) {
	name := "split" + k.Suffix()
	function(k, name, "func(even *byte, odd *byte, to int, src *byte, from int, rows int, n int)",
		name+" copies the elements at even places of rows of src, n in each, to rows of even, and the others",
		"to odd, before those. Rows are to and from bytes apart. n is even and at least those of 32 bytes.")
	even, odd, to, src := k.Arg("even"), k.Arg("odd"), k.Arg("to"), k.Arg("src")
	from, rows, last := k.Arg("from"), k.Arg("rows"), k.Arg("n")
	k.C.SHRQ(operand.Imm(1), last) // pairs
	for _, half := range []bool{false, true} {
		lanes, suffix := k.Lanes(), ""
		if half {
			lanes, suffix = lanes/2, "half"
		}
		if !half {
			k.C.CMPQ(last, operand.Imm(uint64(lanes)))
			k.C.JLT(operand.LabelRef("narrow"))
		} else {
			k.C.Label("narrow")
		}
		k.C.SUBQ(operand.Imm(uint64(lanes)), last) // where a row's last vectors start
		k.C.Label("row" + suffix)
		i := k.C.GP64()
		k.C.XORQ(i, i)
		k.C.Label("vectors" + suffix)
		pairs(k, half, even, odd, src, i)
		k.C.CMPQ(i, last)
		k.C.JE(operand.LabelRef("next" + suffix))
		k.C.ADDQ(operand.Imm(uint64(lanes)), i)
		k.C.CMPQ(i, last)
		k.C.CMOVQGT(last, i)
		k.C.JMP(operand.LabelRef("vectors" + suffix))
		k.C.Label("next" + suffix)
		for _, p := range []reg.Register{even, odd} {
			k.C.ADDQ(to, p)
		}
		k.C.ADDQ(from, src)
		k.C.DECQ(rows)
		k.C.JNE(operand.LabelRef("row" + suffix))
		k.End()
	}
}

// pairs takes apart the pairs from the i-th on that two vectors have, or half as
// many.
func pairs(k *wide.Kit, half bool, even, odd, src, i reg.Register) {
	elem, bytes := uint8(k.Elem()), 32
	a, b, e, o := k.Vec(), k.Vec(), k.Vec(), k.Vec()
	if half {
		bytes, a, b, e, o = 16, k.C.XMM(), k.C.XMM(), k.C.XMM(), k.C.XMM()
	}
	at := k.C.GP64()
	k.C.LEAQ(operand.Mem{Base: src, Index: i, Scale: elem}, at)
	k.C.VMOVUPS(operand.Mem{Base: at, Index: i, Scale: elem}, a)
	k.C.VMOVUPS(operand.Mem{Base: at, Index: i, Scale: elem, Disp: bytes}, b)
	if k.Double {
		k.C.VUNPCKLPD(b, a, e)
		k.C.VUNPCKHPD(b, a, o)
	} else {
		k.C.VSHUFPS(operand.Imm(0x88), b, a, e)
		k.C.VSHUFPS(operand.Imm(0xdd), b, a, o)
	}
	if !half {
		k.C.VPERMPD(operand.Imm(0xd8), e, e)
		k.C.VPERMPD(operand.Imm(0xd8), o, o)
	}
	k.C.VMOVUPS(o, operand.Mem{Base: odd, Index: i, Scale: elem})
	k.C.VMOVUPS(e, operand.Mem{Base: even, Index: i, Scale: elem})
}

// merge is the reverse of split.
func merge(k *wide.Kit) {
	name := "merge" + k.Suffix()
	function(k, name, "func(dst *byte, even *byte, odd *byte, n int)",
		name+" copies n elements of even and n of odd in turns to dst; n is at least",
		fmt.Sprintf("%d.", k.Lanes()))
	dst, even, odd, n := k.Arg("dst"), k.Arg("even"), k.Arg("odd"), k.Arg("n")
	i, e, o, a, b := k.C.GP64(), k.Vec(), k.Vec(), k.Vec(), k.Vec()
	k.C.XORQ(i, i)
	k.C.SUBQ(operand.Imm(uint64(k.Lanes())), n) // where the last vectors start
	k.C.Label("vectors")
	elem := uint8(k.Elem())
	k.C.VMOVUPS(operand.Mem{Base: even, Index: i, Scale: elem}, e)
	k.C.VMOVUPS(operand.Mem{Base: odd, Index: i, Scale: elem}, o)
	k.C.VPERMPD(operand.Imm(0xd8), e, e)
	k.C.VPERMPD(operand.Imm(0xd8), o, o)
	if k.Double {
		k.C.VUNPCKLPD(o, e, a)
		k.C.VUNPCKHPD(o, e, b)
	} else {
		k.C.VUNPCKLPS(o, e, a)
		k.C.VUNPCKHPS(o, e, b)
	}
	to := k.C.GP64()
	k.C.LEAQ(operand.Mem{Base: dst, Index: i, Scale: elem}, to)
	k.C.VMOVUPS(a, operand.Mem{Base: to, Index: i, Scale: elem})
	k.C.VMOVUPS(b, operand.Mem{Base: to, Index: i, Scale: elem, Disp: 32})
	k.C.CMPQ(i, n)
	k.C.JE(operand.LabelRef("done"))
	k.C.ADDQ(operand.Imm(uint64(k.Lanes())), i)
	k.C.CMPQ(i, n)
	k.C.CMOVQGT(n, i)
	k.C.JMP(operand.LabelRef("vectors"))
	k.C.Label("done")
	k.End()
}

// Rows is how many rows taps has functions for.
const Rows = 6

// Blocks returns how many vectors taps computes at once of each row, so that sums,
// the elements they are made of and a weight fit the registers.
func Blocks(avx512 bool, rows int) int {
	if avx512 {
		return 4
	}
	return [Rows + 1]int{0, 4, 4, 3, 3, 2, 2}[rows]
}

// taps sums weighted places of windows.
func taps(k *wide.Kit, rows int) {
	name, blocks := fmt.Sprintf("taps%d%s", rows, k.Suffix()), Blocks(k.AVX512, rows)
	function(k, name, "func(dst *byte, pitch int, src *byte, pieces *int, count int, offsets *int, n int, weights *byte, stride int)",
		fmt.Sprintf("%s sets count vectors of %d rows of dst, which are pitch bytes apart, to sums over n places: of", name, rows),
		"src at a place's offset, times the row's weight of the place; rows of weights are stride bytes",
		"apart. pieces has two numbers for each vector, in bytes: where it lies in src and in a row of dst.",
		fmt.Sprintf("count is a multiple of %d, but not 0, and n at least 1.", blocks))
	src, pieces, count := k.Arg("src"), k.Arg("pieces"), k.Arg("count")
	from, x := make([]reg.GPVirtual, blocks), k.Vecs(blocks)
	sums := make([][]reg.VecVirtual, rows)
	k.C.Label("block")
	for b := range blocks {
		from[b] = k.C.GP64()
		k.C.MOVQ(operand.Mem{Base: pieces, Disp: 16 * b}, from[b])
		k.C.ADDQ(src, from[b])
	}
	for r := range sums {
		sums[r] = k.Vecs(blocks)
		for _, v := range sums[r] {
			k.Zero(v)
		}
	}
	next, left, p, w := k.Arg("offsets"), k.Arg("n"), k.C.GP64(), k.Vec()
	weights, stride := []reg.GPVirtual{k.Arg("weights")}, k.Arg("stride")
	if rows > 3 {
		weights = append(weights, k.C.GP64())
		k.C.LEAQ(operand.Mem{Base: weights[0], Index: stride, Scale: 2}, weights[1])
		k.C.ADDQ(stride, weights[1])
	}
	k.C.Label("place")
	k.C.MOVQ(operand.Mem{Base: next}, p)
	elements := make([]operand.Op, blocks)
	for b := range blocks {
		elements[b] = at(from[b], p)
		if rows > 1 {
			k.Move(elements[b], x[b])
			elements[b] = x[b]
		}
	}
	for r := range rows {
		m := operand.Mem{Base: weights[r/3]}
		if r%3 > 0 {
			m.Index, m.Scale = stride, uint8(r%3)
		}
		k.Broadcast(m, w)
		for b := range blocks {
			k.FMA(elements[b], w, sums[r][b])
		}
	}
	k.C.ADDQ(operand.Imm(8), next)
	for _, r := range weights {
		k.C.ADDQ(operand.Imm(uint64(k.Elem())), r)
	}
	k.C.DECQ(left)
	k.C.JNE(operand.LabelRef("place"))
	storeRows(k, sums, pieces, p)
	k.C.ADDQ(operand.Imm(uint64(16*blocks)), pieces)
	k.C.SUBQ(operand.Imm(uint64(blocks)), count)
	k.C.JNE(operand.LabelRef("block"))
	k.End()
}

// storeRows stores a block of sums of each row where pieces say. It spoils p.
func storeRows(k *wide.Kit, sums [][]reg.VecVirtual, pieces, p reg.GPVirtual) {
	to, pitch := k.Arg("dst"), k.Arg("pitch")
	for r, row := range sums {
		for b, v := range row {
			k.C.MOVQ(operand.Mem{Base: pieces, Disp: 16*b + 8}, p)
			k.Move(v, at(to, p))
		}
		if r+1 < len(sums) {
			k.C.ADDQ(pitch, to)
		}
	}
}

// dots sums products of vectors at several offsets; masked reads only the first
// elements of both.
func dots(k *wide.Kit, masked bool, blocks int) {
	name, which := fmt.Sprintf("dots%d%s", blocks, k.Suffix()), "vectors"
	if masked {
		name, which = fmt.Sprintf("ends%d%s", blocks, k.Suffix()), "the first n elements of vectors"
	}
	function(k, name, "func(sums *byte, a *byte, src *byte, pieces *int, count int, offsets *int, n int)",
		fmt.Sprintf("%s adds to %d vectors of sums, one for each of as many offsets: the products of", name, blocks),
		which+" of a with those of src at the offset. pieces has two numbers for each of count",
		"vectors, in bytes: where it lies in src and in a. count is at least 1.")
	a, src, pieces, offsets := k.Arg("a"), k.Arg("src"), k.Arg("pieces"), k.Arg("offsets")
	var tail wide.Tail
	if masked {
		tail = k.Tail(k.Arg("n"))
	}
	sums, to := k.Vecs(blocks), k.Arg("sums")
	for b := range sums {
		k.Move(operand.Mem{Base: to, Disp: b * k.Bytes()}, sums[b])
	}
	count, v, x, p, from := k.Arg("count"), k.Vec(), k.Vec(), k.C.GP64(), k.C.GP64()
	k.C.Label("piece")
	k.C.MOVQ(operand.Mem{Base: pieces, Disp: 8}, p)
	if masked {
		tail.Load(at(a, p), v)
	} else {
		k.Move(at(a, p), v)
	}
	k.C.MOVQ(operand.Mem{Base: pieces}, from)
	k.C.ADDQ(src, from)
	for b := range sums {
		k.C.MOVQ(operand.Mem{Base: offsets, Disp: 8 * b}, p)
		if masked {
			tail.Load(at(from, p), x)
			k.FMA(x, v, sums[b])
		} else {
			k.FMA(at(from, p), v, sums[b])
		}
	}
	k.C.ADDQ(operand.Imm(16), pieces)
	k.C.DECQ(count)
	k.C.JNE(operand.LabelRef("piece"))
	to = k.Arg("sums")
	for b := range sums {
		k.Move(sums[b], operand.Mem{Base: to, Disp: b * k.Bytes()})
	}
	k.End()
}
