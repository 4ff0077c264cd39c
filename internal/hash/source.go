package hash

import (
	"bufio"
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

// A zipStream is an archive while it arrives: every byte is hashed as it comes in. It
// begins with a reset.
type zipStream struct {
	digested digested
	ahead    *bufio.Reader // what has arrived and is not yet taken
}

// digested hashes what is read of an archive.
type digested struct {
	r      io.Reader
	err    error // of r; nothing follows it
	digest stdhash.Hash
	size   int64
}

func (a *digested) Read(p []byte) (n int, err error) {
	if a.err == nil {
		n, a.err = a.r.Read(p)
		a.digest.Write(p[:n])
		a.size += int64(n)
	}
	return n, a.err
}

// reset begins again, with another archive.
func (s *zipStream) reset(r io.Reader) {
	if s.ahead == nil {
		s.ahead = bufio.NewReaderSize(nil, 64<<10)
	}
	s.digested = digested{r: r, digest: sha256.New()}
	s.ahead.Reset(&s.digested)
}

// offset is the position in the archive of the next byte to take.
func (s *zipStream) offset() int64 { return s.digested.size - int64(s.ahead.Buffered()) }

// Peek implements inflate.Input. An archive that ends before is odd.
func (s *zipStream) Peek(n int) ([]byte, error) {
	if _, err := s.ahead.Peek(n); err == io.EOF {
		return nil, odd("it ends too early")
	} else if err != nil {
		return nil, err
	}
	return s.ahead.Peek(s.ahead.Buffered())
}

// Discard implements inflate.Input.
func (s *zipStream) Discard(n int) { _, _ = s.ahead.Discard(n) } // they are there

// take returns the next n bytes, which stay valid until something else is done
// with the source.
func (s *zipStream) take(n int) ([]byte, error) {
	b, err := s.Peek(n)
	if err != nil {
		return nil, err
	}
	s.Discard(n)
	return b[:n], nil
}

// copyTo writes the next n bytes to w.
func (s *zipStream) copyTo(w io.Writer, n int64) error {
	for n > 0 {
		part, err := s.Peek(1)
		if err != nil {
			return err
		}
		part = part[:min(n, int64(len(part)))]
		if _, err := w.Write(part); err != nil {
			return err
		}
		s.Discard(len(part))
		n -= int64(len(part))
	}
	return nil
}

// skip takes n bytes and drops them.
func (s *zipStream) skip(n int) error { return s.copyTo(io.Discard, int64(n)) }

// sum is the hash of the bytes, once all are read.
func (s *zipStream) sum() Hashed {
	return Hashed{Sum: provider.Sum{ZH: provider.ZH(hex.EncodeToString(s.digested.digest.Sum(nil))), Size: s.digested.size}}
}
