package inflate

import (
	"bufio"
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
)

// inflated returns what the stream unpacks to, and how many bytes it took.
func inflated(r io.Reader) (content []byte, taken int64, err error) {
	var buf bytes.Buffer
	taken, err = inflate(&buf, r)
	return buf.Bytes(), taken, err
}

// inflate unpacks the stream, and returns how many bytes it took.
func inflate(w io.Writer, r io.Reader) (taken int64, err error) {
	// In an archive something follows.
	src := &counted{Reader: bufio.NewReader(io.MultiReader(r, bytes.NewReader(make([]byte, 64))))}
	err = new(Reader).Inflate(w, src)
	return src.taken, err
}

// library is compress/flate with the room that both need to unpack a stream, which
// costs more than most streams.
type library struct {
	io.Reader
	want, got bytes.Buffer
}

var libraries = sync.Pool{New: func() any { return &library{Reader: flate.NewReader(nil)} }}

// counted is an Input that knows how much was taken.
type counted struct {
	*bufio.Reader
	taken int64
}

func (c *counted) Peek(n int) ([]byte, error) { return c.Reader.Peek(max(n, c.Buffered())) }

func (c *counted) Discard(n int) {
	n, _ = c.Reader.Discard(n)
	c.taken += int64(n)
}

// sameAsLibrary holds that the stream unpacks as compress/flate unpacks it, to
// the same content from as many bytes, or not at all.
func sameAsLibrary(t *testing.T, stream []byte) {
	t.Helper()
	library := libraries.Get().(*library)
	defer libraries.Put(library)
	library.want.Reset()
	library.got.Reset()
	r := bytes.NewReader(stream)
	if err := library.Reader.(flate.Resetter).Reset(r, nil); err != nil {
		t.Fatal(err)
	}
	_, wantErr := library.want.ReadFrom(library)
	taken, err := inflate(&library.got, bytes.NewReader(stream))
	want, got := library.want.Bytes(), library.got.Bytes()
	if taken > int64(len(stream)) {
		err = io.ErrUnexpectedEOF // it went into what follows
	}
	switch {
	case err == nil && wantErr == nil:
		if !bytes.Equal(got, want) || taken != int64(len(stream)-r.Len()) {
			t.Errorf("inflate: %d bytes from %d, want %d from %d", len(got), taken, len(want), len(stream)-r.Len())
		}
	case err == nil:
		t.Errorf("inflate took what compress/flate refuses: %v", wantErr)
	case wantErr == nil:
		t.Errorf("inflate = %v, want %d bytes", err, len(want))
	}
}

// contents are of many kinds, so that their codes and matches are too.
func contents(t testing.TB) map[string][]byte {
	t.Helper()
	code, err := os.ReadFile("inflate.go")
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	random := func(n, alphabet int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rnd.IntN(alphabet))
		}
		return b
	}
	// Frequencies that halve from byte to byte make the longest codes; together they are
	// more than the room for what is unpacked.
	var steep []byte
	for i := range 22 {
		steep = append(steep, bytes.Repeat([]byte{byte(i)}, 1<<i>>4)...)
	}
	rnd.Shuffle(len(steep), func(i, j int) { steep[i], steep[j] = steep[j], steep[i] })
	contents := map[string][]byte{
		"empty": nil, "one": []byte("x"), "steep": steep,
		"random": random(300_000, 256), "two_letters": random(60_000, 2), "code": bytes.Repeat(code, 20),
		"far_matches": bytes.Repeat(random(window, 256), 4), "text": []byte(strings.Repeat("the quick brown fox; ", 20_000)),
	}
	for distance := range 20 {
		contents[fmt.Sprintf("distance_%d", distance+1)] = bytes.Repeat(random(distance+1, 256), 100_000/(distance+1))
	}
	return contents
}

func TestInflate(t *testing.T) {
	t.Parallel()
	for name, content := range contents(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, level := range []int{flate.HuffmanOnly, flate.NoCompression, flate.BestSpeed, flate.DefaultCompression, flate.BestCompression} {
				var buf bytes.Buffer
				compress(t, &buf, level, content)
				stream := buf.Bytes()
				got, taken, err := inflated(bytes.NewReader(stream))
				if err != nil || !bytes.Equal(got, content) || taken != int64(len(stream)) {
					t.Errorf("level %d: %d bytes from %d, %v; want %d from %d", level, len(got), taken, err, len(content), len(stream))
				}
				for _, r := range []io.Reader{iotest.HalfReader(bytes.NewReader(stream)), iotest.OneByteReader(bytes.NewReader(stream)), iotest.DataErrReader(bytes.NewReader(stream))} {
					if got, _, err := inflated(r); err != nil || !bytes.Equal(got, content) {
						t.Errorf("level %d from %T: %d bytes, %v; want %d", level, r, len(got), err, len(content))
					}
				}
				if len(stream) > 0 {
					sameAsLibrary(t, stream[:len(stream)-1])
				}
			}
		})
	}
}

func compress(t testing.TB, w io.Writer, level int, content []byte) {
	t.Helper()
	f, err := flate.NewWriter(w, level)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// A stream is written bit by bit, as RFC 1951 orders them.
type bitWriter struct {
	bytes []byte
	n     int
}

// put adds numbers of so many bits; in codes the highest bit goes first.
func (w *bitWriter) put(value, bits int) *bitWriter {
	for i := range bits {
		if w.n%8 == 0 {
			w.bytes = append(w.bytes, 0)
		}
		w.bytes[w.n/8] |= byte(value>>i&1) << (w.n % 8)
		w.n++
	}
	return w
}

func (w *bitWriter) code(value, bits int) *bitWriter {
	for i := bits - 1; i >= 0; i-- {
		w.put(value>>i&1, 1)
	}
	return w
}

// TestInflateAgreesOnBadStreams holds that streams that break a rule are
// refused, where compress/flate refuses them.
func TestInflateAgreesOnBadStreams(t *testing.T) {
	t.Parallel()
	fixed := func() *bitWriter { return new(bitWriter).put(1, 1).put(1, 2) }
	dynamic := func(lit, dist, n int) *bitWriter {
		return new(bitWriter).put(1, 1).put(2, 2).put(lit-257, 5).put(dist-1, 5).put(n-4, 4)
	}
	// lens states the lengths of the codes for lengths, by the order of the format.
	lens := func(w *bitWriter, lens ...int) *bitWriter {
		for _, l := range lens {
			w.put(l, 3)
		}
		return w
	}
	for name, tt := range map[string]struct {
		stream *bitWriter
		ok     bool
	}{
		"fixed_block":           {fixed().code(0x30+'a', 8).code(0, 7), true},
		"block_type_3":          {new(bitWriter).put(1, 1).put(3, 2), false},
		"stored_size":           {new(bitWriter).put(1, 1).put(0, 2).put(0, 5).put(1, 16).put(1, 16).put('a', 8), false},
		"stored":                {new(bitWriter).put(1, 1).put(0, 2).put(0, 5).put(1, 16).put(0xfffe, 16).put('a', 8), true},
		"length_286":            {fixed().code(0xc6, 8).code(0, 5).code(0, 7), false},
		"distance_before_begin": {fixed().code(0x30, 8).code(1, 7).code(1, 5).code(0, 7), false},
		"distance_to_begin":     {fixed().code(0x30, 8).code(1, 7).code(0, 5).code(0, 7), true},
		"distance_30":           {fixed().code(0x30, 8).code(1, 7).code(30, 5).put(0, 13).code(0, 7), false},
		"too_many_lits":         {dynamic(287, 1, 4), false},
		"too_many_dists":        {dynamic(257, 31, 4), false},
		"no_codes_for_lengths":  {lens(dynamic(257, 1, 4), 0, 0, 0, 0), false},
		"oversubscribed":        {lens(dynamic(257, 1, 4), 1, 1, 1, 0), false},
		"incomplete":            {lens(dynamic(257, 1, 4), 2, 2, 0, 0), false},
		"nothing_to_repeat":     {lens(dynamic(257, 1, 4), 1, 1, 0, 0).code(0, 1).put(0, 2), false},
		"too_many_lengths":      {lens(dynamic(257, 1, 4), 0, 1, 1, 0).code(1, 1).put(127, 7).code(1, 1).put(127, 7), false},
		// Lengths: 0 has the code 0, and 1 (last in the order but one) has 1.
		"only_the_end": {lens(dynamic(257, 1, 18), 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2).
			code(3, 2).put(127, 7).code(3, 2).put(107, 7).code(2, 2).code(0, 1).code(0, 1), true},
		"no_end": {lens(dynamic(257, 1, 18), 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1).
			code(0, 1).code(1, 1).put(127, 7).code(1, 1).put(107, 7).code(1, 1).code(1, 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stream := append(tt.stream.bytes, make([]byte, 8)...)
			sameAsLibrary(t, stream)
			if _, _, err := inflated(bytes.NewReader(stream)); (err == nil) != tt.ok {
				t.Errorf("inflate = %v, want success: %v", err, tt.ok)
			}
		})
	}
}

// TestMatchesAtEdges holds that matches are copied right wherever they begin,
// come from and end: at the beginning of the stream, and where the room for
// what is unpacked ends.
func TestMatchesAtEdges(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(5, 6))
	content := make([]byte, len(Reader{}.out)+window)
	for i := range content {
		content[i] = byte(rnd.IntN(256))
	}
	at := func(begin int, matches []match) {
		var stream bitWriter
		for part := range slices.Chunk(content[:begin], 1<<16-1) {
			stream.stored(part)
		}
		for literals := range 4 {
			for _, m := range matches {
				s := bitWriter{bytes: slices.Clone(stream.bytes), n: stream.n}
				s.put(1, 1).put(1, 2)
				for range literals {
					s.code(0x30+'a', 8)
				}
				s.match(m).code(0x30+'b', 8).match(m).code(0, 7)
				sameAsLibrary(t, s.bytes)
				if t.Failed() {
					t.Fatalf("%d bytes, %d literals and matches %+v", begin, literals, m)
				}
			}
		}
	}
	for _, begin := range []int{0, 1, 2, 15, 16, 30, 31, 32, 33, window - 3, window - 2, window - 1, window} {
		at(begin, matches([]int{3, 16, 17, 32, 33, 49, 258}, distances))
	}
	for _, end := range []int{len(Reader{}.out), lastEnd} {
		for before := range 8 {
			for _, length := range []int{0, 32, 258} {
				at(end-before+4-length, matches([]int{3, 33, 258}, []int{1, 7, 16, window}))
			}
		}
	}
}

type match struct{ length, distance int }

// distances are some of each kind that is copied in another way.
var distances = []int{1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, window - 1, window}

func matches(lengths, distances []int) (matches []match) {
	for _, length := range lengths {
		for _, distance := range distances {
			matches = append(matches, match{length, distance})
		}
	}
	return matches
}

// stored adds a block that holds the content as it is, and begins at a byte.
func (w *bitWriter) stored(content []byte) {
	w.put(0, 3)
	w.put(0, -w.n&7)
	w.put(len(content), 16).put(^len(content), 16)
	w.bytes = append(w.bytes, content...)
	w.n = len(w.bytes) * 8
}

// match adds a match in fixed codes.
func (w *bitWriter) match(m match) *bitWriter {
	for i := 285; ; i-- {
		if base := int(litSymbols[i].value()); base <= m.length {
			if i < 280 {
				w.code(i-256, 7)
			} else {
				w.code(0xc0+i-280, 8)
			}
			w.put(m.length-base, int(litSymbols[i].bits()))
			break
		}
	}
	for i := 29; ; i-- {
		if base := int(distSymbols[i].value()); base <= m.distance {
			return w.code(i, 5).put(m.distance-base, int(distSymbols[i].bits()))
		}
	}
}

// TestInputEndsAnywhere holds that a stream that is cut is refused wherever it
// ends, and one that arrives in small parts is taken.
func TestInputEndsAnywhere(t *testing.T) {
	t.Parallel()
	var stream bitWriter
	stream.put(1, 1).put(1, 2)
	for i := range 30 {
		stream.code(0x30+i, 8).match(match{3 + i*8, 1}).code(0x30+i, 8).match(match{3 + i, 2 + i})
	}
	stream.code(0, 7)
	for end := range len(stream.bytes) {
		sameAsLibrary(t, stream.bytes[:end])
	}
	sameAsLibrary(t, stream.bytes)
	for _, size := range []int{1, 2, 7, 8, 9, 15, 16, 17, 23, 24, 25} {
		got, taken, err := inflated(&parts{bytes.NewReader(stream.bytes), size})
		want, _ := io.ReadAll(flate.NewReader(bytes.NewReader(stream.bytes)))
		if err != nil || !bytes.Equal(got, want) || taken != int64(len(stream.bytes)) {
			t.Errorf("in parts of %d: %d bytes from %d, %v; want %d from %d", size, len(got), taken, err, len(want), len(stream.bytes))
		}
	}
}

// parts gives at most size bytes at once.
type parts struct {
	io.Reader
	size int
}

func (p *parts) Read(b []byte) (int, error) { return p.Reader.Read(b[:min(p.size, len(b))]) }

// FuzzInflate compares with compress/flate: the data as a stream, and what
// streams that hold it become when a byte is changed.
func FuzzInflate(f *testing.F) {
	for _, content := range contents(f) {
		content = content[:min(len(content), 3000)]
		f.Add(content, uint8(6), uint16(0), byte(0))
		f.Add(content, uint8(1), uint16(5), byte(1))
		var buf bytes.Buffer
		compress(f, &buf, 6, content)
		f.Add(buf.Bytes(), uint8(0), uint16(0), byte(0))
	}
	// Each way to copy a match, behind two literals, and literals at the end.
	for _, m := range matches([]int{3, 32, 33, 258}, distances) {
		var stream bitWriter
		stream.stored(bytes.Repeat([]byte("0123456789abcdefghijklmnopqrstuvw"), m.distance/33+1))
		stream.put(1, 1).put(1, 2).code(0x30, 8).code(0x31, 8).match(m)
		for i := range m.length % 8 {
			stream.code(0x32+i, 8)
		}
		f.Add(stream.code(0, 7).bytes, uint8(0), uint16(0), byte(0))
	}
	f.Fuzz(func(t *testing.T, data []byte, level uint8, at uint16, with byte) {
		sameAsLibrary(t, data)
		var buf bytes.Buffer
		compress(t, &buf, int(level)%12-2, data)
		stream := buf.Bytes()
		stream[int(at)%len(stream)] ^= with
		sameAsLibrary(t, stream)
	})
}
