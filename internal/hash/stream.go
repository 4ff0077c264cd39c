package hash

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	stdhash "hash"
	"hash/crc32"
	"io"
	"strings"
	"sync"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/inflate"
	"github.com/relock-dev/relock/internal/provider"
)

// onePass is Package for archives whose bytes in their order leave no doubt
// about what archive/zip would find in them; any other is odd, including those
// that are bad. The conditions:
//
//   - entries follow each other without gaps from the first byte on; behind them
//     the table lists just these in this order; the end record follows and is
//     what the archive ends with. So nothing is hidden, left out or in two
//     places, and archive/zip, which searches the end record from the end and
//     goes by the table, comes to the same entries and the same data.
//   - what an entry's own header says, what its descriptor says, what the table
//     says, and what its data turned out to be are the same.
//   - only deflate, or stored data whose size is known before; no encryption,
//     no zip64, no other disks.
func onePass(r io.Reader) (Hashed, error) {
	p := passes.Get().(*pass)
	p.src.reset(io.LimitReader(r, MaxSize+1))
	p.left, p.leftNames = maxUnpacked, maxNames
	defer func() {
		p.src.reset(nil) // r is nobody's any more
		p.members = nil
		passes.Put(p)
	}()
	err := p.readMembers()
	if err == nil {
		err = p.readTable()
	}
	if isOdd(err) {
		// The rest is read so that the zh is known: bytes that are not those that are
		// wanted need not be fetched again.
		if _, unread := p.src.ahead.WriteTo(io.Discard); unread != nil {
			return Hashed{}, unread
		}
	} else if err != nil {
		return Hashed{}, err
	}
	hashed := p.src.sum()
	switch {
	case hashed.Sum.Size > MaxSize:
		return hashed, errLarge
	case err != nil:
		return hashed, err
	}
	headers := collect.Mapped(p.members, func(m member) *zip.FileHeader {
		return &zip.FileHeader{Name: m.name, CreatorVersion: m.creator, ExternalAttrs: m.external}
	})
	if err := hashed.addHashes(headers, p.h1); err != nil {
		return hashed, fmt.Errorf("%w: %w", ErrUnpack, err)
	}
	return hashed, nil
}

// The signatures and sizes of a zip archive's parts.
const (
	memberSignature     = "PK\x03\x04"
	memberSize          = 30
	descriptorSignature = "PK\x07\x08"
	descriptorSize      = 16
	entrySignature      = "PK\x01\x02"
	entrySize           = 46
	endSignature        = "PK\x05\x06"
	endSize             = 22
)

const (
	flagDescriptor = 1 << 3
	// Bits 1 and 2 say how hard the compressor tried, bit 11 that names are
	// UTF-8. The others change how data must be read.
	flagsKnown = 1<<1 | 1<<2 | flagDescriptor | 1<<11
	// max32 and max16 in a field say that the value is in a zip64 record.
	max32 = 1<<32 - 1
	max16 = 1<<16 - 1
	// maxNames bounds the names of all entries, which are kept in memory.
	maxNames = 1 << 20
)

// A member is what an archive holds in one place, as it turned out to be.
type member struct {
	fields
	offset int64
	digest [sha256.Size]byte
	// Of the table.
	creator  uint16
	external uint32
}

// fields are what is beside each member's data and again in the table.
type fields struct {
	name          string
	flags, method uint16
	crc           uint32
	packed, size  int64
}

// parseFields reads the fields that headers and the table's entries have in
// common, from the flags on, except for the name.
func parseFields(b []byte) fields {
	return fields{
		flags:  binary.LittleEndian.Uint16(b),
		method: binary.LittleEndian.Uint16(b[2:]),
		crc:    binary.LittleEndian.Uint32(b[8:]),
		packed: int64(binary.LittleEndian.Uint32(b[12:])),
		size:   int64(binary.LittleEndian.Uint32(b[16:])),
	}
}

// A pass is one way through an archive. It has the memory that it needs whatever the
// archive is, some 220 kB, so that passes are used again: many of them, one after
// another or at once, take no more than those that run.
type pass struct {
	src       zipStream
	inflater  inflate.Reader
	left      int64 // of maxUnpacked
	leftNames int   // of maxNames
	members   []member
}

var passes = sync.Pool{New: func() any { return new(pass) }}

// readMembers reads up to the table.
func (p *pass) readMembers() error {
	for {
		next, err := p.src.Peek(len(memberSignature))
		if err != nil {
			return err
		}
		if !bytes.HasPrefix(next, []byte(memberSignature)) {
			return nil
		}
		if len(p.members) == maxEntries {
			return odd("too many entries")
		}
		if err := p.readMember(); err != nil {
			return err
		}
	}
}

func (p *pass) readMember() error {
	m := member{offset: p.src.offset()}
	header, err := p.src.take(memberSize)
	if err != nil {
		return err
	}
	stated := parseFields(header[6:])
	if stated.flags&^flagsKnown != 0 {
		return odd("flags")
	}
	nameSize, extraSize := binary.LittleEndian.Uint16(header[26:]), binary.LittleEndian.Uint16(header[28:])
	stated.name, err = p.name(int(nameSize))
	if err != nil {
		return err
	}
	if err := p.src.skip(int(extraSize)); err != nil {
		return err
	}
	if err := p.readData(&m, stated); err != nil {
		return err
	}
	if err := p.checkStated(m.fields, stated); err != nil {
		return err
	}
	if strings.HasSuffix(m.name, "/") && m.size > 0 {
		return odd("a directory with content")
	}
	p.left -= m.size
	p.members = append(p.members, m)
	return nil
}

func (p *pass) name(size int) (string, error) {
	p.leftNames -= size
	if size > maxPath || p.leftNames < 0 {
		return "", odd("long names")
	}
	b, err := p.src.take(size)
	name := string(b)
	if strings.Contains(name, "\n") {
		return "", odd("a name with a newline")
	}
	return name, err
}

// readData reads a member's data, and sets the fields to what it turned out to
// be.
func (p *pass) readData(m *member, stated fields) error {
	m.fields = fields{name: stated.name, flags: stated.flags, method: stated.method}
	begin := p.src.offset()
	c := memberContent{digest: sha256.New(), limit: p.left}
	var err error
	switch {
	case stated.method == zip.Deflate:
		err = p.inflater.Inflate(&c, &p.src)
		if why, ok := errors.AsType[inflate.Error](err); ok {
			err = odd(why.Error())
		}
	case stated.method == zip.Store && stated.flags&flagDescriptor == 0 && stated.packed < max32:
		err = p.src.copyTo(&c, stated.packed)
	default:
		err = odd("method")
	}
	if err != nil {
		return err
	}
	m.packed, m.size, m.crc = p.src.offset()-begin, c.size, c.crc
	c.digest.Sum(m.digest[:0])
	if m.size >= max32 {
		return odd("zip64")
	}
	return nil
}

// checkStated compares what is beside the data with what the data is.
// Where a descriptor follows the data, the header may leave values at 0.
func (p *pass) checkStated(is, stated fields) error {
	if is.flags&flagDescriptor == 0 {
		if stated != is {
			return odd("header unlike the data")
		}
		return nil
	}
	b, err := p.src.take(descriptorSize)
	if err != nil {
		return err
	}
	for _, v := range []struct{ header, described, is int64 }{
		{int64(stated.crc), int64(binary.LittleEndian.Uint32(b[4:])), int64(is.crc)},
		{stated.packed, int64(binary.LittleEndian.Uint32(b[8:])), is.packed},
		{stated.size, int64(binary.LittleEndian.Uint32(b[12:])), is.size},
	} {
		if v.header != 0 && v.header != v.is || v.described != v.is {
			return odd("header or descriptor unlike the data")
		}
	}
	if string(b[:4]) != descriptorSignature {
		return odd("descriptor without signature")
	}
	return nil
}

// readTable reads the table and the end record, and that nothing follows.
func (p *pass) readTable() error {
	begin := p.src.offset()
	for i := range p.members {
		if err := p.readEntry(&p.members[i]); err != nil {
			return err
		}
	}
	size := p.src.offset() - begin
	end, err := p.src.take(endSize)
	if err != nil {
		return err
	}
	n := len(p.members)
	// archive/zip takes a size of max16 for a mark of zip64 too. What else makes
	// one is ruled out by maxEntries and MaxSize.
	if size == max16 {
		return odd("zip64")
	}
	want := []byte(endSignature + "\x00\x00\x00\x00") // the numbers of the disks
	want = binary.LittleEndian.AppendUint16(want, uint16(n))
	want = binary.LittleEndian.AppendUint16(want, uint16(n))
	want = binary.LittleEndian.AppendUint32(want, uint32(size))
	want = binary.LittleEndian.AppendUint32(want, uint32(begin))
	want = binary.LittleEndian.AppendUint16(want, 0) // the length of the comment
	if string(end) != string(want) {
		return odd("end record")
	}
	switch _, err := p.src.ahead.Peek(1); err {
	case nil:
		return odd("bytes behind its end")
	case io.EOF:
		return nil
	default:
		return err
	}
}

// readEntry reads the table's entry for a member.
func (p *pass) readEntry(m *member) error {
	b, err := p.src.take(entrySize)
	if err != nil {
		return err
	}
	if string(b[:4]) != entrySignature {
		return odd("a table that lacks an entry")
	}
	stated := parseFields(b[8:])
	nameSize, extraSize := binary.LittleEndian.Uint16(b[28:]), binary.LittleEndian.Uint16(b[30:])
	commentSize, disk := binary.LittleEndian.Uint16(b[32:]), binary.LittleEndian.Uint16(b[34:])
	offset := int64(binary.LittleEndian.Uint32(b[42:]))
	m.creator, m.external = binary.LittleEndian.Uint16(b[4:]), binary.LittleEndian.Uint32(b[38:])
	if int(nameSize) != len(m.name) || disk != 0 || offset != m.offset {
		return odd("table unlike the entries")
	}
	name, err := p.src.take(int(nameSize))
	if err != nil {
		return err
	}
	stated.name = m.name
	if string(name) != m.name || stated != m.fields {
		return odd("table unlike the entries")
	}
	return p.src.skip(int(extraSize) + int(commentSize))
}

// h1 is dirhash.Hash1 where the digests of the contents are known already.
func (p *pass) h1(names []string, members map[string]int) (provider.Hash, error) {
	return H1(collect.Mapped(names, func(name string) File { return File{name, p.members[members[name]].digest} })), nil
}

func newH1(digest []byte) provider.Hash {
	return provider.Hash(provider.SchemeH1 + ":" + base64.StdEncoding.EncodeToString(digest))
}

// memberContent takes what a member unpacks to.
type memberContent struct {
	digest stdhash.Hash
	crc    uint32
	size   int64
	limit  int64
}

func (c *memberContent) Write(p []byte) (int, error) {
	c.size += int64(len(p))
	if c.size > c.limit {
		return 0, odd("large content")
	}
	c.crc = crc32.Update(c.crc, crc32.IEEETable, p)
	return c.digest.Write(p)
}
