package hash

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	stdhash "hash"
	"io"

	"github.com/relock-dev/relock/internal/provider"
)

// odd says why an archive is left to the library. It is no claim that the
// archive is bad.
type odd string

func (o odd) Error() string { return "odd archive: " + string(o) }

func isOdd(err error) bool {
	_, ok := errors.AsType[odd](err)
	return ok
}

// A zipStream is an archive while it arrives: a buffer whose every byte is hashed
// as it comes in.
type zipStream struct {
	r         io.Reader
	err       error // of r; nothing follows it
	digest    stdhash.Hash
	size      int64 // bytes read from r
	buf       [64 << 10]byte
	next, end int // buf[next:end] is not yet taken
}

func newSource(r io.Reader) *zipStream {
	s := new(zipStream)
	s.reset(r)
	return s
}

// reset begins anew, with another archive.
func (s *zipStream) reset(r io.Reader) {
	s.r, s.err, s.digest, s.size, s.next, s.end = r, nil, sha256.New(), 0, 0, 0
}

// left is how many bytes can be taken without reading.
func (s *zipStream) left() int { return s.end - s.next }

// offset is where in the archive the next byte to take stands.
func (s *zipStream) offset() int64 { return s.size - int64(s.left()) }

// ensure reads until n bytes can be taken, at most the size of the buffer. An
// archive that ends before is odd.
func (s *zipStream) ensure(n int) error {
	if s.left() >= n {
		return nil
	}
	s.end = copy(s.buf[:], s.buf[s.next:s.end])
	s.next = 0
	for s.end < n {
		if s.err == io.EOF {
			return odd("it ends too early")
		}
		if s.err != nil {
			return s.err
		}
		s.read()
	}
	return nil
}

func (s *zipStream) read() {
	var n int
	n, s.err = s.r.Read(s.buf[s.end:])
	s.digest.Write(s.buf[s.end : s.end+n])
	s.end += n
	s.size += int64(n)
}

// take returns the next n bytes, which stay valid until something else is done
// with the source.
func (s *zipStream) take(n int) ([]byte, error) {
	if err := s.ensure(n); err != nil {
		return nil, err
	}
	s.next += n
	return s.buf[s.next-n : s.next], nil
}

// Peek implements inflate.Input.
func (s *zipStream) Peek(n int) ([]byte, error) {
	err := s.ensure(n)
	return s.buf[s.next:s.end], err
}

// Discard implements inflate.Input.
func (s *zipStream) Discard(n int) { s.next += n }

// copyTo writes the next n bytes to w.
func (s *zipStream) copyTo(w io.Writer, n int64) error {
	for n > 0 {
		if err := s.ensure(1); err != nil {
			return err
		}
		part, err := s.take(int(min(n, int64(s.left()))))
		if err != nil {
			return err
		}
		if _, err := w.Write(part); err != nil {
			return err
		}
		n -= int64(len(part))
	}
	return nil
}

// skip takes n bytes and drops them.
func (s *zipStream) skip(n int) error { return s.copyTo(io.Discard, int64(n)) }

// drain reads to the end of the archive.
func (s *zipStream) drain() error {
	for s.err == nil {
		s.next, s.end = 0, 0
		s.read()
	}
	if s.err != io.EOF {
		return s.err
	}
	return nil
}

// sum is what the bytes alone say, once they have all been read.
func (s *zipStream) sum() Sum {
	return Sum{ZH: provider.ZH(hex.EncodeToString(s.digest.Sum(nil))), Size: s.size}
}
