package inflate

import "math/bits"

// A symbol is what a table answers to the next bits of a deflate stream, packed
// into one word:
//
//	bit  31     literal: the value is a byte
//	bits 16-30  value: the byte, the base of a length or distance, or where a
//	            subtable begins
//	bit  15     special: neither a literal nor a length nor a distance
//	bit  14     subtable: the code is longer than what the table covers
//	bits 8-11   bits of the code alone; of a subtable, those that it covers
//	bits 0-7    bits to consume: the code and the extra bits behind it
type symbol uint32

const (
	literal    symbol = 1 << 31
	special    symbol = 1 << 15
	subtable   symbol = 1 << 14
	valueShift        = 16
	codeShift         = 8

	// invalid is the element without a code. No code has its number of bits.
	invalid = special | 0xff
)

func (s symbol) value() uint { return uint(s&^literal) >> valueShift }

// bits is what to consume.
func (s symbol) bits() uint { return uint(s & 0xff) }

// extra is the value of the extra bits, where the code is still the next.
func (s symbol) extra(bits uint64) int {
	return int(bits & (1<<(s&63) - 1) >> (s >> codeShift & 15))
}

// sub is the position in the table of the symbol that the subtable s leads to;
// bits are those after the ones that found s.
func (s symbol) sub(bits uint64) uint {
	return uint(s>>valueShift) + uint(bits&(1<<(s>>codeShift&15)-1))
}

// The sizes of the alphabets and of their tables. A table covers that many bits
// by itself, so that nearly all symbols need one look, and has room for the
// subtables that any code can need (2342 and 402), rounded up to a power of two.
const (
	maxCode    = 15
	endOfBlock = 256
	maxLit     = 288
	litBits    = 11
	litTable   = 4096
	maxDist    = 32
	distBits   = 8
	distTable  = 1024
	maxLens    = 19
	lensBits   = 7
)

// The symbols of the three alphabets without the bits of their codes.
var (
	litSymbols  = lits()
	distSymbols = dists()
	lensSymbols = plain()
)

func lits() (symbols [maxLit]symbol) {
	for i := range 256 {
		symbols[i] = literal | symbol(i)<<valueShift
	}
	symbols[endOfBlock] = special
	// Lengths from 3: eight without extra bits, then four for each number.
	base, extra := symbol(3), symbol(0)
	for i := 257; i < 285; i++ {
		if i >= 265 && (i-265)%4 == 0 {
			extra++
		}
		symbols[i] = base<<valueShift | extra
		base += 1 << extra
	}
	symbols[285] = 258 << valueShift
	symbols[286], symbols[287] = invalid, invalid
	return symbols
}

func dists() (symbols [maxDist]symbol) {
	// Distances from 1: four without extra bits, then two for each number.
	base, extra := symbol(1), symbol(0)
	for i := range 30 {
		if i >= 4 && i%2 == 0 {
			extra++
		}
		symbols[i] = base<<valueShift | extra
		base += 1 << extra
	}
	symbols[30], symbols[31] = invalid, invalid
	return symbols
}

func plain() (symbols [maxLens]symbol) {
	for i := range symbols {
		symbols[i] = symbol(i) << valueShift
	}
	return symbols
}

// with adds a code of n bits, of which the table that it is in sees the
// last ones, to a symbol.
func (s symbol) with(n int) symbol {
	if s == invalid {
		return invalid
	}
	return s + symbol(n)<<codeShift + symbol(n)
}

// build fills a table that covers n bits with the canonical Huffman code that has
// the lengths; 0 means a symbol without code. It reports whether they make a code
// as compress/flate demands it: complete, or nothing at all, or one code of one
// bit.
func build(table []symbol, n int, lens []uint8, symbols []symbol) bool {
	var count [maxCode + 1]int
	for _, l := range lens {
		count[l]++
	}
	longest := maxCode
	for longest > 0 && count[longest] == 0 {
		longest--
	}
	count[0] = 0
	var codes, sorted [maxCode + 1]int // of each length: its first code, and where its symbols begin
	for l := 1; l <= longest; l++ {
		codes[l] = (codes[l-1] + count[l-1]) * 2
		sorted[l] = sorted[l-1] + count[l-1]
	}
	left := 1<<longest - codes[longest] - count[longest]
	if left != 0 {
		if longest > 1 || left < 0 {
			return false
		}
		for i := range table[:1<<n] {
			table[i] = invalid
		}
	}
	var order [maxLit]uint16 // symbols by code
	for s, l := range lens {
		if l != 0 {
			order[sorted[l]] = uint16(s)
			sorted[l]++
		}
	}

	free, prefix, width := 1<<n, -1, 0 // where the next subtable goes; the current one's prefix and bits
	next := 0
	for l := 1; l <= longest; l++ {
		for k := range count[l] {
			s := symbols[order[next]]
			next++
			// Streams hold a code from its highest bit on, so that tables are
			// looked at with codes turned round.
			code := int(bits.Reverse16(uint16(codes[l]+k))) >> (16 - l)
			if l <= n {
				fill(table[:1<<n], code, l, s.with(l))
				continue
			}
			if p := code & (1<<n - 1); p != prefix {
				prefix = p
				width = cover(&count, l, count[l]-k, n)
				if free+1<<width > len(table) {
					return false
				}
				table[p] = special | subtable | symbol(free)<<valueShift | symbol(width)<<codeShift
				free += 1 << width
			}
			fill(table[free-1<<width:free], code>>n, l-n, s.with(l-n))
		}
	}
	return true
}

// fill puts s wherever the lowest n bits are the code.
func fill(table []symbol, code, n int, s symbol) {
	for i := code; i < len(table); i += 1 << n {
		table[i] = s
	}
}

// cover returns how many bits a subtable behind n bits must cover, whose first
// code has l bits: as many as the longest of its codes has, of which there are
// left of that length from here on. It ends because the code is complete.
func cover(count *[maxCode + 1]int, l, left, n int) int {
	for left < 1<<(l-n) {
		l++
		left = left*2 + count[l]
	}
	return l - n
}
