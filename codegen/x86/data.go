package x86

import (
	"encoding/binary"
	"fmt"
	"sort"
	"strconv"
	"strings"
)

func itoa(n int) string { return strconv.Itoa(n) }

// A constant is what all lanes hold, or a whole register's bytes.
type constant struct {
	size int // of the repeated element; 0: data is it all
	bits uint64
	data string
}

func splat(size int, bits uint64) constant {
	for size > 1 { // the smallest element makes equal constants of equal bytes
		half := size / 2
		mask := uint64(1)<<(8*half) - 1
		if bits>>(8*half)&mask != bits&mask {
			break
		}
		size, bits = half, bits&mask
	}
	return constant{size: size, bits: bits}
}

func (c constant) isZero() bool { return c.size == 1 && c.bits == 0 }
func (c constant) isOnes() bool { return c.size == 1 && c.bits == 0xff }

// complement has the opposite bits of a repeated element.
func (c constant) complement() constant {
	return splat(c.size, ^c.bits&(^uint64(0)>>(64-8*c.size)))
}

// repeat is n bytes of the constant.
func (c constant) repeat(n int) string {
	data := c.data
	if c.size > 0 {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], c.bits)
		data = string(b[:c.size])
	}
	return strings.Repeat(data, (n+len(data)-1)/len(data))[:n]
}

// symbol of a file's data.
const poolName = "lanes<>"

// layout returns the declaration of the functions' data, larger first, and where in it
// each is. Data has 4, 8, 16, 32 or 64 bytes.
func layout(funcs []*Func) (text string, at map[string]int) {
	at = map[string]int{}
	for _, f := range funcs {
		f.Body.Data(func(data string) { at[data] = 0 })
	}
	all := make([]string, 0, len(at))
	for d := range at {
		all = append(all, d)
	}
	sort.Slice(all, func(i, j int) bool {
		if len(all[i]) != len(all[j]) {
			return len(all[i]) > len(all[j])
		}
		return all[i] < all[j]
	})
	placed := ""
	for _, d := range all {
		i := strings.Index(placed, d)
		for i >= 0 && i%len(d) != 0 {
			next := strings.Index(placed[i+1:], d)
			if next < 0 {
				i = -1
				break
			}
			i += 1 + next
		}
		if i < 0 {
			i = len(placed)
			placed += d
		}
		at[d] = i
	}
	if placed == "" {
		return "", at
	}
	placed += strings.Repeat("\x00", -len(placed)&7)
	var b strings.Builder
	for i := 0; i < len(placed); i += 8 {
		fmt.Fprintf(&b, "DATA %s+%d(SB)/8, $0x%016x\n", poolName, i, binary.LittleEndian.Uint64([]byte(placed[i:i+8])))
	}
	fmt.Fprintf(&b, "GLOBL %s(SB), RODATA|NOPTR, $%d\n", poolName, len(placed))
	return b.String(), at
}
