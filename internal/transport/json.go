package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// mostParts limits the parts of a JSON answer. The largest answers of registries,
// lists of versions with platforms or dependencies, have tens of thousands.
const mostParts = 400_000

// DecodeJSON decodes the first JSON value of an answer, and ignores the rest, as
// the tools do. A value of three bytes can take a hundred in memory, so it first
// refuses an answer of too many parts.
func DecodeJSON(body []byte, into any) error {
	if err := checkParts(body); err != nil {
		return err
	}
	return plain(json.NewDecoder(bytes.NewReader(body)).Decode(into))
}

// UnmarshalJSON is DecodeJSON for answers of exactly one value.
func UnmarshalJSON(body []byte, into any) error {
	if err := checkParts(body); err != nil {
		return err
	}
	return plain(json.Unmarshal(body, into))
}

// plain explains a JSON error without the names of our types, which the library
// quotes.
func plain(err error) error {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case !ok:
		return err
	case wrong.Field == "":
		return fmt.Errorf("it is a JSON %s, which it must not be", wrong.Value)
	}
	return fmt.Errorf("%q in it is a JSON %s, which it must not be", wrong.Field, wrong.Value)
}

func checkParts(body []byte) error {
	parts := partCounter{most: mostParts}
	return parts.count(body)
}

// LimitParts returns a reader of JSON that fails after most parts. It is for
// decoders of other packages.
func LimitParts(r io.Reader, most int) io.Reader {
	return &partReader{r, partCounter{most: most}}
}

type partReader struct {
	io.Reader
	parts partCounter
}

// Read implements io.Reader.
func (r *partReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if excess := r.parts.count(p[:n]); excess != nil {
		return 0, excess
	}
	return n, err
}

// partCounter counts the signs before each part of a JSON text, outside strings:
// lists, objects, elements and values of keys.
type partCounter struct {
	seen, most       int
	inString, escape bool
}

func (c *partCounter) count(text []byte) error {
	for _, b := range text {
		switch {
		case c.escape:
			c.escape = false
		case c.inString:
			c.escape, c.inString = b == '\\', b != '"'
		case b == '"':
			c.inString = true
		case b == ',' || b == ':' || b == '[' || b == '{':
			c.seen++
		}
	}
	if c.seen > c.most {
		return &ExcessOfParts{c.most}
	}
	return nil
}

// ExcessOfParts is the error of a JSON answer with too many parts. A retry gives
// the same error.
type ExcessOfParts struct{ Most int }

func (e *ExcessOfParts) Error() string {
	return fmt.Sprintf("it has more than %d lists, objects and values", e.Most)
}
