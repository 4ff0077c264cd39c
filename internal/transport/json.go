package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// mostParts bounds the parts of an answer in JSON. The largest ones of
// registries, lists of versions with platforms or dependencies, have some ten
// thousands.
const mostParts = 400_000

// DecodeJSON decodes the first JSON value of an answer, as the tools do: what
// follows is ignored. A value of three bytes can take a hundred in memory, so an
// answer of too many parts is refused before it is decoded.
func DecodeJSON(body []byte, into any) error {
	if err := checkParts(body); err != nil {
		return err
	}
	return plain(json.NewDecoder(bytes.NewReader(body)).Decode(into))
}

// UnmarshalJSON is DecodeJSON for answers that must be one value and nothing
// else.
func UnmarshalJSON(body []byte, into any) error {
	if err := checkParts(body); err != nil {
		return err
	}
	return plain(json.Unmarshal(body, into))
}

// plain says what is wrong with an answer without the names of our types, which
// the library quotes.
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

// LimitParts returns a reader of JSON that fails as soon as more parts than most have
// been read: for decoders that others own.
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

// partCounter counts the signs behind which a part of a JSON text begins: those
// of lists, objects, elements and the values of keys, outside of strings.
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

// ExcessOfParts is the error of an answer in JSON that has more parts than a limit. It
// is the same however often the question is asked.
type ExcessOfParts struct{ Most int }

func (e *ExcessOfParts) Error() string {
	return fmt.Sprintf("it has more than %d lists, objects and values", e.Most)
}
