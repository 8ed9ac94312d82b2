#include "textflag.h"

// func chain(pcs *uintptr, n int) int
TEXT ·chain(SB), NOSPLIT, $0-24
	MOVQ pcs+0(FP), DI
	MOVQ n+8(FP), SI
	MOVQ (TLS), R8
	MOVQ 8(R8), R9   // the end of the goroutine's stack
	SUBQ $16, R9
	XORQ CX, CX
	XORQ DX, DX
	MOVQ BP, AX
loop:
	CMPQ CX, SI
	JGE  done
	CMPQ AX, DX      // frames lie one above the other
	JLS  done
	CMPQ AX, R9
	JHI  done
	MOVQ 8(AX), R10
	MOVQ R10, (DI)(CX*8)
	INCQ CX
	MOVQ AX, DX
	MOVQ (AX), AX
	JMP  loop
done:
	MOVQ CX, ret+16(FP)
	RET
