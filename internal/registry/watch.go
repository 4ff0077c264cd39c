package registry

import "io"

// Download is told how the download of one package goes on, by one goroutine at
// a time.
type Download interface {
	// Read says that so many more bytes have arrived.
	Read(n int64)
	// Done says that no more will: with an error if the line broke, not if the
	// package turned out to be bad, which is the business of its caller.
	Done(err error)
}

// watched tells a Download what is read of a package.
type watched struct {
	io.ReadCloser
	download Download
	err      error // of reading
}

// watch shows the download of a package to anyone who watches, if anybody does. A
// size that is not above zero is not known.
func watch(begin func(name string, size int64) Download, name string, size int64, body io.ReadCloser) io.ReadCloser {
	if begin == nil {
		return body
	}
	return &watched{ReadCloser: body, download: begin(name, size)}
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if n > 0 {
		w.download.Read(int64(n))
	}
	if err != nil && err != io.EOF {
		w.err = err
	}
	return n, err
}

// Close ends the download. A reader may be closed early, where what has arrived
// says enough.
func (w *watched) Close() error {
	w.download.Done(w.err)
	return w.ReadCloser.Close()
}
