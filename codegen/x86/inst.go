package x86

// A vreg is a virtual register: written by one instruction, or by none if it has a
// home. 0 is none.
type vreg int

// home says where a virtual register's value lies in memory for as long as the
// code runs, so that it can be loaded at any time, and need not be stored.
type home uint8

const (
	noHome     home = iota
	homeConst       // the constant
	homeArray       // element index of an array
	homeScalar      // a scalar, to be broadcast
	homeIndex       // the lane's linear index, computed from the loop's
)

// vdef describes a virtual register.
type vdef struct {
	mask  bool // in an opmask register
	bytes int  // of the value; its register may be larger
	home  home
	at    int      // homeArray, homeScalar: which
	size  int      // homeArray, homeScalar: bytes of an element
	skip  int      // homeArray, homeIndex: elements beyond the loop's index
	value constant // homeConst
	fixed int      // register that holds it at entry, plus one; or 0
}

// form is how the allocator treats an instruction.
type form uint8

const (
	plain   form = iota
	fma          // src a, b, c of ±a*b±c in the order that suits the registers
	call         // of a subroutine: arguments and result in the first registers
	store        // src[0] into array at
	ternary      // logic of three values by the table imm, one of them destroyed
	merge        // src[0] where the mask src[1] is false, else the operation on the rest
	replace      // the operation on all, in src[0]'s place
	element      // the first lane of src[0] into place at of the scalars
)

// An inst is one instruction over virtual registers, operands in Intel's order.
type inst struct {
	form  form
	op    string
	dst   vreg
	src   []vreg
	imm   int // -1: none
	width int // bytes of the registers' names; 0: each by its value
	mem   bool
	exact bool // the memory operand may have less than 16 bytes
	bcst  int  // element size of a broadcast memory operand; 0: there is none
	comm  bool // the last two sources commute
	tied  bool // dst is src[0]'s register
	zero  bool // zeros where the mask src[0] is false
	early bool // dst is no source's register
	at    int  // store: the array, of elements of size, skip beyond the loop's index; element: the scalar
	size  int
	skip  int
}

// kind of an operand of a finished instruction.
type kind uint8

const (
	inVec kind = iota
	inMask
	inConst
	inArray
	inSlot
	inText
)

// An operand is where an operand of a finished instruction is.
type operand struct {
	kind  kind
	n     int // register; array; offset in the frame
	bytes int // inVec: of the name; inArray: of an element
	skip  int // inArray: elements beyond the loop's index
	text  string
}

// A code is a finished instruction: operands in Intel's order, or text alone.
type code struct {
	op  string
	ops []operand
}

// names of registers by size.
func regName(n, bytes int) string {
	prefix := "Z"
	switch {
	case bytes <= 16:
		prefix = "X"
	case bytes == 32:
		prefix = "Y"
	}
	return prefix + itoa(n)
}
