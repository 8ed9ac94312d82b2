package simd

import "golang.org/x/sys/cpu"

// detect asks the processor, and the system for the right to use tiles.
// What has AVX2 has F16C, too, which is not asked for by itself.
func detect() Level {
	c := &cpu.X86
	switch {
	case !c.HasAVX2 || !c.HasFMA || !c.HasBMI1 || !c.HasBMI2:
		return Portable
	case !c.HasAVX512F || !c.HasAVX512CD || !c.HasAVX512BW || !c.HasAVX512DQ || !c.HasAVX512VL:
		return AVX2
	case !c.HasAVX512BF16:
		return AVX512
	case !c.HasAMXTile || !c.HasAMXBF16 || !permitTiles():
		return AVX512BF16
	}
	return AMX
}

func sumsBytes() bool { return cpu.X86.HasAVX512VNNI }

func tilesBytes() bool { return cpu.X86.HasAMXInt8 }
