package registry

import "io"

// Download watches the download of one package. One goroutine at a time calls it.
type Download interface {
	// Read is called with the number of bytes that have arrived since the last call.
	Read(n int64)
	// Done is called at the end. err is not nil if the connection broke. A bad package is
	// no error here: the caller reports it.
	Done(err error)
}

// watched reports to a Download what is read from a package.
type watched struct {
	io.ReadCloser
	download Download // nil: nobody watches
	arrived  func()
	err      error // the error of reading
}

// watch reports the download of a package as the options say. A size of 0 or less is not
// known.
func (o Options) watch(name string, size int64, body io.ReadCloser) io.ReadCloser {
	w := &watched{ReadCloser: body, arrived: o.Arrived}
	if o.Watch != nil {
		w.download = o.Watch(name, size)
	}
	return w
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if n > 0 && w.download != nil {
		w.download.Read(int64(n))
	}
	if err != nil && err != io.EOF {
		w.err = err
	}
	return n, err
}

// Close ends the download. It may come early, if enough has arrived.
func (w *watched) Close() error {
	if w.download != nil {
		w.download.Done(w.err)
	}
	if w.err == nil && w.arrived != nil {
		w.arrived()
	}
	return w.ReadCloser.Close()
}
