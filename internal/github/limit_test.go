package github

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestAnswersAreBounded(t *testing.T) {
	for _, test := range []struct {
		left int64
		want error
	}{{4, errTooLarge}, {5, nil}, {6, nil}} {
		closed := false
		b := &boundedBody{body: io.NopCloser(strings.NewReader("12345")), left: test.left, done: func() { closed = true }}
		got, err := io.ReadAll(b)
		if !errors.Is(err, test.want) || err == nil && string(got) != "12345" {
			t.Errorf("reading 5 bytes of at most %d = %q, %v, want %v", test.left, got, err, test.want)
		}
		if _, err := b.Read(make([]byte, 1)); err == nil {
			t.Errorf("reading on after %d succeeds", test.left)
		}
		if err := b.Close(); err != nil || !closed {
			t.Errorf("closing = %v, done %t", err, closed)
		}
	}
}
