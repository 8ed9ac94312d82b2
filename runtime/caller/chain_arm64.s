#include "textflag.h"

// func chain(pcs *uintptr, n int) int
TEXT ·chain(SB), NOSPLIT, $0-24
	MOVD pcs+0(FP), R0
	MOVD n+8(FP), R1
	MOVD 8(g), R2    // the end of the goroutine's stack
	SUB  $16, R2
	MOVD $0, R3
	MOVD $0, R5
	MOVD R29, R4
loop:
	CMP  R1, R3
	BGE  done
	CMP  R5, R4      // frames lie one above the other
	BLS  done
	CMP  R2, R4
	BHI  done
	MOVD 8(R4), R6
	MOVD R6, (R0)(R3<<3)
	ADD  $1, R3
	MOVD R4, R5
	MOVD (R4), R4
	B    loop
done:
	MOVD R3, ret+16(FP)
	RET
