// Package inflate decompresses deflate streams (RFC 1951). It exists because
// inflating is most of the work on a provider package, and this takes less than
// half of the time that compress/flate does: it reads up to 64 bits at once,
// finds most symbols in one table lookup, and copies words instead of bytes. Its
// inner loop does not check for ends, since there is always more input and more
// room than one turn can use. The ideas are those of libdeflate. It has no unsafe
// code.
//
// # The inner loop
//
// What costs time is waiting: for an element of a table, which the next one
// depends on, and after each wrong guess of the processor at where a branch goes.
// So the next element is looked up as soon as its bits are known, before a match
// is copied; bits are refilled without asking whether it is necessary; and a
// match is copied in two moves of 16 bytes whatever its length, of which most
// need no more. The bytes that they write after its end are overwritten later. A
// match from nearer than 16 bytes is copied apart, from bytes that double.
//
// The compiler checks each index that it cannot prove to be in range. Those of
// the inner loop it can, except for near matches: the input is a slice that
// becomes shorter, whose length the loop asks for, and the output has a fixed
// size, of a power of two for masks where the proof ends.
//
//	go build -gcflags=-d=ssa/check_bce ./internal/inflate
//
// lists the checks that are left. So a mistake in a margin panics or is masked,
// and never reads or writes other memory.
//
// # The tables
//
// A Huffman code of deflate has up to 15 bits. A table that has an element for
// every 15 bits would answer in one look and take longer to fill than most blocks
// take to read. So a table covers the first 11 bits of a literal's or length's
// code, and the first 8 of a distance's; the few longer codes lead to subtables
// behind it, which are as wide as the longest code with that beginning. An
// element is one word, a symbol (symbol.go): its meaning, the number of bits of
// its code and of the extra bits after it, and three flags. So a length and its
// extra bits are consumed at once, and the sign of the word shows a literal. No
// code has the element invalid, so that what no code begins with is found without
// a check of its own.
//
// How many elements any complete code can need is known (2342 and 402, as zlib's
// enough.c counts them); tables are of the next powers of two, so that an index
// is masked where the compiler cannot know that it is in the table. No stream
// leads out of them.
//
// # Why it may be trusted
//
// It need not decide what a stream means where that is in doubt. It accepts no
// stream that compress/flate refuses; on any doubt it gives up with an Error, and
// its user lets compress/flate decide. What its user gets is checked by others: a
// package's lengths and CRC-32 must come out as the archive states them, and
// nothing counts before the SHA-256 of the archive is the verified one. A mistake
// here could at worst give the h1 of something else than the archive holds, so a
// fuzz target holds that content and the number of bytes taken are those of
// compress/flate, for streams of any bytes and for spoilt ones of every level.
package inflate
