package module

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// nameserver knows a few names, each with the addresses that it has one after the
// other, or several at once with spaces between; it keeps the last. The resolvers of other programs know none of them.
type nameserver struct {
	mu    sync.Mutex
	names map[string][]string
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

// next is what a name has now, and moves on.
func (s *nameserver) next(name string, asked dnsmessage.Type) (known bool, addresses []netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.names[name[:len(name)-1]]
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
