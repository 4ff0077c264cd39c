package command

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// slowLine is a line of the internet between a client and a server on this
// machine: what comes back takes time, and all connections share the bandwidth.
type slowLine struct {
	url       string
	latency   time.Duration // of a question and its answer
	bandwidth float64       // bytes in a second

	mu   sync.Mutex
	free time.Time // when the line has sent all that it was given
}

// newSlowLine leads to the server at a URL. It ends with the test.
func newSlowLine(tb testing.TB, server string, latency time.Duration, bandwidth float64) *slowLine {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	l := &slowLine{url: "http://" + listener.Addr().String(), latency: latency, bandwidth: bandwidth}
	var calls sync.WaitGroup
	calls.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // the test has ended
			}
			calls.Go(func() { l.connect(client, strings.TrimPrefix(server, "http://")) })
		}
	})
	tb.Cleanup(func() {
		listener.Close()
		calls.Wait() // clients have ended before
	})
	return l
}

// alone is how long that many bytes need on the line if nothing else takes time.
func (l *slowLine) alone(bytes int64) time.Duration {
	return time.Duration(float64(bytes) / l.bandwidth * float64(time.Second))
}

// connect carries one connection until either end closes it.
func (l *slowLine) connect(client net.Conn, server string) {
	defer client.Close()
	upstream, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	carry(client, upstream, l.answer)
}

// carry carries a connection until either end closes it, what the server says by answer.
func carry(client, server net.Conn, answer func(client io.Writer, server io.Reader)) {
	var questions sync.WaitGroup
	questions.Go(func() {
		io.Copy(server, client)
		server.Close()
	})
	answer(client, server)
	client.Close()
	questions.Wait()
}

// parcel is a part of an answer and when it arrives.
type parcel struct {
	content []byte
	at      time.Time
}

// answer carries what a server says. As much is under way at once as a line of
// that latency and bandwidth holds, and some more.
func (l *slowLine) answer(client io.Writer, server io.Reader) {
	underWay := make(chan parcel, 256)
	var arriving sync.WaitGroup
	arriving.Go(func() {
		var err error
		for p := range underWay {
			if err == nil {
				time.Sleep(time.Until(p.at))
				_, err = client.Write(p.content)
			}
		}
	})
	for {
		buf := make([]byte, 16<<10)
		n, err := server.Read(buf)
		if n > 0 {
			underWay <- parcel{buf[:n], l.send(n)}
		}
		if err != nil {
			break
		}
	}
	close(underWay)
	arriving.Wait()
}

// send returns when so many bytes, given to the line now, have arrived.
func (l *slowLine) send(n int) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); l.free.Before(now) {
		l.free = now
	}
	l.free = l.free.Add(l.alone(int64(n)))
	return l.free.Add(l.latency)
}
