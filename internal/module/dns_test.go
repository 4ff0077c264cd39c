package module

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/relock-dev/relock/internal/transport"
)

// nameserver knows a few names. Each has a list of addresses, one for each question in
// turn; several with spaces between them are one answer. The last one is repeated. Other
// programs' resolvers know none of the names.
type nameserver struct {
	mu    sync.Mutex
	names map[string][]string
	late  map[string]int // how many of the first questions for IPv4 addresses get no answer
	asked map[string]int // the number of questions
}

// resolver asks the server over a connection within the process.
func (s *nameserver) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() { // until the client hangs up
			defer server.Close()
			for s.answer(server) == nil {
			}
		}()
		return client, nil
	}}
}

// answer answers one question, as over TCP (RFC 1035, section 4.2.2).
func (s *nameserver) answer(conn net.Conn) error {
	var size [2]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return err
	}
	packet := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(conn, packet); err != nil {
		return err
	}
	var m dnsmessage.Message
	if err := m.Unpack(packet); err != nil {
		return err
	}
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	name := m.Questions[0].Name
	known, addresses := s.next(name.String(), m.Questions[0].Type)
	if !known {
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, address := range addresses {
		m.Answers = append(m.Answers, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: name, Class: dnsmessage.ClassINET},
			Body:   &dnsmessage.AResource{A: address.As4()},
		})
	}
	packet, err := m.AppendPack(make([]byte, 2))
	if err != nil {
		return err
	}
	binary.BigEndian.PutUint16(packet, uint16(len(packet)-2))
	_, err = conn.Write(packet)
	return err
}

// next is the current answer for a name; the next question gets the following one.
func (s *nameserver) next(name string, asked dnsmessage.Type) (known bool, addresses []netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.names[name[:len(name)-1]]
	if asked == dnsmessage.TypeA {
		if s.asked == nil {
			s.asked = map[string]int{}
		}
		s.asked[name]++
	}
	if late := s.late[name[:len(name)-1]]; s.asked[name] <= late && late > 0 {
		return false, nil
	}
	if len(list) == 0 || asked != dnsmessage.TypeA {
		return len(list) > 0, nil
	}
	if len(list) > 1 {
		s.names[name[:len(name)-1]] = list[1:]
	}
	for text := range strings.FieldsSeq(list[0]) {
		addresses = append(addresses, netip.MustParseAddr(text))
	}
	return true, addresses
}

func TestNameserver(t *testing.T) {
	t.Parallel()
	r := (&nameserver{names: map[string][]string{"git.test": {"127.0.0.1", "203.0.113.1"}}}).resolver()
	for _, want := range []string{"127.0.0.1", "203.0.113.1", "203.0.113.1"} {
		got, err := r.LookupNetIP(t.Context(), "ip", "git.test")
		if err != nil || len(got) != 1 || got[0].Unmap().String() != want {
			t.Errorf("LookupNetIP = %v, %v; want %s", got, err, want)
		}
	}
	if got, err := r.LookupNetIP(t.Context(), "ip", "gone.test"); err == nil {
		t.Errorf("LookupNetIP = %v, want that nobody knows the name", got)
	}
}

// TestUnknownNamesAreAskedForOnceMore has a name server that knows a name at the second
// question. Names of the operator's ssh configuration are asked for once.
func TestUnknownNamesAreAskedForOnceMore(t *testing.T) {
	t.Parallel()
	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	for late, known := range map[int]bool{1: true, 2: false} {
		for name, ask := range map[string]func(*transport.Client, *url.URL) error{
			"a_request": func(c *transport.Client, u *url.URL) error {
				_, err := c.Do(t.Context(), transport.Request{URL: u})
				return err
			},
			"git": func(c *transport.Client, u *url.URL) error {
				_, _, err := c.Resolve(t.Context(), u, nil)
				return err
			},
		} {
			names := &nameserver{names: map[string][]string{"late.test": {"127.0.0.1"}}, late: map[string]int{"late.test": late}}
			c := transport.New(transport.Options{RetryWait: time.Nanosecond, Resolver: names.resolver()})
			c.Admit("late.test:" + portOf(s))
			if err := ask(c, &url.URL{Scheme: "http", Host: "late.test:" + portOf(s)}); (err == nil) != known {
				t.Errorf("%s for a name that is unknown %d times: %v, want an error %t", name, late, err, !known)
			}
		}
	}
	names := &nameserver{}
	c := transport.New(transport.Options{RetryWait: time.Nanosecond, Resolver: names.resolver()})
	if _, _, err := c.Resolve(t.Context(), &url.URL{Scheme: "ssh", Host: "alias.test"}, nil); err == nil || names.asked["alias.test."] != 1 {
		t.Errorf("a name of ssh = %v after %d questions, want an error after 1", err, names.asked["alias.test."])
	}
}
