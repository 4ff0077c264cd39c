package github

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// stub answers everything with a body, and 304 to whoever has it.
type stub struct {
	body, contentType string
	asked             []string // the values of If-None-Match
}

func (s *stub) RoundTrip(req *http.Request) (*http.Response, error) {
	known := req.Header.Get("If-None-Match")
	s.asked = append(s.asked, known)
	resp := &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Etag": {`"1"`}, "Content-Type": {s.contentType}},
		Body: io.NopCloser(strings.NewReader(s.body)), ContentLength: -1, Request: req,
	}
	if known == `"1"` {
		resp.StatusCode, resp.Body = http.StatusNotModified, http.NoBody
	}
	return resp, nil
}

func TestRemembersWhatIsSmallAndMayChange(t *testing.T) {
	const json = "application/json; charset=utf-8"
	large := strings.Repeat("x", largestKept+1)
	tests := map[string]struct {
		stub
		method string
		read   int64 // of the first answer
		again  bool  // asked with If-None-Match
	}{
		"small":           {stub{body: "{}", contentType: json}, "GET", 100, true},
		"all_but_its_end": {stub{body: "{}  ", contentType: json}, "GET", 2, true},
		"empty":           {stub{contentType: json}, "GET", 100, true},
		"left_unread":     {stub{body: large[:2000], contentType: json}, "GET", 10, false},
		"large":           {stub{body: large, contentType: json}, "GET", int64(len(large)), false},
		"archive":         {stub{body: "x", contentType: "application/x-gzip"}, "GET", 100, false},
		"write":           {stub{body: "{}", contentType: json}, "POST", 100, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			client := http.Client{Transport: &revalidating{next: &test.stub}}
			for i := range 2 {
				req, err := http.NewRequest(test.method, "http://a/b", nil)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := client.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				read, want := test.read, test.body
				if i == 1 {
					read = int64(len(want))
				}
				got, err := io.ReadAll(io.LimitReader(resp.Body, read))
				if want := want[:min(int(read), len(want))]; string(got) != want || err != nil || resp.StatusCode != http.StatusOK {
					t.Errorf("answer %d = %d %.20q, %v, want %.20q", i, resp.StatusCode, got, err, want)
				}
				resp.Body.Close()
			}
			if again := test.asked[1] != ""; again != test.again {
				t.Errorf("asked with %q, want one with an ETag: %t", test.asked, test.again)
			}
		})
	}
}

func TestForgetsNothingForWhatIsTooMuch(t *testing.T) {
	body := strings.Repeat("x", largestKept)
	s := &stub{body: body, contentType: "application/json"}
	r := &revalidating{next: s}
	client := http.Client{Transport: r}
	for range 2 {
		for i := range mostKept/largestKept + 1 {
			resp, err := client.Get("http://a/" + strings.Repeat("b", i))
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}
	if r.size != mostKept || len(r.kept) != mostKept/largestKept || s.asked[len(s.asked)-1] != "" {
		t.Errorf("%d bytes of %d answers are kept, want %d bytes", r.size, len(r.kept), mostKept)
	}
}
