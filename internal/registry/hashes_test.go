package registry

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/google/go-cmp/cmp"
	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

func TestHashes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.list += strings.Repeat("A", 64) + "  terraform-provider-alpha_1.1.0_manifest.json\n"
	c := f.client(t, Options{}, "")
	listed := []provider.Hash{provider.ZH(strings.Repeat("a", 64))}
	for _, p := range []provider.Platform{linux, darwin, windows} {
		listed = append(listed, provider.ZH(sha256Hex(f.zips[p])))
	}
	for tool, label := range map[provider.Tool]string{terraform: "self-signed", opentofu: "signed"} {
		got, err := c.Hashes(t.Context(), tool, want(privateHost, linux))
		if err != nil {
			t.Fatal(err)
		}
		hashed := f.sum(t, linux)
		want := provider.Hashes{
			Sum: hashed.Sum, Platform: linux,
			Listed: provider.Sorted(listed),
			Signer: signerOf(validKey, label),
		}
		if tool == opentofu {
			want.Verified = []provider.Hash{hashed.Sum.ZH}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Hashes for %s (-want +got):\n%s", tool, diff)
		}
	}
	if c.Packages() != 1 {
		t.Errorf("Packages() = %d after two tools asked for one, want 1", c.Packages())
	}
}

// A 404 alone does not say that a release lacks the platform. The list of versions says it
// or, if it has no platforms, the signed list.
func TestWhetherAPlatformIsServed(t *testing.T) {
	t.Parallel()
	unlist := func(f *fixture) {
		f.list = fmt.Sprintf("%s  %s\n", sha256Hex(f.zips[darwin]), filename(darwin))
	}
	const withdrawn = `{"versions": [{"version": "1.0.0"}]}`
	tests := []struct {
		name     string
		versions string
		spoil    func(*fixture)
		code     problem.Code
		want     string
	}{
		{"not_listed_for_it", serving(darwin), nil, problem.CodeNoPackage, "is not available for linux_amd64"},
		{"listed_for_it", serving(darwin, linux), nil, problem.CodeBadAnswer, "its list of versions names that platform"},
		{"the_signed_list_names_it", serving(), nil, problem.CodeBadAnswer, "the checksum list of the release names it"},
		{"the_signed_list_does_not", serving(), unlist, problem.CodeNoPackage, "is not available for linux_amd64"},
		{"no_signed_list_to_be_had", serving(), func(f *fixture) { f.status["/SHA256SUMS"] = 503 }, problem.CodeBadAnswer, "nothing says whether there is one"},
		{"nothing_to_be_had", serving(), func(f *fixture) { f.status["/arm64"] = 404 }, problem.CodeBadAnswer, "nothing says whether there is one"},
		{"the_version_is_gone", withdrawn, func(f *fixture) { f.status["/arm64"] = 404 }, problem.CodeNoPackage, "is not available for linux_amd64"},
		{"the_version_is_gone_for_ever", withdrawn, func(f *fixture) { f.status["/amd64"], f.status["/arm64"] = 410, 410 }, problem.CodeNoPackage, "is not available for linux_amd64: the registry answers 410 Gone"},
		{"it_is_not_listed_but_served", withdrawn, nil, problem.CodeBadAnswer, "the checksum list of the release names it"},
		{"without_the_platform", withdrawn, unlist, problem.CodeNoPackage, "is not available for linux_amd64"},
		{"or_nobody_can_tell", withdrawn, func(f *fixture) { f.status["/arm64"] = 503 }, problem.CodeBadAnswer, "nothing says whether there is one"},
		{"no_list_of_versions", serving(), func(f *fixture) { f.status["/versions"] = 503 }, problem.CodeUnreachable, "503"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.versions = tt.versions
			f.status["/amd64"] = 404
			if tt.spoil != nil {
				tt.spoil(f)
			}
			_, err := f.client(t, Options{}, "").Hashes(t.Context(), terraform, want(privateHost, linux))
			wantError(t, err, tt.code, tt.want)
		})
	}
}

// serving is a list of versions with the platforms of 1.1.0.
func serving(platforms ...provider.Platform) string {
	var listed []string
	for _, p := range platforms {
		listed = append(listed, fmt.Sprintf(`{"os": %q, "arch": %q}`, p.OS, p.Arch))
	}
	return fmt.Sprintf(`{"versions": [{"version": "1.1.0", "protocols": ["5.0"], "platforms": [%s]}]}`, strings.Join(listed, ", "))
}

func TestHashesFailures(t *testing.T) {
	t.Parallel()
	set := func(key string, value any) func(*fixture) {
		return func(f *fixture) { f.edit = func(_ provider.Platform, answer map[string]any) { answer[key] = value } }
	}
	status := func(suffix string, status int) func(*fixture) {
		return func(f *fixture) { f.status[suffix] = status }
	}
	tests := []struct {
		name  string
		spoil func(*fixture)
		code  problem.Code
		want  string
	}{
		{"not_found", status("/linux/amd64", 404), problem.CodeBadAnswer, "the registry answers 404 for the package of registry.example.com/hashicorp/alpha 1.1.0 for linux_amd64, and the checksum list of the release names it"},
		{"unauthorized", status("/linux/amd64", 401), problem.CodeUnauthorized, "requires authentication credentials"},
		{"forbidden", status("/linux/amd64", 403), problem.CodeUnauthorized, "requires authentication credentials"},
		{"server_error", status("/linux/amd64", 500), problem.CodeUnreachable, "500 Internal Server Error"},
		{"not_json", func(f *fixture) {
			f.hook = func(w http.ResponseWriter, _ *http.Request) bool { fmt.Fprint(w, "<html>"); return true }
		}, problem.CodeBadAnswer, "is not valid"},
		{"other_os", set("os", "darwin"), problem.CodeBadAnswer, "incorrect target darwin_amd64"},
		{"other_arch", set("arch", "arm64"), problem.CodeBadAnswer, "incorrect target linux_arm64"},
		{"no_filename", set("filename", ""), problem.CodeBadAnswer, "invalid file name"},
		{"filename_with_directory", set("filename", "../x.zip"), problem.CodeBadAnswer, "invalid file name"},
		{"filename_of_other_platform", set("filename", filename(darwin)), problem.CodeBadAnswer, "names the file of another package"},
		{"filename_of_other_version", set("filename", "terraform-provider-alpha_1.0.0_linux_amd64.zip"), problem.CodeBadAnswer, "names the file of another package"},
		{"shasum_not_hex", set("shasum", strings.Repeat("z", 64)), problem.CodeBadAnswer, "invalid SHA256 hash"},
		{"shasum_too_short", set("shasum", "abcd"), problem.CodeBadAnswer, "invalid SHA256 hash"},
		{"no_download_url", set("download_url", ""), problem.CodeBadAnswer, "invalid download URL"},
		{"download_url_of_other_scheme", set("download_url", "file:///etc/passwd"), problem.CodeBadAnswer, "must use http or https"},
		{"list_url_of_other_scheme", set("shasums_url", "ftp://x/"), problem.CodeBadAnswer, "invalid SHASUMS URL: must use http or https"},
		{"signature_url_is_none", set("shasums_signature_url", "http://[?s3cret"), problem.CodeBadAnswer, "invalid SHASUMS signature URL"},
		{"link_local_download", set("download_url", "http://169.254.169.254/x"), problem.CodeUnreachable, "a metadata service"},
		{"old_protocol", set("protocols", []string{"4.0"}), problem.CodeProtocol, "speaks plugin protocol 4.0, and Terraform 1.11.4 speaks 5 and 6"},
		{"new_protocol", set("protocols", []string{"7.0", "8.1"}), problem.CodeProtocol, "speaks plugin protocol 7.0, 8.1"},
		{"invalid_protocol", set("protocols", []string{"five"}), problem.CodeBadAnswer, "invalid version string"},
		{"list_not_found", status("/SHA256SUMS", 404), problem.CodeBadAnswer, "404 Not Found"},
		{"list_unavailable", status("/SHA256SUMS", 502), problem.CodeUnreachable, "502 Bad Gateway"},
		{"signature_not_found", status("/SHA256SUMS.sig", 404), problem.CodeBadAnswer, "404 Not Found"},
		{"archive_not_found", status("/files/linux_amd64", 404), problem.CodeBadAnswer, "404 Not Found"},
		{"archive_of_another_status", func(f *fixture) {
			f.hook = func(w http.ResponseWriter, r *http.Request) bool {
				other := r.URL.Path == "/files/linux_amd64"
				if other {
					w.WriteHeader(http.StatusNonAuthoritativeInfo)
					w.Write(f.zips[linux])
				}
				return other
			}
		}, problem.CodeBadAnswer, "203 Non-Authoritative Information"},
		{"archive_unavailable", status("/files/linux_amd64", 503), problem.CodeUnreachable, "503 Service Unavailable"},
		{"empty_line_in_list", func(f *fixture) { f.list += "\n" }, problem.CodeBadChecksum, "checksum list has an empty line"},
		{"not_in_list", func(f *fixture) { f.list = strings.ReplaceAll(f.list, "linux", "*linux") }, problem.CodeBadChecksum, "checksum list has no SHA-256 hash for"},
		{"other_hash_in_list", set("shasum", strings.Repeat("0", 64)), problem.CodeBadChecksum, "checksum list has unexpected SHA-256 hash"},
		{"other_bytes_served", set("download_url", "/files/darwin_arm64"), problem.CodeBadChecksum, "archive has incorrect checksum zh:"},
		{"html_served", set("download_url", "/x/v1/providers/hashicorp/alpha/versions"), problem.CodeBadChecksum, "archive has incorrect checksum zh:"},
		{"no_program", replaceZip(map[string]string{"README": "x"}), problem.CodeBadPackage, "provider binary not found"},
		{"program_of_other_provider", replaceZip(map[string]string{"terraform-provider-beta": "x"}), problem.CodeBadPackage, "provider binary not found"},
		{"cannot_be_unpacked", replaceZip(map[string]string{"../terraform-provider-alpha": "x"}), problem.CodeBadPackage, "entry contains '..'"},
		{"truncated_archive", func(f *fixture) {
			f.hook = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path != "/files/linux_amd64" {
					return false
				}
				w.Header().Set("Content-Length", "1000000")
				w.Write([]byte("PK"))
				return true
			}
		}, problem.CodeUnreachable, "the server ended the connection"},
		{"bad_signature", func(f *fixture) { f.signature = sign(validKey, "another list") }, problem.CodeBadSignature, "not signed as the registry announces"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			tt.spoil(f)
			c := f.client(t, Options{}, "")
			got, err := c.Hashes(t.Context(), terraform, want(privateHost, linux))
			e := wantError(t, err, tt.code, tt.want)
			if e.Problem.Subject.Addr != alpha(privateHost) || e.Problem.Subject.Version != v110 || e.Problem.Subject.Platform != linux || e.Problem.Host != privateHost {
				t.Errorf("error = %+v, want it about %v", e, want(privateHost, linux))
			}
			if diff := cmp.Diff(provider.Hashes{}, got); diff != "" {
				t.Errorf("hashes beside an error (-want +got):\n%s", diff)
			}
			if strings.Contains(e.Error(), "s3cret") {
				t.Errorf("error holds a URL's query: %v", e)
			}
		})
	}
}

// replaceZip replaces the Linux package and lists the new one.
func replaceZip(files map[string]string) func(*fixture) {
	return func(f *fixture) {
		data := pack(files)
		f.list = strings.Replace(f.list, sha256Hex(f.zips[linux]), sha256Hex(data), 1)
		f.zips[linux] = data
	}
}

func TestLenientMetadata(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(provider.Platform, map[string]any){
		"no_protocols":   func(_ provider.Platform, a map[string]any) { delete(a, "protocols") },
		"some_protocols": func(_ provider.Platform, a map[string]any) { a["protocols"] = []string{"4.0", "6.1"} },
		"upper_case_shasum": func(_ provider.Platform, a map[string]any) {
			a["shasum"] = strings.ToUpper(a["shasum"].(string))
		},
		"relative_urls": func(_ provider.Platform, a map[string]any) {
			a["download_url"] = "../../../../../../../../files/linux_amd64"
			a["shasums_url"] = "/files/SHA256SUMS"
		},
		"packages_are_not_for_terraform": func(_ provider.Platform, a map[string]any) { a["packages"] = []int{1} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.edit = edit
			if _, err := f.client(t, Options{}, "").Hashes(t.Context(), terraform, want(privateHost, linux)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestFilenames(t *testing.T) {
	t.Parallel()
	arm := provider.Want{Addr: alpha(privateHost), Version: provider.Version{Major: 1, Minor: 1, Metadata: "x"}, Platform: provider.Platform{OS: "linux", Arch: "arm"}}
	for name, ok := range map[string]bool{
		"terraform-provider-alpha_1.1.0+x_linux_arm.zip":    true,
		"terraform-provider-alpha_v1.1.0+x_linux_armv6.zip": true,
		"terraform-provider-alpha_1.1.0_linux_arm.zip":      false,
		"terraform-provider-alpha_1.1.0+x_linux_arm64.zip":  false,
		"terraform-provider-alpha_1.1.0+x_darwin_arm.zip":   false,
		"alpha.zip": true,
	} {
		if err := checkFilename(name, arm); (err == nil) != ok {
			t.Errorf("checkFilename(%q) = %v, want allowed %v", name, err, ok)
		}
	}
}

func TestProtocolErrorSuggestsRelease(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.versions = `{"versions": [{"version": "0.9.0", "protocols": ["5.0"]}, {"version": "0.10.0", "protocols": ["5.1"]}, {"version": "1.1.0", "protocols": ["7.0"]}]}`
	f.edit = func(_ provider.Platform, a map[string]any) { a["protocols"] = []string{"7.0"} }
	_, err := f.client(t, Options{}, "").Hashes(t.Context(), opentofu, want(privateHost, linux))
	e := wantError(t, err, problem.CodeProtocol, "OpenTofu 1.12.6 speaks 5 and 6")
	if !strings.Contains(e.Problem.Hint, "selects 0.10.0, the newest release that OpenTofu 1.12.6 can run") {
		t.Errorf("hint = %q, want it to name 0.10.0", e.Problem.Hint)
	}
}

func TestChecksumList(t *testing.T) {
	t.Parallel()
	a, b := strings.Repeat("a", 64), strings.Repeat("B", 64)
	both := []provider.Hash{provider.ZH(a), provider.ZH(b)}
	for name, tt := range map[string]struct {
		list string
		want []provider.Hash
	}{
		"plain":            {a + "  x.zip\n" + b + "  y.zip\n", both},
		"sorted_once":      {b + "  y.zip\n" + a + "  x.zip\n" + a + "  x2.zip", both},
		"windows_lines":    {a + "  x.zip\r\n" + b + "  y.zip\r\n", both},
		"three_fields":     {a + "  x.zip extra\n" + b + " *y.zip", both},
		"blank_at_the_end": {a + "  x.zip\n" + b + "  y.zip\n\n \n", nil},
		"blank_between":    {a + "  x.zip\n\n" + b + "  y.zip\n", nil},
		"one_field":        {a + "  x.zip\n" + b + "\n", nil},
		"short_hash":       {a + "  x.zip\nabcd  y.zip\n", nil},
		"no_hash":          {a + "  x.zip\nh1:" + a[3:] + "  y.zip\n", nil},
		"empty":            {"", nil},
	} {
		if diff := cmp.Diff(tt.want, checksums(tt.list).hashes()); diff != "" {
			t.Errorf("%s: hashes (-want +got):\n%s", name, diff)
		}
	}
	l := checksums(b + "  x.zip\n" + a + "  x.zip\n" + a + " *y.zip\nshort  z.zip\n" + a + "  other.zip\n")
	for name, ok := range map[string]bool{"x.zip": true, "y.zip": false, "other.zip": false, "z.zip": false, "unknown.zip": false} {
		if err := l.check(name, provider.ZH(b)); (err == nil) != ok {
			t.Errorf("check(%s) = %v, want fine: %v", name, err, ok)
		}
	}
}

func TestOffendingLineLeavesTheOwnZipAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.list += "# signed by us\n"
	got, err := f.client(t, Options{}, "").Hashes(t.Context(), terraform, want(terraformHost, linux))
	if err != nil || !slices.Equal(got.Listed, []provider.Hash{got.Sum.ZH}) || got.Sum.ZH != provider.ZH(sha256Hex(f.zips[linux])) {
		t.Errorf("Hashes = %+v, %v; want the zh of the package alone", got, err)
	}
}

func TestSignatures(t *testing.T) {
	t.Parallel()
	broken := func(f *fixture) {
		f.edit = func(_ provider.Platform, a map[string]any) {
			a["signing_keys"] = map[string]any{"gpg_public_keys": []any{map[string]any{"ascii_armor": "no key"}}}
		}
	}
	keys := func(list ...*openpgp.Entity) func(*fixture) { return func(f *fixture) { f.keys = list } }
	signedBy := func(key *openpgp.Entity, announced ...*openpgp.Entity) func(*fixture) {
		return func(f *fixture) { f.keys, f.signature = announced, sign(key, f.list) }
	}
	expiredSignature := func(f *fixture) {
		f.signature = signWith(validKeyOf2019, f.list, &packet.Config{Time: at(2019, 6), SigLifetimeSecs: 3600})
		f.keys = []*openpgp.Entity{validKeyOf2019}
	}
	twice := func(f *fixture) {
		f.keys = []*openpgp.Entity{expiredKey, otherExpiredKey}
		f.signature = slices.Concat(sign(expiredKey, f.list), sign(otherExpiredKey, f.list))
	}
	const unknown, fine = "unknown issuer", ""
	tests := []struct {
		name  string
		setup func(*fixture)
		// The signer, or words of the error, for each way to ask.
		terraform, private, own string
		opts                    Options
		signer                  *openpgp.Entity // nil: none
	}{
		{name: "one_key", setup: keys(validKey), signer: validKey},
		{name: "second_key", setup: signedBy(secondKey, validKey, secondKey), signer: secondKey},
		{name: "other_key", setup: signedBy(secondKey, validKey), terraform: unknown, private: unknown, own: unknown},
		{name: "no_keys", setup: signedBy(validKey), terraform: unknown, private: unknown, own: fine},
		{name: "no_keys_enforced", setup: signedBy(validKey), opts: Options{EnforceValidation: true}, terraform: unknown, private: unknown, own: unknown},
		{name: "undecodable_key", setup: broken, terraform: "decoding", private: "decoding", own: "decoding"},
		{name: "no_signature", setup: func(f *fixture) { f.signature = []byte{} }, terraform: unknown, private: unknown, own: unknown},
		{name: "garbage_signature", setup: func(f *fixture) { f.signature = []byte("garbage") }, terraform: "not signed", private: "not signed", own: "not signed"},
		{name: "expired_key", setup: keys(expiredKey), signer: expiredKey},
		{name: "expired_key_enforced", setup: keys(expiredKey), opts: Options{EnforceExpiration: true}, signer: expiredKey, private: "has expired", own: "has expired"},
		{name: "first_of_expired_keys", setup: twice, signer: expiredKey},
		{name: "expired_signature", setup: expiredSignature, signer: validKeyOf2019, terraform: "expired"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			tt.setup(f)
			c := f.client(t, tt.opts, "")
			for _, ask := range []struct {
				tool    provider.Tool
				host    svchost.Hostname
				failure string
				label   string
			}{
				{terraform, terraformHost, tt.terraform, "self-signed"},
				{terraform, opentofuHost, tt.terraform, "self-signed"},
				{opentofu, privateHost, tt.private, "signed"},
				{opentofu, opentofuHost, tt.own, "signed"},
			} {
				got, err := c.Hashes(t.Context(), ask.tool, want(ask.host, linux))
				if ask.failure != "" {
					wantError(t, err, problem.CodeBadSignature, ask.failure)
					continue
				}
				if err != nil {
					t.Errorf("%s at %s: %v", ask.tool, ask.host, err)
					continue
				}
				signer := provider.Signer{Label: "unsigned"}
				if tt.signer != nil {
					signer = signerOf(tt.signer, ask.label)
					signer.Expired = strings.Contains(tt.name, "expired")
				}
				if got.Signer != signer || len(got.Listed) != 3 {
					t.Errorf("%s at %s: signer %+v, %d listed; want %+v, 3", ask.tool, ask.host, got.Signer, len(got.Listed), signer)
				}
			}
		})
	}
}

// TestSignatureFromTheFuture has signatures and keys that are newer than this machine's
// clock. Nothing speaks against such a list, so the error names the clock.
func TestSignatureFromTheFuture(t *testing.T) {
	t.Parallel()
	later := func() time.Time { return time.Now().Add(48 * time.Hour) }
	newer := newKey("newer", packet.Config{Time: later})
	for name, tt := range map[string]struct {
		key       *openpgp.Entity
		tool      provider.Tool
		enforce   bool
		refused   bool
		accepted  provider.Signer
		inTheLogs string
	}{
		"signature":                      {key: validKey, tool: terraform, refused: true},
		"key":                            {key: newer, tool: terraform, accepted: signerOf(newer, "self-signed")},
		"signature_for_opentofu":         {key: validKey, tool: opentofu, accepted: signerOf(validKey, "signed"), inTheLogs: "clock of this machine"},
		"enforced_signature_of_opentofu": {key: validKey, tool: opentofu, enforce: true, refused: true},
		"enforced_key_of_opentofu":       {key: newer, tool: opentofu, enforce: true, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.keys, f.signature = []*openpgp.Entity{tt.key}, signWith(tt.key, f.list, &packet.Config{Time: later})
			var log bytes.Buffer
			c := f.client(t, Options{EnforceExpiration: tt.enforce, Log: slog.New(slog.NewTextHandler(&log, nil))}, "")
			got, err := c.Hashes(t.Context(), tt.tool, want(privateHost, linux))
			if tt.refused {
				if e := wantError(t, err, problem.CodeClock, "the clock of this machine shows "); !strings.Contains(e.Problem.Hint, "set the clock") {
					t.Errorf("hint %q, want it to say what to set", e.Problem.Hint)
				}
				return
			}
			tt.accepted.Expired, tt.accepted.Ahead = true, true
			if err != nil || got.Signer != tt.accepted {
				t.Errorf("signer %+v, %v; want %+v", got.Signer, err, tt.accepted)
			}
			if !strings.Contains(log.String(), tt.inTheLogs) || strings.Contains(log.String(), "has expired") {
				t.Errorf("the log says\n%s\nwant %q", log.String(), tt.inTheLogs)
			}
		})
	}
}

// validKeyOf2019 has not expired, but its signatures may have.
var validKeyOf2019 = newKey("old", packet.Config{Time: at(2019, 1)})

func TestExpiredKeyIsWarnedAboutOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.keys = []*openpgp.Entity{expiredKey}
	var log bytes.Buffer
	c := f.client(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, "")
	for _, p := range []provider.Platform{linux, darwin} {
		if _, err := c.Hashes(t.Context(), opentofu, want(privateHost, p)); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(log.String(), "has expired"); n != 1 {
		t.Errorf("%d warnings, want 1:\n%s", n, log.String())
	}
}

func TestTerraformLabels(t *testing.T) {
	t.Parallel()
	voucher := func(key, of *openpgp.Entity) string {
		var plain bytes.Buffer
		if err := of.Serialize(&plain); err != nil {
			t.Fatal(err)
		}
		return armored(openpgp.SignatureType, func(w io.Writer) error {
			_, err := w.Write(sign(key, plain.String()))
			return err
		})
	}
	tests := []struct {
		name           string
		hashicorp      *openpgp.Entity
		voucher        string
		label, failure string
	}{
		{name: "self_signed", hashicorp: secondKey, label: "self-signed"},
		{name: "hashicorp", hashicorp: validKey, label: "HashiCorp"},
		{name: "hashicorp_before_partner", hashicorp: validKey, voucher: "no signature", label: "HashiCorp"},
		{name: "partner", hashicorp: secondKey, voucher: voucher(expiredKey, validKey), label: "partner"},
		{name: "voucher_of_another", hashicorp: secondKey, voucher: voucher(secondKey, validKey), failure: "the trust signature"},
		{name: "voucher_for_another", hashicorp: secondKey, voucher: voucher(expiredKey, secondKey), failure: "the trust signature"},
		{name: "undecodable_voucher", hashicorp: secondKey, voucher: "no signature", failure: "decoding the trust signature"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.edit = func(_ provider.Platform, a map[string]any) {
				a["signing_keys"] = map[string]any{"gpg_public_keys": []any{
					map[string]any{"ascii_armor": public(validKey), "trust_signature": tt.voucher},
				}}
			}
			c := f.client(t, Options{}, "")
			// The test has no private keys of HashiCorp's.
			c.tools[provider.Terraform].origin.answers.trust = func() trust {
				return trust{hashicorp: openpgp.EntityList{tt.hashicorp}, partners: openpgp.EntityList{expiredKey}}
			}
			got, err := c.Hashes(t.Context(), terraform, want(terraformHost, linux))
			if tt.failure != "" {
				wantError(t, err, problem.CodeBadSignature, tt.failure)
				return
			}
			if err != nil || got.Signer.Label != tt.label {
				t.Errorf("label = %q, %v; want %q", got.Signer.Label, err, tt.label)
			}
		})
	}
}

// TestSignatureIsVerifiedOnce holds that the signature of a whole release is verified once,
// and another signature again.
func TestSignatureIsVerifiedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.edit = func(p provider.Platform, a map[string]any) {
		if p == windows {
			a["signing_keys"] = map[string]any{"gpg_public_keys": []any{map[string]any{"ascii_armor": public(secondKey)}}}
		}
	}
	c := f.client(t, Options{}, "")
	verified := 0
	c.tools[provider.Terraform].origin.answers.trust = func() trust {
		verified++
		return hashicorpTrust()
	}
	for _, p := range []provider.Platform{linux, darwin} {
		if _, err := c.Hashes(t.Context(), terraform, want(privateHost, p)); err != nil {
			t.Fatal(err)
		}
	}
	if verified != 1 {
		t.Errorf("the signature of a release was verified %d times for two packages, want once", verified)
	}
	_, err := c.Hashes(t.Context(), terraform, want(privateHost, windows))
	wantError(t, err, problem.CodeBadSignature, "unknown issuer")
}

func TestBuiltInKeys(t *testing.T) {
	t.Parallel()
	keys := hashicorpTrust()
	for name, got := range map[string]openpgp.EntityList{
		"C874011F0AB405110D02105534365D9472D7468F": keys.hashicorp,
		"51890657C5ACDB4B823086567D72D4268E4660FC": keys.partners,
	} {
		if len(got) != 1 || fmt.Sprintf("%X", got[0].PrimaryKey.Fingerprint) != name {
			t.Errorf("built-in keys = %v, want the one with fingerprint %s", got, name)
		}
	}
}

func TestReportedHashes(t *testing.T) {
	t.Parallel()
	older := provider.Tool{Name: provider.OpenTofu, Version: provider.Version{Major: 1, Minor: 11}}
	zero := "zh:" + strings.Repeat("0", 64)
	type m = map[string]any
	tests := []struct {
		name     string
		tool     provider.Tool
		host     svchost.Hostname
		opts     Options
		edit     func(packages m)
		reported bool
		code     problem.Code
		want     string
	}{
		{name: "recorded", reported: true},
		{name: "not_at_other_hosts", host: privateHost},
		{name: "not_when_enforced", opts: Options{EnforceValidation: true}},
		{name: "not_before_1_12", tool: older},
		{name: "not_for_terraform", tool: terraform},
		{name: "no_packages", edit: func(p m) { clear(p) }},
		{name: "platform_missing", edit: func(p m) { delete(p, "linux_amd64") }, code: problem.CodeBadAnswer, want: `missing package with platform "linux_amd64"`},
		{name: "platform_missing_at_other_host", host: privateHost, edit: func(p m) { delete(p, "linux_amd64") }, code: problem.CodeBadAnswer, want: "missing package"},
		{name: "invalid_platform", edit: func(p m) { p["linux"] = m{} }, code: problem.CodeBadAnswer, want: "invalid package platform"},
		{name: "invalid_hash", edit: func(p m) { p["darwin_arm64"].(m)["hashes"] = []string{"nothing"} }, code: problem.CodeBadAnswer, want: "invalid package hash"},
		{name: "wrong_form", edit: func(p m) { p["darwin_arm64"] = "x" }, code: problem.CodeBadAnswer, want: "invalid packages"},
		{name: "no_size", edit: func(p m) { p["linux_amd64"].(m)["package_size"] = 0 }, code: problem.CodeBadAnswer, want: "invalid package size 0"},
		{name: "other_size", edit: func(p m) { p["linux_amd64"].(m)["package_size"] = 1 }, code: problem.CodeBadChecksum, want: "package of size 1 for linux_amd64"},
		{name: "other_size_at_other_host", host: privateHost, edit: func(p m) { p["linux_amd64"].(m)["package_size"] = 1 }, code: problem.CodeBadChecksum, want: "package of size 1"},
		{name: "no_zip_hash", edit: func(p m) { p["linux_amd64"].(m)["hashes"] = []string{"h1:x"} }, code: problem.CodeBadAnswer, want: "no zip hash"},
		{name: "other_zip_hash", edit: func(p m) { p["linux_amd64"].(m)["hashes"] = []string{zero} }, code: problem.CodeBadChecksum, want: "in one place"},
		{name: "other_h1", edit: func(p m) {
			own := p["linux_amd64"].(m)
			own["hashes"] = append(own["hashes"].([]string), "h1:false")
		}, code: problem.CodeBadChecksum, want: "registry reports h1:false for linux_amd64"},
		{name: "unlisted_zip", edit: func(p m) { p["darwin_arm64"].(m)["hashes"] = []string{zero, "h1:x"} }, code: problem.CodeBadChecksum, want: "darwin_arm64 of a zip that the checksum list does not name"},
		{name: "h1_without_zip", edit: func(p m) { p["darwin_arm64"].(m)["hashes"] = []string{"h1:x", "h2:new"} }, code: problem.CodeBadChecksum, want: "darwin_arm64 without that of a zip"},
		{name: "unlisted_zip_at_other_host", host: privateHost, edit: func(p m) { p["darwin_arm64"].(m)["hashes"] = []string{zero, "h1:x"} }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			packages := f.report(t)
			packages["plan9_386"] = m{"hashes": []string{"h9:of another time"}}
			if tt.edit != nil {
				tt.edit(packages)
			}
			f.edit = func(_ provider.Platform, answer map[string]any) { answer["packages"] = packages }
			if tt.tool.Name == "" {
				tt.tool = opentofu
			}
			if tt.host == "" {
				tt.host = opentofuHost
			}
			got, err := f.client(t, tt.opts, "").Hashes(t.Context(), tt.tool, want(tt.host, linux))
			if tt.code != "" {
				wantError(t, err, tt.code, tt.want)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var expected map[provider.Platform][]provider.Hash
			if tt.reported {
				expected = map[provider.Platform][]provider.Hash{}
				for p := range f.zips {
					s := f.sum(t, p)
					expected[p] = provider.Sorted([]provider.Hash{s.Sum.ZH, s.Sum.H1})
				}
			}
			if diff := cmp.Diff(expected, got.Reported); diff != "" {
				t.Errorf("Reported (-want +got):\n%s", diff)
			}
		})
	}
}

// TestReportedHashOfTheArchive accepts a hash that a registry computes without unpacking.
func TestReportedHashOfTheArchive(t *testing.T) {
	t.Parallel()
	r := reports{linux: {zips: []provider.Hash{provider.ZH(strings.Repeat("a", 64))}, contents: []provider.Hash{"h1:zip"}, size: 1}}
	l := checksums(strings.Repeat("a", 64) + "  x.zip\n")
	if _, err := r.recorded(l, provider.Hashes{Sum: provider.Sum{H1: "h1:dir", H1Zip: "h1:zip"}, Platform: linux}); err != nil {
		t.Error(err)
	}
}

func TestTokenGoesToTheRegistryAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.client(t, Options{}, "", "TF_TOKEN_registry_example_com=t0ken", "TF_TOKEN_127_0_0_1=other")
	if _, err := c.Versions(t.Context(), terraform, alpha(privateHost)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Hashes(t.Context(), terraform, want(privateHost, linux)); err != nil {
		t.Fatal(err)
	}
	expected := []string{
		"/files/SHA256SUMS",
		"/files/SHA256SUMS.sig",
		"/files/linux_amd64",
		"/registry.example.com/v1/providers/hashicorp/alpha/1.1.0/download/linux/amd64 Bearer t0ken",
		"/registry.example.com/v1/providers/hashicorp/alpha/versions Bearer t0ken",
	}
	if diff := cmp.Diff(expected, f.requests()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestFilesOfARegistryOnThisMachine has a registry on this machine that the operator has
// named. It refers to another server on this machine that nobody has named.
func TestFilesOfARegistryOnThisMachine(t *testing.T) {
	t.Parallel()
	f, files := newFixture(t), newFixture(t)
	f.edit = func(p provider.Platform, a map[string]any) {
		a["download_url"] = files.server.URL + "/files/" + p.String()
		a["shasums_url"] = files.server.URL + "/files/SHA256SUMS"
		a["shasums_signature_url"] = files.server.URL + "/files/SHA256SUMS.sig"
	}
	if _, err := f.client(t, Options{}, "").Hashes(t.Context(), terraform, want(privateHost, linux)); err != nil {
		t.Error(err)
	}
	if n := len(files.requests()); n != 3 {
		t.Errorf("the other server was asked %d times, want 3", n)
	}
}

func TestEachQuestionIsAskedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.zips[windows] = nil // 404
	f.versions = serving(linux, darwin)
	c := f.client(t, Options{}, "")
	var group sync.WaitGroup
	for _, tool := range []provider.Tool{terraform, opentofu, terraform} {
		group.Go(func() {
			if _, err := c.Versions(t.Context(), tool, alpha(privateHost)); err != nil {
				t.Error(err)
			}
		})
		for _, p := range []provider.Platform{linux, darwin} {
			group.Go(func() {
				if _, err := c.Hashes(t.Context(), tool, want(privateHost, p)); err != nil {
					t.Error(err)
				}
			})
		}
		group.Go(func() {
			_, err := c.Hashes(t.Context(), tool, want(privateHost, windows))
			if !problem.Coded(err, problem.CodeNoPackage) {
				t.Errorf("Hashes for Windows: %v, want no-package", err)
			}
		})
	}
	group.Wait()
	expected := []string{
		"/files/SHA256SUMS",
		"/files/SHA256SUMS.sig",
		"/files/darwin_arm64",
		"/files/linux_amd64",
		"/registry.example.com/v1/providers/hashicorp/alpha/1.1.0/download/darwin/arm64",
		"/registry.example.com/v1/providers/hashicorp/alpha/1.1.0/download/linux/amd64",
		"/registry.example.com/v1/providers/hashicorp/alpha/1.1.0/download/windows/amd64",
		"/registry.example.com/v1/providers/hashicorp/alpha/versions",
	}
	if diff := cmp.Diff(expected, f.requests()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if c.Packages() != 2 {
		t.Errorf("Packages() = %d, want 2", c.Packages())
	}
}

// TestSameArchiveIsDownloadedOnce asks two registries that offer the same archive, as its
// zh proves.
func TestSameArchiveIsDownloadedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.status["/files/elsewhere"] = http.StatusNotFound
	broken := true
	f.edit = func(_ provider.Platform, a map[string]any) {
		if broken {
			a["download_url"] = "/files/elsewhere"
		}
	}
	c := f.client(t, Options{}, "")
	_, err := c.Hashes(t.Context(), terraform, want(privateHost, linux))
	wantError(t, err, problem.CodeBadAnswer, "404 Not Found")
	broken = false
	for _, host := range []svchost.Hostname{terraformHost, opentofuHost} {
		if _, err := c.Hashes(t.Context(), terraform, want(host, linux)); err != nil {
			t.Errorf("the archive at another place, %s: %v", host, err)
		}
	}
	if c.Packages() != 1 {
		t.Errorf("Packages() = %d, want 1", c.Packages())
	}
}

func TestInterruptedQuestionIsAskedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	release := make(chan struct{})
	f.hook = func(_ http.ResponseWriter, r *http.Request) bool {
		select {
		case <-release:
			return false
		case <-r.Context().Done():
			return true
		}
	}
	c := f.client(t, Options{}, "")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := c.Versions(ctx, terraform, alpha(privateHost))
	wantError(t, err, problem.CodeCancelled, "")
	close(release)
	if _, err := c.Versions(t.Context(), terraform, alpha(privateHost)); err != nil {
		t.Errorf("Versions afterwards: %v", err)
	}
}
