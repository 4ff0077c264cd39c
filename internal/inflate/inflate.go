package inflate

import (
	"encoding/binary"
	"io"
)

// Error says why a stream is left to compress/flate. It is no claim that the
// stream is bad.
type Error string

func (e Error) Error() string { return "deflate: " + string(e) }

// Input is a stream that can be looked into before it is taken.
type Input interface {
	// Peek returns what comes next, n bytes at least and as many more as are there
	// anyway. They stay as they are until something else is done with the input.
	// n is at most margin.
	Peek(n int) ([]byte, error)
	// Discard takes n of those bytes.
	Discard(n int)
}

// Reader decompresses streams. Its zero value is ready; it takes some 150 kB,
// so that anyone who reads many streams keeps it.
type Reader struct {
	input Input
	in    []byte // what Peek has returned
	next  int    // in[next:] is not yet taken
	bits  uint64 // read ahead from in, the next bit lowest
	nbits uint   // how many of them count
	lit   [litTable]symbol
	dist  [distTable]symbol
	lens  [maxLit + maxDist]uint8
	// out is what the stream unpacked to: the last window bytes, and those since
	// the last flush, which begin at fresh and end at end.
	out        [outSize + 2*stride]byte
	fresh, end int
}

const (
	// window is how far back a match may reach.
	window = 32 << 10
	// turnMargin is what a turn of the inner loop may look at: twice it takes up to
	// 7 bytes by looking at 8. Before the first turn this happens again.
	turnMargin = 7 + 8
	margin     = 7 + turnMargin

	// stride is how many bytes of a match are copied at once.
	stride = 16
	// outSize is a power of two so that an index can be masked. Behind it is what the
	// last steps of a match write too much.
	outSize = 128 << 10
	// lastEnd is up to where a turn of the inner loop may begin: it writes two
	// literals and the longest match, or three literals.
	lastEnd = outSize - (2 + 258)
)

// Inflate reads one stream, leaves the input after its last byte, and writes its
// content to w. It needs margin bytes and some after the stream; an archive has
// more there. Its errors are of type Error, and those of the input and w. After
// an error the position of the input is unknown.
func (z *Reader) Inflate(w io.Writer, input Input) error {
	z.input, z.in, z.next, z.bits, z.nbits, z.fresh, z.end = input, nil, 0, 0, 0, 0, 0
	defer func() { z.input, z.in = nil, nil }() // they are the caller's
	for {
		if err := z.refill(); err != nil {
			return err
		}
		final, kind := z.take(1), z.take(2)
		if err := z.block(w, kind); err != nil {
			return err
		}
		if final == 1 {
			z.unread()
			z.input.Discard(z.next)
			return z.flush(w)
		}
	}
}

// ensure looks n bytes ahead at least.
func (z *Reader) ensure(n int) error {
	if len(z.in)-z.next >= n {
		return nil
	}
	z.input.Discard(z.next)
	z.next = 0
	var err error
	z.in, err = z.input.Peek(n)
	return err
}

func (z *Reader) block(w io.Writer, kind uint) error {
	switch kind {
	case 0:
		return z.stored(w)
	case 1:
		z.fixed()
		return z.compressed(w)
	case 2:
		if err := z.dynamic(); err != nil {
			return err
		}
		return z.compressed(w)
	}
	return Error("block type")
}

// refill provides at least 56 bits. It may be repeated: the bits that it puts
// above those that count are the ones that come there anyway.
func (z *Reader) refill() error {
	if len(z.in)-z.next < 8 {
		z.unread()
		if err := z.ensure(8); err != nil {
			return err
		}
	}
	z.bits |= binary.LittleEndian.Uint64(z.in[z.next:]) << z.nbits
	z.next += int((63 - z.nbits) / 8)
	z.nbits |= 56
	return nil
}

// take consumes n bits, which refill has provided.
func (z *Reader) take(n uint) uint {
	v := uint(z.bits) & (1<<n - 1)
	z.bits >>= n
	z.nbits -= n
	return v
}

// unread gives whole bytes back to the input, before that moves or is left.
func (z *Reader) unread() {
	z.next -= int(z.nbits / 8)
	z.nbits %= 8
	z.bits &= 1<<z.nbits - 1
}

// flush writes what is fresh, and keeps the window.
func (z *Reader) flush(w io.Writer) error {
	_, err := w.Write(z.out[z.fresh:z.end])
	if z.end > window {
		copy(z.out[:window], z.out[z.end-window:z.end])
		z.end = window
	}
	z.fresh = z.end
	return err
}

// room makes that out takes what a turn of the inner loop writes.
func (z *Reader) room(w io.Writer) error {
	if z.end < lastEnd {
		return nil
	}
	return z.flush(w)
}

func (z *Reader) stored(w io.Writer) error {
	z.unread()
	z.bits, z.nbits = 0, 0
	if err := z.ensure(4); err != nil {
		return err
	}
	header := z.in[z.next:]
	z.next += 4
	size := binary.LittleEndian.Uint16(header)
	if size != ^binary.LittleEndian.Uint16(header[2:]) {
		return Error("size of a stored block")
	}
	for left := int(size); left > 0; {
		if err := z.room(w); err != nil {
			return err
		}
		if err := z.ensure(1); err != nil {
			return err
		}
		n := copy(z.out[z.end:min(z.end+left, len(z.out))], z.in[z.next:])
		z.next, z.end, left = z.next+n, z.end+n, left-n
	}
	return nil
}

func (z *Reader) fixed() {
	lit := z.lens[:maxLit]
	for i := range lit {
		switch {
		case i < 144:
			lit[i] = 8
		case i < 256:
			lit[i] = 9
		case i < 280:
			lit[i] = 7
		default:
			lit[i] = 8
		}
	}
	dist := z.lens[maxLit:]
	for i := range dist {
		dist[i] = 5
	}
	build(z.lit[:], litBits, lit, litSymbols[:])
	build(z.dist[:], distBits, dist, distSymbols[:])
}

// lensOrder is the order in which a dynamic block states the lengths of the
// codes for lengths.
var lensOrder = [maxLens]int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// dynamic reads the codes of a block.
func (z *Reader) dynamic() error {
	if err := z.refill(); err != nil {
		return err
	}
	nlit, ndist, n := z.take(5)+257, z.take(5)+1, z.take(4)+4
	if nlit > 286 || ndist > 30 {
		return Error("number of codes")
	}
	var lens [maxLens]uint8
	for _, i := range lensOrder[:n] {
		if err := z.refill(); err != nil {
			return err
		}
		lens[i] = uint8(z.take(3))
	}
	var table [1 << lensBits]symbol
	if !build(table[:], lensBits, lens[:], lensSymbols[:]) {
		return Error("codes for lengths")
	}
	if err := z.lengths(&table, z.lens[:nlit+ndist]); err != nil {
		return err
	}
	lit, dist := z.lens[:nlit], z.lens[nlit:nlit+ndist]
	if lit[endOfBlock] == 0 || !build(z.lit[:], litBits, lit, litSymbols[:]) || !build(z.dist[:], distBits, dist, distSymbols[:]) {
		return Error("codes")
	}
	return nil
}

// lengths reads the lengths of codes, which are themselves compressed.
func (z *Reader) lengths(table *[1 << lensBits]symbol, lens []uint8) error {
	for i := 0; i < len(lens); {
		if err := z.refill(); err != nil {
			return err
		}
		s := table[z.bits&(1<<lensBits-1)]
		if s&special != 0 {
			return Error("code for a length")
		}
		z.take(s.bits())
		length, times := uint8(s.value()), 1
		switch s.value() {
		case 16:
			if i == 0 {
				return Error("nothing to repeat")
			}
			length, times = lens[i-1], 3+int(z.take(2))
		case 17:
			length, times = 0, 3+int(z.take(3))
		case 18:
			length, times = 0, 11+int(z.take(7))
		}
		if times > len(lens)-i {
			return Error("too many lengths")
		}
		for range times {
			lens[i] = length
			i++
		}
	}
	return nil
}

// compressed reads the symbols of a block up to its end.
func (z *Reader) compressed(w io.Writer) error {
	for {
		if len(z.in)-z.next < margin {
			z.unread()
			if err := z.ensure(margin); err != nil {
				return err
			}
		}
		if err := z.room(w); err != nil {
			return err
		}
		switch done, err := z.run(); {
		case err != nil:
			return err
		case done:
			return nil
		}
	}
}

// run is the inner loop: it reads symbols until the block is done, or there is
// too little input or room for another turn.
//
// What a turn consumes, of the 56 bits at least that it begins with: three literals
// of at most 11 bits each; or two and a length of at most 15+5, and then, refilled,
// a distance of at most 15+13. All leave the 11 bits that find the next symbol.
// That is looked up before the refill and before a match is copied, so that the
// processor does neither while it waits for the other.
//
// The loop keeps its state in variables, because the compiler then holds all of it
// in registers, and is written so that it finds no index that could be out of
// range: in becomes shorter instead of being indexed, and end is below lastEnd. Where
// it does not see that, masks say so; they change nothing. Of nbits, only the lowest
// 6 bits count here. Shifts are by n&63, which costs nothing, since the compiler
// then need not care about longer ones.
func (z *Reader) run() (done bool, err error) {
	in := z.in[z.next:len(z.in):len(z.in)]
	end, bits, nbits := z.end, z.bits, z.nbits

	bits, nbits, in = refilled(bits, nbits, in)
	s := z.lit[bits&(1<<litBits-1)]
	for len(in) >= turnMargin && uint(end) < lastEnd {
		if s&literal != 0 {
			z.out[end] = byte(s >> valueShift)
			end++
			bits >>= s & 63
			nbits -= uint(s)
			s = z.lit[bits&(1<<litBits-1)]
			if s&literal != 0 {
				z.out[end] = byte(s >> valueShift)
				end++
				bits >>= s & 63
				nbits -= uint(s)
				s = z.lit[bits&(1<<litBits-1)]
				if s&literal != 0 {
					z.out[end] = byte(s >> valueShift)
					end++
					bits >>= s & 63
					nbits -= uint(s)
					s = z.lit[bits&(1<<litBits-1)]
					bits, nbits, in = refilled(bits, nbits, in)
					continue
				}
			}
		}
		if s&special != 0 {
			if s&subtable != 0 {
				bits >>= litBits
				nbits -= litBits
				s = z.lit[s.sub(bits)%litTable]
			}
			if s&literal != 0 {
				z.out[end&(outSize-1)] = byte(s >> valueShift)
				end++
				bits >>= s & 63
				nbits -= uint(s)
				s = z.lit[bits&(1<<litBits-1)]
				bits, nbits, in = refilled(bits, nbits, in)
				continue
			}
			if s&special != 0 {
				if s == invalid {
					return false, Error("symbol")
				}
				z.next, z.end, z.bits, z.nbits = len(z.in)-len(in), end, bits>>(s&63), nbits&63-s.bits()
				return true, nil
			}
		}
		length := int(s>>valueShift) + s.extra(bits)
		bits >>= s & 63
		nbits -= uint(s)

		s = z.dist[bits&(1<<distBits-1)]
		bits, nbits, in = refilled(bits, nbits, in)
		if s&special != 0 {
			if s&subtable != 0 {
				bits >>= distBits
				nbits -= distBits
				s = z.dist[s.sub(bits)%distTable]
			}
			if s&special != 0 {
				return false, Error("distance")
			}
		}
		dist := int(s>>valueShift) + s.extra(bits)
		bits >>= s & 63
		nbits -= uint(s)

		s = z.lit[bits&(1<<litBits-1)]
		bits, nbits, in = refilled(bits, nbits, in)

		to, from := end&(outSize-1), end-dist
		if uint(from) >= outSize {
			return false, Error("distance beyond the beginning")
		}
		end += length
		if dist < stride {
			z.repeat(to, dist, length)
			continue
		}
		// Most matches are not longer than two steps, so these are always copied.
		// The bytes after the match are overwritten later.
		copyStride(z.out[to:], z.out[from:])
		copyStride(z.out[to+stride:], z.out[from+stride:])
		for ; length > 2*stride; length -= stride {
			to, from = (to+stride)&(outSize-1), (from+stride)&(outSize-1)
			copyStride(z.out[to+stride:], z.out[from+stride:])
		}
	}
	z.next, z.end, z.bits, z.nbits = len(z.in)-len(in), end, bits, nbits&63
	return false, nil
}

// refilled is refill for the variables of run.
func refilled(bits uint64, nbits uint, in []byte) (uint64, uint, []byte) {
	bits |= binary.LittleEndian.Uint64(in) << (nbits & 63)
	return bits, nbits | 56, in[^nbits>>3&7 : len(in) : len(in)] // (63-nbits)/8
}

// repeat copies a match from so near that a stride would read what it has yet to
// write: each stride doubles what can be copied at once.
func (z *Reader) repeat(to, dist, length int) {
	from, end := to-dist, to+length
	for ; dist < stride && to < end; dist *= 2 {
		copyStride(z.out[to:], z.out[from:])
		to += dist
	}
	for ; to < end; to += stride {
		copyStride(z.out[to:], z.out[to-dist:])
	}
}

// copyStride copies the first stride bytes, in one move.
func copyStride(to, from []byte) { *(*[stride]byte)(to) = *(*[stride]byte)(from) }
